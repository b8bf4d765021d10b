//! The names of a StatefulSet's pods and claims, which outlive them.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Pod, PodTemplateSpec, Volume,
};
use kube::ResourceExt;
use kube::core::ObjectMeta;

use crate::workloads::revisions;
use crate::workloads::template::{self, owned_by};

const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

/// The number of a pod, by its name.
pub(super) fn ordinal(set: &StatefulSet, pod: &Pod) -> Option<i32> {
    let name = pod.name_any();
    let (parent, number) = name.rsplit_once('-')?;
    if parent == set.name_any() { number.parse().ok() } else { None }
}

/// The pod of a number, made from a revision.
pub(super) fn pod(set: &StatefulSet, template: &PodTemplateSpec, revision: &str, ordinal: i32) -> Pod {
    let name = format!("{}-{ordinal}", set.name_any());
    let mut pod = template::pod(template, set);
    pod.metadata.generate_name = Some(format!("{}-", set.name_any()));
    pod.metadata.name = Some(name.clone());
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(POD_NAME.into(), name.clone());
    labels.insert(POD_INDEX.into(), ordinal.to_string());
    labels.insert(revisions::LABEL.into(), revision.to_owned());
    let spec = pod.spec.get_or_insert_default();
    spec.hostname = Some(name);
    spec.subdomain = set.spec.as_ref().and_then(|spec| spec.service_name.clone());
    let claimed: Vec<Volume> = templates(set).map(|claim| volume(set, claim, ordinal)).collect();
    if !claimed.is_empty() {
        let volumes = spec.volumes.get_or_insert_default();
        volumes.retain(|volume| claimed.iter().all(|claimed| claimed.name != volume.name));
        volumes.splice(0..0, claimed);
    }
    pod
}

fn templates(set: &StatefulSet) -> impl Iterator<Item = &PersistentVolumeClaim> {
    set.spec.iter().flat_map(|spec| spec.volume_claim_templates.iter().flatten())
}

fn claim_name(set: &StatefulSet, template: &PersistentVolumeClaim, ordinal: i32) -> String {
    format!("{}-{}-{ordinal}", template.name_any(), set.name_any())
}

fn volume(set: &StatefulSet, template: &PersistentVolumeClaim, ordinal: i32) -> Volume {
    let source = PersistentVolumeClaimVolumeSource { claim_name: claim_name(set, template, ordinal), read_only: None };
    Volume { name: template.name_any(), persistent_volume_claim: Some(source), ..Volume::default() }
}

/// The claims of the pod of a number.
pub(super) fn claims(set: &StatefulSet, ordinal: i32) -> Vec<PersistentVolumeClaim> {
    let spec = set.spec.as_ref();
    let selected = spec.and_then(|spec| spec.selector.match_labels.clone()).unwrap_or_default();
    let policy = spec.and_then(|spec| spec.persistent_volume_claim_retention_policy.as_ref());
    let goes_with_set = policy.and_then(|policy| policy.when_deleted.as_deref()) == Some("Delete");
    let claim = |template: &PersistentVolumeClaim| {
        let mut labels = template.labels().clone();
        labels.extend(selected.clone());
        PersistentVolumeClaim {
            metadata: ObjectMeta {
                name: Some(claim_name(set, template, ordinal)),
                namespace: set.namespace(),
                labels: Some(labels),
                annotations: template.metadata.annotations.clone(),
                owner_references: goes_with_set.then(|| owned_by(set)),
                ..ObjectMeta::default()
            },
            spec: template.spec.clone(),
            status: None,
        }
    };
    templates(set).map(claim).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_has_its_name_and_its_claims() {
        let set: StatefulSet = serde_json::from_value(json!({
            "metadata": {"name": "db", "namespace": "d", "uid": "u"},
            "spec": {"serviceName": "dbs", "selector": {"matchLabels": {"app": "db"}}, "template": {},
                "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]}}))
        .unwrap();
        let template: PodTemplateSpec = serde_json::from_value(json!({"metadata": {"labels": {"app": "db"}}, "spec": {
            "containers": [], "volumes": [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]}}))
        .unwrap();
        let pod = pod(&set, &template, "db-1", 2);
        assert_eq!(ordinal(&set, &pod), Some(2));
        let pod = serde_json::to_value(pod).unwrap();
        assert_eq!(
            pod["metadata"]["labels"],
            json!({"app": "db", POD_NAME: "db-2", POD_INDEX: "2", "controller-revision-hash": "db-1"})
        );
        assert_eq!((&pod["spec"]["hostname"], &pod["spec"]["subdomain"]), (&json!("db-2"), &json!("dbs")));
        assert_eq!(
            pod["spec"]["volumes"],
            json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-2"}}, {"name": "tmp", "emptyDir": {}}])
        );
        let claims = claims(&set, 2);
        assert_eq!((claims[0].name_any().as_str(), claims[0].labels()["app"].as_str()), ("data-db-2", "db"));
        assert_eq!(claims[0].metadata.owner_references, None);
    }
}
