//! PodDisruptionBudgets.

use kapi_schema::field::Path;
use serde_json::Value;

use super::apps::show_selector;
use super::check::{Errors, at_most_all, int_or_percent, invalid_shown, status_counts, supported};
use super::value::{dig, present};
use super::{Behaviour, status};
use crate::meta;

pub(super) fn behaviour(kind: &str) -> Option<Behaviour> {
    (kind == "PodDisruptionBudget").then(|| Behaviour {
        prepare_create: status::reset,
        prepare_update: status::keep_status,
        prepare_status: status::keep_spec,
        validate,
        validate_update: |new, _| validate(new),
        validate_status: |new, _| {
            let mut errors = Vec::new();
            let counts = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];
            status_counts(dig(new, &["status"]), &Path::new("status"), &counts, &mut errors);
            errors
        },
        generation: true,
        ..Behaviour::builtin()
    })
}

fn validate(budget: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = dig(budget, &["spec"]);
    let (least, most) = (present(spec, "minAvailable"), present(spec, "maxUnavailable"));
    if let (Some(least), Some(most)) = (least, most) {
        let selector = present(spec, "selector").map_or("null".to_owned(), show_selector);
        let policy = dig(spec, &["unhealthyPodEvictionPolicy"]);
        let shown = format!(
            "{{\"MinAvailable\":{least},\"Selector\":{selector},\"MaxUnavailable\":{most},\"UnhealthyPodEvictionPolicy\":{policy}}}"
        );
        errors.push(invalid_shown(&path, shown, "minAvailable and maxUnavailable cannot be both set"));
    }
    for (field, value) in [("minAvailable", least), ("maxUnavailable", most)] {
        if let Some(value) = value {
            int_or_percent(value, &path.child(field), &mut errors);
            at_most_all(value, &path.child(field), &mut errors);
        }
    }
    if let Some(selector) = present(spec, "selector") {
        meta::validate_selector(selector, &path.child("selector"), &mut errors);
    }
    if let Some(policy) = present(spec, "unhealthyPodEvictionPolicy").and_then(Value::as_str) {
        let policies = ["AlwaysAllow", "IfHealthyBudget"];
        supported(policy, &path.child("unhealthyPodEvictionPolicy"), &policies, &mut errors);
    }
    errors
}
