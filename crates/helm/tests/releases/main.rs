//! Releases on an embedded API: the same life with real helm and with this crate, and each on the other's releases.
//!
//! `charts.txt` has charts with the steps of their lives. Where `scripts/tools` has not brought helm, its part is skipped.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod behaviour;
#[path = "../common/mod.rs"]
mod common;
mod crash;
mod crossing;
mod differential;
mod side;
