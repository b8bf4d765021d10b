//! The rules every object's metadata obeys.

mod labels;
mod names;
mod selector;

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

pub use labels::{validate_annotations, validate_label_key, validate_labels};
pub use names::*;
pub use selector::{matches, validate_selector};

use crate::Behaviour;
use crate::behaviour::check::invalid_shown;
use crate::behaviour::value::{int, list, present, text};

/// What a changed immutable field is refused with.
pub const IMMUTABLE: &str = "field is immutable";

const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// What is wrong with the metadata of a new object.
pub fn validate_meta(object: &Value, namespaced: bool, behaviour: &Behaviour) -> Vec<FieldError> {
    let path = Path::new("metadata");
    let meta = object.get("metadata").unwrap_or(&Value::Null);
    let mut errors = Vec::new();
    let generate_name = text(meta, "generateName");
    if !generate_name.is_empty() {
        for message in (behaviour.validate_name)(generate_name, true) {
            errors.push(FieldError::invalid(&path.child("generateName"), &generate_name.into(), message));
        }
    }
    let name = text(meta, "name");
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), "name or generateName is required"));
    } else {
        for message in (behaviour.validate_name)(name, false) {
            errors.push(FieldError::invalid(&path.child("name"), &name.into(), message));
        }
    }
    let namespace = text(meta, "namespace");
    if namespaced && namespace.is_empty() {
        errors.push(FieldError::required(&path.child("namespace"), ""));
    } else if namespaced {
        for message in names::is_dns_label(namespace) {
            errors.push(FieldError::invalid(&path.child("namespace"), &namespace.into(), message));
        }
    } else if !namespace.is_empty() {
        errors.push(FieldError::forbidden(&path.child("namespace"), "not allowed on this type"));
    }
    if let Some(generation) = int(meta, "generation").filter(|generation| *generation < 0) {
        errors.push(FieldError::invalid(
            &path.child("generation"),
            &generation.into(),
            "must be greater than or equal to 0",
        ));
    }
    validate_common(meta, &path, behaviour, true, &mut errors);
    errors
}

/// What is wrong with a change of metadata.
pub fn validate_meta_update(new: &Value, old: &Value, behaviour: &Behaviour) -> Vec<FieldError> {
    let path = Path::new("metadata");
    let (meta, was) = (new.get("metadata").unwrap_or(&Value::Null), old.get("metadata").unwrap_or(&Value::Null));
    let mut errors = Vec::new();
    if present(was, "deletionTimestamp").is_some() {
        let known = list(was, "finalizers");
        let mut added: Vec<&str> =
            list(meta, "finalizers").iter().filter(|f| !known.contains(f)).filter_map(Value::as_str).collect();
        added.sort_unstable();
        added.dedup();
        if !added.is_empty() {
            let shown: Vec<String> = added.iter().map(|f| kapi_schema::field::go_quote(f)).collect();
            errors.push(FieldError::forbidden(
                &path.child("finalizers"),
                format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                    shown.join(", ")
                ),
            ));
        }
    }
    if text(meta, "resourceVersion").is_empty() {
        errors.push(FieldError::invalid(&path.child("resourceVersion"), &"".into(), "must be specified for an update"));
    }
    let generation = int(meta, "generation").unwrap_or(0);
    if generation < int(was, "generation").unwrap_or(0) {
        errors.push(FieldError::invalid(&path.child("generation"), &generation.into(), "must not be decremented"));
    }
    for field in ["name", "namespace", "uid"] {
        if text(meta, field) != text(was, field) {
            errors.push(FieldError::invalid(&path.child(field), &text(meta, field).into(), IMMUTABLE));
        }
    }
    for field in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if present(meta, field) != present(was, field) {
            errors.push(FieldError::invalid(
                &path.child(field),
                present(meta, field).unwrap_or(&Value::Null),
                IMMUTABLE,
            ));
        }
    }
    validate_common(meta, &path, behaviour, false, &mut errors);
    errors
}

/// What holds for new and for changed metadata alike.
fn validate_common(meta: &Value, path: &Path, behaviour: &Behaviour, create: bool, errors: &mut Vec<FieldError>) {
    validate_labels(present(meta, "labels"), &path.child("labels"), errors);
    validate_annotations(present(meta, "annotations"), &path.child("annotations"), errors);
    validate_owners(list(meta, "ownerReferences"), &path.child("ownerReferences"), errors);
    let finalizers = path.child("finalizers");
    if create {
        validate_finalizers(list(meta, "finalizers"), &finalizers, errors);
    }
    validate_managed_fields(list(meta, "managedFields"), &path.child("managedFields"), errors);
    if behaviour.standard_finalizers {
        for (i, finalizer) in list(meta, "finalizers").iter().enumerate() {
            validate_standard_finalizer(finalizer, &finalizers.index(i), errors);
        }
    }
}

/// What is wrong with the finalizers of a namespace's spec.
pub fn validate_namespace_finalizers(namespace: &Value) -> Vec<FieldError> {
    let path = Path::new("spec.finalizers");
    let spec = namespace.get("spec").unwrap_or(&Value::Null);
    let mut errors = Vec::new();
    for (i, finalizer) in list(spec, "finalizers").iter().enumerate() {
        validate_finalizers(std::slice::from_ref(finalizer), &path.index(i), &mut errors);
        validate_standard_finalizer(finalizer, &path.index(i), &mut errors);
    }
    errors
}

/// Built-in kinds take only well-known finalizers or qualified ones.
pub(crate) fn validate_standard_finalizer(finalizer: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let name = finalizer.as_str().unwrap_or("");
    if !name.contains('/') && !STANDARD_FINALIZERS.contains(&name) {
        errors.push(FieldError::invalid(
            path,
            finalizer,
            "name is neither a standard finalizer name nor is it fully qualified",
        ));
    }
}

fn validate_finalizers(finalizers: &[Value], path: &Path, errors: &mut Vec<FieldError>) {
    for finalizer in finalizers {
        for message in names::is_qualified_name(finalizer.as_str().unwrap_or("")) {
            errors.push(FieldError::invalid(path, finalizer, message));
        }
    }
    let has = |name: &str| finalizers.iter().any(|finalizer| finalizer == name);
    if has("orphan") && has("foregroundDeletion") {
        errors.push(FieldError::invalid(
            path,
            &finalizers.into(),
            "finalizer orphan and foregroundDeletion cannot be both set",
        ));
    }
}

fn validate_owners(owners: &[Value], path: &Path, errors: &mut Vec<FieldError>) {
    let mut controller: Option<String> = None;
    for owner in owners {
        let api_version = text(owner, "apiVersion");
        let version = api_version.rsplit('/').next().unwrap_or("");
        // A malformed group/version reads as none at all.
        if version.is_empty() || api_version.matches('/').count() > 1 {
            errors.push(FieldError::invalid(
                &path.child("apiVersion"),
                &api_version.into(),
                "version must not be empty",
            ));
        }
        for field in ["kind", "name", "uid"] {
            if text(owner, field).is_empty() {
                errors.push(FieldError::invalid(&path.child(field), &"".into(), "must not be empty"));
            }
        }
        if api_version == "v1" && text(owner, "kind") == "Event" {
            errors.push(FieldError::invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner"));
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            let name = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
            match &controller {
                Some(first) => errors.push(invalid_shown(
                    path,
                    show_owners(owners),
                    format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}"
                    ),
                )),
                None => controller = Some(name),
            }
        }
    }
}

/// Owner references as Go prints them, field by field in the order of the struct.
fn show_owners(owners: &[Value]) -> String {
    let fields = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let owners: Vec<String> = owners
        .iter()
        .map(|owner| {
            let shown = fields.iter().filter_map(|field| Some(format!("\"{field}\":{}", present(owner, field)?)));
            format!("{{{}}}", shown.collect::<Vec<_>>().join(","))
        })
        .collect();
    format!("[{}]", owners.join(","))
}

fn validate_managed_fields(entries: &[Value], path: &Path, errors: &mut Vec<FieldError>) {
    for (i, entry) in entries.iter().enumerate() {
        let path = path.index(i);
        let operation = text(entry, "operation");
        if operation != "Apply" && operation != "Update" {
            errors.push(FieldError::invalid(
                &path.child("operation"),
                &operation.into(),
                "must be `Apply` or `Update`",
            ));
        }
        let fields_type = text(entry, "fieldsType");
        if !fields_type.is_empty() && fields_type != "FieldsV1" {
            errors.push(FieldError::invalid(&path.child("fieldsType"), &fields_type.into(), "must be `FieldsV1`"));
        }
        if text(entry, "manager").len() > 128 {
            errors.push(FieldError::too_long(&path.child("manager"), 128));
        }
        if text(entry, "subresource").len() > 256 {
            errors.push(FieldError::too_long(&path.child("subresource"), 256));
        }
    }
}
