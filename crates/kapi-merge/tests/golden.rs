//! Replays what `record/record.py` recorded from a real kube-apiserver: every step must come out as it did there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod support;

use kapi_merge::{
    ApplyError, Conflict, PatchError, UpdateRequest, apply, json_patch, merge_patch, strategic_merge, track_update,
};
use serde_json::{Value, json};
use support::{Kind, Problems, Step};

#[test]
fn custom_kind() {
    replay("widgets", 110);
}

#[test]
fn custom_kind_errors() {
    replay("widget_errors", 30);
}

#[test]
fn deployments() {
    replay("deployments", 50);
}

#[test]
fn services() {
    replay("services", 12);
}

#[test]
fn pods() {
    replay("pods", 8);
}

#[test]
fn config_maps() {
    replay("configmaps", 20);
}

#[test]
fn other_kinds() {
    replay("kinds", 30);
}

#[test]
fn random_writes() {
    replay("random", 20);
}

#[test]
fn json_patches() {
    replay("json_patches", 60);
}

fn replay(group: &str, at_least: usize) {
    let scenarios = support::golden(group);
    assert!(scenarios.len() >= at_least, "{group} has only {} scenarios", scenarios.len());
    let mut problems = Problems::default();
    for scenario in &scenarios {
        let kind = Kind::named(scenario["kind"].as_str().unwrap());
        for (index, step) in scenario["steps"].as_array().unwrap().iter().enumerate() {
            problems.at(format!("{group}: {} [{index}]", scenario["name"].as_str().unwrap()));
            let step = Step(step);
            match (step.subresource(), step.text("verb")) {
                ("scale", _) => replay_scale(&step, &mut problems),
                (_, "apply") => replay_apply(&kind, &step, &mut problems),
                _ => replay_update(&kind, &step, &mut problems),
            }
        }
    }
    problems.none();
}

fn replay_apply(kind: &Kind, step: &Step<'_>, problems: &mut Problems) {
    let reset = kind.reset_fields(step.subresource());
    let request = kind.apply_request(step, &reset);
    let outcome = apply(step.live(), step.body(), kind.schema.root(), &request);
    match (outcome, step.result()) {
        (Ok(object), Some(real)) => {
            problems.same("managedFields", &support::as_stored(&object, real, step), &support::managed_fields(real));
            if step.subresource().is_empty() {
                problems.covered(&object, real, step);
            } else {
                problems.covered(&object["status"], &real["status"], step);
            }
        }
        (Err(error), None) => check_apply_error(&error, step, problems),
        // Validation of the result is not this crate's.
        (Ok(_), None) if step.text("message").contains("is invalid: ") => {}
        (Ok(object), None) => problems.add(format!("applied to {object}, not refused: {}", step.text("message"))),
        (Err(error), Some(_)) => problems.add(format!("refused: {error}")),
    }
}

fn check_apply_error(error: &ApplyError, step: &Step<'_>, problems: &mut Problems) {
    problems.same("message", &json!(error.to_string()), &step.0["message"]);
    let code = match error {
        ApplyError::BadRequest(_) => 400,
        ApplyError::Conflict(_) => 409,
        ApplyError::Internal(_) => 500,
    };
    problems.same("code", &json!(code), &step.0["code"]);
    if let ApplyError::Conflict(conflicts) = error {
        let cause = |conflict: &Conflict| json!({"reason": Conflict::REASON, "message": conflict.message(), "field": conflict.field});
        let mut causes: Vec<Value> = conflicts.0.iter().map(cause).collect();
        let mut real = step.0["causes"].as_array().unwrap().clone();
        // The real server lists managers in no order.
        causes.sort_by_key(ToString::to_string);
        real.sort_by_key(ToString::to_string);
        problems.same("causes", &json!(causes), &json!(real));
    }
}

fn replay_update(kind: &Kind, step: &Step<'_>, problems: &mut Problems) {
    if let (Some(live), verb) = (step.live(), step.text("verb")) {
        let patched = match verb {
            "json" => json_patch(live, step.body().to_string().as_bytes()),
            "merge" => Ok(merge_patch(live, step.body())),
            "strategic" => strategic_merge(live, step.body(), kind.schema.root()),
            _ => Ok(step.body().clone()),
        };
        match (patched, step.result()) {
            (Ok(patched), Some(real)) if step.subresource().is_empty() => problems.covered(&patched, real, step),
            (Ok(_), Some(_)) => {}
            (Ok(_), None) if step.text("message").contains("is invalid: ") => {}
            (Ok(_), None) => problems.add(format!("patched, not refused: {}", step.text("message"))),
            (Err(error), Some(_)) => problems.add(format!("refused: {error}")),
            (Err(error), None) => {
                problems.same("message", &json!(error.to_string()), &step.0["message"]);
                let code = match error {
                    PatchError::BadRequest(_) => 400,
                    PatchError::TooLarge(_) => 413,
                    PatchError::Unprocessable(_) => 422,
                    PatchError::Internal(_) => 500,
                };
                problems.same("code", &json!(code), &step.0["code"]);
            }
        }
    }
    let Some(real) = step.result() else { return };
    let reset = kind.reset_fields(step.subresource());
    let request = kind.update_request(step, &reset);
    let mut new = support::as_sent(kind, step, real);
    if step.subresource() == "ephemeralcontainers" {
        // Ownership is noted before the endpoint takes back what it does not let one change.
        new["metadata"]["labels"] = step.body()["metadata"]["labels"].clone();
    }
    track_update(step.live(), &mut new, kind.schema.root(), &request);
    problems.same("managedFields", &support::as_stored(&new, real, step), &support::managed_fields(real));
}

fn replay_scale(step: &Step<'_>, problems: &mut Problems) {
    use kapi_merge::ownership::{ScaleFields, scale_fields, scale_fields_to_parent};
    let scale_kind = Kind::named("Scale");
    let live = step.live().unwrap();
    let versions: [(&str, &[&str]); 1] = [(step.text("apiVersion"), &["spec", "replicas"])];
    let fields = ScaleFields { api_version: step.text("apiVersion"), replicas: &versions };
    let scale = json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {
            "name": live["metadata"]["name"], "namespace": live["metadata"]["namespace"],
            "uid": live["metadata"]["uid"], "managedFields": scale_fields(live, &fields),
        },
        "spec": {"replicas": live["spec"]["replicas"]},
        "status": {"replicas": 0},
    });
    let reset = scale_kind.reset_fields("");
    let outcome = if step.text("verb") == "apply" {
        let request = scale_kind.apply_request(step, &reset);
        apply(Some(&scale), step.body(), scale_kind.schema.root(), &request)
    } else {
        let mut new = scale.clone();
        new["spec"] = step.0["scale"]["spec"].clone();
        let request: UpdateRequest<'_> = scale_kind.update_request(step, &reset);
        track_update(Some(&scale), &mut new, scale_kind.schema.root(), &request);
        Ok(new)
    };
    match (outcome, step.result()) {
        (Ok(scale), Some(real)) => {
            let entries = scale["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
            let parent = scale_fields_to_parent(live, &entries, &fields);
            problems.same("managedFields", &parent, &support::managed_fields(real));
        }
        (Err(error), None) => check_apply_error(&error, step, problems),
        (outcome, _) => problems.add(format!("{outcome:?}, but there: {}", step.0["code"])),
    }
}
