//! `butlerctl` as a user meets it: the program, run against an embedded API in which the tests play the controllers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may stop and may talk"
)]

mod access;
mod addon;
mod change;
mod create;
mod explain;
mod list;
mod plane;
mod start;
mod wait;
