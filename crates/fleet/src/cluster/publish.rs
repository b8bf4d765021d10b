//! The kubeconfigs, where the team finds them.

use butler_api::shared::{Blocker, BlockerOwner};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt};

use super::observed::Observed;
use crate::blockers::blocker;
use crate::names;

/// The Secrets to write. What stands in their place and is somebody else's is never touched.
pub(super) fn secrets(observed: &Observed) -> impl Iterator<Item = Secret> {
    let cluster = &observed.cluster;
    let team = observed.team.as_ref().map(|team| team.name_any());
    let name = observed.name();
    let all = [
        (names::kubeconfig(&name), &observed.kubeconfig),
        (names::viewer_kubeconfig(&name), &observed.viewer_kubeconfig),
    ];
    let free = all.into_iter().filter(|(name, _)| !observed.taken_secrets.contains(name));
    free.filter_map(move |(name, kubeconfig)| {
        Some(Secret {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: cluster.namespace(),
                labels: Some(names::labels_of(cluster, team.as_deref())),
                owner_references: Some(cluster.controller_owner_ref(&()).into_iter().collect()),
                ..ObjectMeta::default()
            },
            type_: Some("Opaque".to_owned()),
            data: Some([("value".to_owned(), kubeconfig.clone()?)].into()),
            ..Secret::default()
        })
    })
}

/// What stands in their place.
pub(super) fn taken(observed: &Observed) -> impl Iterator<Item = Blocker> {
    observed.taken_secrets.iter().map(|name| {
        blocker(
            "SecretNameTaken",
            format!(
                "Secret {name} is there already, and is somebody else's, so the kubeconfig cannot be written there"
            ),
            BlockerOwner::User,
            format!("save what is in Secret {name} under another name, and delete it"),
        )
    })
}

/// Whether a Secret belongs to the cluster of this UID.
pub(super) fn is_owned(secret: &Secret, uid: Option<&String>) -> bool {
    secret.owner_references().iter().any(|owner| Some(&owner.uid) == uid)
}
