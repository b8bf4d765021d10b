//! Storage classes, attachments and drivers.

use kapi_schema::field::{FieldError, Path};
use serde_json::{Value, json};

use super::check::{Errors, immutable, invalid_shown, nonnegative, qualified_name, subdomain, supported};
use super::core::validate_driver_name;
use super::value::{default, default_zero, dig, entries, int, list, present, same, text, texts};
use super::{Behaviour, status};
use crate::meta;

pub(super) fn behaviour(kind: &str) -> Option<Behaviour> {
    let base = Behaviour::builtin();
    Some(match kind {
        "StorageClass" => Behaviour {
            default: |class| {
                default(class, "reclaimPolicy", "Delete");
                default(class, "volumeBindingMode", "Immediate");
            },
            validate: validate_class,
            validate_update: validate_class_update,
            ..base
        },
        "VolumeAttachment" => Behaviour {
            prepare_create: status::reset,
            prepare_update: status::keep_status,
            prepare_status: status::keep_spec,
            validate: validate_attachment,
            validate_update: validate_attachment_update,
            ..base
        },
        "CSIDriver" => Behaviour {
            default: default_driver,
            validate: validate_driver,
            validate_update: |new, old| {
                let mut errors = validate_driver(new);
                let of = |object: &Value, field: &str| dig(object, &["spec", field]).clone();
                for (field, shown) in
                    [("attachRequired", "attachedRequired"), ("volumeLifecycleModes", "volumeLifecycleModes")]
                {
                    immutable(&of(new, field), &of(old, field), &Path::new("spec").child(shown), &mut errors);
                }
                errors
            },
            generation: true,
            counts_creation: false,
            ..base
        },
        "CSINode" => Behaviour { validate: validate_node, validate_update: validate_node_update, ..base },
        "CSIStorageCapacity" => Behaviour {
            validate: validate_capacity,
            validate_update: |new, old| {
                let mut errors = Vec::new();
                for field in ["nodeTopology", "storageClassName"] {
                    immutable(dig(new, &[field]), dig(old, &[field]), &Path::new(field), &mut errors);
                }
                errors
            },
            ..base
        },
        _ => return None,
    })
}

fn validate_class(class: &Value) -> Errors {
    let mut errors = Vec::new();
    let provisioner = text(class, "provisioner");
    let path = Path::new("provisioner");
    if provisioner.is_empty() {
        errors.push(FieldError::required(&path, ""));
    } else {
        qualified_name(&provisioner.to_lowercase(), &path, &mut errors);
    }
    validate_parameters(class, &mut errors);
    let policy = text(class, "reclaimPolicy");
    if !policy.is_empty() {
        supported(policy, &Path::new("reclaimPolicy"), &["Delete", "Retain"], &mut errors);
    }
    let mode = text(class, "volumeBindingMode");
    supported(mode, &Path::new("volumeBindingMode"), &["Immediate", "WaitForFirstConsumer"], &mut errors);
    for (i, term) in list(class, "allowedTopologies").iter().enumerate() {
        validate_topology(term, &Path::new("allowedTopologies").index(i), &mut errors);
    }
    errors
}

fn validate_parameters(class: &Value, errors: &mut Errors) {
    let path = Path::new("parameters");
    let mut size = 0;
    for (i, (key, value)) in entries(class, "parameters").enumerate() {
        if i >= 512 {
            errors.push(FieldError::too_long(&path, 512));
            return;
        }
        if key.is_empty() {
            errors.push(FieldError::invalid(&path, &"".into(), "field can not be empty."));
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > 256 * 1024 {
        errors.push(FieldError::too_long(&path, 256 * 1024));
    }
}

fn validate_topology(term: &Value, path: &Path, errors: &mut Errors) {
    let mut keys = Vec::new();
    for (i, requirement) in list(term, "matchLabelExpressions").iter().enumerate() {
        let path = path.child("matchLabelExpressions").index(i);
        let values = texts(requirement, "values");
        if values.is_empty() {
            errors.push(FieldError::required(&path.child("values"), ""));
        }
        for (i, value) in values.iter().enumerate() {
            if values.iter().take(i).any(|other| other == value) {
                errors.push(FieldError::duplicate(&path.child("values").index(i), &(*value).into()));
            }
        }
        let key = text(requirement, "key");
        meta::validate_label_key(key, &path.child("key"), errors);
        if keys.contains(&key) {
            errors.push(FieldError::duplicate(&path.child("key"), &key.into()));
        }
        keys.push(key);
    }
}

fn validate_class_update(new: &Value, old: &Value) -> Errors {
    let mut errors = Vec::new();
    for field in ["parameters", "provisioner", "reclaimPolicy"] {
        if !same(dig(new, &[field]), dig(old, &[field])) {
            let detail = format!("updates to {field} are forbidden.");
            errors.push(FieldError::forbidden(&Path::new(field), detail));
        }
    }
    let mode = |class: &Value| dig(class, &["volumeBindingMode"]).clone();
    immutable(&mode(new), &mode(old), &Path::new("volumeBindingMode"), &mut errors);
    errors
}

fn validate_attachment(attachment: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = dig(attachment, &["spec"]);
    let attacher = text(spec, "attacher");
    if attacher.is_empty() {
        errors.push(FieldError::required(&path.child("attacher"), ""));
    }
    let source = dig(spec, &["source"]);
    let at = path.child("source");
    let detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    let volume = present(source, "persistentVolumeName").and_then(Value::as_str);
    match (present(source, "inlineVolumeSpec"), volume) {
        (None, None) => errors.push(FieldError::required(&at, detail)),
        (Some(_), Some(_)) => errors.push(FieldError::forbidden(&at, detail)),
        (None, Some("")) => {
            let detail = "must specify non empty persistentVolumeName";
            errors.push(FieldError::required(&at.child("persistentVolumeName"), detail));
        }
        _ => {}
    }
    subdomain(text(spec, "nodeName"), &path.child("nodeName"), &mut errors);
    validate_driver_name(attacher, &path.child("attacher"), &mut errors);
    if let Some(volume) = volume {
        subdomain(volume, &at.child("persistentVolumeName"), &mut errors);
    }
    errors
}

fn validate_attachment_update(new: &Value, old: &Value) -> Errors {
    let mut errors = validate_attachment(new);
    let (spec, was) = (dig(new, &["spec"]), dig(old, &["spec"]));
    if !same(spec, was) {
        let source = dig(spec, &["source"]);
        let shown = format!(
            "{{\"Attacher\":{},\"Source\":{{\"PersistentVolumeName\":{},\"InlineVolumeSpec\":{}}},\"NodeName\":{}}}",
            dig(spec, &["attacher"]),
            dig(source, &["persistentVolumeName"]),
            dig(source, &["inlineVolumeSpec"]),
            dig(spec, &["nodeName"])
        );
        errors.push(invalid_shown(&Path::new("spec"), shown, meta::IMMUTABLE));
    }
    errors
}

fn default_driver(driver: &mut Value) {
    let Some(spec) = driver.get_mut("spec") else { return };
    default(spec, "attachRequired", true);
    for field in ["podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"] {
        default(spec, field, false);
    }
    default(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    default_zero(spec, "volumeLifecycleModes", json!(["Persistent"]));
}

fn validate_driver(driver: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = dig(driver, &["spec"]);
    if let Some(policy) = present(spec, "fsGroupPolicy").and_then(Value::as_str) {
        let policies = ["File", "None", "ReadWriteOnceWithFSType"];
        supported(policy, &path.child("fsGroupPolicy"), &policies, &mut errors);
    }
    let requests = list(spec, "tokenRequests");
    for (i, request) in requests.iter().enumerate() {
        let path = path.child("tokenRequests").index(i);
        let audience = text(request, "audience");
        if requests.iter().take(i).any(|other| text(other, "audience") == audience) {
            errors.push(FieldError::duplicate(&path.child("audience"), &audience.into()));
            continue;
        }
        let detail = match int(request, "expirationSeconds") {
            Some(seconds) if seconds < 600 => "may not specify a duration less than 10 minutes",
            Some(seconds) if seconds > 1 << 32 => "may not specify a duration larger than 2^32 seconds",
            _ => continue,
        };
        errors.push(FieldError::invalid(
            &path.child("expirationSeconds"),
            dig(request, &["expirationSeconds"]),
            detail,
        ));
    }
    for mode in texts(spec, "volumeLifecycleModes") {
        supported(mode, &path.child("volumeLifecycleModes"), &["Persistent", "Ephemeral"], &mut errors);
    }
    errors
}

fn validate_node(node: &Value) -> Errors {
    let mut errors = Vec::new();
    let drivers = list(dig(node, &["spec"]), "drivers");
    for (i, driver) in drivers.iter().enumerate() {
        let path = Path::new("spec.drivers").index(i);
        let (name, id) = (text(driver, "name"), text(driver, "nodeID"));
        validate_driver_name(name, &path.child("name"), &mut errors);
        if id.is_empty() {
            errors.push(FieldError::required(&path.child("nodeID"), ""));
        }
        if id.len() > 256 {
            let detail = "must be 256 characters or less";
            errors.push(FieldError::invalid(&path.child("nodeID"), &id.into(), detail));
        }
        let count = int(dig(driver, &["allocatable"]), "count");
        nonnegative(count, &path.child("allocatable").child("count"), &mut errors);
        if drivers.iter().take(i).any(|other| text(other, "name") == name) {
            errors.push(FieldError::duplicate(&path.child("name"), &name.into()));
        }
        let keys = texts(driver, "topologyKeys");
        for (i, key) in keys.iter().enumerate() {
            if key.is_empty() {
                errors.push(FieldError::required(&path, ""));
            }
            if keys.iter().take(i).any(|other| other == key) {
                errors.push(FieldError::duplicate(&path, &(*key).into()));
            }
            qualified_name(key, &path, &mut errors);
        }
    }
    errors
}

fn validate_node_update(new: &Value, old: &Value) -> Errors {
    let mut errors = validate_node(new);
    for was in list(dig(old, &["spec"]), "drivers") {
        for now in list(dig(new, &["spec"]), "drivers") {
            if text(was, "name") == text(now, "name") && !same(was, now) {
                let count = present(now, "allocatable")
                    .map_or("null".to_owned(), |a| format!("{{\"Count\":{}}}", dig(a, &["count"])));
                let shown = format!(
                    "{{\"Name\":{},\"NodeID\":{},\"TopologyKeys\":{},\"Allocatable\":{count}}}",
                    dig(now, &["name"]),
                    dig(now, &["nodeID"]),
                    dig(now, &["topologyKeys"])
                );
                errors.push(invalid_shown(&Path::new("spec.drivers"), shown, meta::IMMUTABLE));
            }
        }
    }
    errors
}

fn validate_capacity(capacity: &Value) -> Errors {
    let mut errors = Vec::new();
    if let Some(selector) = present(capacity, "nodeTopology") {
        meta::validate_selector(selector, &Path::new("nodeTopology"), &mut errors);
    }
    subdomain(text(capacity, "storageClassName"), &Path::new("storageClassName"), &mut errors);
    if let Some(amount) = present(capacity, "capacity")
        && super::check::quantity(amount).signum() < 0
    {
        errors.push(FieldError::invalid(&Path::new("capacity"), amount, super::check::NOT_NEGATIVE));
    }
    errors
}
