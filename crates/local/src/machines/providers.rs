//! What the providers' kinds have in common, and what each says differently.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use capi::infrastructure::{
    HarvesterCluster, HarvesterMachine, InfrastructureClusterStatus, InfrastructureMachineStatus, LocalCluster,
    LocalMachine, NutanixCluster, NutanixMachine,
};
use kube::Resource;
use kube::core::NamespaceResourceScope;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A kind of this data centre.
pub(super) trait Kind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + PartialEq
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<K> Kind for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + PartialEq
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// The ground a cluster stands on.
pub(super) trait ClusterKind: Kind {
    /// Its controller's name.
    const CONTROLLER: &'static str;

    fn status_mut(&mut self) -> &mut Option<InfrastructureClusterStatus>;
}

/// A machine.
pub(super) trait MachineKind: Kind {
    /// Its controller's name.
    const CONTROLLER: &'static str;
    /// What the ids of its machines begin with.
    const PROVIDER: &'static str;

    fn provider_id(&self) -> Option<&str>;
    fn status(&self) -> Option<&InfrastructureMachineStatus>;
    fn status_mut(&mut self) -> &mut Option<InfrastructureMachineStatus>;
    /// What its node says it has: cpu, memory and disk.
    fn capacity(&self) -> BTreeMap<String, String>;
    /// Operating system its node says it runs.
    fn os(&self) -> Option<String>;
    /// How long it takes to boot, if it says so.
    fn startup(&self) -> Option<Duration>;
}

fn amounts(cpu: Option<String>, memory: Option<String>, disk: Option<String>) -> BTreeMap<String, String> {
    [("cpu", cpu, "2"), ("memory", memory, "4Gi"), ("ephemeral-storage", disk, "40Gi"), ("pods", None, "110")]
        .map(|(name, amount, usual)| (name.to_owned(), amount.unwrap_or_else(|| usual.to_owned())))
        .into()
}

/// A number or text as text.
fn word(fields: &Map<String, Value>, name: &str) -> Option<String> {
    match fields.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

macro_rules! cluster_kind {
    ($kind:ident, $controller:literal) => {
        impl ClusterKind for $kind {
            const CONTROLLER: &'static str = $controller;

            fn status_mut(&mut self) -> &mut Option<InfrastructureClusterStatus> {
                &mut self.status
            }
        }
    };
}

cluster_kind!(LocalCluster, "local-cluster");
cluster_kind!(HarvesterCluster, "harvester-cluster");
cluster_kind!(NutanixCluster, "nutanix-cluster");

macro_rules! machine_kind {
    ($kind:ident, $controller:literal, $provider:literal, $capacity:expr, $os:expr, $startup:expr) => {
        impl MachineKind for $kind {
            const CONTROLLER: &'static str = $controller;
            const PROVIDER: &'static str = $provider;

            fn provider_id(&self) -> Option<&str> {
                self.spec.provider_id.as_deref()
            }

            fn status(&self) -> Option<&InfrastructureMachineStatus> {
                self.status.as_ref()
            }

            fn status_mut(&mut self) -> &mut Option<InfrastructureMachineStatus> {
                &mut self.status
            }

            fn capacity(&self) -> BTreeMap<String, String> {
                let capacity: fn(&Self) -> BTreeMap<String, String> = $capacity;
                capacity(self)
            }

            fn os(&self) -> Option<String> {
                let os: fn(&Self) -> Option<String> = $os;
                os(self)
            }

            fn startup(&self) -> Option<Duration> {
                let startup: fn(&Self) -> Option<Duration> = $startup;
                startup(self)
            }
        }
    };
}

machine_kind!(
    LocalMachine,
    "local-machine",
    "local",
    |machine| {
        let spec = &machine.spec;
        amounts(
            spec.cpu.as_ref().map(ToString::to_string),
            spec.memory.as_ref().map(ToString::to_string),
            spec.disk_size.as_ref().map(ToString::to_string),
        )
    },
    |machine| machine.spec.os.clone(),
    |machine| {
        let parsed = kernel::duration::GoDuration::parse(machine.spec.startup.as_deref()?).ok()?;
        u64::try_from(parsed.0).ok().map(Duration::from_nanos)
    }
);
machine_kind!(
    HarvesterMachine,
    "harvester-machine",
    "harvester",
    |machine| amounts(word(&machine.spec.others, "cpu"), word(&machine.spec.others, "memory"), None),
    |_| None,
    |_| None
);
machine_kind!(
    NutanixMachine,
    "nutanix-machine",
    "nutanix",
    |machine| {
        let fields = &machine.spec.others;
        let count = |name: &str| word(fields, name).and_then(|text| text.parse::<u32>().ok());
        let cpus = count("vcpuSockets").map(|sockets| sockets * count("vcpusPerSocket").unwrap_or(1));
        amounts(cpus.map(|cpus| cpus.to_string()), word(fields, "memorySize"), word(fields, "systemDiskSize"))
    },
    |_| None,
    |_| None
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nodes_are_as_large_as_their_machines() {
        let local: LocalMachine = serde_json::from_value(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1", "kind": "LocalMachine", "metadata": {},
            "spec": {"cpu": 4, "memory": "8Gi", "diskSize": "100Gi", "startup": "5s"},
        }))
        .unwrap();
        let harvester: HarvesterMachine = serde_json::from_value(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1", "kind": "HarvesterMachine", "metadata": {},
            "spec": {"cpu": 4, "memory": "8Gi", "sshUser": "rocky"},
        }))
        .unwrap();
        let nutanix: NutanixMachine = serde_json::from_value(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "NutanixMachine", "metadata": {},
            "spec": {"vcpuSockets": 2, "vcpusPerSocket": 2, "memorySize": "8Gi", "systemDiskSize": "100Gi"},
        }))
        .unwrap();
        assert_eq!((local.startup(), harvester.startup()), (Some(Duration::from_secs(5)), None));
        for (capacity, disk) in
            [(local.capacity(), "100Gi"), (harvester.capacity(), "40Gi"), (nutanix.capacity(), "100Gi")]
        {
            assert_eq!(json!(capacity), json!({"cpu": "4", "memory": "8Gi", "ephemeral-storage": disk, "pods": "110"}));
        }
    }
}
