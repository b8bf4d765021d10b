//! The CEL rules, by the evaluator of the embedded API: what must pass passes, what must fail says what the real API server says.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test may stop and may talk")]

use std::collections::BTreeSet;

use butler_api::CustomResourceDefinition;
use common::On;
use kube_cel::{CompiledSchema, Validator, apply_defaults, compile_schema};
use serde_json::Value;

mod common;

#[test]
fn seeds_and_examples_pass() {
    for crd in butler_api::crds() {
        let judge = Judge::new(&crd);
        for (file, object) in
            common::accepted_objects().into_iter().filter(|(_, object)| object["kind"] == crd.spec.names.kind)
        {
            assert_eq!(judge.failures(&object, None), BTreeSet::new(), "{file}");
            assert_eq!(judge.failures(&object, Some(&object)), BTreeSet::new(), "{file}, written again");
        }
    }
}

#[test]
fn refused_objects_fail_in_the_words_of_the_real_server() {
    for (file, refused) in common::refused() {
        let judge = Judge::new(&common::crd_of(&refused.object).unwrap());
        for change in &refused.accepted {
            let mut new = refused.object.clone();
            common::merge(&mut new, change);
            assert_eq!(judge.failures(&new, Some(&refused.object)), BTreeSet::new(), "{file}: {change}");
        }
        for case in &refused.cases {
            let expected: BTreeSet<String> = case.errors.iter().filter_map(|error| rule_failure(error)).collect();
            // The API server does not come to the rules when the schema itself refuses the object.
            if expected.is_empty() {
                continue;
            }
            let mut new = apply_defaults(&judge.schema, &refused.object);
            if case.on == On::Create {
                new = refused.object.clone();
            }
            common::merge(&mut new, &case.change);
            let old = (case.on == On::Update).then_some(&refused.object);
            assert_eq!(judge.failures(&new, old), expected, "{file}: {}", case.case);
        }
    }
}

/// The rules of one kind, compiled once.
struct Judge {
    schema: Value,
    compiled: CompiledSchema,
    validator: Validator,
}

impl Judge {
    fn new(crd: &CustomResourceDefinition) -> Self {
        let schema = common::schema(crd);
        let compiled = compile_schema(&schema);
        assert!(!compiled.has_errors(), "{}: {:?}", crd.spec.names.kind, compiled.compilation_errors());
        Self { schema, compiled, validator: Validator::new() }
    }

    fn failures(&self, new: &Value, old: Option<&Value>) -> BTreeSet<String> {
        let defaulted = |object: &Value| apply_defaults(&self.schema, object);
        let outcome = self.validator.validate_compiled(&self.compiled, &defaulted(new), old.map(defaulted).as_ref());
        let errors = outcome.err().into_iter().flat_map(|errors| errors.into_vec());
        // A field that a rule on the root names keeps its dot here.
        errors.map(|error| error.to_string().trim_start_matches('.').to_owned()).collect()
    }
}

/// `field: message` of a failed rule: without the placeholder the API server puts in place of the value, and with the key of a
/// map written as this evaluator writes it.
fn rule_failure(error: &str) -> Option<String> {
    let (field, rest) = error.split_once(": Invalid value: \"")?;
    let (placeholder, message) = rest.split_once("\": ")?;
    let by_rule = ["object", "string", "array", "integer"].contains(&placeholder);
    let field = field.replace("[image]", ".image");
    let root = if field == "<nil>" { String::new() } else { format!("{field}: ") };
    by_rule.then(|| format!("{root}{message}"))
}

/// Guards the table itself: a rule nobody breaks is a rule nobody knows to work.
#[test]
fn every_rule_is_broken_by_some_case() {
    let broken: BTreeSet<String> =
        common::refused().into_iter().flat_map(|(_, refused)| refused.cases).flat_map(|case| case.errors).collect();
    let mut unbroken = Vec::new();
    for crd in butler_api::crds() {
        messages(&common::schema(&crd), &mut |message, dynamic| {
            // A computed message begins like the fixed one; the fixed part up to the first verb is enough to know it by.
            let known_by = if dynamic { message.split(" cannot").next().unwrap_or(message) } else { message };
            if !broken.iter().any(|error| error.contains(known_by)) {
                unbroken.push(message.to_owned());
            }
        });
    }
    unbroken.sort();
    unbroken.dedup();
    assert!(unbroken.is_empty(), "{unbroken:#?}");
}

fn messages(schema: &Value, visit: &mut dyn FnMut(&str, bool)) {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        visit(rule["message"].as_str().unwrap(), rule.get("messageExpression").is_some());
    }
    for child in schema["properties"].as_object().into_iter().flat_map(|properties| properties.values()) {
        messages(child, visit);
    }
    for child in [schema.get("items"), schema.get("additionalProperties")].into_iter().flatten() {
        messages(child, visit);
    }
}
