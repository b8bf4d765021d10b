//! The differential suite: black-box cases that a real kube-apiserver and the embedded API must answer alike.
//!
//! There are no hand-written expectations. Cases (`cases/<area>.rs`) are sequences of HTTP requests; what a real server
//! answered is kept in `golden/<area>.json`, made comparable by `normalize`. `cargo test -p conformance` compares
//! the goldens with a real server where its programs are at hand, and with the embedded API. After adding a case:
//!
//! ```text
//! cargo run -p conformance --bin record -- <part of area/name>
//! cargo test -p conformance -- <part of area/name>
//! ```

pub mod case;
pub mod cases;
pub mod client;
pub mod embedded;
pub mod known;
pub mod kubectl;
pub mod normalize;
pub mod pki;
pub mod programs;
pub mod real;
pub mod run;
pub mod suite;
pub mod target;
pub mod transcript;
mod watch;
pub mod webhook;
