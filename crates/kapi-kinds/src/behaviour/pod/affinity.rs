//! Affinity of pods to nodes and to each other, and spreading over topologies.

use kapi_schema::field::{FieldError, Path};
use serde_json::{Value, json};

use crate::behaviour::check::{Errors, each, positive, supported};
use crate::behaviour::value::{dig, entries, int, items_mut, list, present, text, texts};
use crate::meta;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const WEIGHT: &str = "must be in the range 1-100";

pub(super) fn validate_affinity(affinity: &Value, path: &Path, errors: &mut Errors) {
    if let Some(node) = present(affinity, "nodeAffinity") {
        let path = path.child("nodeAffinity");
        if let Some(selector) = present(node, REQUIRED) {
            validate_node_selector(selector, &path.child(REQUIRED), errors);
        }
        for (i, term) in list(node, PREFERRED).iter().enumerate() {
            let path = path.child(PREFERRED).index(i);
            validate_weight(term, &path, errors);
            validate_node_term(dig(term, &["preference"]), false, &path.child("preference"), errors);
        }
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = present(affinity, kind) else { continue };
        let path = path.child(kind);
        for (i, term) in list(affinity, REQUIRED).iter().enumerate() {
            validate_pod_term(term, &path.child(REQUIRED).index(i), errors);
        }
        for (i, term) in list(affinity, PREFERRED).iter().enumerate() {
            let path = path.child(PREFERRED).index(i);
            validate_weight(term, &path, errors);
            validate_pod_term(dig(term, &["podAffinityTerm"]), &path.child("podAffinityTerm"), errors);
        }
    }
}

fn validate_weight(term: &Value, path: &Path, errors: &mut Errors) {
    let weight = int(term, "weight").unwrap_or(0);
    if !(1..=100).contains(&weight) {
        errors.push(FieldError::invalid(&path.child("weight"), &weight.into(), WEIGHT));
    }
}

/// Checks a selector of nodes, as pods and persistent volumes carry it.
pub(crate) fn validate_node_selector(selector: &Value, path: &Path, errors: &mut Errors) {
    let path = path.child("nodeSelectorTerms");
    let terms = list(selector, "nodeSelectorTerms");
    if terms.is_empty() {
        errors.push(FieldError::required(&path, "must have at least one node selector term"));
    }
    for (i, term) in terms.iter().enumerate() {
        validate_node_term(term, true, &path.index(i), errors);
    }
}

fn validate_node_term(term: &Value, check_values: bool, path: &Path, errors: &mut Errors) {
    for (i, requirement) in list(term, "matchExpressions").iter().enumerate() {
        let path = path.child("matchExpressions").index(i);
        let values = list(requirement, "values");
        let operator = text(requirement, "operator");
        match operator {
            "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
                &path.child("values"),
                "must be specified when `operator` is 'In' or 'NotIn'",
            )),
            "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
                &path.child("values"),
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )),
            "Gt" | "Lt" if values.len() != 1 => errors.push(FieldError::required(
                &path.child("values"),
                "must be specified single value when `operator` is 'Lt' or 'Gt'",
            )),
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            _ => refuse_operator(operator, &path, errors),
        }
        meta::validate_label_key(text(requirement, "key"), &path.child("key"), errors);
        if check_values {
            for (i, value) in values.iter().enumerate() {
                let value = value.as_str().unwrap_or("");
                each(meta::is_label_value(value), &path.child("values").index(i), value, errors);
            }
        }
    }
    for (i, requirement) in list(term, "matchFields").iter().enumerate() {
        let path = path.child("matchFields").index(i);
        let values = list(requirement, "values");
        match text(requirement, "operator") {
            "In" | "NotIn" if values.len() != 1 => errors.push(FieldError::required(
                &path.child("values"),
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
            )),
            "In" | "NotIn" => {}
            other => refuse_operator(other, &path, errors),
        }
        let key = text(requirement, "key");
        if key == "metadata.name" {
            for (i, value) in values.iter().enumerate() {
                let value = value.as_str().unwrap_or("");
                each(meta::is_dns_subdomain(value), &path.child("values").index(i), value, errors);
            }
        } else {
            errors.push(FieldError::invalid(&path.child("key"), &key.into(), "not a valid field selector key"));
        }
    }
}

fn refuse_operator(operator: &str, path: &Path, errors: &mut Errors) {
    errors.push(FieldError::invalid(&path.child("operator"), &operator.into(), "not a valid selector operator"));
}

fn validate_pod_term(term: &Value, path: &Path, errors: &mut Errors) {
    for selector in ["labelSelector", "namespaceSelector"] {
        if let Some(value) = present(term, selector) {
            meta::validate_selector(value, &path.child(selector), errors);
        }
    }
    for namespace in texts(term, "namespaces") {
        each(meta::is_dns_label(namespace), &path.child("namespace"), namespace, errors);
    }
    validate_label_keys(term, path, errors);
    let key = text(term, "topologyKey");
    if key.is_empty() {
        errors.push(FieldError::required(&path.child("topologyKey"), "can not be empty"));
    }
    meta::validate_label_key(key, &path.child("topologyKey"), errors);
}

fn validate_label_keys(term: &Value, path: &Path, errors: &mut Errors) {
    let selector = present(term, "labelSelector");
    for kind in ["matchLabelKeys", "mismatchLabelKeys"] {
        let keys = texts(term, kind);
        let path = path.child(kind);
        if selector.is_none() && !keys.is_empty() {
            errors.push(FieldError::forbidden(&path, "must not be specified when labelSelector is not set"));
            continue;
        }
        for (i, key) in keys.iter().enumerate() {
            meta::validate_label_key(key, &path.index(i), errors);
        }
    }
    let wanted = texts(term, "matchLabelKeys");
    let mut keys: Vec<&str> = selector
        .into_iter()
        .flat_map(|selector| entries(selector, "matchLabels"))
        .map(|(key, _)| key.as_str())
        .collect();
    for requirement in selector.map(|selector| list(selector, "matchExpressions")).unwrap_or_default() {
        let key = text(requirement, "key");
        if let Some(i) = wanted.iter().rposition(|wanted| *wanted == key).filter(|_| keys.contains(&key)) {
            let detail = "exists in both matchLabelKeys and labelSelector";
            errors.push(FieldError::invalid(&path.index(i), &key.into(), detail));
        }
        keys.push(key);
    }
    let mismatched = texts(term, "mismatchLabelKeys");
    for (i, key) in texts(term, "matchLabelKeys").iter().enumerate() {
        if mismatched.contains(key) {
            let detail = "exists in both matchLabelKeys and mismatchLabelKeys";
            errors.push(FieldError::invalid(&path.child("matchLabelKeys").index(i), &(*key).into(), detail));
        }
    }
}

pub(super) fn validate_spreading(constraints: &[Value], path: &Path, errors: &mut Errors) {
    for (i, constraint) in constraints.iter().enumerate() {
        let path = path.index(i);
        positive(int(constraint, "maxSkew").unwrap_or(0), &path.child("maxSkew"), errors);
        let key = text(constraint, "topologyKey");
        if key.is_empty() {
            errors.push(FieldError::required(&path.child("topologyKey"), "can not be empty"));
        }
        let action = text(constraint, "whenUnsatisfiable");
        supported(action, &path.child("whenUnsatisfiable"), &["DoNotSchedule", "ScheduleAnyway"], errors);
        let repeated = constraints
            .iter()
            .skip(i + 1)
            .any(|other| text(other, "topologyKey") == key && text(other, "whenUnsatisfiable") == action);
        if repeated {
            errors.push(FieldError::duplicate(
                &path.child("{topologyKey, whenUnsatisfiable}"),
                &format!("{{{key}, {action}}}").into(),
            ));
        }
        if let Some(domains) = int(constraint, "minDomains") {
            positive(domains, &path.child("minDomains"), errors);
            if action != "DoNotSchedule" {
                let detail = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
                errors.push(FieldError::invalid(&path.child("minDomains"), &domains.into(), detail));
            }
        }
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            if let Some(value) = present(constraint, policy).and_then(Value::as_str) {
                supported(value, &path.child(policy), &["Honor", "Ignore"], errors);
            }
        }
        validate_label_keys(constraint, &path, errors);
        if let Some(selector) = present(constraint, "labelSelector") {
            meta::validate_selector(selector, &path.child("labelSelector"), errors);
        }
    }
}

/// Turns `matchLabelKeys` into requirements on the values this very pod has, as Kubernetes does on creation.
pub(super) fn merge_label_keys(pod: &mut Value) {
    let labels = dig(pod, &["metadata", "labels"]).clone();
    let Some(spec) = pod.get_mut("spec") else { return };
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = spec.get_mut("affinity").and_then(|affinity| affinity.get_mut(kind)) else { continue };
        items_mut(affinity, REQUIRED).for_each(|term| merge_keys(term, &labels));
        for term in items_mut(affinity, PREFERRED) {
            if let Some(term) = term.get_mut("podAffinityTerm") {
                merge_keys(term, &labels);
            }
        }
    }
    items_mut(spec, "topologySpreadConstraints").for_each(|constraint| merge_keys(constraint, &labels));
}

fn merge_keys(term: &mut Value, labels: &Value) {
    if present(term, "labelSelector").is_none() {
        return;
    }
    let mut added = Vec::new();
    for (kind, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in texts(term, kind) {
            if let Some(value) = labels.get(key) {
                added.push(json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
    if let Some(selector) = term.get_mut("labelSelector").and_then(Value::as_object_mut)
        && !added.is_empty()
        && let Some(expressions) = selector.entry("matchExpressions").or_insert_with(|| json!([])).as_array_mut()
    {
        expressions.extend(added);
    }
}
