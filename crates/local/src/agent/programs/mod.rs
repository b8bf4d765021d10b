//! What images stand for.

mod api_server;
mod controllers;
mod process;
mod simulated;

use std::collections::HashMap;
use std::sync::Arc;

use kapi::Plane;
use runtime::Clock;

pub use api_server::logical_api;
pub use controllers::{ControllerRole, Controllers};
pub use process::{Binaries, missing_for_processes};
pub use simulated::{Fault, Faults, Simulation};

use super::program::{Program, Programs};
use crate::network::Doors;
use api_server::ApiServers;
use controllers::ControllerPrograms;
use process::Processes;

impl Programs {
    /// Nothing really runs.
    pub fn simulated(simulation: Simulation) -> Self {
        Self { named: HashMap::new(), other: Arc::new(simulation) }
    }

    /// Control planes run in this process, on the store of `plane`, and are told to `doors`; all else is simulated.
    pub fn embedded(
        plane: Plane,
        clock: Clock,
        controllers: Controllers,
        doors: Doors,
        simulation: Simulation,
    ) -> Self {
        let servers = ApiServers::new(plane, clock, doors);
        let running = servers.running();
        let of = |role| -> Arc<dyn Program> {
            Arc::new(ControllerPrograms::new(role, Arc::clone(&running), Arc::clone(&controllers)))
        };
        let named: [(&'static str, Arc<dyn Program>); 3] = [
            ("kube-controller-manager", of(ControllerRole::ControllerManager)),
            ("kube-scheduler", of(ControllerRole::Scheduler)),
            ("kube-apiserver", Arc::new(servers)),
        ];
        Self { named: named.into(), other: Arc::new(simulation) }
    }
    /// Control planes and etcd are the real programs, as processes; all else is simulated.
    pub fn real(binaries: Binaries, simulation: Simulation) -> Self {
        let kubernetes: Arc<dyn Program> = Arc::new(Processes::of(binaries.kubernetes));
        let named: [(&'static str, Arc<dyn Program>); 4] = [
            ("kube-apiserver", Arc::clone(&kubernetes)),
            ("kube-controller-manager", Arc::clone(&kubernetes)),
            ("kube-scheduler", kubernetes),
            ("etcd", Arc::new(Processes::of(binaries.etcd))),
        ];
        Self { named: named.into(), other: Arc::new(simulation) }
    }
}
