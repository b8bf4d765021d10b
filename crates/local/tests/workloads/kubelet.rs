//! A pretend kubelet for all nodes: pods that are bound run at once, pods that are deleted end at once.

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

/// Pods with this label end by themselves in the phase it names.
pub(crate) const ENDS: &str = "ends";
/// Pods with this label never become ready.
pub(crate) const STUCK: &str = "stuck";

pub(crate) async fn run(client: Client) {
    let pods: Api<Pod> = Api::all(client.clone());
    let events = watcher(pods, watcher::Config::default());
    futures::pin_mut!(events);
    let mut addresses = 0_u32;
    while let Some(event) = events.next().await {
        let (Ok(Event::Apply(pod)) | Ok(Event::InitApply(pod))) = event else { continue };
        let bound = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
        let api: Api<Pod> = Api::namespaced(client.clone(), &pod.namespace().unwrap());
        if pod.metadata.deletion_timestamp.is_some() {
            // Somebody else may have been faster.
            let _ = api.delete(&pod.name_any(), &DeleteParams::default().grace_period(0)).await;
        } else if bound && phase(&pod) == "Pending" {
            addresses += 1;
            let status = status(&pod, addresses);
            let _ = api.patch_status(&pod.name_any(), &PatchParams::default(), &Patch::Strategic(status)).await;
        }
    }
}

fn phase(pod: &Pod) -> String {
    pod.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default()
}

fn status(pod: &Pod, address: u32) -> Value {
    let now = jiff::Timestamp::from_second(jiff::Timestamp::now().as_second()).unwrap().to_string();
    if let Some(phase) = pod.labels().get(ENDS) {
        return json!({"status": {"phase": phase}});
    }
    let ready = if pod.labels().contains_key(STUCK) { "False" } else { "True" };
    json!({"status": {
        "phase": "Running",
        "podIP": format!("10.1.{}.{}", address / 250, address % 250 + 1),
        "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": now}],
    }})
}
