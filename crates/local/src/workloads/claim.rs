//! Which objects belong to a controller: those it made, and those nobody controls that it selects.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, OwnerReference};
use kube::core::{Selector, SelectorExt};
use kube::{Resource, ResourceExt};
use runtime::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::template::owned_by;
use crate::objects::Objects;

/// A selector ready to match. One that cannot be read selects nothing.
pub(super) fn selector(selector: &LabelSelector) -> Option<Selector> {
    let empty = selector.match_labels.as_ref().is_none_or(|labels| labels.is_empty())
        && selector.match_expressions.as_ref().is_none_or(|expressions| expressions.is_empty());
    if empty { None } else { Selector::try_from(selector.clone()).ok() }
}

/// What has to change for an object to belong where it should.
#[derive(Debug, PartialEq, Eq)]
enum Bond {
    Owned,
    Adopt,
    Release,
    Foreign,
}

fn bond<K: Resource, O: Resource>(object: &K, owner: &O, selector: &Selector) -> Bond {
    let matches = selector.matches(object.labels());
    match controller(object) {
        Some(reference) if Some(&reference.uid) == owner.meta().uid.as_ref() => match matches {
            true => Bond::Owned,
            false => Bond::Release,
        },
        Some(_) => Bond::Foreign,
        None if !matches || is_leaving(object) || is_leaving(owner) => Bond::Foreign,
        None => Bond::Adopt,
    }
}

/// The reference to the controller of an object.
pub(super) fn controller<K: Resource>(object: &K) -> Option<&OwnerReference> {
    object.owner_references().iter().find(|reference| reference.controller == Some(true))
}

fn is_leaving<K: Resource>(object: &K) -> bool {
    object.meta().deletion_timestamp.is_some()
}

/// The objects of a kind that belong to `owner`, after adopting and releasing what has to be.
pub(super) async fn claim<K, O>(objects: &Objects<K>, owner: &O, selector: &Selector) -> Result<Vec<Arc<K>>, Failure>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Serialize + DeserializeOwned + Send + Sync + 'static,
    O: Resource<DynamicType = ()>,
{
    let mut owned = Vec::new();
    for object in objects.in_namespace(owner.meta().namespace.as_deref().unwrap_or_default()) {
        match bond(&*object, owner, selector) {
            Bond::Owned => owned.push(object),
            Bond::Foreign => {}
            Bond::Adopt => {
                let references: Vec<_> = object.owner_references().iter().cloned().chain(owned_by(owner)).collect();
                let adopted = objects.patch(&object, json!({"metadata": {"ownerReferences": references}})).await?;
                owned.push(Arc::new(adopted));
            }
            Bond::Release => {
                let references: Vec<_> = object
                    .owner_references()
                    .iter()
                    .filter(|known| Some(&known.uid) != owner.meta().uid.as_ref())
                    .collect();
                objects.patch(&object, json!({"metadata": {"ownerReferences": references}})).await?;
            }
        }
    }
    Ok(owned)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::Value;

    use super::*;

    #[test]
    fn objects_belong_to_whoever_controls_and_selects_them() {
        let owner: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "o", "uid": "1"}})).unwrap();
        let selected = selector(&serde_json::from_value(json!({"matchLabels": {"app": "a"}})).unwrap()).unwrap();
        let by =
            |uid: &str| json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uid, "controller": true}]);
        let (matching, other) = (json!({"app": "a"}), json!({"app": "b"}));
        for (labels, owners, deleted, expected) in [
            (&matching, by("1"), false, Bond::Owned),
            (&other, by("1"), false, Bond::Release),
            (&matching, by("2"), false, Bond::Foreign),
            (&matching, json!([]), false, Bond::Adopt),
            (&matching, json!([]), true, Bond::Foreign),
            (&other, json!([]), false, Bond::Foreign),
        ] {
            let deleted = if deleted { json!("2030-01-01T00:00:00Z") } else { Value::Null };
            let meta = json!({"labels": labels, "ownerReferences": owners, "deletionTimestamp": deleted});
            let object: ConfigMap = serde_json::from_value(json!({"metadata": meta})).unwrap();
            assert_eq!(bond(&object, &owner, &selected), expected, "{object:?}");
        }
    }

    #[test]
    fn an_empty_selector_selects_nothing() {
        assert!(selector(&LabelSelector::default()).is_none());
    }
}
