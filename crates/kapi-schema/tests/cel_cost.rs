//! What rules may cost, against what a real kube-apiserver estimated; `oracle/record.py` asks it again.

use kapi_schema::crd::validate_crd_schema;
use kapi_schema::field::Path;
use serde_json::{Value, json};

#[test]
fn costs_are_estimated_as_recorded() {
    let tables: Vec<Value> = serde_json::from_str(include_str!("oracle/cost.json")).unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for table in &tables {
        for case in table["cases"].as_array().unwrap() {
            count += 1;
            let mut item = table["schema"].clone();
            item["x-kubernetes-validations"] = json!([{"rule": case["rule"]}]);
            let list = json!({"type": "array", "maxItems": case["items"], "items": item});
            let schema = json!({"type": "object", "properties": {"list": list}});
            let errors = validate_crd_schema(&schema, &Path::root(), false);
            let told =
                errors.iter().map(|error| error.body()).find(|text| text.contains("estimated rule cost exceeds"));
            let factor = told.as_deref().and_then(|text| text.split("factor of ").nth(1)?.split(" (").next());
            if factor.unwrap_or_default() != case["factor"] {
                let (rule, items, expected) = (&case["rule"], &case["items"], &case["factor"]);
                wrong.push(format!("{rule} in {items}: expected {expected}, found {factor:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}
