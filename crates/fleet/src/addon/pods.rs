//! Why pods do not run: what the status of their workload does not say. Pure.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;
use kube::core::{DynamicObject, Selector};

use super::eyes::Mark;

/// A container that has run for so long is started again without delay: to the kubelet too it has stopped crashing.
const CALM: Duration = Duration::from_secs(600);
/// One that is ready is believed sooner. Without a probe it is ready also while it is about to crash.
const CALM_IF_READY: Duration = Duration::from_secs(60);

/// What keeps the pods of workloads, by the place of these among the objects of their addon, and what of the workload that
/// was seen with.
#[derive(Default)]
pub(super) struct Causes(HashMap<usize, (Mark, String)>);

impl Causes {
    pub(super) fn note(&mut self, workload: usize, mark: Mark, why: String) {
        self.0.insert(workload, (mark, why));
    }

    /// What keeps the pods of a workload; `unready` is what stands for it while it is not ready. What was seen before it was
    /// ready, gone or another says nothing of today, and is forgotten.
    pub(super) fn of(&mut self, workload: usize, unready: Option<&Mark>) -> Option<&str> {
        if self.0.get(&workload).is_some_and(|(seen, _)| Some(seen) != unready) {
            self.0.remove(&workload);
        }
        self.0.get(&workload).map(|(_, why)| why.as_str())
    }
}

/// Which pods are a workload's.
pub(super) fn selector(workload: &DynamicObject) -> Option<Selector> {
    workload.data.pointer("/spec/template")?;
    let selector = workload.data.pointer("/spec/selector")?.clone();
    serde_json::from_value::<LabelSelector>(selector).ok()?.try_into().ok()
}

/// What keeps pods from running; of several, what lasts the longest if nobody does anything.
pub(super) fn worst(pods: &[Pod], now: Timestamp) -> Option<String> {
    let stay = pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
    stay.filter_map(|pod| trouble(pod, now)).min_by_key(|(rank, _)| *rank).map(|(_, told)| told)
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Unschedulable,
    Crash,
    Image,
    /// It ended before, and is ready for the moment.
    Ready,
}

fn trouble(pod: &Pod, now: Timestamp) -> Option<(Rank, String)> {
    let (name, status) = (pod.name_any(), pod.status.as_ref()?);
    // Those that have ended for good stay where they are; what runs in their place is another pod.
    if matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")) {
        return None;
    }
    let is_unscheduled = status.conditions.iter().flatten().find(|known| {
        known.type_ == "PodScheduled" && known.status == "False" && known.reason.as_deref() == Some("Unschedulable")
    });
    if let Some(known) = is_unscheduled {
        let why = known.message.as_deref().map(|why| why.trim_end_matches('.')).filter(|why| !why.is_empty());
        let why = why.map(|why| format!(": {why}"));
        return Some((Rank::Unschedulable, format!("pod {name} cannot be scheduled{}", why.unwrap_or_default())));
    }
    let containers = status.init_container_statuses.iter().chain(&status.container_statuses).flatten();
    containers.filter_map(|container| of_container(&name, container, now)).min_by_key(|(rank, _)| *rank)
}

/// Told in the same words whichever moment of its endless tries a container is seen in.
fn of_container(pod: &str, status: &ContainerStatus, now: Timestamp) -> Option<(Rank, String)> {
    let (name, state) = (&status.name, status.state.as_ref()?);
    let last = status.last_state.as_ref().and_then(|last| last.terminated.as_ref());
    let ended = state.terminated.as_ref().or(last);
    let cannot_start = |why: &str| (Rank::Crash, format!("container {name} of pod {pod} cannot be started: {why}"));
    let ends = || match ended {
        Some(ended) if matches!(ended.reason.as_deref(), Some("StartError" | "ContainerCannotRun")) => {
            cannot_start(ended.message.as_deref().unwrap_or("its runtime does not say why"))
        }
        _ => {
            let code = ended.map(|ended| format!(" with exit code {}", ended.exit_code)).unwrap_or_default();
            (Rank::Crash, format!("container {name} of pod {pod} ends again and again{code}"))
        }
    };
    let Some(waiting) = &state.waiting else {
        // One that starts for the second time may have been restarted with its node.
        let rank = if state.running.is_some() && status.ready { Rank::Ready } else { Rank::Crash };
        let is_told = status.restart_count > 1 && ended.is_some() && !is_over(status, now);
        return is_told.then(|| (rank, ends().1));
    };
    match waiting.reason.as_deref()? {
        "CrashLoopBackOff" => Some(ends()),
        "RunContainerError" if ended.is_some() => Some(ends()),
        "ImagePullBackOff" | "ErrImagePull" => {
            Some((Rank::Image, format!("image {} of pod {pod} cannot be pulled", status.image)))
        }
        reason @ ("InvalidImageName" | "ErrImageNeverPull") => {
            Some((Rank::Image, format!("image {} of pod {pod} cannot be pulled ({reason})", status.image)))
        }
        reason @ ("CreateContainerConfigError" | "CreateContainerError" | "RunContainerError") => {
            Some(cannot_start(waiting.message.as_deref().unwrap_or(reason)))
        }
        _ => None,
    }
}

/// Whether a container that ended before does so no more: it did what it was for, or has run for long.
fn is_over(status: &ContainerStatus, now: Timestamp) -> bool {
    let Some(running) = status.state.as_ref().and_then(|state| state.running.as_ref()) else { return status.ready };
    let calm = if status.ready { CALM_IF_READY } else { CALM };
    running.started_at.as_ref().is_some_and(|started| now.duration_since(started.0).unsigned_abs() >= calm)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(name: &str, status: Value) -> Pod {
        serde_json::from_value(json!({"metadata": {"name": name}, "status": status})).unwrap()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
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
        let misnamed = pod("misnamed", container(waits("InvalidImageName"), json!({})));
        let crash = pod("crash", container(waits("CrashLoopBackOff"), json!({"terminated": {"exitCode": 3}})));
        let mut restarted =
            container(json!({"running": {"startedAt": at(999).to_string()}}), json!({"terminated": {"exitCode": 4}}));
        (restarted["containerStatuses"][0]["ready"], restarted["containerStatuses"][0]["restartCount"]) =
            (true.into(), 2.into());
        let restarted = pod("restarted", restarted);
        let config = pod("config", container(waits("CreateContainerConfigError"), json!({})));
        let condition = |reason: &str| json!({"type": "PodScheduled", "status": "False", "reason": reason, "message": "0/1 nodes fit."});
        let homeless = pod("homeless", json!({"conditions": [condition("Unschedulable")]}));
        let gated = pod("gated", json!({"conditions": [condition("SchedulingGated")]}));
        let mut leaving = homeless.clone();
        leaving.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        for (pods, expected) in [
            (vec![], None),
            (vec![&runs, &starts, &gated, &leaving], None),
            (vec![&runs, &image], Some("image i:1 of pod image cannot be pulled")),
            (vec![&misnamed], Some("image i:1 of pod misnamed cannot be pulled (InvalidImageName)")),
            (vec![&image, &crash], Some("container c of pod crash ends again and again with exit code 3")),
            // What is ready is not what keeps the others.
            (vec![&restarted, &image], Some("image i:1 of pod image cannot be pulled")),
            (vec![&restarted], Some("container c of pod restarted ends again and again with exit code 4")),
            (vec![&config], Some("container c of pod config cannot be started: why")),
            (vec![&image, &crash, &homeless], Some("pod homeless cannot be scheduled: 0/1 nodes fit")),
        ] {
            let pods: Vec<Pod> = pods.into_iter().cloned().collect();
            assert_eq!(worst(&pods, at(1000)).as_deref(), expected);
        }
    }

    #[test]
    fn what_is_tried_again_and_again_is_told_the_same_at_any_moment() {
        let waits = |reason: &str, why: &str| json!({"waiting": {"reason": reason, "message": why}});
        let runs = |second: i64| json!({"running": {"startedAt": at(second).to_string()}});
        let ended = |code: i32, reason: &str| json!({"terminated": {"exitCode": code, "reason": reason, "message": "no such file"}});
        let (crashed, unstartable) = (ended(3, "Error"), ended(128, "StartError"));
        let crash = Some("container c of pod p ends again and again with exit code 3");
        let start = Some("container c of pod p cannot be started: no such file");
        let image = Some("image i:1 of pod p cannot be pulled");
        let back_off = || waits("CrashLoopBackOff", "back-off 10s");
        for (restarts, state, last, is_ready, expected) in [
            (0, waits("ErrImagePull", "not found"), json!({}), false, image),
            (0, waits("ImagePullBackOff", "back-off"), json!({}), false, image),
            // Once may be chance.
            (0, crashed.clone(), json!({}), false, None),
            (1, runs(999), crashed.clone(), true, None),
            (1, back_off(), crashed.clone(), false, crash),
            // Ready for a moment says little where no probe asks; after a minute it is well.
            (2, runs(941), crashed.clone(), true, crash),
            (2, runs(940), crashed.clone(), true, None),
            (2, runs(401), crashed.clone(), false, crash),
            (2, crashed.clone(), ended(1, "Error"), false, crash),
            (2, back_off(), crashed.clone(), false, crash),
            // It runs at last, or did what an init container is for.
            (2, runs(400), crashed.clone(), false, None),
            (2, ended(0, "Completed"), crashed.clone(), true, None),
            (0, waits("RunContainerError", "no such file"), json!({}), false, start),
            (1, waits("RunContainerError", "in other words"), unstartable.clone(), false, start),
            (1, back_off(), unstartable, false, start),
        ] {
            let status = json!({"name": "c", "image": "i:1", "imageID": "", "ready": is_ready,
                "restartCount": restarts, "state": state, "lastState": last});
            let found = |phase: &str| {
                let pod = pod("p", json!({"phase": phase, "containerStatuses": [status]}));
                worst(&[pod], at(1000))
            };
            assert_eq!(found("Running").as_deref(), expected, "{status}");
            assert_eq!((found("Succeeded"), found("Failed")), (None, None), "{status}");
        }
    }

    #[test]
    fn what_kept_pods_before_is_not_told_of_today() {
        let mark = |generation| (Some("uid".to_owned()), Some(generation), None);
        let (first, second) = (mark(1), mark(2));
        for (between, now, expected) in [
            (Some(&first), Some(&first), Some("crash")),
            // It was ready meanwhile, or not there.
            (None, Some(&first), None),
            (Some(&first), None, None),
            (Some(&first), Some(&second), None),
        ] {
            let mut causes = Causes::default();
            causes.note(3, first.clone(), "crash".to_owned());
            assert_eq!(causes.of(0, Some(&first)), None);
            causes.of(3, between);
            assert_eq!(causes.of(3, now), expected, "{between:?} {now:?}");
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
