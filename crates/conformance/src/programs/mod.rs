//! Real programs that work with the embedded API as they would with a real cluster: helm, kube-controller-manager and
//! kube-scheduler.

mod api;
mod chart;
pub mod controllers;
mod daemon;
pub mod helm;
mod kubelet;

use std::path::PathBuf;

use crate::real::{VERSION, cache};

/// Where a command line tool such as `helm-4.2` is, or in one sentence what is missing.
pub fn tool(name: &str) -> Result<PathBuf, String> {
    present(cache().join("tools").join(name), "scripts/tools")
}

/// Where a program of Kubernetes such as `kube-scheduler` is, or in one sentence what is missing.
pub fn component(name: &str) -> Result<PathBuf, String> {
    present(cache().join("kubernetes").join(VERSION).join(name), "scripts/kubernetes")
}

fn present(program: PathBuf, script: &str) -> Result<PathBuf, String> {
    if program.is_file() {
        Ok(program)
    } else {
        Err(format!("{} is not there ({script} brings it)", program.display()))
    }
}
