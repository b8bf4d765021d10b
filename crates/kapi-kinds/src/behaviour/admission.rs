//! Configurations of admission webhooks.

use kapi_schema::field::{FieldError, Path};
use serde_json::{Value, json};

use super::Behaviour;
use super::check::{Errors, each, supported};
use super::value::{default, dig, int, items_mut, list, present, text, texts};
use crate::meta;

pub(super) fn behaviour(kind: &str) -> Option<Behaviour> {
    let base = Behaviour { generation: true, standard_finalizers: false, ..Behaviour::builtin() };
    Some(match kind {
        "MutatingWebhookConfiguration" => Behaviour {
            default: |object| {
                defaults(object);
                items_mut(object, "webhooks").for_each(|hook| default(hook, "reinvocationPolicy", "Never"));
            },
            validate: |object| validate(object, true),
            validate_update: |new, _| validate(new, true),
            ..base
        },
        "ValidatingWebhookConfiguration" => Behaviour {
            default: defaults,
            validate: |object| validate(object, false),
            validate_update: |new, _| validate(new, false),
            ..base
        },
        _ => return None,
    })
}

fn defaults(object: &mut Value) {
    for hook in items_mut(object, "webhooks") {
        default(hook, "failurePolicy", "Fail");
        default(hook, "matchPolicy", "Equivalent");
        default(hook, "namespaceSelector", json!({}));
        default(hook, "objectSelector", json!({}));
        default(hook, "timeoutSeconds", 10);
        for rule in items_mut(hook, "rules") {
            default(rule, "scope", "*");
        }
        if let Some(service) = hook.get_mut("clientConfig").and_then(|config| config.get_mut("service")) {
            default(service, "port", 443);
        }
    }
}

fn validate(object: &Value, mutating: bool) -> Errors {
    let mut errors = Vec::new();
    let hooks = list(object, "webhooks");
    for (i, hook) in hooks.iter().enumerate() {
        let path = Path::new("webhooks").index(i);
        validate_hook(hook, mutating, &path, &mut errors);
        let name = text(hook, "name");
        if !name.is_empty() && hooks.iter().take(i).any(|other| text(other, "name") == name) {
            errors.push(FieldError::duplicate(&path.child("name"), &name.into()));
        }
    }
    errors
}

fn validate_hook(hook: &Value, mutating: bool, path: &Path, errors: &mut Errors) {
    validate_name(text(hook, "name"), &path.child("name"), errors);
    for (i, rule) in list(hook, "rules").iter().enumerate() {
        validate_rule(rule, &path.child("rules").index(i), errors);
    }
    let choice = |field: &str, choices: &[&str], errors: &mut Errors| {
        if let Some(value) = present(hook, field).and_then(Value::as_str) {
            supported(value, &path.child(field), choices, errors);
        }
    };
    choice("failurePolicy", &["Fail", "Ignore"], errors);
    choice("matchPolicy", &["Equivalent", "Exact"], errors);
    if present(hook, "sideEffects").is_none() {
        errors.push(FieldError::required(&path.child("sideEffects"), "must specify one of None, NoneOnDryRun"));
    }
    choice("sideEffects", &["None", "NoneOnDryRun"], errors);
    if let Some(seconds) = int(hook, "timeoutSeconds").filter(|seconds| !(1..=30).contains(seconds)) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.push(FieldError::invalid(&path.child("timeoutSeconds"), &seconds.into(), detail));
    }
    for selector in ["namespaceSelector", "objectSelector"] {
        if let Some(value) = present(hook, selector) {
            meta::validate_selector(value, &path.child(selector), errors);
        }
    }
    if mutating {
        choice("reinvocationPolicy", &["IfNeeded", "Never"], errors);
    }
    let config = dig(hook, &["clientConfig"]);
    let at = path.child("clientConfig");
    match (present(config, "url").and_then(Value::as_str), present(config, "service")) {
        (Some(url), None) => validate_url(url, &at.child("url"), errors),
        (None, Some(service)) => validate_service(service, &at.child("service"), errors),
        _ => errors.push(FieldError::required(&at, "exactly one of url or service is required")),
    }
    validate_versions(hook, &path.child("admissionReviewVersions"), errors);
}

fn validate_name(name: &str, path: &Path, errors: &mut Errors) {
    let messages = meta::is_dns_subdomain(name);
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !messages.is_empty() {
        errors.push(FieldError::invalid(path, &name.into(), messages.join(",")));
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        errors.push(FieldError::invalid(path, &name.into(), detail));
    }
}

fn validate_versions(hook: &Value, path: &Path, errors: &mut Errors) {
    let versions = texts(hook, "admissionReviewVersions");
    if versions.is_empty() {
        errors.push(FieldError::required(path, "must specify one of v1, v1beta1"));
        return;
    }
    for (i, version) in versions.iter().enumerate() {
        if versions.iter().take(i).any(|other| other == version) {
            errors.push(FieldError::invalid(&path.index(i), &(*version).into(), "duplicate version"));
            continue;
        }
        each(meta::is_dns_1035_label(version), &path.index(i), version, errors);
    }
    if !versions.iter().any(|version| matches!(*version, "v1" | "v1beta1")) {
        let detail = "must include at least one of v1, v1beta1";
        errors.push(FieldError::invalid(path, dig(hook, &["admissionReviewVersions"]), detail));
    }
}

fn validate_rule(rule: &Value, path: &Path, errors: &mut Errors) {
    let operations = texts(rule, "operations");
    let at = path.child("operations");
    if operations.is_empty() {
        errors.push(FieldError::required(&at, ""));
    }
    if operations.len() > 1 && operations.contains(&"*") {
        let detail = "if '*' is present, must not specify other operations";
        errors.push(FieldError::invalid(&at, dig(rule, &["operations"]), detail));
    }
    for (i, operation) in operations.iter().enumerate() {
        let known = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
        supported(operation, &at.index(i), &known, errors);
    }
    for (field, what) in [("apiGroups", "API groups"), ("apiVersions", "API versions")] {
        let values = texts(rule, field);
        let at = path.child(field);
        if values.is_empty() {
            errors.push(FieldError::required(&at, ""));
        }
        if values.len() > 1 && values.contains(&"*") {
            let detail = format!("if '*' is present, must not specify other {what}");
            errors.push(FieldError::invalid(&at, dig(rule, &[field]), detail));
        }
        for (i, _) in values.iter().enumerate().filter(|(_, value)| field == "apiVersions" && value.is_empty()) {
            errors.push(FieldError::required(&at.index(i), ""));
        }
    }
    validate_resources(rule, &path.child("resources"), errors);
    if let Some(scope) = present(rule, "scope").and_then(Value::as_str) {
        supported(scope, &path.child("scope"), &["*", "Cluster", "Namespaced"], errors);
    }
}

fn validate_resources(rule: &Value, path: &Path, errors: &mut Errors) {
    let resources = texts(rule, "resources");
    let shown = dig(rule, &["resources"]);
    if resources.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    let (mut all_below, mut below_all) = (Vec::new(), Vec::new());
    let mut plain = false;
    for (i, resource) in resources.iter().enumerate() {
        let at = path.index(i);
        if resource.is_empty() {
            errors.push(FieldError::required(&at, ""));
            continue;
        }
        let Some((name, below)) = resource.split_once('/') else {
            plain = *resource != "*";
            continue;
        };
        if all_below.contains(&name) {
            let detail = format!("if '{name}/*' is present, must not specify {resource}");
            errors.push(FieldError::invalid(&at, &(*resource).into(), detail));
        }
        if below_all.contains(&below) {
            let detail = format!("if '*/{below}' is present, must not specify {resource}");
            errors.push(FieldError::invalid(&at, &(*resource).into(), detail));
        }
        if below == "*" {
            all_below.push(name);
        }
        if name == "*" {
            below_all.push(below);
        }
    }
    if resources.len() > 1 && resources.contains(&"*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        errors.push(FieldError::invalid(path, shown, detail));
    }
    if resources.contains(&"*") && plain {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.push(FieldError::invalid(path, shown, detail));
    }
}

fn validate_url(url: &str, path: &Path, errors: &mut Errors) {
    let form = "; desired format: https://host[/path]";
    let mut refuse = |value: &str, detail: String| errors.push(FieldError::invalid(path, &value.into(), detail));
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme != "https" {
        refuse(scheme, format!("'https' is the only allowed URL scheme{form}"));
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = if scheme.is_empty() { "" } else { rest.split('/').next().unwrap_or("") };
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if host.is_empty() {
        refuse("", format!("host must be specified{form}"));
    }
    if !user.is_empty() {
        refuse(user, "user information is not permitted in the URL".to_owned());
    }
    if !fragment.is_empty() {
        refuse(fragment, "fragments are not permitted in the URL".to_owned());
    }
    if !query.is_empty() {
        refuse(query, "query parameters are not permitted in the URL".to_owned());
    }
}

fn validate_service(service: &Value, path: &Path, errors: &mut Errors) {
    // Kubernetes swaps the two when it names them.
    for (field, shown) in [("namespace", "name"), ("name", "namespace")] {
        if text(service, field).is_empty() {
            errors.push(FieldError::required(&path.child(shown), ""));
        }
    }
    let port = int(service, "port").unwrap_or(0);
    let messages = meta::is_port_number(port);
    if !messages.is_empty() {
        let detail = format!("port is not valid: {}", messages.join(", "));
        errors.push(FieldError::invalid(&path.child("port"), &port.into(), detail));
    }
    let target = text(service, "path");
    let path = path.child("path");
    let mut refuse = |detail: String| errors.push(FieldError::invalid(&path, &target.into(), detail));
    match target {
        "" | "/" => {}
        "//" => refuse("segment[0] may not be empty".to_owned()),
        _ => {
            if !target.starts_with('/') {
                refuse("must start with a '/'".to_owned());
            }
            let mut chars = target.chars();
            chars.next();
            let inner = chars.as_str();
            let inner = inner.strip_suffix('/').unwrap_or(inner);
            for (i, step) in inner.split('/').enumerate() {
                if step.is_empty() {
                    refuse(format!("segment[{i}] may not be empty"));
                    continue;
                }
                for message in meta::is_dns_subdomain(step) {
                    refuse(format!("segment[{i}]: {message}"));
                }
            }
        }
    }
}
