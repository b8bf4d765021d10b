//! A single expression over untyped values: match conditions of admission webhooks.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::checker::{check, display};
use super::eval::Evaluator;
use super::library::Patterns;
use super::parser::parse;
use super::rules::Program;
use super::types::Ty;
use super::value::{Key, Text, Val};

/// An expression that is true or false of some values.
#[derive(Debug)]
pub struct Condition {
    program: Program,
}

impl Condition {
    /// Compiles an expression that may speak of these variables. The error is the compiler's.
    pub fn compile(source: &str, variables: &[&str]) -> Result<Self, String> {
        let failed = |text: String| format!("compilation failed: {text}");
        let expr = parse(source).map_err(|fault| failed(display(source, &[fault])))?;
        let declared: Vec<(&str, Ty<'_>)> = variables.iter().map(|name| (*name, Ty::Dyn)).collect();
        let types = check(&expr, &declared).map_err(|faults| failed(display(source, &faults)))?;
        match types.of(&expr) {
            Ty::Bool | Ty::Dyn => {}
            _ => return Err("must evaluate to bool".into()),
        }
        Ok(Self { program: Program { patterns: Patterns::of(&expr), expr } })
    }

    /// Whether it holds of these values. The error is the evaluation's.
    pub fn holds(&self, variables: &[(&str, &Value)]) -> Result<bool, String> {
        let scope = variables.iter().map(|(name, value)| (*name, untyped(value))).collect();
        match Evaluator::new(scope, &self.program.patterns).eval(&self.program.expr) {
            Ok(Val::Bool(held)) => Ok(held),
            Ok(_) => Err("must evaluate to bool".into()),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn untyped(json: &Value) -> Val<'_> {
    match json {
        Value::Null => Val::Null,
        Value::Bool(held) => Val::Bool(*held),
        Value::Number(number) => match number.as_i64() {
            Some(int) => Val::Int(int),
            None => Val::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Val::String(Text::Borrowed(text)),
        Value::Array(items) => Val::list(items.iter().map(untyped).collect()),
        Value::Object(map) => {
            let entries = map.iter().map(|(key, value)| (Key::String(Arc::from(key.as_str())), untyped(value)));
            Val::Map(Arc::new(entries.collect::<BTreeMap<_, _>>()))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_hold_or_not() {
        let object = json!({"metadata": {"name": "free-1", "labels": {"a": "b"}}, "spec": {"replicas": 3}});
        let rows = [
            ("!object.metadata.name.startsWith('free')", Ok(false)),
            ("object.spec.replicas > 2 && has(object.metadata.labels)", Ok(true)),
            ("object.metadata.labels.exists(k, k == 'a')", Ok(true)),
            ("oldObject == null", Ok(true)),
            ("object.metadata.nothing == 1", Err("no such key: nothing".to_owned())),
        ];
        for (source, expected) in rows {
            let condition = Condition::compile(source, &["object", "oldObject"]).unwrap();
            assert_eq!(condition.holds(&[("object", &object), ("oldObject", &Value::Null)]), expected, "{source}");
        }
        assert!(Condition::compile("object.", &["object"]).is_err());
        assert!(Condition::compile("unknown == 1", &["object"]).is_err());
        assert!(Condition::compile("'text'", &[]).is_err());
    }
}
