//! The workload controllers against an embedded API, with a pretend kubelet.

mod deployments;
mod kubelet;
mod scheduling;
mod world;
