//! Rules that would take too long are stopped, and nothing a rule says brings the server down.

use kapi_schema::field::Path;
use kapi_schema::{CelRules, Schema};
use serde_json::{Value, json};

fn run(rule: &str, object: &Value) -> Vec<String> {
    let openapi = json!({"type": "object", "properties": {"spec": {
        "type": "object",
        "properties": {
            "l": {"type": "array", "items": {"type": "integer"}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "s": {"type": "string"},
        },
        "x-kubernetes-validations": [{"rule": rule}],
    }}});
    let schema = Schema::parse(&openapi).unwrap_or_else(|_| Schema::any());
    let rules = CelRules::compile(schema.root());
    rules.validate(object, None, schema.root(), &Path::root()).errors.iter().map(ToString::to_string).collect()
}

#[test]
fn costly_rules_are_stopped() {
    let many: Vec<i64> = (0..5_000).collect();
    let set: Vec<String> = many.iter().map(|n| format!("s{n}")).collect();
    let object = json!({"spec": {"l": many, "set": set, "s": "x".repeat(200_000)}});
    let rules = [
        "self.l.all(x, self.l.all(y, x + y >= 0))",
        "self.l.all(x, self.l.exists(y, true)) && self.l.all(x, self.l.map(y, y).size() > 0)",
        "self.l.all(x, self.s.size() > 0)",
        "self.l.all(x, self.set == self.set)",
        "self.l.all(x, (self.set + self.set).size() > 0)",
        "self.l.all(x, self.s.contains('y') || true)",
        "self.l.all(x, self.s.matches('(a+)+$') || true)",
        "self.l.map(x, self.s + self.s).size() > 0",
    ];
    for rule in rules {
        let found = run(rule, &object);
        let expected = format!(
            "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation \
             rules will be run due to call cost exceeds limit for rule: {rule}"
        );
        assert_eq!(found, [expected]);
    }
}

#[test]
fn all_rules_together_have_a_budget() {
    let openapi = json!({"type": "object", "properties": {"l": {"type": "array", "items": {
        "type": "object",
        "properties": {"n": {"type": "array", "items": {"type": "integer"}}},
        "x-kubernetes-validations": [{"rule": "self.n.all(x, x >= 0)"}],
    }}}});
    let schema = Schema::parse(&openapi).unwrap();
    let rules = CelRules::compile(schema.root());
    let item = json!({"n": vec![1; 10_000]});
    let object = json!({"l": vec![item; 300]});
    let errors = rules.validate(&object, None, schema.root(), &Path::root()).errors;
    let texts: Vec<String> = errors.iter().map(|error| error.body()).collect();
    assert_eq!(
        texts,
        [
            "Invalid value: \"object\": validation failed due to running out of cost budget, no further validation rules \
          will be run"
        ]
    );
}
