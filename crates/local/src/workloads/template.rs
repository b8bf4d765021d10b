//! Pods and names made from pod templates.

use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;
use kube::core::ObjectMeta;

/// The label by which the pods of a Deployment's ReplicaSets are told apart.
pub(super) const HASH_LABEL: &str = "pod-template-hash";
/// Letters and digits that form no words and are not mistaken for each other.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// A pod of a template, with a name of its own beginning with that of its owner.
pub(super) fn pod<K: Resource<DynamicType = ()>>(template: &PodTemplateSpec, owner: &K) -> Pod {
    let given = template.metadata.clone().unwrap_or_default();
    let metadata = ObjectMeta {
        generate_name: owner.meta().name.as_ref().map(|name| format!("{name}-")),
        namespace: owner.meta().namespace.clone(),
        labels: given.labels,
        annotations: given.annotations,
        finalizers: given.finalizers,
        owner_references: Some(owned_by(owner)),
        ..ObjectMeta::default()
    };
    Pod { metadata, spec: template.spec.clone(), status: None }
}

/// The reference to the one controller of an object.
pub(crate) fn owned_by<K: Resource<DynamicType = ()>>(owner: &K) -> Vec<OwnerReference> {
    owner
        .controller_owner_ref(&())
        .map(|reference| OwnerReference { block_owner_deletion: Some(true), ..reference })
        .into_iter()
        .collect()
}

/// A short name for the content of a template; other collisions give other names.
pub(super) fn hash(template: &PodTemplateSpec, collisions: Option<i32>) -> String {
    hash_of(serde_json::to_string(template).unwrap_or_default().as_bytes(), collisions)
}

/// A short name for a content, in characters that may stand in a label.
pub(crate) fn hash_of(content: &[u8], collisions: Option<i32>) -> String {
    let collisions = collisions.map(i32::to_le_bytes);
    let bytes = content.iter().chain(collisions.iter().flatten());
    // FNV-1a: stable across versions of this program, unlike the hashes of the standard library.
    let digest = bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    safe_text(&digest.to_string())
}

/// The same text in characters that form no words.
fn safe_text(text: &str) -> String {
    text.bytes().filter_map(|byte| ALPHABET.get(usize::from(byte) % ALPHABET.len())).map(|byte| *byte as char).collect()
}

/// Whether two templates make the same pods, whatever hash they carry.
pub(super) fn same(one: &PodTemplateSpec, other: &PodTemplateSpec) -> bool {
    one.spec == other.spec && without_hash(one) == without_hash(other)
}

fn without_hash(template: &PodTemplateSpec) -> ObjectMeta {
    let mut meta = template.metadata.clone().unwrap_or_default();
    if let Some(labels) = &mut meta.labels {
        labels.remove(HASH_LABEL);
    }
    // What is empty and what is missing are the same.
    meta.labels = meta.labels.filter(|labels| !labels.is_empty());
    meta.annotations = meta.annotations.filter(|annotations| !annotations.is_empty());
    meta.creation_timestamp = None;
    meta
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn template(label: &str, hash: Option<&str>) -> PodTemplateSpec {
        let mut labels = json!({"app": label});
        if let Some(hash) = hash {
            labels[HASH_LABEL] = hash.into();
        }
        serde_json::from_value(json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a"}]}}))
            .unwrap()
    }

    #[test]
    fn hashes_name_contents_and_collisions() {
        let (a, b) = (template("a", None), template("b", None));
        assert_eq!(hash(&a, None), hash(&a.clone(), None));
        assert_ne!(hash(&a, None), hash(&b, None));
        assert_ne!(hash(&a, None), hash(&a, Some(1)));
        assert!(hash(&a, None).bytes().all(|byte| ALPHABET.contains(&byte)));
    }

    #[test]
    fn the_hash_makes_no_difference() {
        assert!(same(&template("a", None), &template("a", Some("x"))));
        assert!(!same(&template("a", None), &template("b", None)));
    }
}
