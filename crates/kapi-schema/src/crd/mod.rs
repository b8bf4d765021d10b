//! CustomResourceDefinitions: their defaults, and everything the server demands of them.
//!
//! ```text
//!   definition   the object as a whole, and what may not change
//!   parts        names, columns, subresources, selectable fields, conversion
//!   structural   whether a schema is structural
//!   keywords     what may be said in a schema, and whether its CEL rules compile
//!   budget       what rules may cost
//!   defaults     whether the defaults in a schema fit it
//!   internal     values as the server prints them in its complaints
//! ```

mod budget;
mod defaults;
mod definition;
mod internal;
mod keywords;
mod parts;
mod structural;

use serde_json::{Value, json};

pub use definition::validate_crd;

use crate::Schema;
use crate::field::{FieldError, Path};

/// Whether a schema may be the schema of a version. `path` is where it stands, as
/// `spec.validation.openAPIV3Schema`; `is_unchanged` that it has been accepted before.
pub fn validate_crd_schema(openapi: &Value, path: &Path, is_unchanged: bool) -> Vec<FieldError> {
    if crate::too_deep(openapi) {
        return vec![FieldError::invalid(path, &Value::from(""), "is nested too deeply")];
    }
    let mut errors = Vec::new();
    if openapi.get("nullable") == Some(&Value::Bool(true)) {
        errors.push(FieldError::forbidden(&path.child("nullable"), "nullable cannot be true at the root"));
    }
    let mut check_rules = false;
    let unreadable = structural::unreadable(openapi);
    let parsed = Schema::parse(openapi);
    if unreadable.is_none() {
        let found = structural::validate(openapi, path);
        match (&parsed, found.is_empty()) {
            (Ok(schema), true) => {
                let found = defaults::validate(schema.root(), path);
                check_rules = found.is_empty();
                errors.extend(found);
            }
            _ => errors.extend(found),
        }
    }
    let rules_schema = parsed.as_ref().ok().filter(|_| check_rules).map(Schema::root);
    errors.extend(keywords::validate(openapi, rules_schema, path, is_unchanged));
    if let (true, Some(reason)) = (errors.is_empty(), unreadable) {
        errors.push(FieldError::invalid(path, &Value::from(""), reason));
    }
    errors
}

/// Fills in what a CustomResourceDefinition may leave out.
pub fn crd_defaults(crd: &mut Value) {
    let Some(crd) = crd.as_object_mut() else { return };
    if let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) {
        if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
            let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
            let empty = |value: Option<&Value>| value.and_then(Value::as_str).is_none_or(str::is_empty);
            if empty(names.get("singular")) && !kind.is_empty() {
                names.insert("singular".into(), Value::from(kind.to_lowercase()));
            }
            if empty(names.get("listKind")) && !kind.is_empty() {
                names.insert("listKind".into(), Value::from(format!("{kind}List")));
            }
        }
        if spec.get("conversion").is_none_or(Value::is_null) {
            spec.insert("conversion".into(), json!({"strategy": "None"}));
        }
        let service = spec.get_mut("conversion").and_then(|c| c.get_mut("webhook"));
        let service = service.and_then(|w| w.get_mut("clientConfig")).and_then(|c| c.get_mut("service"));
        if let Some(service) = service.and_then(Value::as_object_mut) {
            service.entry("port").or_insert(Value::from(443));
        }
    }
    let stored = crd.get("status").and_then(|status| status.get("storedVersions")).and_then(Value::as_array);
    if stored.is_none_or(Vec::is_empty) {
        let versions = crd.get("spec").and_then(|spec| spec.get("versions")).and_then(Value::as_array);
        let storage = versions.into_iter().flatten().find(|version| version.get("storage") == Some(&Value::Bool(true)));
        let name = storage.and_then(|version| version.get("name")).cloned();
        if let Some(name) = name
            && let Some(status) = crd.entry("status").or_insert_with(|| json!({})).as_object_mut()
        {
            status.insert("storedVersions".into(), Value::Array(vec![name]));
        }
    }
}

/// Makes a CRD ready to replace another: the status stays, and remembers a new storage version.
pub fn crd_prepare_update(crd: &mut Value, old: &Value) {
    let Some(crd) = crd.as_object_mut() else { return };
    let mut status = old.get("status").cloned().unwrap_or_else(|| json!({}));
    let versions = crd.get("spec").and_then(|spec| spec.get("versions")).and_then(Value::as_array);
    let storage = versions.into_iter().flatten().filter(|version| version.get("storage") == Some(&Value::Bool(true)));
    let names: Vec<Value> = storage.filter_map(|version| version.get("name")).cloned().collect();
    if let Some(status) = status.as_object_mut()
        && let Some(stored) = status.entry("storedVersions").or_insert_with(|| json!([])).as_array_mut()
    {
        for name in names {
            if !stored.contains(&name) {
                stored.push(name);
            }
        }
    }
    crd.insert("status".into(), status);
}
