//! CEL rules: parsed, checked, judged by cost, and evaluated on an object, within limits.

use std::sync::LazyLock;

use kapi_schema::field::Path;
use kapi_schema::{CelRules, Condition, Schema, crd};
use serde_json::{Value, json};

use super::{Target, owned, with_text};
use crate::laws::same;
use crate::mutate::Form;
use crate::recordings;

pub(super) const TARGET: Target = Target {
    name: "cel",
    run: |input| with_text(input, run),
    form: Form::Text,
    words: &[
        "self.",
        "oldSelf",
        "has(",
        ".all(x, ",
        ".exists(x, ",
        ".map(x, ",
        ".filter(x, ",
        ".exists_one(x, ",
        "size(",
        ".matches('",
        ".format([",
        "'%s %d %.2f'",
        "duration('1h')",
        "timestamp('2026-01-01T00:00:00Z')",
        "quantity('1Gi')",
        "ip('::1')",
        "cidr('10.0.0.0/8')",
        "url('https://a/b?c')",
        "semver('1.2.3')",
        "optional.of(",
        "? ",
        " : ",
        "&&",
        "||",
        "!",
        "==",
        "in",
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        "-9223372036854775808",
        "9223372036854775807",
        "18446744073709551615u",
        "1e308",
        "b'\\xff'",
        "r'\\'",
        "\"\"\"",
        "null",
        "dyn(",
        "type(",
        "int(",
        "uint(",
        "double(",
        "string(",
        "bytes(",
        ".find('",
        ".findAll('",
        ".split(','",
        ".replace('a', 'b'",
        ".join(",
        ".substring(",
        ".indexOf(",
        ".sum()",
        ".min()",
        ".isSorted()",
        "cel.bind(x, ",
        ".orValue(",
        "self.s",
        "self.l",
        "self.m",
        "self.lm",
        "self.i",
        "self.d",
        "sets.contains(",
        "math.greatest(",
        "lists.range(",
        ".reverse()",
        ".transformList(i, v, ",
    ],
    seeds: || {
        let table = recordings::document(TABLE)?;
        Ok(owned(table["cases"].as_array().into_iter().flatten().filter_map(|case| case["rule"].as_str())))
    },
};

const TABLE: &str = "crates/kapi-schema/tests/oracle/cel.json";

static RECORDED: LazyLock<Value> = LazyLock::new(|| recordings::document(TABLE).unwrap_or_default());

fn run(rule: &str) -> Result<(), String> {
    let mut node = RECORDED["schema"].clone();
    node["x-kubernetes-validations"] = json!([{"rule": rule, "messageExpression": rule}]);
    let openapi = json!({"type": "object", "properties": {"p": node}});
    let refused = crd::validate_crd_schema(&openapi, &Path::new("s"), false);
    let schema = Schema::parse(&openapi).map_err(|error| format!("the recorded schema cannot be read: {error}"))?;
    let rules = CelRules::compile(schema.root());
    if refused.is_empty() {
        let object = json!({"p": RECORDED["object"]});
        let judge = || -> Vec<String> {
            let outcome = rules.validate(&object, Some(&object), schema.root(), &Path::root());
            outcome.errors.iter().chain(&outcome.warnings).map(ToString::to_string).collect()
        };
        same("a rule judges the same object alike", &judge(), &judge())?;
    }
    if let Ok(condition) = Condition::compile(rule, &["self", "oldSelf"]) {
        let variables = [("self", &RECORDED["object"]), ("oldSelf", &Value::Null)];
        same("a condition judges the same object alike", &condition.holds(&variables), &condition.holds(&variables))?;
    }
    Ok(())
}
