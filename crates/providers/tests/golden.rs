//! What is rendered, to the letter. `UPDATE_GOLDEN=1 cargo test -p providers --test golden` writes the files anew; read the diff.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

mod common;

use std::fs;
use std::path::PathBuf;

use capi::infrastructure::{HarvesterMachineTemplateSpec, LocalMachineTemplateSpec, NutanixMachineTemplateSpec};
use common::Given;
use providers::{Machines, infrastructure, machine_template};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

#[test]
fn the_seeds_cluster_on_harvester() {
    compare("harvester", &Given::harvester(), &[Machines::Pool("workers")]);
}

#[test]
fn harvester_with_every_override() {
    let given = Given::harvester()
        .provider(json!({
            "harvester": {
                "endpoint": "https://harvester.example.com",
                "storageClassName": "fast",
                "sshKeyPair": "default/admins",
            },
        }))
        .spec(json!({
            "infrastructureOverride": {"harvester": {
                "namespace": "team-a",
                "networkName": "team-a/vlan-7",
                "imageName": "team-a/rocky-9.6",
            }},
        }))
        .endpoint("10.40.0.201", 6443);
    compare("harvester-overrides", &given, &[Machines::Pool("workers")]);
}

#[test]
fn several_pools_of_several_systems() {
    let given = Given::harvester().spec(json!({
        "workerPools": [
            {"name": "gpu", "machineTemplate": {
                "cpu": "16", "memory": "64Gi", "diskSize": "500Gi",
                "os": {"type": "talos", "imageRef": "default/talos-1.9"},
            }},
            {"name": "edge", "machineTemplate": {"cpu": 2, "os": {"type": "flatcar", "imageRef": "default/flatcar"}}},
            {"name": "plain"},
        ],
    }));
    let pools = ["workers", "gpu", "edge", "plain"].map(Machines::Pool);
    compare("harvester-pools", &given, &pools);
}

#[test]
fn a_standalone_control_plane_gets_the_address_it_was_given() {
    let given = Given::harvester()
        .provider(json!({"network": {"subnet": "10.40.0.0/24", "gateway": "10.40.0.1"}}))
        .spec(json!({"controlPlane": {
            "type": "standalone",
            "replicas": 3,
            "machineTemplate": {"cpu": 4, "memory": "8Gi", "diskSize": "60Gi"},
        }}))
        .endpoint("10.40.0.200", 6443);
    compare("harvester-standalone", &given, &[Machines::ControlPlane, Machines::Pool("workers")]);
}

#[test]
fn nutanix() {
    compare("nutanix", &Given::nutanix(), &[Machines::Pool("workers")]);
}

#[test]
fn nutanix_with_every_override() {
    let given = Given::nutanix()
        .provider(json!({"nutanix": {"endpoint": "https://10.50.0.9:9441/console", "insecure": true}}))
        .credential("ca.pem", Some(b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"))
        .spec(json!({
            "infrastructureOverride": {"nutanix": {
                "clusterUUID": "11111111-1111-1111-1111-111111111111",
                "subnetUUID": "vlan-7",
                "imageUUID": "22222222-2222-2222-2222-222222222222",
            }},
            "workerPools": [{"name": "gpu", "machineTemplate": {"os": {"type": "talos", "imageRef": "talos-1.9.3"}}}],
        }))
        .endpoint("10.50.0.201", 443);
    compare("nutanix-overrides", &given, &[Machines::Pool("workers"), Machines::Pool("gpu")]);
}

#[test]
fn local() {
    compare("local", &Given::local(), &[Machines::Pool("workers")]);
}

#[test]
fn local_with_every_setting() {
    let given = Given::local()
        .provider(json!({"local": {"kindNodeImage": "kindest/node:v1.34.2"}}))
        .spec(json!({"workerPools": [
            {"name": "own", "machineTemplate": {"os": {"type": "kairos", "imageRef": "kairos:latest"}}},
        ]}))
        .endpoint("127.0.0.1", 30443);
    compare("local-settings", &given, &[Machines::Pool("workers"), Machines::Pool("own")]);
}

/// A template's spec as the kinds that are installed have it.
fn typed(kind: &str, spec: &Value) -> Value {
    fn through<T: DeserializeOwned + Serialize>(spec: &Value) -> Value {
        serde_json::to_value(serde_json::from_value::<T>(spec.clone()).unwrap()).unwrap()
    }
    match kind {
        "LocalMachineTemplate" => through::<LocalMachineTemplateSpec>(spec),
        "HarvesterMachineTemplate" => through::<HarvesterMachineTemplateSpec>(spec),
        _ => through::<NutanixMachineTemplateSpec>(spec),
    }
}

/// Compares the infrastructure, its Secrets and the templates of these machines with the file of this name.
fn compare(name: &str, given: &Given, machines: &[Machines<'_>]) {
    let request = given.request();
    let infrastructure = infrastructure(&request).unwrap();
    let mut documents: Vec<_> =
        infrastructure.secrets.iter().map(|secret| serde_json::to_value(secret).unwrap()).collect();
    documents.push(serde_json::to_value(&infrastructure.cluster).unwrap());
    for group in machines {
        let suffix = match group {
            Machines::ControlPlane => "control-plane",
            Machines::Pool(pool) => pool,
        };
        let template = machine_template(&request, *group).unwrap();
        assert_eq!(typed(&template.kind, &template.spec), template.spec, "{name}: something is lost");
        documents.push(json!({
            "apiVersion": template.api_version,
            "kind": template.kind,
            "metadata": {"name": format!("my-cluster-{suffix}")},
            "spec": template.spec,
        }));
    }
    let rendered: String =
        documents.iter().map(|one| format!("---\n{}", kernel::yaml::to_string(one).unwrap())).collect();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.yaml"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &rendered).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        rendered == expected,
        "{} differs; UPDATE_GOLDEN=1 writes it anew. It should be:\n{rendered}",
        path.display()
    );
}
