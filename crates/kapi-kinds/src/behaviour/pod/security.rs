//! Security contexts of pods and containers.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::volume::descending_path;
use crate::behaviour::check::{Errors, invalid_shown, supported};
use crate::behaviour::value::{dig, flag, int, list, present, text, texts};
use crate::meta;

const PROFILES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];

pub(super) fn validate_pod(spec: &Value, path: &Path, errors: &mut Errors) {
    let Some(context) = present(spec, "securityContext") else { return };
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        validate_id(int(context, field), &path.child(field), errors);
    }
    for (i, group) in list(context, "supplementalGroups").iter().enumerate() {
        validate_id(group.as_i64(), &path.child("supplementalGroups").index(i), errors);
    }
    if flag(spec, "shareProcessNamespace") && flag(spec, "hostPID") {
        errors.push(FieldError::invalid(
            &path.child("shareProcessNamespace"),
            &true.into(),
            "ShareProcessNamespace and HostPID cannot both be enabled",
        ));
    }
    validate_sysctls(spec, list(context, "sysctls"), &path.child("sysctls"), errors);
    let choice = |field: &str, choices: &[&str], errors: &mut Errors| {
        if let Some(value) = present(context, field).and_then(Value::as_str) {
            supported(value, &path.child(field), choices, errors);
        }
    };
    choice("fsGroupChangePolicy", &["Always", "OnRootMismatch"], errors);
    validate_profiles(context, path, errors);
    choice("supplementalGroupsPolicy", &["Merge", "Strict"], errors);
    choice("seLinuxChangePolicy", &["MountOption", "Recursive"], errors);
}

pub(super) fn validate_container(context: &Value, host_users: bool, path: &Path, errors: &mut Errors) {
    for field in ["runAsUser", "runAsGroup"] {
        validate_id(int(context, field), &path.child(field), errors);
    }
    if let Some(mount) = present(context, "procMount").and_then(Value::as_str) {
        let path = path.child("procMount");
        supported(mount, &path, &["Default", "Unmasked"], errors);
        if host_users && mount == "Unmasked" {
            let detail = "`hostUsers` must be false to use `Unmasked`";
            errors.push(FieldError::invalid(&path, &mount.into(), detail));
        }
    }
    validate_profiles(context, path, errors);
    if context.get("allowPrivilegeEscalation") == Some(&Value::Bool(false)) {
        let refuse = |detail: &str| invalid_shown(path, show(context), detail);
        if flag(context, "privileged") {
            errors.push(refuse("cannot set `allowPrivilegeEscalation` to false and `privileged` to true"));
        }
        if texts(dig(context, &["capabilities"]), "add").contains(&"CAP_SYS_ADMIN") {
            errors.push(refuse("cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"));
        }
    }
}

/// A security context as Go prints its own form of it.
fn show(context: &Value) -> String {
    let part = |field: &str| dig(context, &[field]);
    let capabilities = present(context, "capabilities").map_or("null".to_owned(), |capabilities| {
        format!("{{\"Add\":{},\"Drop\":{}}}", dig(capabilities, &["add"]), dig(capabilities, &["drop"]))
    });
    let mut shown = format!("{{\"Capabilities\":{capabilities}");
    for (name, field) in [
        ("Privileged", "privileged"),
        ("SELinuxOptions", "seLinuxOptions"),
        ("WindowsOptions", "windowsOptions"),
        ("RunAsUser", "runAsUser"),
        ("RunAsGroup", "runAsGroup"),
        ("RunAsNonRoot", "runAsNonRoot"),
        ("ReadOnlyRootFilesystem", "readOnlyRootFilesystem"),
        ("AllowPrivilegeEscalation", "allowPrivilegeEscalation"),
        ("ProcMount", "procMount"),
        ("SeccompProfile", "seccompProfile"),
        ("AppArmorProfile", "appArmorProfile"),
    ] {
        shown.push_str(&format!(",\"{name}\":{}", part(field)));
    }
    shown + "}"
}

fn validate_id(id: Option<i64>, path: &Path, errors: &mut Errors) {
    let Some(id) = id else { return };
    for message in meta::in_range(id, 0, i64::from(i32::MAX)) {
        errors.push(FieldError::invalid(path, &id.into(), message));
    }
}

/// Seccomp and AppArmor.
fn validate_profiles(context: &Value, path: &Path, errors: &mut Errors) {
    if let Some(profile) = present(context, "seccompProfile") {
        let path = path.child("seccompProfile");
        let kind = text(profile, "type");
        validate_profile_type(kind, "seccompProfile", &path, errors);
        let at = path.child("localhostProfile");
        match present(profile, "localhostProfile").and_then(Value::as_str) {
            None if kind == "Localhost" => {
                errors.push(FieldError::required(&at, "must be set when seccomp type is Localhost"));
            }
            Some(local) if kind == "Localhost" => descending_path(local, &at, errors),
            Some(_) => {
                errors.push(FieldError::invalid(&at, profile, "can only be set when seccomp type is Localhost"));
            }
            None => {}
        }
    }
    if let Some(profile) = present(context, "appArmorProfile") {
        let path = path.child("appArmorProfile");
        let kind = text(profile, "type");
        validate_profile_type(kind, "appArmorProfile", &path, errors);
        let at = path.child("localhostProfile");
        match present(profile, "localhostProfile").and_then(Value::as_str) {
            None | Some("") if kind == "Localhost" => {
                errors.push(FieldError::required(&at, "must be set when AppArmor type is Localhost"));
            }
            Some(local) if kind == "Localhost" && local.trim() != local => {
                errors.push(FieldError::invalid(&at, &local.into(), "must not be padded with whitespace"));
            }
            Some(local) if kind == "RuntimeDefault" || kind == "Unconfined" => {
                let detail = "can only be set when AppArmor type is Localhost";
                errors.push(FieldError::invalid(&at, &local.into(), detail));
            }
            _ => {}
        }
    }
}

fn validate_profile_type(kind: &str, field: &str, path: &Path, errors: &mut Errors) {
    if kind.is_empty() {
        errors.push(FieldError::required(&path.child("type"), format!("type is required when {field} is set")));
    } else {
        supported(kind, &path.child("type"), &PROFILES, errors);
    }
}

fn validate_sysctls(spec: &Value, sysctls: &[Value], path: &Path, errors: &mut Errors) {
    let mut seen = Vec::new();
    for (i, sysctl) in sysctls.iter().enumerate() {
        let path = path.index(i).child("name");
        let name = text(sysctl, "name");
        if name.is_empty() {
            errors.push(FieldError::required(&path, ""));
        } else if !is_sysctl_name(name) {
            let regex = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            let detail = format!("must have at most 253 characters and match regex {regex}");
            errors.push(FieldError::invalid(&path, &name.into(), detail));
        } else if seen.contains(&name) {
            errors.push(FieldError::duplicate(&path, &name.into()));
        }
        seen.push(name);
        let dotted = name.replace('/', ".");
        if flag(spec, "hostNetwork") && dotted.starts_with("net.") {
            let detail = "may not be specified when 'hostNetwork' is true";
            errors.push(FieldError::invalid(&path, &name.into(), detail));
        } else if flag(spec, "hostIPC") && is_ipc(&dotted) {
            errors.push(FieldError::invalid(&path, &name.into(), "may not be specified when 'hostIPC' is true"));
        }
    }
}

fn is_ipc(name: &str) -> bool {
    name == "kernel.sem" || ["kernel.shm", "kernel.msg", "fs.mqueue."].iter().any(|prefix| name.starts_with(prefix))
}

fn is_sysctl_name(name: &str) -> bool {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.len() <= 253
        && name.split(['.', '/']).all(|part| {
            part.starts_with(edge) && part.ends_with(edge) && part.chars().all(|c| edge(c) || c == '-' || c == '_')
        })
}
