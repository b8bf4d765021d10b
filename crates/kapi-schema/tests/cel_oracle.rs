//! CEL rules against what a real kube-apiserver answered; `oracle/record.py` asks it again.

use kapi_schema::field::Path;
use kapi_schema::{CelRules, Schema, crd};
use serde_json::{Value, json};

#[test]
fn rules_compile_and_evaluate_as_recorded() {
    let table: Value = serde_json::from_str(include_str!("oracle/cel.json")).unwrap();
    let mut wrong = Vec::new();
    for case in table["cases"].as_array().unwrap() {
        let rule = case["rule"].as_str().unwrap();
        let mut node = table["schema"].clone();
        node["x-kubernetes-validations"] = json!([{"rule": rule}]);
        let openapi = json!({"type": "object", "properties": {"p": node}});
        let refused: Vec<String> =
            crd::validate_crd_schema(&openapi, &Path::new("s"), false).into_iter().map(|error| error.detail).collect();
        if let Some(expected) = case["compile"].as_str().map(without_type_names) {
            if refused != [expected.as_str()] {
                wrong.push(format!("{rule}\n  expected {expected}\n  found    {refused:?}"));
            }
            continue;
        }
        if !refused.is_empty() {
            wrong.push(format!("{rule}\n  should compile, but: {refused:?}"));
            continue;
        }
        let schema = Schema::parse(&openapi).unwrap();
        let rules = CelRules::compile(schema.root());
        let object = json!({"p": table["object"]});
        let found: Vec<String> = rules
            .validate(&object, None, schema.root(), &Path::root())
            .errors
            .iter()
            .map(|error| error.body())
            .collect();
        let expected: Vec<&str> =
            case["errors"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
        if found != expected {
            wrong.push(format!("{rule}\n  expected {expected:?}\n  found    {found:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        table["cases"].as_array().unwrap().len(),
        wrong.join("\n")
    );
}

/// The server names the type of `self` anew each time.
fn without_type_names(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("selfType") {
        out.push_str(before);
        out.push_str("object");
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out + rest
}
