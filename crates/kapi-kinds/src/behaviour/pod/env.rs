//! Environment variables, and the references by which pods read their own fields.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use crate::behaviour::check::{Errors, each, qualified_name, quantity, subdomain};
use crate::behaviour::value::{present, text};
use crate::meta;

const ENV_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
pub(super) const VOLUME_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
const CONTAINER_RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

pub(super) fn validate_env(variables: &[Value], path: &Path, errors: &mut Errors) {
    for (i, variable) in variables.iter().enumerate() {
        let path = path.index(i);
        let name = text(variable, "name");
        if name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        } else {
            each(meta::is_env_var_name(name), &path.child("name"), name, errors);
        }
        if let Some(from) = present(variable, "valueFrom") {
            validate_value_from(from, text(variable, "value"), &path.child("valueFrom"), errors);
        }
    }
}

fn validate_value_from(from: &Value, value: &str, path: &Path, errors: &mut Errors) {
    let mut sources = 0;
    if let Some(field) = present(from, "fieldRef") {
        sources += 1;
        validate_field_ref(field, &ENV_FIELDS, &path.child("fieldRef"), errors);
    }
    if let Some(resource) = present(from, "resourceFieldRef") {
        sources += 1;
        validate_resource_ref(resource, false, &path.child("resourceFieldRef"), errors);
    }
    for kind in ["configMapKeyRef", "secretKeyRef"] {
        if let Some(key) = present(from, kind) {
            sources += 1;
            validate_key_ref(key, &path.child(kind), errors);
        }
    }
    let detail = if sources == 0 {
        "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
    } else if !value.is_empty() {
        "may not be specified when `value` is not empty"
    } else if sources > 1 {
        "may not have more than one field specified at a time"
    } else {
        return;
    };
    errors.push(FieldError::invalid(path, &"".into(), detail));
}

fn validate_key_ref(reference: &Value, path: &Path, errors: &mut Errors) {
    subdomain(text(reference, "name"), &path.child("name"), errors);
    let key = text(reference, "key");
    if key.is_empty() {
        errors.push(FieldError::required(&path.child("key"), ""));
    } else {
        each(meta::is_config_map_key(key), &path.child("key"), key, errors);
    }
}

pub(super) fn validate_field_ref(reference: &Value, known: &[&str], path: &Path, errors: &mut Errors) {
    let version = text(reference, "apiVersion");
    if version.is_empty() {
        errors.push(FieldError::required(&path.child("apiVersion"), ""));
        return;
    }
    let field = text(reference, "fieldPath");
    let at = path.child("fieldPath");
    if field.is_empty() {
        errors.push(FieldError::required(&at, ""));
        return;
    }
    if version != "v1" {
        let detail = format!("error converting fieldPath: unsupported pod version: {version}");
        errors.push(FieldError::invalid(&at, &field.into(), detail));
        return;
    }
    if let Some((map, key)) = field.strip_suffix("']").and_then(|field| field.split_once("['")) {
        match map {
            "metadata.annotations" => qualified_name(&key.to_lowercase(), path, errors),
            "metadata.labels" => qualified_name(key, path, errors),
            _ => {
                let detail = format!("error converting fieldPath: field label does not support subscript: {field}");
                errors.push(FieldError::invalid(&at, &field.into(), detail));
            }
        }
        return;
    }
    // Labels and annotations are known to the conversion, though only volumes may take them whole.
    let convertible = ENV_FIELDS.contains(&field)
        || VOLUME_FIELDS.contains(&field)
        || field == "spec.restartPolicy"
        || field == "spec.schedulerName"
        || field == "status.phase"
        || field == "spec.host";
    if !convertible {
        let detail = format!("error converting fieldPath: field label not supported: {field}");
        errors.push(FieldError::invalid(&at, &field.into(), detail));
    } else if !known.contains(&field) {
        errors.push(FieldError::not_supported(&at, &field.into(), known));
    }
}

pub(super) fn validate_resource_ref(reference: &Value, volume: bool, path: &Path, errors: &mut Errors) {
    let resource = text(reference, "resource");
    let pages = resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-");
    if volume && text(reference, "containerName").is_empty() {
        errors.push(FieldError::required(&path.child("containerName"), ""));
    } else if resource.is_empty() {
        errors.push(FieldError::required(&path.child("resource"), ""));
    } else if !pages && !CONTAINER_RESOURCES.contains(&resource) {
        errors.push(FieldError::not_supported(&path.child("resource"), &resource.into(), &CONTAINER_RESOURCES));
    }
    let divisor = reference.get("divisor").unwrap_or(&Value::Null);
    if quantity(divisor).signum() == 0 {
        return;
    }
    let (choices, kind) = match resource {
        "limits.cpu" | "requests.cpu" => ("1m and 1", "cpu resource"),
        "limits.memory" | "requests.memory" => (SIZES, "memory resource"),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => (SIZES, "local ephemeral storage resource"),
        _ if pages => (SIZES, "hugepages resource"),
        _ => return,
    };
    let given = quantity(divisor).to_string();
    let allowed = if kind == "cpu resource" { vec!["1m", "1"] } else { SIZES.split(", ").collect() };
    if !allowed.contains(&given.as_str()) {
        let be = format!("only divisor's values {choices} are supported with the {kind}");
        errors.push(FieldError::invalid(&path.child("divisor"), &resource.into(), be));
    }
}

const SIZES: &str = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";

pub(super) fn validate_env_from(sources: &[Value], path: &Path, errors: &mut Errors) {
    for (i, source) in sources.iter().enumerate() {
        let at = path.index(i);
        let prefix = text(source, "prefix");
        if !prefix.is_empty() {
            each(meta::is_env_var_name(prefix), &at.child("prefix"), prefix, errors);
        }
        let mut found = 0;
        for kind in ["configMapRef", "secretRef"] {
            let Some(reference) = present(source, kind) else { continue };
            found += 1;
            let name = text(reference, "name");
            let at = at.child(kind).child("name");
            if name.is_empty() {
                errors.push(FieldError::required(&at, ""));
            } else {
                each(meta::dns_subdomain(name, true), &at, name, errors);
            }
        }
        if found == 0 {
            errors.push(FieldError::invalid(path, &"".into(), "must specify one of: `configMapRef` or `secretRef`"));
        } else if found > 1 {
            errors.push(FieldError::invalid(path, &"".into(), "may not have more than one field specified at a time"));
        }
    }
}
