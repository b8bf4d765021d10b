//! The specification of a pod as a whole.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::{affinity, container, resources, scheduling, security, volume};
use crate::behaviour::check::{Errors, each, invalid_shown, ip, label, one_of, qualified_name, subdomain, supported};
use crate::behaviour::value::{dig, flag, int, list, present, text, texts};
use crate::meta;

/// Whose specification it is: some rules hold for pods only.
#[derive(Clone, Copy)]
pub(super) enum Whose<'a> {
    /// A pod of this name.
    Pod { name: &'a str },
    /// A template of pods to come.
    Template,
}

pub(super) fn validate_spec(spec: &Value, path: &Path, whose: Whose<'_>, errors: &mut Errors) {
    let (is_pod, pod_name) = match whose {
        Whose::Pod { name } => (true, name),
        Whose::Template => (false, ""),
    };
    if present(spec, "terminationGracePeriodSeconds").is_none() {
        errors.push(FieldError::required(&path.child("terminationGracePeriodSeconds"), ""));
    }
    let volumes = volume::validate_volumes(list(spec, "volumes"), pod_name, &path.child("volumes"), errors);
    let mut claims: Vec<&str> = list(spec, "resourceClaims").iter().map(|claim| text(claim, "name")).collect();
    claims.sort_unstable();
    validate_resource_claims(list(spec, "resourceClaims"), &path.child("resourceClaims"), errors);
    let pod = container::Pod {
        volumes,
        claims,
        grace_period: int(spec, "terminationGracePeriodSeconds"),
        restart_policy: text(spec, "restartPolicy"),
        host_users: spec.get("hostUsers") != Some(&Value::Bool(false)),
        os: present(spec, "os"),
    };
    let containers = list(spec, "containers");
    container::validate_containers(containers, &pod, &path.child("containers"), errors);
    let init = list(spec, "initContainers");
    container::validate_init_containers(init, containers, &pod, &path.child("initContainers"), errors);
    container::validate_ephemeral(spec, &pod, &path.child("ephemeralContainers"), errors);
    if let Some(resources) = present(spec, "resources") {
        let path = path.child("resources");
        if !list(resources, "claims").is_empty() {
            let detail = "claims may not be set for Resources at pod-level";
            errors.push(FieldError::forbidden(&path.child("claims"), detail));
        }
        resources::validate_pod_level(resources, &pod.claims, &path, errors);
    }
    container::validate_host_network(spec, is_pod, path, errors);
    one_of(pod.restart_policy, &path.child("restartPolicy"), &["Always", "OnFailure", "Never"], errors);
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    one_of(text(spec, "dnsPolicy"), &path.child("dnsPolicy"), &policies, errors);
    meta::validate_labels(present(spec, "nodeSelector"), &path.child("nodeSelector"), errors);
    security::validate_pod(spec, &path.child("securityContext"), errors);
    if let Some(value) = present(spec, "affinity") {
        affinity::validate_affinity(value, &path.child("affinity"), errors);
    }
    validate_dns(spec, &path.child("dnsConfig"), errors);
    for (i, gate) in list(spec, "readinessGates").iter().enumerate() {
        let path = path.child("readinessGates").index(i).child("conditionType");
        qualified_name(text(gate, "conditionType"), &path, errors);
    }
    scheduling::validate_gates(list(spec, "schedulingGates"), &path.child("schedulingGates"), errors);
    let constraints = list(spec, "topologySpreadConstraints");
    affinity::validate_spreading(constraints, &path.child("topologySpreadConstraints"), errors);
    validate_host_users(spec, path, errors);
    validate_names(spec, path, errors);
    validate_rest(spec, path, errors);
}

fn validate_host_users(spec: &Value, path: &Path, errors: &mut Errors) {
    if spec.get("hostUsers") != Some(&Value::Bool(false)) {
        return;
    }
    for (field, shown) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if flag(spec, field) {
            errors.push(FieldError::forbidden(&path.child(shown), "when `hostUsers` is false"));
        }
    }
    for kind in ["initContainers", "containers", "ephemeralContainers"] {
        for (i, container) in list(spec, kind).iter().enumerate() {
            if !list(container, "volumeDevices").is_empty() {
                let path = path.child(kind).index(i).child("volumeDevices");
                errors.push(FieldError::forbidden(&path, "when `hostUsers` is false"));
            }
        }
    }
}

fn validate_names(spec: &Value, path: &Path, errors: &mut Errors) {
    for field in ["serviceAccountName", "nodeName"] {
        if !text(spec, field).is_empty() {
            subdomain(text(spec, field), &path.child(field), errors);
        }
    }
    if let Some(seconds) = int(spec, "activeDeadlineSeconds") {
        for message in meta::in_range(seconds, 1, i64::from(i32::MAX)) {
            errors.push(FieldError::invalid(&path.child("activeDeadlineSeconds"), &seconds.into(), message));
        }
    }
    for field in ["hostname", "subdomain"] {
        if !text(spec, field).is_empty() {
            label(text(spec, field), &path.child(field), errors);
        }
    }
}

fn validate_rest(spec: &Value, path: &Path, errors: &mut Errors) {
    scheduling::validate_tolerations(list(spec, "tolerations"), &path.child("tolerations"), errors);
    for (i, alias) in list(spec, "hostAliases").iter().enumerate() {
        let path = path.child("hostAliases").index(i);
        ip(text(alias, "ip"), &path.child("ip"), errors);
        for (i, name) in texts(alias, "hostnames").iter().enumerate() {
            subdomain(name, &path.child("hostnames").index(i), errors);
        }
    }
    if !text(spec, "priorityClassName").is_empty() {
        subdomain(text(spec, "priorityClassName"), &path.child("priorityClassName"), errors);
    }
    if let Some(class) = present(spec, "runtimeClassName").and_then(Value::as_str) {
        subdomain(class, &path.child("runtimeClassName"), errors);
    }
    if let Some(policy) = present(spec, "preemptionPolicy").and_then(Value::as_str) {
        one_of(policy, &path.child("preemptionPolicy"), &["PreemptLowerPriority", "Never"], errors);
    }
    if let Some(overhead) = present(spec, "overhead") {
        let limits = serde_json::json!({"limits": overhead});
        resources::validate_requirements(&limits, &[], &path.child("overhead"), errors);
    }
    if let Some(os) = present(spec, "os") {
        match text(os, "name") {
            "" => errors.push(FieldError::required(&path.child("os").child("name"), "")),
            name => supported(name, &path.child("os"), &["linux", "windows"], errors),
        }
    }
}

fn validate_dns(spec: &Value, path: &Path, errors: &mut Errors) {
    let config = present(spec, "dnsConfig");
    if text(spec, "dnsPolicy") == "None" {
        let Some(config) = config else {
            errors.push(FieldError::required(path, "must provide `dnsConfig` when `dnsPolicy` is None"));
            return;
        };
        if list(config, "nameservers").is_empty() {
            errors.push(FieldError::required(
                &path.child("nameservers"),
                "must provide at least one DNS nameserver when `dnsPolicy` is None",
            ));
            return;
        }
    }
    let Some(config) = config else { return };
    let shown = |field: &str| config.get(field).cloned().unwrap_or_default();
    let servers = texts(config, "nameservers");
    let at = path.child("nameservers");
    if servers.len() > 3 {
        errors.push(FieldError::invalid(&at, &shown("nameservers"), "must not have more than 3 nameservers"));
    }
    for (i, server) in servers.iter().enumerate() {
        ip(server, &at.index(i), errors);
    }
    let searches = texts(config, "searches");
    let at = path.child("searches");
    if searches.len() > 32 {
        errors.push(FieldError::invalid(&at, &shown("searches"), "must not have more than 32 search paths"));
    }
    if searches.join(" ").len() > 2048 {
        let detail = "must not have more than 2048 characters (including spaces) in the search list";
        errors.push(FieldError::invalid(&at, &shown("searches"), detail));
    }
    for (i, search) in searches.iter().enumerate() {
        if *search != "." {
            let search = search.strip_suffix('.').unwrap_or(search);
            each(meta::is_dns_subdomain_with_underscore(search), &at.index(i), search, errors);
        }
    }
    for (i, option) in list(config, "options").iter().enumerate() {
        if text(option, "name").is_empty() {
            errors.push(FieldError::required(&path.child("options").index(i), "must not be empty"));
        }
    }
}

fn validate_resource_claims(claims: &[Value], path: &Path, errors: &mut Errors) {
    let show = |claim: &Value| {
        format!(
            "{{\"Name\":{},\"ResourceClaimName\":{},\"ResourceClaimTemplateName\":{}}}",
            dig(claim, &["name"]),
            dig(claim, &["resourceClaimName"]),
            dig(claim, &["resourceClaimTemplateName"])
        )
    };
    let mut seen = Vec::new();
    for (i, claim) in claims.iter().enumerate() {
        let path = path.index(i);
        let name = text(claim, "name");
        if name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        } else if seen.contains(&name) {
            errors.push(FieldError::duplicate(&path.child("name"), &name.into()));
        } else {
            label(name, &path.child("name"), errors);
            seen.push(name);
        }
        let sources = ["resourceClaimName", "resourceClaimTemplateName"].map(|source| present(claim, source).is_some());
        match sources {
            [true, true] => errors.push(invalid_shown(
                &path,
                show(claim),
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
            )),
            [false, false] => errors.push(invalid_shown(
                &path,
                show(claim),
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            )),
            _ => {}
        }
    }
}
