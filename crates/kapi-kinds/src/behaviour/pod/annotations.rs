//! Annotations that mean something to pods.

use kapi_schema::field::{FieldError, Path, go_quote};
use serde_json::Value;

use super::volume::descending_path;
use crate::behaviour::check::Errors;
use crate::behaviour::value::{dig, list, text};

const MIRROR: &str = "kubernetes.io/config.mirror";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APPARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

pub(super) fn validate_pod_annotations(meta: &Value, spec: &Value, path: &Path, errors: &mut Errors) {
    let annotations = dig(meta, &["annotations"]);
    let get = |key: &str| annotations.get(key).and_then(Value::as_str);
    if let Some(value) = get(MIRROR).filter(|_| text(spec, "nodeName").is_empty()) {
        let detail = "must set spec.nodeName if mirror pod annotation is set";
        errors.push(FieldError::invalid(&path.key(MIRROR), &value.into(), detail));
    }
    if let Some(value) = get(DELETION_COST).filter(|value| !is_cost(value)) {
        errors.push(FieldError::invalid(&path.key(DELETION_COST), &value.into(), "must be a 32bit integer"));
    }
    let all = || annotations.as_object().into_iter().flatten().filter_map(|(key, value)| Some((key, value.as_str()?)));
    for (key, profile) in all() {
        if key == SECCOMP_OF_POD || key.starts_with(SECCOMP_OF_CONTAINER) {
            validate_seccomp(profile, &path.child(key), errors);
        }
    }
    for (key, profile) in all() {
        if let Some(container) = key.strip_prefix(APPARMOR) {
            validate_apparmor(container, profile, spec, &path.key(key), errors);
        }
    }
}

/// A number without a plus sign or leading zeros.
fn is_cost(value: &str) -> bool {
    value.parse::<i32>().is_ok_and(|cost| cost.to_string() == value || value == "-0")
}

fn validate_seccomp(profile: &str, path: &Path, errors: &mut Errors) {
    match profile.strip_prefix("localhost/") {
        Some(file) => descending_path(file, path, errors),
        None if matches!(profile, "runtime/default" | "docker/default" | "unconfined") => {}
        None => errors.push(FieldError::invalid(path, &profile.into(), "must be a valid seccomp profile")),
    }
}

fn validate_apparmor(container: &str, profile: &str, spec: &Value, path: &Path, errors: &mut Errors) {
    let containers = ["initContainers", "containers", "ephemeralContainers"];
    if !containers.iter().flat_map(|field| list(spec, field)).any(|known| text(known, "name") == container) {
        errors.push(FieldError::invalid(path, &container.into(), "container not found"));
    }
    if !matches!(profile, "" | "runtime/default" | "unconfined") && !profile.starts_with("localhost/") {
        let detail = format!("invalid AppArmor profile name: {}", go_quote(profile));
        errors.push(FieldError::invalid(path, &profile.into(), detail));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn profiles_are_judged_as_recorded() {
        let spec = json!({"containers": [{"name": "a"}]});
        for (key, value, expected) in [
            (SECCOMP_OF_POD, "runtime/default", ""),
            (
                SECCOMP_OF_POD,
                "bad",
                ".seccomp.security.alpha.kubernetes.io/pod: Invalid value: \"bad\": must be a valid seccomp profile",
            ),
            (
                SECCOMP_OF_POD,
                "localhost/../x",
                ".seccomp.security.alpha.kubernetes.io/pod: Invalid value: \"../x\": must not contain '..'",
            ),
            (
                SECCOMP_OF_POD,
                "localhost//x",
                ".seccomp.security.alpha.kubernetes.io/pod: Invalid value: \"/x\": must be a relative path",
            ),
            (
                "container.seccomp.security.alpha.kubernetes.io/a",
                "bad",
                ".container.seccomp.security.alpha.kubernetes.io/a: Invalid value: \"bad\": must be a valid seccomp profile",
            ),
            ("container.apparmor.security.beta.kubernetes.io/a", "localhost/x", ""),
            (
                "container.apparmor.security.beta.kubernetes.io/a",
                "bad",
                "[container.apparmor.security.beta.kubernetes.io/a]: Invalid value: \"bad\": invalid AppArmor profile name: \"bad\"",
            ),
            (
                "container.apparmor.security.beta.kubernetes.io/nope",
                "unconfined",
                "[container.apparmor.security.beta.kubernetes.io/nope]: Invalid value: \"nope\": container not found",
            ),
        ] {
            let mut errors = Errors::new();
            let mut meta = json!({"annotations": {}});
            meta["annotations"][key] = value.into();
            validate_pod_annotations(&meta, &spec, &Path::new("metadata.annotations"), &mut errors);
            let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let expected =
                if expected.is_empty() { Vec::new() } else { vec![format!("metadata.annotations{expected}")] };
            assert_eq!(told, expected, "{key}={value}");
        }
    }
}
