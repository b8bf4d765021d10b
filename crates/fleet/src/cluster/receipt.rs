//! What existed when a cluster was deleted, and when it was gone.

use butler_api::butler::tenant_cluster::TenantCluster;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::{Resource, ResourceExt};
use serde::{Deserialize, Serialize};

use super::observed::Observed;
use crate::names;
use crate::names::MANAGER;

/// The reason of the Event that carries the receipt.
pub const REASON: &str = "Deleted";
/// More names than this make a message that nobody reads; the annotation has them all.
const NAMED: usize = 8;

/// More entries than this are not written down: annotations have a limit of their own.
const MOST: usize = 1000;

/// What existed, what was removed, when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// When deletion began.
    pub began: String,
    /// When everything was gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// What existed, as kind and name. All of it is gone once `ended` is there.
    pub removed: Vec<String>,
}

/// What there is now.
pub(crate) fn record(observed: &Observed) -> Receipt {
    let mut removed = Vec::new();
    let mut add = |kind: &str, name: String| removed.push(format!("{kind} {name}"));
    observed.addons.iter().for_each(|addon| add("TenantAddon", addon.name_any()));
    observed.deployments.keys().for_each(|name| add("MachineDeployment", name.clone()));
    for machine in &observed.machines {
        let id = machine.spec.provider_id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
        add("Machine", format!("{}{id}", machine.name_any()));
    }
    observed.checks.keys().for_each(|name| add("MachineHealthCheck", name.clone()));
    let kind = if observed.standalone.is_some() { "KubeadmControlPlane" } else { "StewardControlPlane" };
    observed.control_plane.iter().for_each(|plane| add(kind, plane.name_any()));
    observed.hosted.iter().for_each(|plane| add("TenantControlPlane", plane.name_any()));
    observed.capi.iter().for_each(|cluster| add("Cluster", cluster.name_any()));
    if let Some(infrastructure) = &observed.infrastructure {
        let kind = infrastructure.types.as_ref().map_or("infrastructure", |types| types.kind.as_str());
        add(kind, infrastructure.name_any());
    }
    observed.allocations.iter().for_each(|allocation| add("IPAllocation", allocation.name_any()));
    observed.published.iter().chain(&observed.published_viewer).for_each(|secret| add("Secret", secret.name_any()));
    observed.namespace.iter().for_each(|namespace| add("Namespace", namespace.name_any()));
    Receipt { began: to_the_second(observed.now), ended: None, removed }
}

/// What is on record, with what is being removed inside the cluster; nothing when that is on record already.
pub(crate) fn with_contents(cluster: &TenantCluster, contents: &[String]) -> Option<String> {
    let mut receipt: Receipt = serde_json::from_str(cluster.annotations().get(names::RECEIPT)?).ok()?;
    let before = receipt.removed.len();
    for what in contents {
        if receipt.removed.len() < MOST && !receipt.removed.contains(what) {
            receipt.removed.push(what.clone());
        }
    }
    (receipt.removed.len() > before).then(|| serde_json::to_string(&receipt).ok()).flatten()
}

/// The Event that tells of it. Its name is the same every time, so that it is written once.
pub(crate) fn event(cluster: &TenantCluster, now: Timestamp) -> Event {
    let recorded = cluster.annotations().get(names::RECEIPT);
    let receipt = recorded.and_then(|text| serde_json::from_str::<Receipt>(text).ok());
    let receipt = receipt.unwrap_or_else(|| Receipt { began: to_the_second(now), ended: None, removed: Vec::new() });
    let receipt = Receipt { ended: Some(to_the_second(now)), ..receipt };
    let more = receipt.removed.len().saturating_sub(NAMED);
    let mut names = receipt.removed.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 {
        names.push_str(&format!(" and {more} more"));
    }
    let message = format!("everything of the cluster is removed: {names}");
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.deleted", names::internals(cluster))),
            namespace: cluster.namespace(),
            annotations: serde_json::to_string(&receipt).ok().map(|text| [(names::RECEIPT.to_owned(), text)].into()),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            api_version: Some(TenantCluster::api_version(&()).into_owned()),
            kind: Some(TenantCluster::kind(&()).into_owned()),
            name: cluster.metadata.name.clone(),
            namespace: cluster.namespace(),
            uid: cluster.uid(),
            ..ObjectReference::default()
        },
        reason: Some(REASON.to_owned()),
        message: Some(message),
        type_: Some("Normal".to_owned()),
        count: Some(1),
        first_timestamp: Some(Time(now)),
        last_timestamp: Some(Time(now)),
        source: Some(EventSource { component: Some(MANAGER.to_owned()), host: None }),
        reporting_component: Some(MANAGER.to_owned()),
        reporting_instance: Some(MANAGER.to_owned()),
        ..Event::default()
    }
}

fn to_the_second(now: Timestamp) -> String {
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_made_inside_is_written_down_once() {
        let cluster = |removed: &[&str]| -> TenantCluster {
            let receipt = json!({"began": "2026-01-01T00:00:00Z", "removed": removed}).to_string();
            serde_json::from_value(json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster", "spec": {},
                "metadata": {"name": "c", "annotations": {names::RECEIPT: receipt}},
            }))
            .unwrap()
        };
        let (service, claim) = ("Service web/front".to_owned(), "PersistentVolumeClaim web/data".to_owned());
        let inside = [service.clone(), claim];
        let written = |removed: &[&str]| {
            let text = with_contents(&cluster(removed), &inside)?;
            Some(serde_json::from_str::<Receipt>(&text).unwrap().removed)
        };
        let all = ["Cluster c", "Service web/front", "PersistentVolumeClaim web/data"];
        assert_eq!(written(&["Cluster c"]).unwrap(), all);
        assert_eq!(written(&["Cluster c", &service]).unwrap(), all);
        assert_eq!(written(&all), None);
    }
}
