//! ControllerRevisions: what the templates of StatefulSets and DaemonSets were.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use kube::core::ObjectMeta;
use kube::{Resource, ResourceExt};
use runtime::Failure;
use serde_json::{Value, json};

use super::template::{hash_of, owned_by};
use crate::objects::Objects;

/// The revision a pod was made from.
pub(super) const LABEL: &str = "controller-revision-hash";
const HASH: &str = "controller.kubernetes.io/hash";

/// What has to be done for the template of today to be the latest revision.
#[derive(Debug)]
enum Step {
    Nothing(Arc<ControllerRevision>),
    /// One from before is the latest again.
    Renumber(Arc<ControllerRevision>, i64),
    Create(Box<ControllerRevision>),
}

/// The template as a patch that `kubectl rollout undo` applies.
fn data(template: &PodTemplateSpec) -> Value {
    let mut template = serde_json::to_value(template).unwrap_or_default();
    template["$patch"] = "replace".into();
    json!({"spec": {"template": template}})
}

/// The template that a revision stands for.
pub(super) fn template(revision: &ControllerRevision) -> Option<PodTemplateSpec> {
    let data = &revision.data.as_ref()?.0;
    serde_json::from_value(data.pointer("/spec/template")?.clone()).ok()
}

/// The hash in a revision's name.
pub(super) fn hash(revision: &ControllerRevision) -> String {
    revision.labels().get(HASH).cloned().unwrap_or_default()
}

fn step<O: Resource<DynamicType = ()>>(
    owner: &O,
    template: &PodTemplateSpec,
    collisions: Option<i32>,
    known: &[Arc<ControllerRevision>],
) -> Step {
    let wanted = data(template);
    let latest = known.iter().map(|revision| revision.revision).max().unwrap_or(0);
    let same = known.iter().filter(|revision| revision.data.as_ref().is_some_and(|data| data.0 == wanted));
    if let Some(same) = same.max_by_key(|revision| revision.revision) {
        return match same.revision == latest {
            true => Step::Nothing(Arc::clone(same)),
            false => Step::Renumber(Arc::clone(same), latest + 1),
        };
    }
    let hash = hash_of(wanted.to_string().as_bytes(), collisions);
    let mut labels = template.metadata.as_ref().and_then(|meta| meta.labels.clone()).unwrap_or_default();
    labels.insert(HASH.into(), hash.clone());
    Step::Create(Box::new(ControllerRevision {
        metadata: ObjectMeta {
            name: Some(format!("{}-{hash}", owner.name_any())),
            namespace: owner.namespace(),
            labels: Some(labels),
            owner_references: Some(owned_by(owner)),
            ..ObjectMeta::default()
        },
        data: Some(RawExtension(wanted)),
        revision: latest + 1,
    }))
}

/// The revision of the template of today, made if there is none.
pub(super) async fn latest<O: Resource<DynamicType = ()>>(
    revisions: &Objects<ControllerRevision>,
    owner: &O,
    template: &PodTemplateSpec,
    collisions: Option<i32>,
) -> Result<Arc<ControllerRevision>, Failure> {
    let known = revisions.owned_by(&owner.uid().unwrap_or_default());
    match step(owner, template, collisions, &known) {
        Step::Nothing(revision) => Ok(revision),
        Step::Renumber(revision, number) => revisions.patch(&revision, json!({"revision": number})).await.map(Arc::new),
        Step::Create(revision) => revisions.create(&revision).await.map(Arc::new),
    }
}

/// Deletes the oldest revisions beyond the limit, except those in use.
pub(super) async fn forget(
    revisions: &Objects<ControllerRevision>,
    owner_uid: &str,
    limit: Option<i32>,
    in_use: impl Fn(&ControllerRevision) -> bool,
) -> Result<(), Failure> {
    // Kubernetes' own default.
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(10);
    let mut unused: Vec<_> = revisions.owned_by(owner_uid).into_iter().filter(|revision| !in_use(revision)).collect();
    unused.sort_by_key(|revision| revision.revision);
    let excess = unused.len().saturating_sub(limit);
    for revision in unused.into_iter().take(excess) {
        revisions.delete(&revision, None).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::DaemonSet;

    use super::*;

    fn a_template(version: &str) -> PodTemplateSpec {
        serde_json::from_value(json!({"metadata": {"labels": {"version": version}}})).unwrap()
    }

    #[test]
    fn every_template_has_a_revision_and_the_latest_number_when_it_comes_back() {
        let owner: DaemonSet =
            serde_json::from_value(json!({"metadata": {"name": "d", "namespace": "n", "uid": "u"}})).unwrap();
        let mut known: Vec<Arc<ControllerRevision>> = Vec::new();
        for version in ["1", "2"] {
            let Step::Create(made) = step(&owner, &a_template(version), None, &known) else { panic!("not made") };
            assert_eq!(template(&made), Some(a_template(version)));
            assert_eq!(made.name_any(), format!("d-{}", hash(&made)));
            known.push(Arc::from(made));
        }
        assert!(matches!(step(&owner, &a_template("2"), None, &known), Step::Nothing(same) if same.revision == 2));
        assert!(matches!(step(&owner, &a_template("1"), None, &known), Step::Renumber(old, 3) if old.revision == 1));
    }
}
