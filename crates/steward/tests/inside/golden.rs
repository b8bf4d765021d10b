//! What is put into a tenant, to the letter, for every minor version.
//!
//! `UPDATE_GOLDEN=1 cargo test -p steward --test inside golden` writes the files anew; read the diff.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::json;
use steward::inside::{Tenant, defaults, digest, objects};

use crate::tenant::{both, tenant};

#[test]
fn every_minor_has_what_its_kubeadm_uploads() {
    for minor in 30..=36 {
        compare(&format!("v1.{minor}"), &tenant(&format!("v1.{minor}.2"), both(), json!({})));
    }
}

#[test]
fn addons_are_optional_and_kubelets_can_be_tuned() {
    let patches = json!([
        {"op": "add", "path": "/failSwapOn", "value": false},
        {"op": "remove", "path": "/serverTLSBootstrap"},
    ]);
    let kubelet = json!({"cgroupfs": "cgroupfs", "configurationJSONPatches": patches});
    compare("bare-v1.30", &tenant("v1.30.2", json!({}), kubelet.clone()));
    compare("bare-v1.34", &tenant("v1.34.4", json!({}), kubelet));
}

#[test]
fn a_tenant_can_have_both_families_and_another_registry() {
    let addons = json!({
        "coreDNS": {"imageTag": "v1.99.0"},
        "kubeProxy": {"imageRepository": "mirror.example.com/proxies"},
    });
    let mut tenant = tenant("v1.34.4", addons, json!({}));
    tenant.endpoint_host = "fd00::1".to_owned();
    tenant.service_cidrs = vec!["fd00:10::/112".parse().unwrap(), "10.96.0.0/16".parse().unwrap()];
    tenant.pod_cidrs = vec!["fd00:20::/56".parse().unwrap(), "10.244.0.0/16".parse().unwrap()];
    tenant.dns_addresses = vec!["fd00:10::a".parse().unwrap(), "10.96.0.10".parse().unwrap()];
    tenant.registry = "mirror.example.com/k8s".to_owned();
    compare("dual-stack", &tenant);
}

#[test]
fn agents_of_konnectivity_run_everywhere_or_so_many() {
    compare("konnectivity", &tenant("v1.34.4", json!({"konnectivity": {}}), json!({})));
    let agent = json!({
        "mode": "Deployment", "replicas": 3, "hostNetwork": true, "version": "v0.33.0", "image": "mirror.example.com/agent",
        "tolerations": [{"operator": "Exists"}], "extraArgs": ["--v=4"],
    });
    compare("konnectivity-tuned", &tenant("v1.34.4", json!({"konnectivity": {"agent": agent}}), json!({})));
}

#[test]
fn names_are_unique_and_everything_is_labelled() {
    for minor in 30..=36 {
        let tenant = tenant(&format!("v1.{minor}.0"), both(), json!({}));
        let objects = objects(&tenant).unwrap();
        let names: BTreeSet<_> = objects.iter().map(identity).collect();
        assert_eq!(names.len(), objects.len());
        assert!(objects.iter().all(|object| object.labels().get("app.kubernetes.io/managed-by").is_some()));
        // Defaults only add to what is there.
        assert!(defaults(&tenant).unwrap().iter().all(|object| names.contains(&identity(object))));
    }
}

#[test]
fn what_belongs_to_an_addon_is_there_with_it_alone() {
    let identities = |addons| -> BTreeSet<_> {
        objects(&tenant("v1.34.4", addons, json!({}))).unwrap().iter().map(identity).collect()
    };
    let bare = identities(json!({}));
    for addons in [json!({"coreDNS": {}}), json!({"kubeProxy": {}}), json!({"konnectivity": {}})] {
        let with: Vec<_> = objects(&tenant("v1.34.4", addons, json!({}))).unwrap();
        for object in with {
            let belongs = object.labels().get("steward.butlerlabs.dev/addon").is_some();
            assert_eq!(belongs, !bare.contains(&identity(&object)), "{:?}", identity(&object));
        }
    }
    assert_eq!(identities(both()).len(), bare.len() + 12);
}

#[test]
fn the_digest_follows_every_field() {
    let plain = || tenant("v1.34.4", both(), json!({}));
    assert_eq!(digest(&plain()).unwrap(), digest(&plain()).unwrap());
    let changes: [fn(&mut Tenant); 12] = [
        |tenant| tenant.name = "blue".to_owned(),
        |tenant| tenant.version.patch = 5,
        |tenant| tenant.endpoint_host = "api.example.com".to_owned(),
        |tenant| tenant.endpoint_port = 443,
        |tenant| tenant.cluster_domain = "green.local".to_owned(),
        |tenant| tenant.service_cidrs = vec!["10.97.0.0/16".parse().unwrap()],
        |tenant| tenant.pod_cidrs.clear(),
        |tenant| tenant.dns_addresses = vec!["10.96.0.53".parse().unwrap()],
        |tenant| tenant.ca_pem.push('x'),
        |tenant| tenant.kubelet = serde_json::from_value(json!({"cgroupfs": "cgroupfs"})).unwrap(),
        |tenant| tenant.addons.kube_proxy = None,
        |tenant| tenant.registry = "mirror.example.com".to_owned(),
    ];
    let mut seen = BTreeSet::from([digest(&plain()).unwrap()]);
    for change in changes {
        let mut changed = plain();
        change(&mut changed);
        assert!(seen.insert(digest(&changed).unwrap()), "{changed:?}");
    }
}

#[test]
fn what_cannot_be_described_is_refused() {
    let refused = |tenant: Tenant| objects(&tenant).unwrap_err().to_string();
    let unknown = tenant("v1.29.0", both(), json!({}));
    assert_eq!(refused(unknown), "Kubernetes v1.29.0 is not known: choose one of v1.30 to v1.36");
    let nameless = Tenant { dns_addresses: Vec::new(), ..tenant("v1.34.4", both(), json!({})) };
    assert_eq!(refused(nameless), "the tenant has no address for its DNS Service");
    let patches = json!({"configurationJSONPatches": [{"op": "remove", "path": "/nothing"}]});
    assert_eq!(
        refused(tenant("v1.34.4", json!({}), patches)),
        "kubelet.configurationJSONPatches[0] (remove /nothing): there is nothing at this path: use add for a new field, in \
         an object that is there"
    );
}

fn identity(object: &DynamicObject) -> (String, Option<String>, String) {
    let kind = object.types.as_ref().map(|types| types.kind.clone()).unwrap_or_default();
    (kind, object.namespace(), object.name_any())
}

/// Compares all that is rendered for a tenant with the file of this name.
fn compare(name: &str, tenant: &Tenant) {
    let mut rendered = String::new();
    for object in objects(tenant).unwrap().iter().chain(&defaults(tenant).unwrap()) {
        rendered.push_str("---\n");
        rendered.push_str(&kernel::yaml::to_string(object).unwrap());
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/inside/{name}.yaml"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &rendered).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        rendered == expected,
        "{} differs; UPDATE_GOLDEN=1 writes it anew. It should be:\n{rendered}",
        path.display()
    );
}
