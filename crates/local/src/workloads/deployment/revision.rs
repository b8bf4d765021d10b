//! Revisions of a template, and the ReplicaSet that stands for one.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;
use kube::core::ObjectMeta;

use super::rolling::Limits;
use super::sets::Sets;
use crate::workloads::template::{self, HASH_LABEL};

/// The number of the template, on Deployments and their sets.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
/// The numbers a set had before it was rolled back to.
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// The size of the Deployment when the set got its own.
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
/// How many pods there could be at most at that time.
pub(super) const MAXIMUM: &str = "deployment.kubernetes.io/max-replicas";
/// What is of the Deployment alone.
const NOT_COPIED: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    HISTORY,
    DESIRED,
    MAXIMUM,
    "deprecated.deployment.rollback.to",
];

/// The number of a set's template.
pub(super) fn of(set: &ReplicaSet) -> i64 {
    set.annotations().get(REVISION).and_then(|revision| revision.parse().ok()).unwrap_or(0)
}

/// What the new set must be annotated with, beside sizes: those of the Deployment, and a number above all others.
pub(super) fn annotations(deployment: &Deployment, sets: &Sets<'_>) -> BTreeMap<String, String> {
    let copied = deployment.annotations().iter().filter(|(name, _)| !NOT_COPIED.contains(&name.as_str()));
    let mut wanted: BTreeMap<String, String> = copied.map(|(name, value)| (name.clone(), value.clone())).collect();
    let next = sets.old.iter().map(|set| of(set)).max().unwrap_or(0) + 1;
    let own = sets.new.map_or(0, |set| of(set));
    if own >= next {
        wanted.insert(REVISION.into(), own.to_string());
        return wanted;
    }
    wanted.insert(REVISION.into(), next.to_string());
    if own > 0
        && let Some(set) = sets.new
    {
        let before = set.annotations().get(HISTORY).map(|history| format!("{history},")).unwrap_or_default();
        wanted.insert(HISTORY.into(), format!("{before}{own}"));
    }
    wanted
}

/// What a set is annotated with when it gets a size.
pub(super) fn size_annotations(limits: Limits) -> BTreeMap<String, String> {
    BTreeMap::from([
        (DESIRED.to_owned(), limits.wanted.to_string()),
        (MAXIMUM.to_owned(), limits.max_total().to_string()),
    ])
}

/// The ReplicaSet of a Deployment's template.
pub(super) fn new_set(deployment: &Deployment, size: i32, sets: &Sets<'_>) -> Option<ReplicaSet> {
    let spec = deployment.spec.as_ref()?;
    let collisions = deployment.status.as_ref().and_then(|status| status.collision_count);
    let hash = template::hash(&spec.template, collisions);
    let mut template = spec.template.clone();
    let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
    labels.insert(HASH_LABEL.into(), hash.clone());
    let labels = labels.clone();
    let mut selector: LabelSelector = spec.selector.clone();
    selector.match_labels.get_or_insert_default().insert(HASH_LABEL.into(), hash.clone());
    let mut annotations = annotations(deployment, sets);
    annotations.extend(size_annotations(Limits::of(deployment)));
    Some(ReplicaSet {
        metadata: ObjectMeta {
            name: Some(format!("{}-{hash}", deployment.name_any())),
            namespace: deployment.namespace(),
            labels: Some(labels),
            annotations: Some(annotations),
            owner_references: Some(template::owned_by(deployment)),
            ..ObjectMeta::default()
        },
        spec: Some(ReplicaSetSpec {
            replicas: Some(size),
            min_ready_seconds: spec.min_ready_seconds,
            selector,
            template: Some(template),
        }),
        status: None,
    })
}
