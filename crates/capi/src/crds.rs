//! All CRDs, in one order.

use butler_api::{CustomResourceDefinition, tidied};

use crate::bootstrap::{KubeadmConfig, KubeadmConfigTemplate};
use crate::controlplane::{KubeadmControlPlane, KubeadmControlPlaneTemplate};
use crate::core::{Cluster, Machine, MachineDeployment, MachineHealthCheck, MachineSet};
use crate::infrastructure::{
    HarvesterCluster, HarvesterMachine, HarvesterMachineTemplate, LocalCluster, LocalMachine, LocalMachineTemplate,
    NutanixCluster, NutanixMachine, NutanixMachineTemplate,
};

/// Every CRD of this crate, ordered by name.
pub fn crds() -> Vec<CustomResourceDefinition> {
    let mut crds = vec![
        tidied::<Cluster>(),
        tidied::<Machine>(),
        tidied::<MachineDeployment>(),
        tidied::<MachineHealthCheck>(),
        tidied::<MachineSet>(),
        tidied::<KubeadmConfig>(),
        tidied::<KubeadmConfigTemplate>(),
        tidied::<KubeadmControlPlane>(),
        tidied::<KubeadmControlPlaneTemplate>(),
        tidied::<HarvesterCluster>(),
        tidied::<HarvesterMachine>(),
        tidied::<HarvesterMachineTemplate>(),
        tidied::<LocalCluster>(),
        tidied::<LocalMachine>(),
        tidied::<LocalMachineTemplate>(),
        tidied::<NutanixCluster>(),
        tidied::<NutanixMachine>(),
        tidied::<NutanixMachineTemplate>(),
    ];
    crds.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    crds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::CONTRACT;

    #[test]
    fn every_kind_names_the_version_that_speaks_the_contract() {
        for crd in crds() {
            let version = &crd.spec.versions[0];
            let labels = crd.metadata.labels.as_ref().unwrap();
            assert_eq!(labels.get(CONTRACT), Some(&version.name), "{}", crd.spec.names.kind);
            let columns = version.additional_printer_columns.iter().flatten();
            assert!(columns.into_iter().any(|column| column.name == "Age"), "{}", crd.spec.names.kind);
        }
    }

    #[test]
    fn machines_are_scaled_by_everybodys_means() {
        for crd in crds().iter().filter(|crd| {
            ["MachineSet", "MachineDeployment", "KubeadmControlPlane"].contains(&crd.spec.names.kind.as_str())
        }) {
            let subresources = crd.spec.versions[0].subresources.as_ref().unwrap();
            assert_eq!(subresources.scale.as_ref().unwrap().spec_replicas_path, ".spec.replicas");
            assert!(subresources.status.is_some());
        }
    }
}
