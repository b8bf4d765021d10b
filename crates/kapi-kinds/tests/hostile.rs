//! Whatever a client sends, the hooks of a kind answer; they never panic and never hang.

#![allow(clippy::unwrap_used)]

use kapi_kinds::{behaviour, meta, prepare_approval, validate_approval};
use serde_json::{Value, json};

fn run_all(object: &Value, old: &Value) {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or("");
    let group = text("apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
    let hooks = behaviour(group, text("kind"));
    let mut new = object.clone();
    let _ = (hooks.decode)(&mut new);
    (hooks.default)(&mut new);
    (hooks.warnings)(&new);
    (hooks.fields)(&new);
    (hooks.changed)(&new, old);
    let mut created = new.clone();
    (hooks.prepare_create)(&mut created);
    meta::validate_meta(&created, true, &hooks);
    (hooks.validate)(&created);
    let mut updated = new.clone();
    (hooks.prepare_update)(&mut updated, old);
    meta::validate_meta_update(&updated, old, &hooks);
    (hooks.validate_update)(&updated, old);
    (hooks.validate_update)(old, &updated);
    let mut status = new.clone();
    (hooks.prepare_status)(&mut status, old);
    (hooks.validate_status)(&status, old);
    (hooks.validate_status)(&new, &updated);
    prepare_approval(&mut new, old);
    validate_approval(&new, old);
    if let Some(convert) = hooks.convert {
        for to in ["v1", "events.k8s.io/v1", "autoscaling/v1", "autoscaling/v2"] {
            convert(object, to);
        }
    }
}

/// The object with each of its values in turn replaced by `bad`.
fn replaced(object: &Value, bad: &Value) -> Vec<Value> {
    let mut all = vec![bad.clone()];
    match object {
        Value::Object(map) => {
            for (key, value) in map.iter().filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind")) {
                for below in replaced(value, bad) {
                    let mut copy = map.clone();
                    copy.insert(key.clone(), below);
                    all.push(Value::Object(copy));
                }
            }
        }
        Value::Array(list) => {
            for (i, value) in list.iter().enumerate() {
                for below in replaced(value, bad) {
                    let mut copy = list.clone();
                    copy[i] = below;
                    all.push(Value::Array(copy));
                }
            }
        }
        _ => {}
    }
    all
}

#[test]
fn wrong_types_anywhere() {
    let bad = [json!(null), json!(-1.5), json!("é-"), json!([null]), json!({"": {}}), json!(i64::MIN)];
    for line in include_str!("golden/create.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        if case["code"] != 201 || line.len() > 6000 {
            continue;
        }
        for bad in &bad {
            for object in replaced(&case["given"], bad).into_iter().filter(Value::is_object) {
                run_all(&object, &case["given"]);
            }
        }
    }
}

#[test]
fn deep_nesting() {
    let mut deep = json!("bottom");
    for _ in 0..100 {
        deep = json!({"spec": deep, "not": [1]});
    }
    for (version, kind) in [("v1", "Pod"), ("apps/v1", "Deployment"), ("apps/v1", "ControllerRevision")] {
        let object =
            json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": deep, "data": deep});
        run_all(&object, &object);
    }
}
