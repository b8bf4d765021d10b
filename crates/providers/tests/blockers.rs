//! What stands in the way is told all at once, with who can do what about it.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

mod common;

use butler_api::shared::{Blocker, BlockerOwner, Provider};
use common::Given;
use providers::{Machines, credentials_of, infrastructure, machine_template, node_machine};
use serde_json::{Value, json};

#[test]
fn credentials_that_cannot_be_used() {
    let without_any = |mut given: Given| {
        given.credentials = None;
        given
    };
    let rows = [
        (
            without_any(Given::harvester()),
            "CredentialsMissing",
            "Secret butler-system/harvester-kubeconfig with the credentials of ProviderConfig butler-system/harvester-prod \
             does not exist",
        ),
        (
            Given::harvester().credential("kubeconfig", None),
            "CredentialsInvalid",
            "Secret butler-system/harvester-kubeconfig cannot be used as credentials of ProviderConfig \
             butler-system/harvester-prod: key kubeconfig is missing",
        ),
        (
            Given::harvester().credential("kubeconfig", Some(b" \n")),
            "CredentialsInvalid",
            "Secret butler-system/harvester-kubeconfig cannot be used as credentials of ProviderConfig \
             butler-system/harvester-prod: key kubeconfig is empty",
        ),
        (
            Given::harvester().credential("kubeconfig", Some(b"\xff")),
            "CredentialsInvalid",
            "Secret butler-system/harvester-kubeconfig cannot be used as credentials of ProviderConfig \
             butler-system/harvester-prod: key kubeconfig is not text",
        ),
        (
            Given::harvester().credential("kubeconfig", Some(b"token: hunter2")),
            "CredentialsInvalid",
            "Secret butler-system/harvester-kubeconfig cannot be used as credentials of ProviderConfig \
             butler-system/harvester-prod: its kubeconfig is unusable: it has no current-context",
        ),
        (
            Given::nutanix().credential("password", Some(b"")),
            "CredentialsInvalid",
            "Secret butler-system/nutanix-credentials cannot be used as credentials of ProviderConfig \
             butler-system/nutanix-team-a: key password is empty",
        ),
        (
            Given::nutanix().credential("ca.pem", Some(b"hunter2")),
            "CredentialsInvalid",
            "Secret butler-system/nutanix-credentials cannot be used as credentials of ProviderConfig \
             butler-system/nutanix-team-a: key ca.pem holds no certificate",
        ),
        (
            Given::harvester().provider(json!({"credentialsRef": null})),
            "CredentialsMissing",
            "ProviderConfig butler-system/harvester-prod names no Secret with credentials",
        ),
    ];
    for (given, reason, message) in rows {
        let found = infrastructure(&given.request()).unwrap_err();
        let [only] = found.as_slice() else { panic!("{message}: {found:?}") };
        assert_eq!((only.reason.as_str(), only.message.as_str()), (reason, message));
        assert_complete(only);
    }
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let given = Given::nutanix()
        .credential("username", None)
        .credential("password", None)
        .credential("ca.pem", Some(b"no"))
        .provider(json!({"nutanix": {"endpoint": "https://:0"}}));
    assert_eq!(infrastructure(&given.request()).unwrap_err().len(), 4);

    let given = Given::nutanix()
        .provider(
            json!({"nutanix": {"imageUUID": null, "subnetUUID": "", "clusterUUID": "", "storageContainerUUID": "x"}}),
        )
        .spec(json!({"workers": {"machineTemplate": {"memory": "1Gi", "diskSize": "10Gi"}}}));
    assert_eq!(machine_template(&given.request(), Machines::Pool("workers")).unwrap_err().len(), 6);
}

#[test]
fn machines_that_cannot_be_made() {
    let harvester = |change: Value| Given::harvester().provider(json!({ "harvester": change }));
    let template = |change: Value| json!({"workers": {"machineTemplate": change}});
    let rows = [
        (
            harvester(json!({"imageName": null})),
            "there is no VM image: neither the cluster nor ProviderConfig butler-system/harvester-prod names one",
            BlockerOwner::PlatformAdmin,
            "Set spec.workers.machineTemplate.os.imageRef, or spec.infrastructureOverride.harvester.imageName, or \
             spec.harvester.imageName of ProviderConfig butler-system/harvester-prod.",
        ),
        (
            Given::harvester().provider(json!({"harvester": {"networkName": null}})),
            "there is no VM network: neither the cluster nor ProviderConfig butler-system/harvester-prod names one",
            BlockerOwner::PlatformAdmin,
            "Set spec.infrastructureOverride.harvester.networkName, or spec.harvester.networkName of ProviderConfig \
             butler-system/harvester-prod.",
        ),
        (
            Given::harvester().spec(json!({"infrastructureOverride": {"harvester": {"networkName": "vlan-7"}}})),
            "spec.infrastructureOverride.harvester.networkName is no VM network",
            BlockerOwner::User,
            "Write it as namespace/name, for example default/workloads.",
        ),
        (
            harvester(json!({"imageName": "rocky"})),
            "spec.harvester.imageName of ProviderConfig butler-system/harvester-prod is no VM image",
            BlockerOwner::PlatformAdmin,
            "Write it as namespace/name, for example default/rocky-9.5.",
        ),
        (
            Given::harvester().spec(template(json!({"cpu": "4000m"}))),
            "spec.workers.machineTemplate.cpu must be a whole number of processors, for example 4",
            BlockerOwner::User,
            "Set spec.workers.machineTemplate.cpu to a whole number of processors, for example 4.",
        ),
        (
            Given::local().spec(template(json!({"memory": "8Xi"}))),
            "spec.workers.machineTemplate.memory must be a size with its unit, for example 8Gi",
            BlockerOwner::User,
            "Set spec.workers.machineTemplate.memory to a size with its unit, for example 8Gi.",
        ),
        (
            Given::nutanix().spec(template(json!({"memory": "1Gi"}))),
            "spec.workers.machineTemplate.memory must be at least 2Gi on Nutanix",
            BlockerOwner::User,
            "Set spec.workers.machineTemplate.memory to at least 2Gi on Nutanix.",
        ),
        (
            Given::nutanix().spec(json!({"infrastructureOverride": {"nutanix": {"storageContainerUUID": "x"}}})),
            "spec.infrastructureOverride.nutanix.storageContainerUUID cannot be followed: Nutanix's Cluster API provider \
             puts a system disk beside the image it is made from",
            BlockerOwner::User,
            "Remove the field, and upload the image to that storage container.",
        ),
        (
            Given::nutanix().provider(json!({"nutanix": {"imageUUID": null}})),
            "there is no image: neither the cluster nor ProviderConfig butler-system/nutanix-team-a names one",
            BlockerOwner::TeamAdmin,
            "Set spec.workers.machineTemplate.os.imageRef, or spec.infrastructureOverride.nutanix.imageUUID, or \
             spec.nutanix.imageUUID of ProviderConfig butler-system/nutanix-team-a.",
        ),
    ];
    for (given, message, owner, remedy) in rows {
        let found = machine_template(&given.request(), Machines::Pool("workers")).unwrap_err();
        let [only] = found.as_slice() else { panic!("{message}: {found:?}") };
        assert_eq!(only.message, message);
        assert_eq!((only.owner, only.remedy.as_deref()), (Some(owner), Some(remedy)), "{message}");
        assert_complete(only);
    }
}

#[test]
fn fields_are_named_after_their_pool() {
    let cases = [
        (Machines::Pool("gpu"), "spec.workerPools[gpu].machineTemplate.cpu"),
        (Machines::ControlPlane, "spec.controlPlane.machineTemplate.cpu"),
    ];
    let given = Given::local().spec(json!({
        "controlPlane": {"type": "standalone", "machineTemplate": {"cpu": "two"}},
        "workerPools": [{"name": "gpu", "machineTemplate": {"cpu": "two"}}],
    }));
    for (machines, field) in cases {
        let found = machine_template(&given.request(), machines).unwrap_err();
        assert!(found[0].message.starts_with(field), "{found:?}");
    }
}

#[test]
fn addresses_of_prism_central() {
    let read = |endpoint: &str| {
        let given = Given::nutanix().provider(json!({"nutanix": {"endpoint": endpoint}}));
        infrastructure(&given.request()).ok().map(|found| {
            let central = &found.cluster.data["spec"]["prismCentral"];
            format!("{} {}", central["address"].as_str().unwrap(), central["port"])
        })
    };
    let rows = [
        ("https://prism.example.com", Some("prism.example.com 9440")),
        ("https://prism.example.com/", Some("prism.example.com 9440")),
        ("https://prism.example.com:443/x?y#z", Some("prism.example.com 443")),
        ("https://[fd00::9]", Some("[fd00::9] 9440")),
        ("https://[fd00::9]:9441", Some("[fd00::9] 9441")),
        ("https://", None),
        ("https://prism.example.com:70000", None),
        ("https://prism.example.com:port", None),
        ("https://me:secret@prism.example.com", None),
    ];
    for (endpoint, expected) in rows {
        assert_eq!(read(endpoint).as_deref(), expected, "{endpoint}");
    }
}

#[test]
fn other_infrastructures_are_refused_with_a_way_out() {
    for provider in [Provider::Proxmox, Provider::Azure, Provider::Aws, Provider::Gcp] {
        let given = Given::local().provider(json!({ "provider": provider }));
        let cluster = infrastructure(&given.request()).unwrap_err();
        let machines = machine_template(&given.request(), Machines::Pool("workers")).unwrap_err();
        assert_eq!(cluster, machines);
        assert_eq!(cluster[0].reason, "UnsupportedProvider");
        assert!(cluster[0].message.contains(provider.as_str()));
        assert_complete(&cluster[0]);
    }
}

#[test]
fn credentials_are_where_the_config_says() {
    let keys = |given: &Given| {
        credentials_of(&given.provider)
            .map(|source| (format!("{}/{}", source.secret.namespace, source.secret.name), source.required))
    };
    let found = |name: &str, keys: &[&str]| Some((name.to_owned(), keys.iter().map(|key| (*key).to_owned()).collect()));
    assert_eq!(keys(&Given::harvester()), found("butler-system/harvester-kubeconfig", &["kubeconfig"]));
    assert_eq!(keys(&Given::nutanix()), found("butler-system/nutanix-credentials", &["username", "password"]));
    assert_eq!(keys(&Given::local()), None);
    let inside = json!({"harvester": {"credentialsRef": {"name": "own", "namespace": "team-a", "key": "config"}}});
    assert_eq!(keys(&Given::harvester().provider(inside)), found("team-a/own", &["config"]));
}

#[test]
fn nodes_learn_what_their_infrastructure_does_not_tell_them() {
    let nutanix = node_machine(Provider::Nutanix, false);
    assert_eq!(nutanix.provider_id_prefix.as_deref(), Some("nutanix://"));
    assert_eq!(nutanix.hostname.as_deref(), Some("{{ ds.meta_data.hostname }}"));
    assert_eq!(node_machine(Provider::Nutanix, true).provider_id_prefix, None);
    for provider in [Provider::Harvester, Provider::Local] {
        let machine = node_machine(provider, false);
        assert_eq!((machine.hostname, machine.provider_id_prefix), (None, None));
        assert_eq!(machine.install_disk.as_deref(), Some("/dev/vda"));
    }
}

/// Everything people need is there, and no credential is.
fn assert_complete(blocker: &Blocker) {
    assert!(blocker.owner.is_some() && blocker.remedy.is_some() && !blocker.evidence.is_empty(), "{blocker:?}");
    assert!(!format!("{blocker:?}").contains("hunter2"), "{blocker:?}");
}
