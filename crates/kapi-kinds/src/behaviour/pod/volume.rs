//! Volumes, mounts and block devices.

use std::collections::BTreeMap;

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::env;
use crate::behaviour::check::{Errors, invalid_shown, label, quantity, supported};
use crate::behaviour::core::validate_driver_name;
use crate::behaviour::value::{dig, flag, int, list, present, text};
use crate::meta;

const FILE_MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

/// The kinds of volume in the order Kubernetes looks at them: the first is taken, others are one too many.
const KINDS: [&str; 28] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
];

/// Checks volumes and gives the good ones by name, for mounts to refer to.
pub(super) fn validate_volumes<'a>(
    volumes: &'a [Value],
    pod_name: &str,
    path: &Path,
    errors: &mut Errors,
) -> BTreeMap<&'a str, &'a Value> {
    let mut good: BTreeMap<&str, &Value> = BTreeMap::new();
    let made: Vec<String> = volumes
        .iter()
        .filter(|volume| !pod_name.is_empty() && present(volume, "ephemeral").is_some())
        .map(|volume| format!("{pod_name}-{}", text(volume, "name")))
        .collect();
    for (i, volume) in volumes.iter().enumerate() {
        let at = path.index(i);
        let name = text(volume, "name");
        let before = errors.len();
        validate_source(volume, name, pod_name, &at, errors);
        if name.is_empty() {
            errors.push(FieldError::required(&at.child("name"), ""));
        } else {
            label(name, &at.child("name"), errors);
        }
        if good.contains_key(name) {
            errors.push(FieldError::duplicate(&at.child("name"), &name.into()));
        }
        if errors.len() == before {
            good.insert(name, volume);
        }
        let claim = text(dig(volume, &["persistentVolumeClaim"]), "claimName");
        if !claim.is_empty() && made.iter().any(|made| made == claim) {
            errors.push(FieldError::invalid(
                &at.child("persistentVolumeClaim").child("claimName"),
                &claim.into(),
                "must not reference a PVC that gets created for an ephemeral volume",
            ));
        }
    }
    good
}

fn validate_source(volume: &Value, name: &str, pod_name: &str, path: &Path, errors: &mut Errors) {
    let mut found = false;
    for kind in KINDS.into_iter().chain(["ephemeral", "image"]) {
        let Some(source) = present(volume, kind) else { continue };
        if found {
            errors.push(FieldError::forbidden(&path.child(kind), "may not specify more than 1 volume type"));
            continue;
        }
        found = true;
        validate_kind(kind, source, &path.child(kind), errors);
        if kind == "ephemeral" && !pod_name.is_empty() && !name.is_empty() {
            let claim = format!("{pod_name}-{name}");
            for message in meta::is_dns_subdomain(&claim) {
                let detail = format!("PVC name \"{claim}\": {message}");
                errors.push(FieldError::invalid(&path.child("name"), &name.into(), detail));
            }
        }
    }
    if !found {
        errors.push(FieldError::required(path, "must specify a volume type"));
    }
}

/// Checks one source of a volume, as pods and persistent volumes share them.
pub(crate) fn validate_kind(kind: &str, source: &Value, path: &Path, errors: &mut Errors) {
    let mut require = |field: &str| {
        if text(source, field).is_empty() {
            errors.push(FieldError::required(&path.child(field), ""));
        }
    };
    match kind {
        "emptyDir" if present(source, "sizeLimit").is_some_and(|limit| quantity(limit).signum() < 0) => {
            let detail = "SizeLimit field must be a valid resource quantity";
            errors.push(FieldError::forbidden(&path.child("sizeLimit"), detail));
        }
        "hostPath" => validate_host_path(source, path, errors),
        "secret" => {
            require("secretName");
            validate_mode_and_items(source, path, errors);
        }
        "configMap" => {
            require("name");
            validate_mode_and_items(source, path, errors);
        }
        "persistentVolumeClaim" => require("claimName"),
        "nfs" => {
            require("server");
            require("path");
            let target = text(source, "path");
            if !target.starts_with('/') {
                errors.push(FieldError::invalid(&path.child("path"), &target.into(), "must be an absolute path"));
            }
        }
        "downwardAPI" => {
            validate_mode(source, "defaultMode", path, errors);
            for file in list(source, "items") {
                validate_downward_file(file, path, errors);
            }
        }
        "projected" => {
            validate_mode(source, "defaultMode", path, errors);
            validate_projections(list(source, "sources"), path, errors);
        }
        "csi" => {
            validate_driver_name(text(source, "driver"), &path.child("driver"), errors);
            if let Some(secret) = present(source, "nodePublishSecretRef")
                && text(secret, "name").is_empty()
            {
                errors.push(FieldError::required(&path.child("nodePublishSecretRef").child("name"), ""));
            }
        }
        "ephemeral" if present(source, "volumeClaimTemplate").is_none() => {
            errors.push(FieldError::required(&path.child("volumeClaimTemplate"), ""));
        }
        "image" => require("reference"),
        "gitRepo" => {
            require("repository");
            descending_path(text(source, "directory"), &path.child("directory"), errors);
        }
        "glusterfs" => {
            require("endpoints");
            require("path");
        }
        "cephfs" if list(source, "monitors").is_empty() => {
            errors.push(FieldError::required(&path.child("monitors"), ""));
        }
        "rbd" => {
            if list(source, "monitors").is_empty() {
                errors.push(FieldError::required(&path.child("monitors"), ""));
            }
            if text(source, "image").is_empty() {
                errors.push(FieldError::required(&path.child("image"), ""));
            }
        }
        "cinder" | "awsElasticBlockStore" | "portworxVolume" => require("volumeID"),
        "gcePersistentDisk" => require("pdName"),
        "vsphereVolume" => require("volumePath"),
        "photonPersistentDisk" => require("pdID"),
        "flexVolume" => require("driver"),
        _ => {}
    }
}

fn validate_host_path(source: &Value, path: &Path, errors: &mut Errors) {
    let target = text(source, "path");
    if target.is_empty() {
        errors.push(FieldError::required(&path.child("path"), ""));
        return;
    }
    no_backsteps(target, &path.child("path"), errors);
    let types = ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    if let Some(kind) = present(source, "type").and_then(Value::as_str) {
        supported(kind, &path.child("type"), &types, errors);
    }
}

fn validate_mode(source: &Value, field: &str, path: &Path, errors: &mut Errors) {
    if let Some(mode) = int(source, field).filter(|mode| !(0..=0o777).contains(mode)) {
        errors.push(FieldError::invalid(&path.child(field), &mode.into(), FILE_MODE));
    }
}

fn validate_mode_and_items(source: &Value, path: &Path, errors: &mut Errors) {
    validate_mode(source, "defaultMode", path, errors);
    validate_items(source, path, errors);
}

fn validate_items(source: &Value, path: &Path, errors: &mut Errors) {
    for (i, item) in list(source, "items").iter().enumerate() {
        let path = path.child("items").index(i);
        for field in ["key", "path"] {
            if text(item, field).is_empty() {
                errors.push(FieldError::required(&path.child(field), ""));
            }
        }
        local_path(text(item, "path"), &path.child("path"), errors);
        validate_mode(item, "mode", &path, errors);
    }
}

fn validate_downward_file(file: &Value, path: &Path, errors: &mut Errors) {
    let target = text(file, "path");
    if target.is_empty() {
        errors.push(FieldError::required(&path.child("path"), ""));
    }
    local_path(target, &path.child("path"), errors);
    match (present(file, "fieldRef"), present(file, "resourceFieldRef")) {
        (Some(field), resource) => {
            env::validate_field_ref(field, &env::VOLUME_FIELDS, &path.child("fieldRef"), errors);
            if resource.is_some() {
                let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.push(FieldError::invalid(path, &"resource".into(), detail));
            }
        }
        (None, Some(resource)) => {
            env::validate_resource_ref(resource, true, &path.child("resourceFieldRef"), errors);
        }
        (None, None) => {
            errors.push(FieldError::required(path, "one of fieldRef and resourceFieldRef is required"));
        }
    }
    validate_mode(file, "mode", path, errors);
}

fn validate_projections(sources: &[Value], path: &Path, errors: &mut Errors) {
    let mut paths: Vec<&str> = Vec::new();
    for (i, source) in sources.iter().enumerate() {
        let at = path.child("sources").index(i);
        let mut found = 0;
        for kind in ["secret", "configMap"] {
            let Some(projection) = present(source, kind) else { continue };
            found += 1;
            let name = text(projection, "name");
            if name.is_empty() {
                errors.push(FieldError::required(&at.child(kind).child("name"), ""));
            }
            validate_items(projection, &at.child(kind), errors);
            for item in list(projection, "items") {
                claim_path(&mut paths, text(item, "path"), name, path, errors);
            }
        }
        if let Some(projection) = present(source, "downwardAPI") {
            found += 1;
            for file in list(projection, "items") {
                validate_downward_file(file, &at.child("downwardAPI"), errors);
                claim_path(&mut paths, text(file, "path"), text(file, "path"), path, errors);
            }
        }
        if let Some(token) = present(source, "serviceAccountToken") {
            found += 1;
            let at = at.child("serviceAccountToken");
            let seconds = int(token, "expirationSeconds").unwrap_or(3600);
            if seconds < 600 {
                let detail = "may not specify a duration less than 10 minutes";
                errors.push(FieldError::invalid(&at.child("expirationSeconds"), &seconds.into(), detail));
            }
            if seconds > 1 << 32 {
                let detail = "may not specify a duration larger than 2^32 seconds";
                errors.push(FieldError::invalid(&at.child("expirationSeconds"), &seconds.into(), detail));
            }
            if text(token, "path").is_empty() {
                errors.push(FieldError::required(&path.child("path"), ""));
            } else {
                local_path(text(token, "path"), &at.child("path"), errors);
            }
        }
        if present(source, "clusterTrustBundle").is_some() {
            found += 1;
        }
        if found > 1 {
            errors.push(FieldError::forbidden(&at, "may not specify more than 1 volume type per source"));
        }
    }
}

fn claim_path<'a>(paths: &mut Vec<&'a str>, target: &'a str, shown: &str, path: &Path, errors: &mut Errors) {
    if target.is_empty() {
        return;
    }
    if paths.contains(&target) {
        errors.push(FieldError::invalid(path, &shown.into(), "conflicting duplicate paths"));
    } else {
        paths.push(target);
    }
}

fn no_backsteps(target: &str, path: &Path, errors: &mut Errors) {
    if target.split('/').any(|part| part == "..") {
        errors.push(FieldError::invalid(path, &target.into(), "must not contain '..'"));
    }
}

/// A path that stays below where it starts.
pub(super) fn descending_path(target: &str, path: &Path, errors: &mut Errors) {
    if target.starts_with('/') {
        errors.push(FieldError::invalid(path, &target.into(), "must be a relative path"));
    }
    no_backsteps(target, path, errors);
}

/// A path below a volume that no name reserved by the kubelet hides.
pub(crate) fn local_path(target: &str, path: &Path, errors: &mut Errors) {
    descending_path(target, path, errors);
    if target.starts_with("..") && !target.starts_with("../") {
        errors.push(FieldError::invalid(path, &target.into(), "must not start with '..'"));
    }
}

pub(super) fn validate_mounts(container: &Value, volumes: &BTreeMap<&str, &Value>, path: &Path, errors: &mut Errors) {
    let devices = list(container, "volumeDevices");
    let privileged = flag(dig(container, &["securityContext"]), "privileged");
    let mut targets = Vec::new();
    for (i, mount) in list(container, "volumeMounts").iter().enumerate() {
        let at = path.index(i);
        let (name, target) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            errors.push(FieldError::required(&at.child("name"), ""));
        }
        if !volumes.contains_key(name) {
            errors.push(FieldError::not_found(&at.child("name"), &name.into()));
        }
        if target.is_empty() {
            errors.push(FieldError::required(&at.child("mountPath"), ""));
        }
        if targets.contains(&target) {
            errors.push(FieldError::invalid(&at.child("mountPath"), &target.into(), "must be unique"));
        }
        targets.push(target);
        if devices.iter().any(|device| text(device, "name") == name) {
            let detail = "must not already exist in volumeDevices";
            errors.push(FieldError::invalid(&at.child("name"), &name.into(), detail));
        }
        if devices.iter().any(|device| text(device, "devicePath") == target) {
            let detail = "must not already exist as a path in volumeDevices";
            errors.push(FieldError::invalid(&at.child("mountPath"), &target.into(), detail));
        }
        let (sub, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
        if !sub.is_empty() {
            descending_path(sub, &path.child("subPath"), errors);
        }
        if !expression.is_empty() {
            if !sub.is_empty() {
                let detail = "subPathExpr and subPath are mutually exclusive";
                errors.push(FieldError::invalid(&at.child("subPathExpr"), &expression.into(), detail));
            }
            descending_path(expression, &path.child("subPathExpr"), errors);
        }
        validate_propagation(mount, privileged, path, errors);
    }
}

fn validate_propagation(mount: &Value, privileged: bool, path: &Path, errors: &mut Errors) {
    let propagation = present(mount, "mountPropagation").and_then(Value::as_str);
    if let Some(mode) = propagation {
        let path = path.child("mountPropagation");
        supported(mode, &path, &["Bidirectional", "HostToContainer", "None"], errors);
        if mode == "Bidirectional" && !privileged {
            let detail = "Bidirectional mount propagation is available only to privileged containers";
            errors.push(FieldError::forbidden(&path, detail));
        }
    }
    let path = path.child("recursiveReadOnly");
    match present(mount, "recursiveReadOnly").and_then(Value::as_str) {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if !flag(mount, "readOnly") {
                errors.push(FieldError::forbidden(&path, "may only be specified when readOnly is true"));
            }
            if propagation.is_some_and(|mode| mode != "None") {
                let detail = "may only be specified when mountPropagation is None or not specified";
                errors.push(FieldError::forbidden(&path, detail));
            }
        }
        Some(other) => supported(other, &path, &["Disabled", "Enabled", "IfPossible"], errors),
    }
}

pub(super) fn validate_devices(container: &Value, volumes: &BTreeMap<&str, &Value>, path: &Path, errors: &mut Errors) {
    let mounts = list(container, "volumeMounts");
    let (mut names, mut targets) = (Vec::new(), Vec::new());
    for (i, device) in list(container, "volumeDevices").iter().enumerate() {
        let at = path.index(i);
        let (name, target) = (text(device, "name"), text(device, "devicePath"));
        let mut refuse = |field: &str, value: &str, detail: &str| {
            errors.push(invalid_shown(&at.child(field), kapi_schema::field::go_quote(value), detail));
        };
        let volume = volumes.get(name);
        if names.contains(&name) {
            refuse("name", name, "must be unique");
        }
        if volume.is_some_and(|v| present(v, "persistentVolumeClaim").is_none() && present(v, "ephemeral").is_none()) {
            refuse(
                "name",
                name,
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
            );
        }
        if targets.contains(&target) {
            refuse("devicePath", target, "must be unique");
        }
        if target.split('/').any(|part| part == "..") {
            refuse("devicePath", target, "can not contain backsteps ('..')");
        } else {
            targets.push(target);
        }
        if mounts.iter().any(|mount| text(mount, "name") == name) {
            refuse("name", name, "must not already exist in volumeMounts");
        }
        if mounts.iter().any(|mount| text(mount, "mountPath") == target) {
            refuse("devicePath", target, "must not already exist as a path in volumeMounts");
        }
        if name.is_empty() {
            errors.push(FieldError::required(&at.child("name"), ""));
        } else {
            names.push(name);
        }
        if volume.is_none() {
            errors.push(FieldError::not_found(&at.child("name"), &name.into()));
        }
        if target.is_empty() {
            errors.push(FieldError::required(&at.child("devicePath"), ""));
        }
    }
}
