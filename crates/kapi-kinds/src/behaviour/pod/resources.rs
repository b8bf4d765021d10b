//! Resource names and amounts.

use std::collections::BTreeMap;

use kapi_schema::field::{FieldError, Path};
use kernel::quantity::Quantity;
use serde_json::Value;

use crate::behaviour::check::{Errors, NOT_NEGATIVE, label, quantity};
use crate::behaviour::value::{dig, entries, list, text};
use crate::meta;

const STANDARD: [&str; 20] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];
const HUGEPAGES: &str = "hugepages-";

pub(crate) fn is_hugepage(name: &str) -> bool {
    name.starts_with(HUGEPAGES)
}

/// Whether Kubernetes itself defines the resource.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

pub(crate) fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && meta::is_qualified_name(&format!("requests.{name}")).is_empty()
}

pub(crate) fn is_standard_container(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || is_hugepage(name)
}

/// Whether a pod as a whole may ask for it.
pub(super) fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || is_hugepage(name)
}

fn may_overcommit(name: &str) -> bool {
    is_native(name) && !is_hugepage(name)
}

/// Checks the name of a resource, wherever it stands.
pub(crate) fn validate_resource_name(name: &str, path: &Path, errors: &mut Errors) -> bool {
    let messages = meta::is_qualified_name(name);
    let mut good = messages.is_empty();
    for message in messages {
        errors.push(FieldError::invalid(path, &name.into(), message));
    }
    let standard = STANDARD.contains(&name) || is_hugepage(name) || name.starts_with("requests.hugepages-");
    if good && !name.contains('/') && !standard {
        errors.push(FieldError::invalid(path, &name.into(), "must be a standard resource type or fully qualified"));
        good = false;
    }
    good
}

fn validate_container_name(name: &str, path: &Path, errors: &mut Errors) {
    validate_resource_name(name, path, errors);
    if !name.contains('/') {
        if !is_standard_container(name) {
            errors.push(FieldError::invalid(path, &name.into(), "must be a standard resource for containers"));
        }
    } else if !is_native(name) && !is_extended(name) {
        errors.push(FieldError::invalid(path, &name.into(), "doesn't follow extended resource name standard"));
    }
}

fn validate_pod_level_name(name: &str, path: &Path, errors: &mut Errors) {
    if validate_resource_name(name, path, errors) && !is_pod_level(name) {
        errors.push(FieldError::not_supported(path, &name.into(), &["cpu", "hugepages-", "memory"]));
    }
}

/// Checks the amount of a resource: never negative, and whole where it counts things.
pub(crate) fn validate_amount(name: &str, amount: &Value, path: &Path, errors: &mut Errors) {
    let parsed = quantity(amount);
    if parsed < Quantity::ZERO {
        errors.push(FieldError::invalid(path, amount, NOT_NEGATIVE));
    }
    if (COUNTED.contains(&name) || is_extended(name)) && parsed.milli_value() % 1000 != 0 {
        errors.push(FieldError::invalid(path, amount, "must be an integer"));
    }
}

/// Checks what a container asks for and may use.
pub(crate) fn validate_requirements(resources: &Value, claims: &[&str], path: &Path, errors: &mut Errors) {
    validate_with(resources, validate_container_name, claims, path, errors);
}

pub(super) fn validate_pod_level(resources: &Value, claims: &[&str], path: &Path, errors: &mut Errors) {
    validate_with(resources, validate_pod_level_name, claims, path, errors);
}

fn validate_with(
    resources: &Value,
    validate_name: fn(&str, &Path, &mut Errors),
    claims: &[&str],
    path: &Path,
    errors: &mut Errors,
) {
    let (limits, requests) = (path.child("limits"), path.child("requests"));
    let (mut computes, mut pages) = (false, false);
    for (kind, under) in [("limits", &limits), ("requests", &requests)] {
        for (name, amount) in entries(resources, kind) {
            let at = under.key(name);
            validate_name(name, &at, errors);
            validate_amount(name, amount, &at, errors);
            if kind == "requests" {
                compare_with_limit(name, amount, dig(resources, &["limits", name]), &limits, &requests, errors);
            }
            if is_hugepage(name) {
                pages = true;
                if !is_multiple_of_page(name, quantity(amount)) {
                    let shown = amount.as_str().unwrap_or_default();
                    errors.push(FieldError::invalid(
                        &at,
                        amount,
                        format!("{shown} is not positive integer multiple of {name}"),
                    ));
                }
            }
            computes |= matches!(name.as_str(), "cpu" | "memory");
        }
    }
    if pages && !computes {
        errors.push(FieldError::forbidden(path, "HugePages require cpu or memory"));
    }
    validate_claims(list(resources, "claims"), claims, &path.child("claims"), errors);
}

fn compare_with_limit(name: &str, request: &Value, limit: &Value, limits: &Path, requests: &Path, errors: &mut Errors) {
    if limit.is_null() {
        if !may_overcommit(name) {
            errors.push(FieldError::required(limits, "Limit must be set for non overcommitable resources"));
        }
        return;
    }
    let (asked, most) = (quantity(request), quantity(limit));
    let shown = limit.as_str().unwrap_or_default();
    if asked != most && !may_overcommit(name) {
        errors.push(FieldError::invalid(requests, request, format!("must be equal to {name} limit of {shown}")));
    } else if asked > most {
        let detail = format!("must be less than or equal to {name} limit of {shown}");
        errors.push(FieldError::invalid(requests, request, detail));
    }
}

fn is_multiple_of_page(name: &str, amount: Quantity) -> bool {
    let size = name.strip_prefix(HUGEPAGES).and_then(|size| size.parse::<Quantity>().ok());
    size.is_some_and(|size| size > Quantity::ZERO && size.is_whole() && amount.value() % size.value() == 0)
}

fn validate_claims(used: &[Value], claims: &[&str], path: &Path, errors: &mut Errors) {
    let mut seen: Vec<String> = Vec::new();
    for (i, claim) in used.iter().enumerate() {
        let path = path.index(i);
        let (name, request) = (text(claim, "name"), text(claim, "request"));
        if name.is_empty() {
            errors.push(FieldError::required(&path, ""));
            continue;
        }
        let mut key = name.to_owned();
        if !request.is_empty() {
            label(request, &path.child("request"), errors);
            key = format!("{name}/{request}");
        }
        let of_whole = seen.iter().any(|seen| seen == name);
        let of_part = request.is_empty() && seen.iter().any(|seen| seen.split('/').next() == Some(name));
        if of_whole || of_part || seen.contains(&key) {
            errors.push(FieldError::duplicate(&path, &if of_whole { name.into() } else { key.as_str().into() }));
        }
        seen.push(key);
        if !claims.contains(&name) {
            let mut error = FieldError::not_found(&path, &name.into());
            let known =
                if claims.is_empty() { " which is empty".to_owned() } else { format!(": {}", claims.join(", ")) };
            error.detail = format!("must be one of the names in pod.spec.resourceClaims{known}");
            errors.push(error);
        }
    }
}

/// Resource lists keep thousandths and nothing finer.
pub(super) fn round_up(amounts: Option<&mut Value>) {
    for amount in amounts.and_then(Value::as_object_mut).into_iter().flat_map(|map| map.values_mut()) {
        if let Some(parsed) = amount.as_str().and_then(|text| text.parse::<Quantity>().ok())
            && parsed != parsed.rounded_to_milli()
        {
            *amount = parsed.rounded_to_milli().to_string().into();
        }
    }
}

/// What the containers of a pod ask for together: all at once, or the most any step of initialisation needs.
pub(super) fn sum_of_requests(spec: &Value) -> BTreeMap<String, Quantity> {
    let requests = |container: &Value| -> BTreeMap<String, Quantity> {
        let requests = dig(container, &["resources"]);
        entries(requests, "requests").map(|(name, amount)| (name.clone(), quantity(amount))).collect()
    };
    let add = |to: &mut BTreeMap<String, Quantity>, from: BTreeMap<String, Quantity>| {
        for (name, amount) in from {
            let sum = to.get(&name).map_or(amount, |sum| sum.plus(amount));
            to.insert(name, sum);
        }
    };
    let mut total = BTreeMap::new();
    for container in list(spec, "containers") {
        add(&mut total, requests(container));
    }
    let mut sidecars = BTreeMap::new();
    let mut peak: BTreeMap<String, Quantity> = BTreeMap::new();
    for container in list(spec, "initContainers") {
        let mut step = sidecars.clone();
        add(&mut step, requests(container));
        if text(container, "restartPolicy") == "Always" {
            add(&mut total, requests(container));
            sidecars = step.clone();
        }
        for (name, amount) in step {
            let most = peak.get(&name).map_or(amount, |peak| amount.max(*peak));
            peak.insert(name, most);
        }
    }
    for (name, amount) in peak {
        let most = total.get(&name).map_or(amount, |sum| amount.max(*sum));
        total.insert(name, most);
    }
    total
}
