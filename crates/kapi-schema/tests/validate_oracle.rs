//! Validation of custom resources against what a real kube-apiserver answered; `oracle/record.py` asks it again.

use kapi_schema::field::{FieldError, Path};
use kapi_schema::{CelRules, PruneOptions, Schema, apply_defaults, blocks_rules, prune, validate};
use serde_json::{Value, json};

#[test]
fn objects_are_judged_as_recorded() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("oracle/validate.json")).unwrap();
    let mut wrong = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        let schema = Schema::parse(&case["schema"]).unwrap();
        let head = |content: &Value| {
            let mut object =
                json!({"apiVersion": "recorder.example.com/v1", "kind": format!("V{i}x"), "metadata": {"name": "x"}});
            object.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
            object
        };
        let ready = |content: &Value| {
            let mut object = head(content);
            prune(&mut object, schema.root(), PruneOptions { resource: true, track: false });
            apply_defaults(&mut object, schema.root());
            object
        };
        let new = ready(&case["object"]);
        let old = case.get("old").map(ready);
        let mut errors = validate(&new, old.as_ref(), schema.root(), &Path::root());
        let rules = CelRules::compile(schema.root());
        if !rules.is_empty() {
            match blocks_rules(&errors) {
                Some(error) => errors.push(error),
                None => errors.extend(rules.validate(&new, old.as_ref(), schema.root(), &Path::root()).errors),
            }
        }
        let found = causes(&errors);
        if found != case["expect"] {
            wrong.push(format!("{}\n  expected {}\n  found    {found}", case["name"], case["expect"]));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

fn causes(errors: &[FieldError]) -> Value {
    let mut found: Vec<Value> = errors
        .iter()
        .map(|error| json!({"reason": error.kind.reason(), "field": error.path.to_string(), "message": error.body()}))
        .collect();
    found.sort_by_key(|cause| (cause["field"].to_string(), cause["message"].to_string()));
    Value::Array(found)
}
