//! Containers: ports, mounts, probes, lifecycle.

use std::collections::BTreeMap;

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::{env, resources, security, volume};
use crate::behaviour::check::{
    Errors, PROTOCOLS, each, label, nonnegative, one_of, port_number, port_or_name, supported,
};
use crate::behaviour::value::{dig, flag, int, list, present, text};
use crate::meta;

/// What containers are checked against.
pub(super) struct Pod<'a> {
    /// Good volumes by name, with their sources.
    pub(super) volumes: BTreeMap<&'a str, &'a Value>,
    pub(super) claims: Vec<&'a str>,
    pub(super) grace_period: Option<i64>,
    pub(super) restart_policy: &'a str,
    pub(super) host_users: bool,
    pub(super) os: Option<&'a Value>,
}

pub(super) fn validate_containers(containers: &[Value], pod: &Pod<'_>, path: &Path, errors: &mut Errors) {
    if containers.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let mut names = Vec::new();
    for (i, container) in containers.iter().enumerate() {
        let path = path.index(i);
        validate_common(container, pod, &path, errors);
        let name = text(container, "name");
        if names.contains(&name) {
            errors.push(FieldError::duplicate(&path.child("name"), &name.into()));
        }
        names.push(name);
        validate_life(container, pod, &path, errors);
    }
    unique_host_ports(containers, path, errors);
}

pub(super) fn validate_init_containers(
    containers: &[Value],
    regular: &[Value],
    pod: &Pod<'_>,
    path: &Path,
    errors: &mut Errors,
) {
    let mut names: Vec<&str> = regular.iter().map(|container| text(container, "name")).collect();
    for (i, container) in containers.iter().enumerate() {
        let at = path.index(i);
        validate_common(container, pod, &at, errors);
        let policy = present(container, "restartPolicy").and_then(Value::as_str);
        if let Some(policy) = policy {
            supported(policy, &at.child("restartPolicy"), &["Always"], errors);
        }
        let name = text(container, "name");
        if names.contains(&name) {
            errors.push(FieldError::duplicate(&at.child("name"), &name.into()));
        } else if !name.is_empty() {
            names.push(name);
        }
        unique_host_ports(std::slice::from_ref(container), path, errors);
        if policy == Some("Always") {
            validate_life(container, pod, &at, errors);
            continue;
        }
        for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if present(container, field).is_some() {
                errors.push(FieldError::forbidden(
                    &at.child(field),
                    "may not be set for init containers without restartPolicy=Always",
                ));
            }
        }
        if !list(container, "resizePolicy").is_empty() {
            errors.push(FieldError::invalid(
                &at.child("resizePolicy"),
                container.get("resizePolicy").unwrap_or(&Value::Null),
                "must not be set for init containers",
            ));
        }
    }
}

/// What an ephemeral container may not have: it must not count against the pod's resources or life.
const NOT_EPHEMERAL: [&str; 8] = [
    "ports",
    "resources",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "resizePolicy",
    "restartPolicy",
];

pub(super) fn validate_ephemeral(spec: &Value, pod: &Pod<'_>, path: &Path, errors: &mut Errors) {
    let others = list(spec, "containers").iter().chain(list(spec, "initContainers"));
    let others: Vec<&str> = others.map(|container| text(container, "name")).collect();
    let mut names = others.clone();
    for (i, container) in list(spec, "ephemeralContainers").iter().enumerate() {
        let path = path.index(i);
        validate_common(container, pod, &path, errors);
        let name = text(container, "name");
        if names.contains(&name) {
            errors.push(FieldError::duplicate(&path.child("name"), &name.into()));
        }
        names.push(name);
        let target = text(container, "targetContainerName");
        if !target.is_empty() && !others.contains(&target) {
            errors.push(FieldError::not_found(&path.child("targetContainerName"), &target.into()));
        }
        for field in NOT_EPHEMERAL {
            if present(container, field).is_some_and(|value| !crate::behaviour::value::is_zero(value)) {
                errors.push(FieldError::forbidden(&path.child(field), "cannot be set for an Ephemeral Container"));
            }
        }
        for (i, mount) in list(container, "volumeMounts").iter().enumerate() {
            for field in ["subPath", "subPathExpr"] {
                if !text(mount, field).is_empty() {
                    errors.push(FieldError::forbidden(
                        &path.child("volumeMounts").index(i).child(field),
                        "cannot be set for an Ephemeral Container",
                    ));
                }
            }
        }
    }
}

fn validate_common(container: &Value, pod: &Pod<'_>, path: &Path, errors: &mut Errors) {
    let name = text(container, "name");
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), ""));
    } else {
        label(name, &path.child("name"), errors);
    }
    if text(container, "image").is_empty() {
        errors.push(FieldError::required(&path.child("image"), ""));
    }
    let policy = text(container, "terminationMessagePolicy");
    one_of(policy, &path.child("terminationMessagePolicy"), &["File", "FallbackToLogsOnError"], errors);
    validate_ports(list(container, "ports"), &path.child("ports"), errors);
    env::validate_env(list(container, "env"), &path.child("env"), errors);
    env::validate_env_from(list(container, "envFrom"), &path.child("envFrom"), errors);
    volume::validate_mounts(container, &pod.volumes, &path.child("volumeMounts"), errors);
    volume::validate_devices(container, &pod.volumes, &path.child("volumeDevices"), errors);
    let policy = text(container, "imagePullPolicy");
    one_of(policy, &path.child("imagePullPolicy"), &["Always", "IfNotPresent", "Never"], errors);
    resources::validate_requirements(dig(container, &["resources"]), &pod.claims, &path.child("resources"), errors);
    validate_resize_policy(list(container, "resizePolicy"), pod.restart_policy, &path.child("resizePolicy"), errors);
    if let Some(context) = present(container, "securityContext") {
        security::validate_container(context, pod.host_users, &path.child("securityContext"), errors);
    }
}

fn validate_resize_policy(policies: &[Value], restart_policy: &str, at: &Path, errors: &mut Errors) {
    let mut seen = Vec::new();
    for (i, policy) in policies.iter().enumerate() {
        let path = at.index(i);
        let resource = text(policy, "resourceName");
        if seen.contains(&resource) {
            errors.push(FieldError::duplicate(&path, &resource.into()));
        }
        seen.push(resource);
        one_of(resource, at, &["cpu", "memory"], errors);
        let restart = text(policy, "restartPolicy");
        one_of(restart, at, &["NotRequired", "RestartContainer"], errors);
        if restart_policy == "Never" && restart != "NotRequired" {
            errors.push(FieldError::invalid(
                at,
                &restart.into(),
                "must be 'NotRequired' when `restartPolicy` is 'Never'",
            ));
        }
    }
}

fn validate_ports(ports: &[Value], path: &Path, errors: &mut Errors) {
    let mut names = Vec::new();
    for (i, port) in ports.iter().enumerate() {
        let path = path.index(i);
        let name = text(port, "name");
        if !name.is_empty() {
            let messages = meta::is_port_name(name);
            if !messages.is_empty() {
                each(messages, &path.child("name"), name, errors);
            } else if names.contains(&name) {
                errors.push(FieldError::duplicate(&path.child("name"), &name.into()));
            } else {
                names.push(name);
            }
        }
        match int(port, "containerPort").unwrap_or(0) {
            0 => errors.push(FieldError::required(&path.child("containerPort"), "")),
            number => port_number(number, &path.child("containerPort"), errors),
        }
        if let Some(number) = int(port, "hostPort").filter(|number| *number != 0) {
            port_number(number, &path.child("hostPort"), errors);
        }
        one_of(text(port, "protocol"), &path.child("protocol"), &PROTOCOLS, errors);
    }
}

fn unique_host_ports(containers: &[Value], path: &Path, errors: &mut Errors) {
    let mut seen = Vec::new();
    for (i, container) in containers.iter().enumerate() {
        for (j, port) in list(container, "ports").iter().enumerate() {
            let Some(number) = int(port, "hostPort").filter(|number| *number != 0) else { continue };
            let key = format!("{}/{}/{number}", text(port, "protocol"), text(port, "hostIP"));
            if seen.contains(&key) {
                let path = path.index(i).child("ports").index(j).child("hostPort");
                errors.push(FieldError::duplicate(&path, &key.as_str().into()));
            } else {
                seen.push(key);
            }
        }
    }
}

/// Lifecycle hooks and probes.
fn validate_life(container: &Value, pod: &Pod<'_>, path: &Path, errors: &mut Errors) {
    if let Some(lifecycle) = present(container, "lifecycle") {
        let path = path.child("lifecycle");
        for hook in ["postStart", "preStop"] {
            if let Some(handler) = present(lifecycle, hook) {
                validate_handler(handler, pod.grace_period, &path.child(hook), errors);
            }
        }
        if let Some(signal) = present(lifecycle, "stopSignal") {
            let path = path.child("stopSignal");
            match pod.os.map(|os| text(os, "name")) {
                None => {
                    errors.push(FieldError::forbidden(&path, "may not be set for containers with empty `spec.os.name`"))
                }
                Some("windows") => supported(signal.as_str().unwrap_or(""), &path, &["SIGKILL", "SIGTERM"], errors),
                Some(_) => {}
            }
        }
    }
    for kind in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = present(container, kind) {
            validate_probe(probe, kind, pod.grace_period, &path.child(kind), errors);
        }
    }
}

fn validate_probe(probe: &Value, kind: &str, grace_period: Option<i64>, path: &Path, errors: &mut Errors) {
    validate_handler(probe, grace_period, path, errors);
    for field in ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"] {
        nonnegative(int(probe, field), &path.child(field), errors);
    }
    let grace = int(probe, "terminationGracePeriodSeconds");
    if let Some(seconds) = grace.filter(|seconds| *seconds <= 0) {
        let path = path.child("terminationGracePeriodSeconds");
        errors.push(FieldError::invalid(&path, &seconds.into(), "must be greater than 0"));
    }
    if kind == "readinessProbe" {
        if let Some(seconds) = grace {
            let path = path.child("terminationGracePeriodSeconds");
            errors.push(FieldError::invalid(&path, &seconds.into(), "must not be set for readinessProbes"));
        }
    } else if let Some(threshold) = int(probe, "successThreshold").filter(|threshold| *threshold != 1) {
        errors.push(FieldError::invalid(&path.child("successThreshold"), &threshold.into(), "must be 1"));
    }
}

fn validate_handler(handler: &Value, grace_period: Option<i64>, path: &Path, errors: &mut Errors) {
    let mut found = false;
    for kind in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let Some(action) = present(handler, kind) else { continue };
        let path = path.child(kind);
        if found {
            errors.push(FieldError::forbidden(&path, "may not specify more than 1 handler type"));
            continue;
        }
        found = true;
        match kind {
            "exec" if list(action, "command").is_empty() => {
                errors.push(FieldError::required(&path.child("command"), ""));
            }
            "httpGet" => validate_http_get(action, &path, errors),
            "tcpSocket" => port_or_name(action.get("port"), &path.child("port"), errors),
            "grpc" => port_number(int(action, "port").unwrap_or(0), &path.child("port"), errors),
            "sleep" => {
                let seconds = int(action, "seconds").unwrap_or(0);
                if let Some(grace) = grace_period.filter(|grace| seconds < 0 || seconds > *grace) {
                    let detail = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
                    errors.push(FieldError::invalid(&path, &seconds.into(), detail));
                }
            }
            _ => {}
        }
    }
    if !found {
        errors.push(FieldError::required(path, "must specify a handler type"));
    }
}

fn validate_http_get(action: &Value, path: &Path, errors: &mut Errors) {
    if text(action, "path").is_empty() {
        errors.push(FieldError::required(&path.child("path"), ""));
    }
    port_or_name(action.get("port"), &path.child("port"), errors);
    supported(text(action, "scheme"), &path.child("scheme"), &["HTTP", "HTTPS"], errors);
    for header in list(action, "httpHeaders") {
        let name = text(header, "name");
        each(meta::is_http_header_name(name), &path.child("httpHeaders"), name, errors);
    }
}

/// Ports of a pod on the host's network are the host's.
pub(super) fn validate_host_network(spec: &Value, is_pod: bool, path: &Path, errors: &mut Errors) {
    if !flag(spec, "hostNetwork") {
        return;
    }
    for (i, container) in list(spec, "containers").iter().enumerate() {
        for (j, port) in list(container, "ports").iter().enumerate() {
            let host = int(port, "hostPort").unwrap_or(0);
            if (is_pod || host != 0) && host != int(port, "containerPort").unwrap_or(0) {
                let path = path.child("containers").index(i).child("ports").index(j).child("hostPort");
                let detail = "must match `containerPort` when `hostNetwork` is true";
                errors.push(FieldError::invalid(&path, &host.into(), detail));
            }
        }
    }
}
