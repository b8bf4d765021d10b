//! PersistentVolumeClaims.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::super::check::{Errors, immutable, quantity, subdomain, supported};
use super::super::value::{default, default_zero, dig, keep, list, present, reach_mut, remove, same, set, text, texts};
use super::super::{Behaviour, diff, shape, status};
use crate::meta;

pub(super) const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

pub(in super::super) fn behaviour() -> Behaviour {
    Behaviour {
        default: defaults,
        prepare_create: |claim| {
            shape::reset_status(claim);
            defaults(claim);
            normalise_sources(claim);
        },
        prepare_update: |new, old| {
            status::keep_status(new, old);
            normalise_sources(new);
        },
        prepare_status: status::keep_spec,
        validate: |claim| {
            let mut errors = Vec::new();
            validate_spec(dig(claim, &["spec"]), &Path::new("spec"), &mut errors);
            errors
        },
        validate_update,
        fields: |claim| vec![("name", super::name(claim).to_owned())],
        ..Behaviour::builtin()
    }
}

/// Defaults of a claim, and of the templates of claims in StatefulSets.
pub(in super::super) fn defaults(claim: &mut Value) {
    if let Some(status) = reach_mut(claim, &["status"]) {
        default_zero(status, "phase", "Pending");
    }
    if let Some(spec) = claim.get_mut("spec") {
        default(spec, "volumeMode", "Filesystem");
    }
}

/// `dataSource` and `dataSourceRef` are two spellings of one thing.
fn normalise_sources(claim: &mut Value) {
    let Some(spec) = claim.get_mut("spec") else { return };
    let source = present(spec, "dataSource").cloned();
    let reference = present(spec, "dataSourceRef").cloned();
    if reference.is_none()
        && let Some(known) = &source
    {
        let group = text(known, "apiGroup");
        let volume = text(known, "kind") == "PersistentVolumeClaim" && group.is_empty();
        let snapshot = text(known, "kind") == "VolumeSnapshot" && group == "snapshot.storage.k8s.io";
        if !volume && !snapshot {
            remove(spec, "dataSource");
            return;
        }
        set(spec, "dataSourceRef", known.clone());
    } else if source.is_none()
        && let Some(known) = reference.filter(|known| text(known, "namespace").is_empty())
    {
        set(spec, "dataSource", known);
    }
}

/// Checks a claim's specification, wherever it stands.
pub(in super::super) fn validate_spec(spec: &Value, path: &Path, errors: &mut Errors) {
    if list(spec, "accessModes").is_empty() {
        errors.push(FieldError::required(&path.child("accessModes"), "at least 1 access mode is required"));
    }
    if let Some(selector) = present(spec, "selector") {
        meta::validate_selector(selector, &path.child("selector"), errors);
    }
    validate_access_modes(spec, &path.child("accessModes"), errors);
    let at = path.child("resources").key("storage");
    match present(dig(spec, &["resources", "requests"]), "storage") {
        None => errors.push(FieldError::required(&at, "")),
        Some(amount) if quantity(amount).signum() <= 0 => {
            errors.push(FieldError::invalid(&at, amount, "must be greater than zero"));
        }
        Some(_) => {}
    }
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        subdomain(class, &path.child("storageClassName"), errors);
    }
    if let Some(mode) = present(spec, "volumeMode").and_then(Value::as_str) {
        supported(mode, &path.child("volumeMode"), &["Block", "Filesystem"], errors);
    }
    for field in ["dataSource", "dataSourceRef"] {
        if let Some(source) = present(spec, field) {
            validate_source(source, &path.child(field), errors);
        }
    }
}

pub(super) fn validate_access_modes(spec: &Value, path: &Path, errors: &mut Errors) {
    let modes = texts(spec, "accessModes");
    for mode in &modes {
        supported(mode, path, &ACCESS_MODES, errors);
    }
    let single = modes.contains(&"ReadWriteOncePod");
    if single && modes.iter().any(|mode| *mode != "ReadWriteOncePod" && ACCESS_MODES.contains(mode)) {
        errors.push(FieldError::forbidden(path, "may not use ReadWriteOncePod with other access modes"));
    }
}

fn validate_source(source: &Value, path: &Path, errors: &mut Errors) {
    for field in ["name", "kind"] {
        if text(source, field).is_empty() {
            errors.push(FieldError::required(&path.child(field), ""));
        }
    }
    let (kind, group) = (text(source, "kind"), text(source, "apiGroup"));
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.push(FieldError::invalid(path, &kind.into(), detail));
    }
    if !group.is_empty() {
        subdomain(group, &path.child("apiGroup"), errors);
    }
}

fn validate_update(new: &Value, old: &Value) -> Errors {
    let mut errors = Vec::new();
    validate_spec(dig(new, &["spec"]), &Path::new("spec"), &mut errors);
    let (mut spec, mut was) = (dig(new, &["spec"]).clone(), dig(old, &["spec"]).clone());
    if text(&was, "volumeName").is_empty() {
        let now = spec.clone();
        keep(&mut was, &now, "volumeName");
    }
    if present(&was, "storageClassName").is_none() {
        keep(&mut spec, &was, "storageClassName");
    }
    if text(dig(new, &["status"]), "phase") == "Bound" {
        let size = dig(old, &["spec", "resources", "requests", "storage"]).clone();
        if let Some(requests) = spec.get_mut("resources").and_then(|resources| resources.get_mut("requests")) {
            set(requests, "storage", size);
        }
        keep(&mut spec, &was, "volumeAttributesClassName");
    }
    if !same(&spec, &was) {
        let detail = format!(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n{}",
            diff::fields_that_differ(&was, &spec)
        );
        errors.push(FieldError::forbidden(&Path::new("spec"), detail));
    }
    let size = |object: &Value| quantity(dig(object, &["spec", "resources", "requests", "storage"]));
    let capacity = quantity(dig(old, &["status", "capacity", "storage"]));
    if size(new) < size(old) && size(new) <= capacity {
        let path = Path::new("spec.resources.requests.storage");
        errors.push(FieldError::forbidden(&path, "field can not be less than status.capacity"));
    }
    let mode = |object: &Value| dig(object, &["spec", "volumeMode"]).clone();
    immutable(&mode(new), &mode(old), &Path::new("volumeMode"), &mut errors);
    errors
}
