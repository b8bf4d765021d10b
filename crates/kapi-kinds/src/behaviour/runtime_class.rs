//! RuntimeClasses.

use kapi_schema::field::{FieldError, Path};
use serde_json::{Value, json};

use super::Behaviour;
use super::check::{Errors, immutable, label};
use super::pod::{validate_requirements, validate_tolerations};
use super::value::{dig, list, present, text};
use crate::meta;

pub(super) fn behaviour(kind: &str) -> Option<Behaviour> {
    (kind == "RuntimeClass").then(|| Behaviour {
        validate,
        validate_update: |new, old| {
            let mut errors = Vec::new();
            let handler = |class: &Value| Value::from(text(class, "handler"));
            immutable(&handler(new), &handler(old), &Path::new("handler"), &mut errors);
            errors
        },
        ..Behaviour::builtin()
    })
}

fn validate(class: &Value) -> Errors {
    let mut errors = Vec::new();
    label(text(class, "handler"), &Path::new("handler"), &mut errors);
    if let Some(overhead) = present(class, "overhead") {
        let limits = json!({"limits": dig(overhead, &["podFixed"])});
        validate_requirements(&limits, &[], &Path::new("overhead"), &mut errors);
    }
    if let Some(scheduling) = present(class, "scheduling") {
        let path = Path::new("scheduling");
        meta::validate_labels(present(scheduling, "nodeSelector"), &path.child("nodeSelector"), &mut errors);
        let path = path.child("tolerations");
        let tolerations = list(scheduling, "tolerations");
        // Kubernetes names the field twice here.
        validate_tolerations(tolerations, &path.child("tolerations"), &mut errors);
        let key = |toleration: &Value| ["key", "operator", "value", "effect"].map(|f| text(toleration, f).to_owned());
        for (i, toleration) in tolerations.iter().enumerate() {
            if tolerations.iter().take(i).any(|other| key(other) == key(toleration)) {
                errors.push(FieldError::duplicate(&path.index(i), toleration));
            }
        }
    }
    errors
}
