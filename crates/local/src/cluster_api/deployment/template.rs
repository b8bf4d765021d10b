//! Which templates make the same machines.

use capi::core::{MachineSpec, MachineTemplate};

use crate::workloads::template::hash_of;

/// What can change on a machine that is there, and so is no reason to replace it.
fn lasting(template: &MachineTemplate) -> MachineSpec {
    MachineSpec {
        node_drain_timeout: None,
        node_volume_detach_timeout: None,
        node_deletion_timeout: None,
        ..template.spec.clone()
    }
}

/// Whether two templates make the same machines, but for what can be changed on them later.
pub(super) fn same_machines(one: &MachineTemplate, other: &MachineTemplate) -> bool {
    lasting(one) == lasting(other)
}

/// A short name for the machines of a template.
pub(super) fn hash(template: &MachineTemplate) -> String {
    hash_of(serde_json::to_string(&lasting(template)).unwrap_or_default().as_bytes(), None)
}
