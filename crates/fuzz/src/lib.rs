//! Hostile input for whatever reads texts and objects of strangers: nothing may crash, hang, or break a law.
//!
//! A [`Target`] takes any bytes. `make fuzz` lets libFuzzer look for bytes that reach new code (`main.rs`); `make test`
//! runs a short pass of the same targets without it (`tests/short.rs`). Both begin with what tests elsewhere have
//! recorded, and change it knowing whether it is text or JSON (`mutate`).

mod laws;
pub mod mutate;
mod recordings;
mod targets;

pub use mutate::{Form, Random};
pub use targets::{TARGETS, Target, target};
