//! Why pods do not run: what the status of their workload does not say. Pure.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;
use kube::core::{DynamicObject, Selector};

/// Which pods are a workload's.
pub(super) fn selector(workload: &DynamicObject) -> Option<Selector> {
    workload.data.pointer("/spec/template")?;
    let selector = workload.data.pointer("/spec/selector")?.clone();
    serde_json::from_value::<LabelSelector>(selector).ok()?.try_into().ok()
}

/// What keeps pods from running; of several, what lasts the longest if nobody does anything.
pub(super) fn worst(pods: &[Pod]) -> Option<String> {
    let stay = pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
    stay.filter_map(trouble).min_by_key(|(rank, _)| *rank).map(|(_, told)| told)
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Unschedulable,
    Crash,
    Image,
}

fn trouble(pod: &Pod) -> Option<(Rank, String)> {
    let (name, status) = (pod.name_any(), pod.status.as_ref()?);
    let is_unscheduled = status.conditions.iter().flatten().find(|known| {
        known.type_ == "PodScheduled" && known.status == "False" && known.reason.as_deref() == Some("Unschedulable")
    });
    if let Some(known) = is_unscheduled {
        let why = known.message.as_deref().map(|why| why.trim_end_matches('.')).filter(|why| !why.is_empty());
        let why = why.map(|why| format!(": {why}"));
        return Some((Rank::Unschedulable, format!("pod {name} cannot be scheduled{}", why.unwrap_or_default())));
    }
    let containers = status.init_container_statuses.iter().chain(&status.container_statuses).flatten();
    containers.filter_map(|container| of_container(&name, container)).min_by_key(|(rank, _)| *rank)
}

fn of_container(pod: &str, status: &ContainerStatus) -> Option<(Rank, String)> {
    let waiting = status.state.as_ref()?.waiting.as_ref()?;
    let name = &status.name;
    match waiting.reason.as_deref()? {
        "CrashLoopBackOff" => {
            let ended = status.last_state.as_ref().and_then(|last| last.terminated.as_ref());
            let code = ended.map(|ended| format!(" with exit code {}", ended.exit_code)).unwrap_or_default();
            Some((Rank::Crash, format!("container {name} of pod {pod} ends again and again{code}")))
        }
        reason @ ("ImagePullBackOff" | "ErrImagePull" | "InvalidImageName" | "ErrImageNeverPull") => {
            let image = &status.image;
            Some((Rank::Image, format!("image {image} of pod {pod} cannot be pulled ({reason})")))
        }
        reason @ ("CreateContainerConfigError" | "CreateContainerError" | "RunContainerError") => {
            let why = waiting.message.as_deref().unwrap_or(reason);
            Some((Rank::Crash, format!("container {name} of pod {pod} cannot be started: {why}")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(name: &str, status: Value) -> Pod {
        serde_json::from_value(json!({"metadata": {"name": name}, "status": status})).unwrap()
    }

    #[test]
    fn the_worst_is_told() {
        let container = |state: Value, last: Value| {
            let status = json!({"name": "c", "image": "i:1", "imageID": "", "ready": false, "restartCount": 0,
                "state": state, "lastState": last});
            json!({"phase": "Pending", "containerStatuses": [status]})
        };
        let waits = |reason: &str| json!({"waiting": {"reason": reason, "message": "why"}});
        let runs = pod("runs", container(json!({"running": {}}), json!({})));
        let starts = pod("starts", container(waits("ContainerCreating"), json!({})));
        let image = pod("image", container(waits("ImagePullBackOff"), json!({})));
        let crash = pod("crash", container(waits("CrashLoopBackOff"), json!({"terminated": {"exitCode": 3}})));
        let config = pod("config", container(waits("CreateContainerConfigError"), json!({})));
        let condition = |reason: &str| json!({"type": "PodScheduled", "status": "False", "reason": reason, "message": "0/1 nodes fit."});
        let homeless = pod("homeless", json!({"conditions": [condition("Unschedulable")]}));
        let gated = pod("gated", json!({"conditions": [condition("SchedulingGated")]}));
        let mut leaving = homeless.clone();
        leaving.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        for (pods, expected) in [
            (vec![], None),
            (vec![&runs, &starts, &gated, &leaving], None),
            (vec![&runs, &image], Some("image i:1 of pod image cannot be pulled (ImagePullBackOff)")),
            (vec![&image, &crash], Some("container c of pod crash ends again and again with exit code 3")),
            (vec![&config], Some("container c of pod config cannot be started: why")),
            (vec![&image, &crash, &homeless], Some("pod homeless cannot be scheduled: 0/1 nodes fit")),
        ] {
            let pods: Vec<Pod> = pods.into_iter().cloned().collect();
            assert_eq!(worst(&pods).as_deref(), expected);
        }
    }

    #[test]
    fn pods_are_found_by_what_their_workload_selects() {
        let object = |spec: Value| -> DynamicObject {
            serde_json::from_value(json!({"metadata": {"name": "a"}, "spec": spec})).unwrap()
        };
        let workload = object(json!({"selector": {"matchLabels": {"a": "b"}}, "template": {}}));
        assert_eq!(selector(&workload).map(|selector| selector.to_string()).as_deref(), Some("a=b"));
        assert!(selector(&object(json!({"selector": {"a": "b"}}))).is_none());
    }
}
