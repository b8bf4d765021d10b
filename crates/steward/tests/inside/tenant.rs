//! A tenant to test with.

use serde_json::{Value, json};
use steward::inside::Tenant;

/// A tenant of this version; `addons` and `kubelet` as in the spec of a TenantControlPlane.
pub(crate) fn tenant(version: &str, addons: Value, kubelet: Value) -> Tenant {
    Tenant {
        name: "green".to_owned(),
        version: version.parse().unwrap(),
        endpoint_host: "198.18.0.1".to_owned(),
        endpoint_port: 6443,
        cluster_domain: "cluster.local".to_owned(),
        service_cidrs: vec!["10.96.0.0/16".parse().unwrap()],
        pod_cidrs: vec!["10.244.0.0/16".parse().unwrap()],
        dns_addresses: vec!["10.96.0.10".parse().unwrap()],
        ca_pem: "-----BEGIN CERTIFICATE-----\n".to_owned(),
        kubelet: serde_json::from_value(kubelet).unwrap(),
        addons: serde_json::from_value(addons).unwrap(),
        konnectivity_port: Some(8132),
        registry: "registry.k8s.io".to_owned(),
    }
}

/// Both addons, as they come.
pub(crate) fn both() -> Value {
    json!({"coreDNS": {}, "kubeProxy": {}})
}
