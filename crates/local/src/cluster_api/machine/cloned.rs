//! What templates make.

use capi::ObjectReference;
use capi::core::Machine;
use capi::names::{annotations, labels};
use kube::ResourceExt;
use kube::api::{DynamicObject, ObjectMeta, TypeMeta};
use serde_json::{Value, json};

use crate::cluster_api::external::field;
use crate::workloads::template::owned_by;

/// The object that a template makes for a machine: of the kind without `Template`, under the machine's name.
pub(super) fn clone_of(template: &DynamicObject, reference: &ObjectReference, machine: &Machine) -> DynamicObject {
    let kind = reference.kind.clone().unwrap_or_default();
    let api_version = reference.api_version.clone().unwrap_or_default();
    let group = api_version.split_once('/').map(|(group, _)| group).unwrap_or_default();
    let given = |what: &str| -> Vec<(String, String)> {
        let found = field(template, &format!("/spec/template/metadata/{what}")).and_then(Value::as_object);
        found
            .into_iter()
            .flatten()
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect()
    };
    let own = [
        (annotations::CLONED_FROM_NAME, reference.name.clone().unwrap_or_default()),
        (annotations::CLONED_FROM_GROUP_KIND, format!("{kind}.{group}")),
    ];
    let mut all_labels = machine.labels().clone();
    all_labels.extend(given("labels"));
    all_labels.insert(labels::CLUSTER_NAME.into(), machine.spec.cluster_name.clone());
    let annotations = given("annotations").into_iter().chain(own.map(|(name, value)| (name.to_owned(), value)));
    DynamicObject {
        types: Some(TypeMeta { api_version, kind: kind.strip_suffix("Template").unwrap_or(&kind).to_owned() }),
        metadata: ObjectMeta {
            name: machine.metadata.name.clone(),
            namespace: machine.metadata.namespace.clone(),
            labels: Some(all_labels),
            annotations: Some(annotations.collect()),
            owner_references: Some(owned_by(machine)),
            ..ObjectMeta::default()
        },
        data: json!({"spec": field(template, "/spec/template/spec").cloned().unwrap_or_else(|| json!({}))}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_says_what_it_was_made_from_and_for() {
        let template: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "i.io/v1", "kind": "LocalMachineTemplate", "metadata": {"name": "t"},
            "spec": {"template": {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": {"cpu": 4}}},
        }))
        .unwrap();
        let machine: Machine = serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
            "metadata": {"name": "m", "namespace": "n", "uid": "1", "labels": {"x": "y"}},
            "spec": {"clusterName": "c", "infrastructureRef": {}},
        }))
        .unwrap();
        let made = clone_of(&template, &ObjectReference::new("i.io/v1", "LocalMachineTemplate", "t"), &machine);
        assert_eq!(made.types.as_ref().unwrap().kind, "LocalMachine");
        assert_eq!(json!(made.labels()), json!({"a": "b", "x": "y", labels::CLUSTER_NAME: "c"}));
        let expected = json!({"c": "d", annotations::CLONED_FROM_NAME: "t",
            annotations::CLONED_FROM_GROUP_KIND: "LocalMachineTemplate.i.io"});
        assert_eq!(json!(made.annotations()), expected);
        assert_eq!((made.name_any().as_str(), &made.data["spec"]), ("m", &json!({"cpu": 4})));
        assert_eq!(made.owner_references()[0].uid, "1");
    }
}
