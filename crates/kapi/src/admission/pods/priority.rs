//! The priority of pods, by their class or the default one.

use serde_json::Value;

use super::super::Operation;
use super::super::fields::{forbid, int, present, set_spec, stored, stored_all, text};
use crate::call::Call;
use crate::object;
use crate::status::Status;

const CLASSES: &str = "priorityclasses.scheduling.k8s.io";

/// Resolves the class of a new pod; a change leaves the priority as it was.
pub(in super::super) fn resolve(call: &Call, pod: &mut Value, old: Option<&Value>) -> Result<(), Status> {
    if let Some(old) = old {
        for field in ["priority", "preemptionPolicy"] {
            let pointer = format!("/spec/{field}");
            if let (None, Some(before)) = (present(pod, &pointer), present(old, &pointer)) {
                let before = before.clone();
                set_spec(pod, field, before);
            }
        }
        return Ok(());
    }
    let class = match text(pod, "/spec/priorityClassName") {
        "" => default_class(call),
        name => match stored(call, CLASSES, name) {
            Some(class) => Some(class),
            None => return Err(forbid(call, pod, format!("no PriorityClass with name {name} was found"))),
        },
    };
    let (priority, policy) = match &class {
        Some(class) => (int(class, "/value").unwrap_or(0), present(class, "/preemptionPolicy").cloned()),
        None => (0, Some("PreemptLowerPriority".into())),
    };
    if let Some(given) = int(pod, "/spec/priority").filter(|given| *given != priority) {
        return Err(forbid(
            call,
            pod,
            format!(
                "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller \
                 computed {priority} from the given PriorityClass name"
            ),
        ));
    }
    if let Some(class) = &class {
        set_spec(pod, "priorityClassName", object::name(class));
    }
    set_spec(pod, "priority", priority);
    if let Some(policy) = policy {
        let given = text(pod, "/spec/preemptionPolicy");
        if !given.is_empty() && policy != given {
            let computed = policy.as_str().unwrap_or_default();
            return Err(forbid(
                call,
                pod,
                format!(
                    "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission \
                     controller computed {computed} from the given PriorityClass name"
                ),
            ));
        }
        set_spec(pod, "preemptionPolicy", policy);
    }
    Ok(())
}

fn default_class(call: &Call) -> Option<Value> {
    let classes = stored_all(call, CLASSES, "").into_iter().filter(|class| class["globalDefault"] == true);
    classes.min_by_key(|class| int(class, "/value").unwrap_or(0))
}

/// Only one class can be the default.
pub(in super::super) fn check_class(call: &Call, operation: Operation, class: &Value) -> Result<(), Status> {
    if class["globalDefault"] != true {
        return Ok(());
    }
    match default_class(call) {
        Some(known) if operation == Operation::Create || object::name(&known) != object::name(class) => {
            let why = format!(
                "PriorityClass {} is already marked as default. Only one default can exist",
                object::name(&known)
            );
            Err(forbid(call, class, why))
        }
        _ => Ok(()),
    }
}
