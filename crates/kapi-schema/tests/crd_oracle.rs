//! CustomResourceDefinitions against what a real kube-apiserver answered; `oracle/record.py` asks it again.

use kapi_schema::crd::{crd_defaults, crd_prepare_update, validate_crd};
use serde_json::{Value, json};

#[test]
fn definitions_are_judged_as_recorded() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("oracle/crd.json")).unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        let ready = |crd: &Value| {
            let mut crd = crd.clone();
            if let Some(status) = case.get("status") {
                crd["status"] = status.clone();
            }
            crd_defaults(&mut crd);
            crd
        };
        let old = case.get("old").map(ready);
        let mut new = ready(&case["crd"]);
        if let Some(old) = &old {
            crd_prepare_update(&mut new, old);
        }
        let errors = validate_crd(&new, old.as_ref());
        let mut found: Vec<Value> = errors
            .iter()
            .map(|error| json!({"reason": error.kind.reason(), "field": error.path.to_string(), "message": error.body()}))
            .collect();
        found.sort_by_key(|cause| (cause["field"].to_string(), cause["message"].to_string()));
        let found = Value::Array(found);
        if found != case["expect"] {
            let lines = |value: &Value| {
                let all = value.as_array().unwrap().iter();
                all.map(|cause| format!("\n    {} | {} | {}", cause["field"], cause["reason"], cause["message"]))
                    .collect::<String>()
            };
            wrong.push(format!(
                "{}\n  expected {}\n  found    {}",
                case["name"],
                lines(&case["expect"]),
                lines(&found)
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
