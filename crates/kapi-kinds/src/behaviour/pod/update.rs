//! What may change about a pod.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::{scheduling, validate_pod};
use crate::behaviour::check::{Errors, immutable, invalid_shown, ip, nonnegative, parse_ip, qualified_name, subdomain};
use crate::behaviour::value::{dig, int, keep, list, present, same, text};
use crate::meta;

const UPDATABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
    `spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be \
    set to 1 if it was previously negative)";

pub(super) fn validate_update(new: &Value, old: &Value) -> Errors {
    let mut errors = Vec::new();
    validate_pod(new, &mut errors);
    validate_annotation_change(new, old, &mut errors);
    let path = Path::new("spec");
    let (spec, was) = (dig(new, &["spec"]), dig(old, &["spec"]));
    for kind in ["containers", "initContainers"] {
        if list(spec, kind).len() != list(was, kind).len() {
            let detail = "pod updates may not add or remove containers";
            errors.push(FieldError::forbidden(&path.child(kind), detail));
            return errors;
        }
        for (i, container) in list(spec, kind).iter().enumerate() {
            let image = text(container, "image");
            let path = path.child(kind).index(i).child("image");
            if image.is_empty() {
                errors.push(FieldError::required(&path, ""));
            }
            if image.trim().len() != image.len() {
                let detail = "must not have leading or trailing whitespace";
                errors.push(FieldError::invalid(&path, &image.into(), detail));
            }
        }
    }
    if !validate_deadline(spec, was, &path.child("activeDeadlineSeconds"), &mut errors) {
        return errors;
    }
    let tolerations = path.child("tolerations");
    scheduling::validate_only_added(list(spec, "tolerations"), list(was, "tolerations"), &tolerations, &mut errors);
    scheduling::validate_gates_only_removed(spec, was, &path.child("schedulingGates"), &mut errors);
    if !same(spec, was) {
        validate_nothing_else(spec, was, &path, &mut errors);
    }
    errors
}

/// Deadlines only come closer.
fn validate_deadline(spec: &Value, was: &Value, path: &Path, errors: &mut Errors) -> bool {
    match (int(spec, "activeDeadlineSeconds"), int(was, "activeDeadlineSeconds")) {
        (Some(new), _) if !(0..=i64::from(i32::MAX)).contains(&new) => {
            errors.push(FieldError::invalid(path, &new.into(), meta::range_error(0, i64::from(i32::MAX))));
            false
        }
        (Some(new), Some(old)) if old < new => {
            errors.push(FieldError::invalid(path, &new.into(), "must be less than or equal to previous value"));
            false
        }
        (None, Some(_)) => {
            let detail = "must not update from a positive integer to nil value";
            errors.push(FieldError::invalid(path, &Value::Null, detail));
            true
        }
        _ => true,
    }
}

fn validate_nothing_else(spec: &Value, was: &Value, path: &Path, errors: &mut Errors) {
    let mut munged = spec.clone();
    for kind in ["containers", "initContainers"] {
        let olds = list(was, kind);
        for (container, old) in crate::behaviour::value::items_mut(&mut munged, kind).zip(olds) {
            keep(container, old, "image");
        }
    }
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        keep(&mut munged, was, field);
    }
    if int(was, "terminationGracePeriodSeconds").is_some_and(|grace| grace < 0)
        && int(&munged, "terminationGracePeriodSeconds") == Some(1)
    {
        keep(&mut munged, was, "terminationGracePeriodSeconds");
    }
    if !list(was, "schedulingGates").is_empty() {
        // While a pod is gated its scheduling may still be narrowed.
        keep_narrowed(&mut munged, was, path, errors);
    }
    if !same(&munged, was) {
        let detail = format!(
            "pod updates may not change fields other than {UPDATABLE}\n{}",
            crate::behaviour::diff::fields_that_differ(was, &munged)
        );
        errors.push(FieldError::forbidden(path, detail));
    }
}

fn keep_narrowed(munged: &mut Value, was: &Value, path: &Path, errors: &mut Errors) {
    let added_only = was
        .get("nodeSelector")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .all(|(key, value)| dig(munged, &["nodeSelector", key]) == value);
    if !added_only {
        errors.push(FieldError::invalid(
            &path.child("nodeSelector"),
            dig(munged, &["nodeSelector"]),
            "only additions to nodeSelector are allowed (no mutations or deletions)",
        ));
    }
    keep(munged, was, "nodeSelector");
    if dig(munged, &["affinity", "podAffinity"]).is_null() && dig(munged, &["affinity", "podAntiAffinity"]).is_null() {
        keep(munged, was, "affinity");
    }
}

fn validate_annotation_change(new: &Value, old: &Value, errors: &mut Errors) {
    let (now, was) = (dig(new, &["metadata", "annotations"]), dig(old, &["metadata", "annotations"]));
    let key = "kubernetes.io/config.mirror";
    let path = Path::new("metadata.annotations").key(key);
    match (present(now, key), present(was, key)) {
        (new, Some(old)) if new != Some(old) => {
            errors.push(FieldError::forbidden(&path, "may not remove or update mirror pod annotation"));
        }
        (Some(_), None) => errors.push(FieldError::forbidden(&path, "may not add mirror pod annotation")),
        _ => {}
    }
}

pub(super) fn validate_status(new: &Value, old: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("status");
    let (status, was) = (dig(new, &["status"]), dig(old, &["status"]));
    validate_annotation_change(new, old, &mut errors);
    for (i, condition) in list(status, "conditions").iter().enumerate() {
        let path = path.child("conditions").index(i);
        if let Some(generation) = int(condition, "observedGeneration").filter(|generation| *generation < 0) {
            let path = path.child("observedGeneration");
            errors.push(FieldError::invalid(&path, &generation.into(), "must be a non-negative integer"));
        }
        let kind = text(condition, "type");
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            qualified_name(kind, &path.child("Type"), &mut errors);
        }
    }
    let nominated = text(status, "nominatedNodeName");
    if nominated != text(was, "nominatedNodeName") && !nominated.is_empty() {
        subdomain(nominated, &path.child("nominatedNodeName"), &mut errors);
    }
    nonnegative(int(status, "observedGeneration"), &path.child("observedGeneration"), &mut errors);
    let class = path.child("qosClass");
    immutable(&text(status, "qosClass").into(), &text(was, "qosClass").into(), &class, &mut errors);
    validate_container_states(new, old, &mut errors);
    for (field, single) in [("podIPs", "podIP"), ("hostIPs", "hostIP")] {
        let ips = list(status, field);
        let path = path.child(field);
        if field == "hostIPs"
            && let Some(first) = ips.first().map(|first| text(first, "ip")).filter(|ip| *ip != text(status, single))
        {
            let path = path.index(0).child("ip");
            errors.push(FieldError::invalid(&path, &first.into(), "must be equal to `hostIP`"));
        }
        for (i, address) in ips.iter().enumerate() {
            ip(text(address, "ip"), &path.index(i), &mut errors);
        }
        if ips.len() > 1 {
            validate_dual_stack(ips, &path, &mut errors);
        }
    }
    errors
}

/// Several addresses are one of each family.
fn validate_dual_stack(ips: &[Value], path: &Path, errors: &mut Errors) {
    let parsed: Vec<_> = ips.iter().map(|ip| parse_ip(text(ip, "ip"))).collect();
    let bad = parsed.iter().position(Option::is_none);
    if let Some((i, ip)) = bad.and_then(|i| Some((i, ips.get(i)?))) {
        let detail = format!("failed to check for dual stack with error:invalid IP[{i}]: {}", text(ip, "ip"));
        errors.push(FieldError::internal(path, detail));
    }
    let of = |v4: bool| parsed.iter().flatten().any(|ip| ip.is_ipv4() == v4);
    if bad.is_some() || ips.len() > 2 || !of(true) || !of(false) {
        let shown: Vec<String> = ips.iter().map(|ip| format!("{{\"IP\":{}}}", Value::from(text(ip, "ip")))).collect();
        let detail = "may specify no more than one IP for each IP family";
        errors.push(invalid_shown(path, format!("[{}]", shown.join(",")), detail));
    }
}

/// Containers of pods that never restart do not come back from the dead.
fn validate_container_states(new: &Value, old: &Value, errors: &mut Errors) {
    let policy = text(dig(old, &["spec"]), "restartPolicy");
    if policy == "Always" {
        return;
    }
    let path = Path::new("status.containerStatuses");
    for (i, was) in list(dig(old, &["status"]), "containerStatuses").iter().enumerate() {
        let terminated = dig(was, &["state", "terminated"]);
        if terminated.is_null() || (int(terminated, "exitCode").unwrap_or(0) != 0 && policy == "OnFailure") {
            continue;
        }
        let name = text(was, "name");
        let now = list(dig(new, &["status"]), "containerStatuses").iter().find(|status| text(status, "name") == name);
        if now.is_some_and(|now| dig(now, &["state", "terminated"]).is_null()) {
            let path = path.index(i).child("state");
            errors.push(FieldError::forbidden(&path, "may not be transitioned to non-terminated state"));
        }
    }
}
