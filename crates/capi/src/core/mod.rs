//! Kinds of `cluster.x-k8s.io/v1beta1`.

mod cluster;
mod machine;
mod machine_deployment;
mod machine_health_check;
mod machine_set;

pub use cluster::{Cluster, ClusterNetwork, ClusterSpec, ClusterStatus, Ranges};
pub use machine::{Bootstrap, Machine, MachineDeletion, MachineSpec, MachineStatus, MachineTemplate, NodeInfo};
pub use machine_deployment::{
    MachineDeployment, MachineDeploymentSpec, MachineDeploymentStatus, Remediation, RollingUpdate, Strategy,
};
pub use machine_health_check::{
    MachineHealthCheck, MachineHealthCheckSpec, MachineHealthCheckStatus, UnhealthyCondition,
};
pub use machine_set::{MachineSet, MachineSetSpec, MachineSetStatus};
