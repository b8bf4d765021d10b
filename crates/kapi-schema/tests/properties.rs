//! What must hold whatever the schema and the object.

use kapi_schema::field::Path;
use kapi_schema::{PruneOptions, Schema, apply_defaults, prune, validate};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const NAMES: [&str; 5] = ["a", "b", "c", "kind", "metadata"];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5_i64..5).prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(prop::sample::select(NAMES.to_vec()), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())),
        ]
    })
}

/// A schema with a default that fits it, perhaps.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(|nullable| json!({"type": "string", "nullable": nullable})),
        Just(json!({"type": "string", "default": "d", "maxLength": 2})),
        Just(json!({"type": "integer", "default": 1, "minimum": 0})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"type": "boolean"})),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let properties = prop::collection::btree_map(prop::sample::select(NAMES.to_vec()), inner.clone(), 0..4);
        prop_oneof![
            (properties, any::<bool>(), any::<bool>()).prop_map(|(properties, open, default)| {
                let properties: Map<String, Value> =
                    properties.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
                let mut schema = json!({"type": "object", "properties": properties});
                if open {
                    schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
                }
                if default {
                    schema["default"] = json!({});
                }
                schema
            }),
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            inner.prop_map(|entry| json!({"type": "object", "additionalProperties": entry})),
        ]
    })
}

proptest! {
    #[test]
    fn defaulting_twice_is_defaulting_once(schema in schema(), value in value()) {
        let schema = Schema::parse(&schema).unwrap();
        let mut once = value;
        apply_defaults(&mut once, schema.root());
        let mut twice = once.clone();
        prop_assert!(!apply_defaults(&mut twice, schema.root()));
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn pruning_twice_is_pruning_once(schema in schema(), value in value(), resource: bool) {
        let schema = Schema::parse(&schema).unwrap();
        let options = PruneOptions { resource, track: true };
        let mut once = value;
        prune(&mut once, schema.root(), options);
        let mut twice = once.clone();
        prop_assert_eq!(prune(&mut twice, schema.root(), options), Vec::<String>::new());
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn what_is_valid_stays_valid_when_pruned(schema in schema(), value in value()) {
        let schema = Schema::parse(&schema).unwrap();
        let before = validate(&value, None, schema.root(), &Path::root());
        let mut pruned = value;
        prune(&mut pruned, schema.root(), PruneOptions { resource: false, track: false });
        for error in validate(&pruned, None, schema.root(), &Path::root()) {
            prop_assert!(before.contains(&error), "{error} is new");
        }
    }

    #[test]
    fn an_update_that_changes_nothing_is_never_refused(schema in schema(), value in value()) {
        let schema = Schema::parse(&schema).unwrap();
        let mut value = value;
        prune(&mut value, schema.root(), PruneOptions { resource: false, track: false });
        let before = validate(&value, None, schema.root(), &Path::root());
        let after = validate(&value, Some(&value), schema.root(), &Path::root());
        prop_assert!(after.len() <= before.len());
    }

    #[test]
    fn any_text_may_be_a_rule_or_a_selector(text in "[ -~]{0,60}") {
        let openapi = json!({"type": "object", "x-kubernetes-validations": [{"rule": text, "message": "m"}]});
        let errors = kapi_schema::crd::validate_crd_schema(&openapi, &Path::root(), false);
        let schema = Schema::parse(&openapi).unwrap();
        let rules = kapi_schema::CelRules::compile(schema.root());
        let outcome = rules.validate(&json!({}), None, schema.root(), &Path::root());
        prop_assert!(errors.is_empty() || text.trim().is_empty() || !outcome.errors.is_empty());
        let _ = kapi_schema::labels::Selector::parse(&text);
        let _ = kapi_schema::fields::Selector::parse(&text);
        let _ = kapi_schema::JsonPath::parse(&text);
    }
}
