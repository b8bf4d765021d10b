//! What runs pods.

use serde_json::Value as Json;

use super::conditions::Conditions;
use super::{Health, text, waits};

/// Numbers of a status; what is not there is nought.
fn number(object: &Json, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Json::as_i64).unwrap_or(0)
}

fn wanted(object: &Json) -> i64 {
    object.pointer("/spec/replicas").and_then(Json::as_i64).unwrap_or(1)
}

/// Waits until a number is reached.
fn at_least(found: i64, wanted: i64, what: &str) -> Result<(), Health> {
    if found < wanted { Err(waits(format!("{found} of {wanted} pods are {what}"))) } else { Ok(()) }
}

fn no_more(found: i64, wanted: i64) -> Result<(), Health> {
    match found - wanted {
        1 => Err(waits("1 pod is still to go")),
        2.. => Err(waits(format!("{} pods are still to go", found - wanted))),
        _ => Ok(()),
    }
}

pub(super) fn deployment(object: &Json, conditions: &Conditions<'_>) -> Result<Health, Health> {
    if conditions.reason("Progressing") == "ProgressDeadlineExceeded" {
        return Err(Health::Failed(conditions.told("Progressing")));
    }
    let spec = wanted(object);
    let total = number(object, "/status/replicas");
    let updated = number(object, "/status/updatedReplicas");
    at_least(total, spec, "there")?;
    at_least(updated, spec, "up to date")?;
    no_more(total, spec)?;
    at_least(number(object, "/status/availableReplicas"), updated, "available")?;
    at_least(number(object, "/status/readyReplicas"), spec, "ready")?;
    // Nobody reports progress if there is no deadline for it.
    let has_deadline = object.pointer("/spec/progressDeadlineSeconds").is_some_and(|seconds| *seconds != i32::MAX);
    let is_done = conditions.is_true("Progressing") && conditions.reason("Progressing") == "NewReplicaSetAvailable";
    if has_deadline && !is_done {
        return Err(waits("its new ReplicaSet is not available yet"));
    }
    super::needed(conditions, "Available")
}

pub(super) fn stateful_set(object: &Json) -> Result<Health, Health> {
    if text(object, "/spec/updateStrategy/type") == "OnDelete" {
        return Ok(Health::Current);
    }
    let spec = wanted(object);
    let total = number(object, "/status/replicas");
    at_least(total, spec, "there")?;
    at_least(number(object, "/status/readyReplicas"), spec, "ready")?;
    no_more(total, spec)?;
    let partition = number(object, "/spec/updateStrategy/rollingUpdate/partition");
    if partition > 0 {
        at_least(number(object, "/status/updatedReplicas"), spec - partition, "up to date")?;
        return Ok(Health::Current);
    }
    at_least(number(object, "/status/currentReplicas"), spec, "up to date")?;
    if text(object, "/status/currentRevision") != text(object, "/status/updateRevision") {
        return Err(waits("pods of an older revision are still to be replaced"));
    }
    Ok(Health::Current)
}

pub(super) fn daemon_set(object: &Json) -> Result<Health, Health> {
    let Some(desired) = object.pointer("/status/desiredNumberScheduled").and_then(Json::as_i64) else {
        return Err(waits("nobody has counted its nodes yet"));
    };
    if object.pointer("/status/observedGeneration").is_none() {
        return Err(waits("nobody has seen it yet"));
    }
    at_least(number(object, "/status/currentNumberScheduled"), desired, "scheduled")?;
    at_least(number(object, "/status/updatedNumberScheduled"), desired, "up to date")?;
    at_least(number(object, "/status/numberAvailable"), desired, "available")?;
    at_least(number(object, "/status/numberReady"), desired, "ready")?;
    Ok(Health::Current)
}

pub(super) fn replica_set(object: &Json, conditions: &Conditions<'_>) -> Result<Health, Health> {
    if conditions.is_true("ReplicaFailure") {
        return Err(waits(conditions.told("ReplicaFailure")));
    }
    let spec = wanted(object);
    at_least(number(object, "/status/fullyLabeledReplicas"), spec, "labelled")?;
    at_least(number(object, "/status/availableReplicas"), spec, "available")?;
    at_least(number(object, "/status/readyReplicas"), spec, "ready")?;
    no_more(number(object, "/status/replicas"), spec)?;
    Ok(Health::Current)
}

pub(super) fn pod(object: &Json, conditions: &Conditions<'_>) -> Result<Health, Health> {
    match text(object, "/status/phase") {
        "Succeeded" => Ok(Health::Current),
        "Failed" => Err(Health::Failed(pod_failure(object))),
        "Running" => {
            let crashing = containers(object).find(|state| text(state, "/state/waiting/reason") == "CrashLoopBackOff");
            match crashing {
                Some(state) => {
                    Err(Health::Failed(format!("container {} crashes again and again", text(state, "/name"))))
                }
                None => super::needed(conditions, "Ready"),
            }
        }
        _ if conditions.is_false("PodScheduled") => Err(waits(conditions.told("PodScheduled"))),
        _ => Err(waits("it does not run yet")),
    }
}

fn containers(object: &Json) -> impl Iterator<Item = &Json> {
    let states = |field: &str| object.pointer(field).and_then(Json::as_array).into_iter().flatten();
    states("/status/initContainerStatuses").chain(states("/status/containerStatuses"))
}

/// Why a pod failed.
pub(super) fn pod_failure(object: &Json) -> String {
    let told = [text(object, "/status/message"), text(object, "/status/reason")];
    if let Some(told) = told.into_iter().find(|text| !text.is_empty()) {
        return told.to_owned();
    }
    let failed = containers(object).find_map(|state| {
        let code = state.pointer("/state/terminated/exitCode")?.as_i64().filter(|code| *code != 0)?;
        Some(format!("container {} ended with exit code {code}", text(state, "/name")))
    });
    failed.unwrap_or_else(|| "it failed".to_owned())
}

/// A Job that runs is as it should be: it may take days. What waits for its end asks for that.
pub(super) fn job(object: &Json, conditions: &Conditions<'_>) -> Result<Health, Health> {
    if conditions.is_true("Failed") {
        return Err(Health::Failed(conditions.told("Failed")));
    }
    let is_suspended = conditions.is_true("Suspended");
    if conditions.is_true("Complete") || is_suspended || object.pointer("/status/startTime").is_some() {
        return Ok(Health::Current);
    }
    Err(waits("it has not started yet"))
}
