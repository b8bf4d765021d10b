//! Whether an object has become what it should be, read off its status alone: the rules of kstatus, as `helm --wait` has them.

mod conditions;
mod workloads;

use serde_json::Value as Json;

use conditions::Conditions;

/// How an object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// As it should be.
    Current,
    /// On its way, and what is missing.
    InProgress(String),
    /// It will not get there by itself, and why.
    Failed(String),
    /// Being deleted.
    Terminating,
}

/// How an object is. Pure.
pub fn health(object: &Json) -> Health {
    of(object).unwrap_or_else(|health| health)
}

/// How something that runs to an end, a Job or a Pod, ended: nothing while it runs. Everything else is done at once.
pub fn completion(object: &Json) -> Option<Result<(), String>> {
    let conditions = Conditions::of(object);
    match kind(object) {
        ("batch", "Job") => match (conditions.is_true("Complete"), conditions.is_true("Failed")) {
            (true, _) => Some(Ok(())),
            (_, true) => Some(Err(conditions.told("Failed"))),
            _ => None,
        },
        ("", "Pod") => match text(object, "/status/phase") {
            "Succeeded" => Some(Ok(())),
            "Failed" => Some(Err(workloads::pod_failure(object))),
            _ => None,
        },
        _ => Some(Ok(())),
    }
}

/// What is found out early comes as an error, whatever it is.
fn of(object: &Json) -> Result<Health, Health> {
    if object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null()) {
        return Err(Health::Terminating);
    }
    let generation = object.pointer("/metadata/generation").and_then(Json::as_i64);
    let observed = object.pointer("/status/observedGeneration").and_then(Json::as_i64);
    if let (Some(generation), Some(observed)) = (generation, observed)
        && generation != observed
    {
        return Err(waits(format!("generation {generation} is not seen yet, only {observed}")));
    }
    let conditions = Conditions::of(object);
    if conditions.is_true("Reconciling") {
        return Err(waits(conditions.told("Reconciling")));
    }
    if conditions.is_true("Stalled") {
        return Err(Health::Failed(conditions.told("Stalled")));
    }
    match kind(object) {
        ("apps", "Deployment") => workloads::deployment(object, &conditions),
        ("apps", "StatefulSet") => workloads::stateful_set(object),
        ("apps", "DaemonSet") => workloads::daemon_set(object),
        ("apps" | "extensions", "ReplicaSet") => workloads::replica_set(object, &conditions),
        ("", "Pod") => workloads::pod(object, &conditions),
        ("batch", "Job") => workloads::job(object, &conditions),
        ("", "PersistentVolumeClaim") => phase(object, "Bound"),
        ("", "Namespace") => phase(object, "Active"),
        ("", "Service") => service(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(&conditions),
        ("apiregistration.k8s.io", "APIService") => needed(&conditions, "Available"),
        ("policy", "PodDisruptionBudget") => Ok(Health::Current),
        _ if conditions.has("Ready") => needed(&conditions, "Ready"),
        _ => Ok(Health::Current),
    }
}

fn waits(what: impl Into<String>) -> Health {
    Health::InProgress(what.into())
}

/// Its group and kind.
fn kind(object: &Json) -> (&str, &str) {
    let group = text(object, "/apiVersion").split_once('/').map_or("", |(group, _)| group);
    (group, text(object, "/kind"))
}

fn text<'a>(object: &'a Json, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

fn phase(object: &Json, wanted: &str) -> Result<Health, Health> {
    match text(object, "/status/phase") {
        found if found == wanted => Ok(Health::Current),
        "" => Err(waits("it has no phase yet")),
        found => Err(waits(format!("its phase is {found}, not {wanted}"))),
    }
}

fn needed(conditions: &Conditions<'_>, name: &str) -> Result<Health, Health> {
    if conditions.is_true(name) { Ok(Health::Current) } else { Err(waits(conditions.told(name))) }
}

fn service(object: &Json) -> Result<Health, Health> {
    if text(object, "/spec/type") == "LoadBalancer" && text(object, "/spec/clusterIP").is_empty() {
        return Err(waits("it has no address yet"));
    }
    Ok(Health::Current)
}

fn definition(conditions: &Conditions<'_>) -> Result<Health, Health> {
    if conditions.is_false("NamesAccepted") {
        return Err(Health::Failed(conditions.told("NamesAccepted")));
    }
    needed(conditions, "Established")
}

#[cfg(test)]
mod tests;
