//! ResourceQuotas.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::super::check::{Errors, immutable};
use super::super::pod::{validate_amount, validate_resource_name};
use super::super::value::{dig, entries, list, present, text, texts};
use super::super::{Behaviour, status};

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];
const QUOTABLE: [&str; 19] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];
const COMPUTE: [&str; 7] = ["pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];

pub(super) fn behaviour() -> Behaviour {
    Behaviour {
        prepare_create: status::reset,
        prepare_update: status::keep_status,
        prepare_status: status::keep_spec,
        validate,
        validate_update: |new, old| {
            let mut errors = validate(new);
            let sorted = |object: &Value| {
                let mut scopes = texts(dig(object, &["spec"]), "scopes");
                scopes.sort_unstable();
                scopes.dedup();
                Value::from(scopes)
            };
            if sorted(new) != sorted(old) {
                let path = Path::new("spec.scopes");
                immutable(dig(new, &["spec", "scopes"]), &Value::from("changed"), &path, &mut errors);
            }
            errors
        },
        validate_status: |new, _| {
            let mut errors = Vec::new();
            for field in ["hard", "used"] {
                validate_amounts(dig(new, &["status"]), field, &Path::new("status"), &mut errors);
            }
            errors
        },
        ..Behaviour::builtin()
    }
}

fn is_quotable(name: &str) -> bool {
    QUOTABLE.contains(&name) || name.starts_with("hugepages-") || name.starts_with("requests.hugepages-")
}

fn validate(object: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = dig(object, &["spec"]);
    validate_amounts(spec, "hard", &path, &mut errors);
    validate_scopes(spec, &path.child("scopes"), &mut errors);
    if let Some(selector) = present(spec, "scopeSelector") {
        validate_selector(spec, selector, &path.child("scopeSelector").child("matchExpressions"), &mut errors);
    }
    errors
}

fn validate_amounts(of: &Value, field: &str, path: &Path, errors: &mut Errors) {
    for (name, amount) in entries(of, field) {
        let path = path.child(field).key(name);
        validate_resource_name(name, &path, errors);
        if !name.contains('/') && !is_quotable(name) {
            let detail = "must be a standard resource for quota";
            errors.push(FieldError::invalid(&path, &name.as_str().into(), detail));
        }
        validate_amount(name, amount, &path, errors);
    }
}

/// Whether a scope can be counted for a resource.
fn fits(scope: &str, resource: &str) -> bool {
    match scope {
        "Terminating" | "NotTerminating" | "NotBestEffort" | "PriorityClass" | "CrossNamespacePodAffinity" => {
            COMPUTE.contains(&resource)
        }
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        _ => true,
    }
}

fn validate_scopes(spec: &Value, path: &Path, errors: &mut Errors) {
    let scopes = texts(spec, "scopes");
    let shown = dig(spec, &["scopes"]);
    for scope in &scopes {
        if !SCOPES.contains(scope) {
            errors.push(FieldError::invalid(path, shown, "unsupported scope"));
        }
        for (name, _) in entries(spec, "hard").filter(|(name, _)| is_quotable(name) && !fits(scope, name)) {
            let _ = name;
            errors.push(FieldError::invalid(path, shown, "unsupported scope applied to resource"));
        }
    }
    refuse_conflicts(&scopes, shown, path, errors);
}

fn refuse_conflicts(scopes: &[&str], shown: &Value, path: &Path, errors: &mut Errors) {
    for pair in [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]] {
        if pair.iter().all(|scope| scopes.contains(scope)) {
            errors.push(FieldError::invalid(path, shown, "conflicting scopes"));
        }
    }
}

fn validate_selector(spec: &Value, selector: &Value, path: &Path, errors: &mut Errors) {
    let mut scopes = Vec::new();
    for requirement in list(selector, "matchExpressions") {
        let scope = text(requirement, "scopeName");
        if !SCOPES.contains(&scope) {
            errors.push(FieldError::invalid(&path.child("scopeName"), &scope.into(), "unsupported scope"));
        }
        for _ in entries(spec, "hard").filter(|(name, _)| is_quotable(name) && !fits(scope, name)) {
            errors.push(FieldError::invalid(path, selector, "unsupported scope applied to resource"));
        }
        let operator = text(requirement, "operator");
        let at = path.child("operator");
        if scope != "PriorityClass"
            && scope != "VolumeAttributesClass"
            && SCOPES.contains(&scope)
            && operator != "Exists"
        {
            let detail = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
            errors.push(FieldError::invalid(&at, &operator.into(), detail));
        }
        let values = list(requirement, "values");
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                let detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                errors.push(FieldError::required(&path.child("values"), detail));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                errors.push(FieldError::invalid(&path.child("values"), dig(requirement, &["values"]), detail));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => errors.push(FieldError::invalid(&at, &other.into(), "not a valid selector operator")),
        }
        scopes.push(scope);
    }
    refuse_conflicts(&scopes, dig(spec, &["scopes"]), path, errors);
}
