//! PersistentVolumes.

use kapi_schema::field::{FieldError, Path};
use serde_json::{Map, Value};

use super::super::check::{Errors, immutable, quantity, subdomain, supported, unsupported_shown};
use super::super::pod::{default_volume_source, validate_node_selector, validate_volume_kind};
use super::super::value::{default, default_zero, dig, entries, list, present, reach_mut, same, set, text};
use super::super::{Behaviour, diff, shape, status};
use super::claim::validate_access_modes;
use crate::meta;

/// What a persistent volume can be made of, in the order Kubernetes looks at it.
const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

pub(super) fn behaviour() -> Behaviour {
    Behaviour {
        default: |volume| {
            if let Some(status) = reach_mut(volume, &["status"]) {
                default_zero(status, "phase", "Pending");
            }
            if let Some(spec) = volume.get_mut("spec") {
                default_zero(spec, "persistentVolumeReclaimPolicy", "Retain");
                default(spec, "volumeMode", "Filesystem");
                default_volume_source(spec);
            }
        },
        prepare_create: |volume| {
            shape::reset_status(volume);
            if let Some(status) = reach_mut(volume, &["status"]) {
                set(status, "phase", "Pending");
            }
        },
        prepare_update: status::keep_status,
        prepare_status: status::keep_spec,
        validate,
        validate_update,
        fields: |volume| vec![("name", super::name(volume).to_owned())],
        ..Behaviour::builtin()
    }
}

fn validate(volume: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = dig(volume, &["spec"]);
    if list(spec, "accessModes").is_empty() {
        errors.push(FieldError::required(&path.child("accessModes"), ""));
    }
    validate_access_modes(spec, &path.child("accessModes"), &mut errors);
    validate_capacity(spec, &path.child("capacity"), &mut errors);
    let policy = text(spec, "persistentVolumeReclaimPolicy");
    if !policy.is_empty() {
        let policies = ["Delete", "Recycle", "Retain"];
        supported(policy, &path.child("persistentVolumeReclaimPolicy"), &policies, &mut errors);
    }
    if let Some(affinity) = present(spec, "nodeAffinity") {
        let path = path.child("nodeAffinity").child("required");
        match present(affinity, "required") {
            Some(selector) => validate_node_selector(selector, &path, &mut errors),
            None => errors.push(FieldError::required(&path, "must specify required node constraints")),
        }
    }
    validate_source(spec, &path, &mut errors);
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        subdomain(class, &path.child("storageClassName"), &mut errors);
    }
    if let Some(mode) = present(spec, "volumeMode").and_then(Value::as_str) {
        supported(mode, &path.child("volumeMode"), &["Block", "Filesystem"], &mut errors);
    }
    errors
}

fn validate_capacity(spec: &Value, path: &Path, errors: &mut Errors) {
    let capacity = dig(spec, &["capacity"]);
    let count = entries(spec, "capacity").count();
    if count == 0 {
        errors.push(FieldError::required(path, ""));
    }
    if present(capacity, "storage").is_none() || count > 1 {
        errors.push(unsupported_shown(path, capacity.to_string(), &["storage"]));
    }
    for (name, amount) in entries(spec, "capacity") {
        let path = path.key(name);
        let value = quantity(amount).value();
        if value < 0 {
            errors.push(FieldError::invalid(&path, &value.into(), "must be a valid resource quantity"));
        }
        if quantity(amount).signum() <= 0 {
            errors.push(FieldError::invalid(&path, amount, "must be greater than zero"));
        }
    }
}

fn validate_source(spec: &Value, path: &Path, errors: &mut Errors) {
    let mut found = false;
    for kind in SOURCES {
        let Some(source) = present(spec, kind) else { continue };
        let at = path.child(kind);
        if found {
            errors.push(FieldError::forbidden(&at, "may not specify more than 1 volume type"));
            continue;
        }
        found = true;
        match kind {
            "local" => {
                if text(source, "path").is_empty() {
                    errors.push(FieldError::required(&at.child("path"), ""));
                }
                if present(spec, "nodeAffinity").is_none() {
                    let detail = "Local volume requires node affinity";
                    errors.push(FieldError::required(&path.child("nodeAffinity"), detail));
                }
            }
            "csi" => {
                validate_driver_name(text(source, "driver"), &at.child("driver"), errors);
                if text(source, "volumeHandle").is_empty() {
                    errors.push(FieldError::required(&at.child("volumeHandle"), ""));
                }
            }
            _ => validate_volume_kind(kind, source, &at, errors),
        }
    }
    if !found {
        errors.push(FieldError::required(path, "must specify a volume type"));
    }
}

/// Checks the name of a CSI driver.
pub(in super::super) fn validate_driver_name(name: &str, path: &Path, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    if name.len() > 63 {
        errors.push(FieldError::too_long(path, 63));
    }
    for message in meta::is_dns_subdomain(&name.to_lowercase()) {
        errors.push(FieldError::invalid(path, &name.into(), message));
    }
}

fn sources(spec: &Value) -> Value {
    let found = SOURCES.iter().filter_map(|kind| Some(((*kind).to_owned(), present(spec, kind)?.clone())));
    Value::Object(found.collect::<Map<_, _>>())
}

fn validate_update(new: &Value, old: &Value) -> Errors {
    let mut errors = validate(new);
    let (spec, was) = (dig(new, &["spec"]), dig(old, &["spec"]));
    let (now, before) = (sources(spec), sources(was));
    if !same(&now, &before) {
        let detail = format!(
            "spec.persistentvolumesource is immutable after creation\n{}",
            diff::fields_that_differ(&before, &now)
        );
        errors.push(FieldError::forbidden(&Path::new("spec.persistentvolumesource"), detail));
    }
    immutable(dig(spec, &["volumeMode"]), dig(was, &["volumeMode"]), &Path::new("volumeMode"), &mut errors);
    if present(was, "nodeAffinity").is_some() {
        let path = Path::new("nodeAffinity");
        immutable(dig(spec, &["nodeAffinity"]), dig(was, &["nodeAffinity"]), &path, &mut errors);
    }
    errors
}
