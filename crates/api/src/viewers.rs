//! Who may look into a tenant cluster and change nothing: the same group with the same rights, whoever makes the cluster's
//! control plane.

use k8s_openapi::api::rbac::v1::PolicyRule;

/// The group that certificates of viewers name.
pub const GROUP: &str = "steward:viewers";
/// Lets the group see what is in namespaces, but no Secrets: a binding of Kubernetes' own ClusterRole `view`.
pub const BINDING: &str = "steward:viewers";
/// Lets the group see what is in no namespace: a ClusterRole and its binding.
pub const CLUSTER_BINDING: &str = "steward:viewers-cluster";

/// What the group sees that is in no namespace.
pub fn cluster_rules() -> Vec<PolicyRule> {
    let all: [(&str, &[&str]); 6] = [
        ("", &["nodes", "persistentvolumes"]),
        ("storage.k8s.io", &["storageclasses", "csidrivers", "csinodes", "volumeattachments"]),
        ("networking.k8s.io", &["ingressclasses"]),
        ("scheduling.k8s.io", &["priorityclasses"]),
        ("apiextensions.k8s.io", &["customresourcedefinitions"]),
        ("metrics.k8s.io", &["nodes", "pods"]),
    ];
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let rule = |(group, resources): (&str, &[&str])| PolicyRule {
        api_groups: Some(texts(&[group])),
        resources: Some(texts(resources)),
        verbs: texts(&["get", "list", "watch"]),
        ..PolicyRule::default()
    };
    all.into_iter().map(rule).collect()
}
