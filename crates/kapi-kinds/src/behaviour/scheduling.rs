//! PriorityClasses.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::Behaviour;
use super::check::{Errors, immutable, one_of};
use super::value::{default, dig, flag, int, present, text};

const HIGHEST_FOR_USERS: i64 = 1_000_000_000;
const SYSTEM: [(&str, i64); 2] = [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

pub(super) fn behaviour(kind: &str) -> Option<Behaviour> {
    (kind == "PriorityClass").then(|| Behaviour {
        default: |class| default(class, "preemptionPolicy", "PreemptLowerPriority"),
        validate,
        validate_update: |new, old| {
            let mut errors = Vec::new();
            if int(new, "value").unwrap_or(0) != int(old, "value").unwrap_or(0) {
                errors.push(FieldError::forbidden(&Path::new("value"), "may not be changed in an update."));
            }
            let policy = |class: &Value| dig(class, &["preemptionPolicy"]).clone();
            immutable(&policy(new), &policy(old), &Path::new("preemptionPolicy"), &mut errors);
            errors
        },
        generation: true,
        ..Behaviour::builtin()
    })
}

fn validate(class: &Value) -> Errors {
    let mut errors = Vec::new();
    let name = text(dig(class, &["metadata"]), "name");
    let value = int(class, "value").unwrap_or(0);
    if name.starts_with("system-") {
        if let Some(why) = not_known(name, value, flag(class, "globalDefault")) {
            let detail =
                format!("priority class names with 'system-' prefix are reserved for system use only. error: {why}");
            errors.push(FieldError::forbidden(&Path::new("metadata.name"), detail));
        }
    } else if value > HIGHEST_FOR_USERS {
        let detail = format!("maximum allowed value of a user defined priority is {HIGHEST_FOR_USERS}");
        errors.push(FieldError::forbidden(&Path::new("value"), detail));
    }
    if let Some(policy) = present(class, "preemptionPolicy").and_then(Value::as_str) {
        one_of(policy, &Path::new("preemptionPolicy"), &["PreemptLowerPriority", "Never"], &mut errors);
    }
    errors
}

fn not_known(name: &str, value: i64, global: bool) -> Option<String> {
    let Some((_, expected)) = SYSTEM.iter().find(|(known, _)| *known == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    if value != *expected {
        return Some(format!("value of {name} PriorityClass must be {expected}"));
    }
    global.then(|| format!("globalDefault of {name} PriorityClass must be false"))
}
