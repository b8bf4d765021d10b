//! ControllerRevisions.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::super::Behaviour;
use super::super::check::{Errors, immutable, nonnegative};
use super::super::value::{int, present};

pub(super) fn behaviour() -> Behaviour {
    Behaviour {
        validate,
        validate_update: |new, old| {
            let mut errors = Vec::new();
            nonnegative(int(new, "revision"), &Path::new("revision"), &mut errors);
            let data = |object: &Value| object.get("data").cloned().unwrap_or_default();
            immutable(&data(new), &data(old), &Path::new("data"), &mut errors);
            errors
        },
        fields: |object| vec![("revision", int(object, "revision").unwrap_or(0).to_string())],
        ..Behaviour::builtin()
    }
}

fn validate(object: &Value) -> Errors {
    let mut errors = Vec::new();
    nonnegative(int(object, "revision"), &Path::new("revision"), &mut errors);
    match present(object, "data") {
        None => errors.push(FieldError::required(&Path::new("data"), "data is mandatory")),
        Some(Value::Object(_)) => {}
        Some(_) => errors.push(FieldError::required(&Path::new("data"), "data must be a valid JSON object")),
    }
    errors
}
