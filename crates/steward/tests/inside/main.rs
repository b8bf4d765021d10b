//! What is put into a tenant, and what tenants make of it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test may stop and may talk")]

mod applying;
mod approving;
mod faults;
mod golden;
mod joining;
mod kubeadm;
mod server;
mod tenant;
