//! Whether an object may be stored.

use kapi_kinds::meta::{validate_meta, validate_meta_update};
use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::Aspect;
use crate::object;
use crate::registry::Served;
use crate::status::Status;

/// Checks a new object.
pub(super) fn new_object(served: &Served, object: &Value) -> Result<(), Status> {
    let behaviour = &served.resource.behaviour;
    let mut errors = validate_meta(object, served.resource.namespaced, behaviour);
    match &served.custom {
        Some(custom) => errors.extend(custom.validate(served, object, None)),
        None => errors.extend((behaviour.validate)(object)),
    }
    refuse(served, object, errors)
}

/// Checks a change.
pub(super) fn changed_object(served: &Served, new: &Value, old: &Value, aspect: Aspect) -> Result<(), Status> {
    let behaviour = &served.resource.behaviour;
    let mut errors = validate_meta_update(new, old, behaviour);
    // kube-apiserver checks metadata twice on the way to an update, and its causes tell so.
    errors.extend(errors.clone());
    match (&served.custom, aspect) {
        (Some(custom), _) => errors.extend(custom.validate(served, new, Some(old))),
        (None, Aspect::Status) => errors.extend((behaviour.validate_status)(new, old)),
        (None, Aspect::Part("approval")) => errors.extend(kapi_kinds::validate_approval(new, old)),
        (None, Aspect::Part("ephemeralcontainers")) => errors.extend(removed_ephemeral(new, old)),
        // A part was picked by its subresource; the rest is the live object's.
        (None, Aspect::Part(name)) if name != "scale" => {}
        (None, _) => errors.extend((behaviour.validate_update)(new, old)),
    }
    refuse(served, new, errors)
}

/// Ephemeral containers come and stay.
fn removed_ephemeral(new: &Value, old: &Value) -> Option<FieldError> {
    let names = |pod: &Value| -> Vec<String> {
        let list = pod.pointer("/spec/ephemeralContainers").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|c| c["name"].as_str()).map(str::to_owned).collect()
    };
    let kept = names(new);
    let gone: Vec<String> = names(old).into_iter().filter(|name| !kept.contains(name)).collect();
    let first = gone.first()?;
    let detail = format!("existing ephemeral containers {first:?} may not be removed\n");
    Some(FieldError::forbidden(&Path::new("spec.ephemeralContainers"), detail))
}

fn refuse(served: &Served, object: &Value, errors: Vec<FieldError>) -> Result<(), Status> {
    if errors.is_empty() {
        return Ok(());
    }
    let name = match object::name(object) {
        "" => object::meta(object, "generateName"),
        name => name,
    };
    Err(Status::invalid(&served.resource.group, &served.resource.kind, name, &errors))
}

impl crate::crd::Custom {
    /// What is wrong with a custom resource by its schema and rules.
    pub(crate) fn validate(&self, served: &Served, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let schema = served.resource.schema.root();
        let mut errors = kapi_schema::validate(new, old, schema, &Path::root());
        errors.extend(self.scale.as_ref().and_then(|scale| scale.fault(new)));
        // Rules see typed values: where the type itself is wrong there is nothing to evaluate.
        match kapi_schema::blocks_rules(&errors).filter(|_| !self.rules.is_empty()) {
            Some(blocked) => errors.push(blocked),
            None => {
                let found = self.rules.validate(new, old, schema, &Path::root());
                errors.extend(found.errors);
            }
        }
        errors
    }
}
