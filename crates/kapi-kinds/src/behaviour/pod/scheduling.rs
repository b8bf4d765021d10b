//! Tolerations, taints and scheduling gates.

use kapi_schema::field::{FieldError, Path};
use serde_json::{Value, json};

use crate::behaviour::check::{Errors, qualified_name};
use crate::behaviour::value::{int, list, present, same, set, text};
use crate::meta;

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

pub(crate) fn validate_tolerations(tolerations: &[Value], path: &Path, errors: &mut Errors) {
    for (i, toleration) in tolerations.iter().enumerate() {
        let path = path.index(i);
        let (key, operator) = (text(toleration, "key"), text(toleration, "operator"));
        let (value, effect) = (text(toleration, "value"), text(toleration, "effect"));
        if !key.is_empty() {
            meta::validate_label_key(key, &path.child("key"), errors);
        } else if operator != "Exists" {
            let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.push(FieldError::invalid(&path.child("operator"), &operator.into(), detail));
        }
        if present(toleration, "tolerationSeconds").is_some() && effect != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.push(FieldError::invalid(&path.child("effect"), &effect.into(), detail));
        }
        let at = path.child("operator");
        match operator {
            "Equal" | "" => {
                let messages = meta::is_label_value(value);
                if !messages.is_empty() {
                    errors.push(FieldError::invalid(&at, &value.into(), messages.join(";")));
                }
            }
            "Exists" if !value.is_empty() => {
                let detail = "value must be empty when `operator` is 'Exists'";
                errors.push(FieldError::invalid(&at, &value.into(), detail));
            }
            "Exists" => {}
            other => errors.push(FieldError::not_supported(&at, &other.into(), &["Equal", "Exists"])),
        }
        if !effect.is_empty() {
            validate_taint_effect(effect, &path.child("effect"), errors);
        }
    }
}

/// Pods stay for five minutes on a node that fell ill, unless they say otherwise.
pub(super) fn tolerate_sick_nodes(pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec") else { return };
    let mut tolerations = list(spec, "tolerations").to_vec();
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let covers = |toleration: &Value| {
            (text(toleration, "key").is_empty() || text(toleration, "key") == key)
                && matches!(text(toleration, "effect"), "" | "NoExecute")
        };
        if !tolerations.iter().any(covers) {
            tolerations.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
            }));
        }
    }
    set(spec, "tolerations", tolerations);
}

/// Checks what a taint does to pods that do not tolerate it.
pub(crate) fn validate_taint_effect(effect: &str, path: &Path, errors: &mut Errors) {
    crate::behaviour::check::one_of(effect, path, &EFFECTS, errors);
}

/// Tolerations may be added; of those there only the time may change.
pub(super) fn validate_only_added(new: &[Value], old: &[Value], path: &Path, errors: &mut Errors) {
    let kept = |was: &Value| {
        new.iter().any(|now| {
            let mut was = was.clone();
            match int(now, "tolerationSeconds") {
                Some(seconds) => set(&mut was, "tolerationSeconds", seconds),
                None => {
                    crate::behaviour::value::remove(&mut was, "tolerationSeconds");
                }
            }
            same(&was, now)
        })
    };
    if !old.iter().all(kept) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(FieldError::forbidden(path, detail));
        return;
    }
    validate_tolerations(new, path, errors);
}

pub(super) fn validate_gates(gates: &[Value], path: &Path, errors: &mut Errors) {
    let mut seen = Vec::new();
    for (i, gate) in gates.iter().enumerate() {
        let name = text(gate, "name");
        qualified_name(name, &path.index(i), errors);
        if seen.contains(&name) {
            errors.push(FieldError::duplicate(&path.index(i), &name.into()));
        }
        seen.push(name);
    }
}

/// Gates only ever open.
pub(super) fn validate_gates_only_removed(new: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    let known: Vec<&str> = list(old, "schedulingGates").iter().map(|gate| text(gate, "name")).collect();
    for (i, gate) in list(new, "schedulingGates").iter().enumerate() {
        if !known.contains(&text(gate, "name")) {
            let detail = "only deletion is allowed, but found new scheduling gate";
            errors.push(FieldError::forbidden(
                &path.index(i).child("name"),
                format!("{detail} '{}'", text(gate, "name")),
            ));
        }
    }
}
