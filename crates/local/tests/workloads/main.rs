//! The workload controllers against an embedded API, with a pretend kubelet.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod deployments;
mod kubelet;
mod nodes;
mod others;
mod resting;
mod scheduling;
mod world;
