//! Laws that hold for all inputs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::sync::LazyLock;

use kapi_merge::{
    ApplyRequest, FieldSet, KindOrigin, PathElement, UpdateRequest, apply, json_patch, merge_patch, strategic_merge,
    track_update,
};
use kapi_schema::Schema;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn element() -> impl Strategy<Value = PathElement> {
    prop_oneof![
        "[a-c]".prop_map(|name| PathElement::field(&name)),
        (0..3i64).prop_map(|n| PathElement::key(vec![("name".into(), json!(n)), ("port".into(), json!("x"))])),
        "[a-c<\"]".prop_map(|text| PathElement::Value(json!(text).into())),
        (0..3i64).prop_map(PathElement::Index),
    ]
}

fn field_set() -> impl Strategy<Value = FieldSet> {
    prop::collection::vec(prop::collection::vec(element(), 1..4), 0..8).prop_map(|paths| {
        let mut set = FieldSet::new();
        for path in paths {
            set.insert(&path);
        }
        set
    })
}

proptest! {
    #[test]
    fn fields_v1_round_trips(set in field_set()) {
        prop_assert_eq!(FieldSet::from_fields_v1(&set.to_fields_v1()).unwrap(), set.clone());
        let text: Value = serde_json::from_str(&set.to_json()).unwrap();
        prop_assert_eq!(text, set.to_fields_v1());
    }

    #[test]
    fn union_and_intersection_are_those_of_sets(a in field_set(), b in field_set(), c in field_set()) {
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
        prop_assert_eq!(a.union(&a), a.clone());
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(a.intersection(&a.union(&b)), a.clone());
        prop_assert_eq!(a.union(&b).intersection(&c), a.intersection(&c).union(&b.intersection(&c)));
    }

    #[test]
    fn difference_takes_away_what_is_common(a in field_set(), b in field_set()) {
        prop_assert!(a.difference(&b).intersection(&b).is_empty());
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert!(a.difference(&a).is_empty());
        prop_assert_eq!(a.len(), a.difference(&b).len() + a.intersection(&b).len());
        let deep = a.recursive_difference(&b);
        prop_assert!(deep.difference(&a.difference(&b)).is_empty());
        prop_assert_eq!(deep.recursive_difference(&b), deep);
    }

    #[test]
    fn leaves_have_nothing_below(a in field_set()) {
        let leaves = a.leaves();
        prop_assert_eq!(leaves.leaves(), leaves.clone());
        prop_assert!(leaves.difference(&a).is_empty());
    }
}

const GROUP: &str = "merge.example.com/v1";

fn word() -> impl Strategy<Value = String> {
    "[a-d]"
}

fn text_map() -> impl Strategy<Value = Value> {
    prop::collection::btree_map(word(), word(), 1..3).prop_map(|map| json!(map))
}

/// Values for some fields of the custom kind. Empty lists and maps are left out: nobody owns them, so they are
/// neither idempotent nor do they commute, at the real server as here.
fn config() -> impl Strategy<Value = Map<String, Value>> {
    let list_map = prop::collection::btree_map(word(), (word(), text_map()), 1..4).prop_shuffle_keys();
    (
        prop::option::of(word()),
        prop::option::of(text_map()),
        prop::option::of(text_map()),
        prop::option::of(prop::collection::btree_set(word(), 1..4)),
        prop::option::of(prop::collection::vec(word(), 0..3)),
        prop::option::of(list_map),
        prop::option::of(text_map()),
    )
        .prop_map(|(title, labels, frozen, tags, words, items, free)| {
            let mut spec = Map::new();
            let mut put = |name: &str, value: Option<Value>| value.map(|value| spec.insert(name.to_owned(), value));
            put("title", title.map(|title| json!(title)));
            put("labels", labels);
            put("frozen", frozen);
            put("tags", tags.map(|tags| json!(tags)));
            put("words", words.map(|words| json!(words)));
            put("items", items);
            put("free", free);
            spec
        })
}

trait ShuffleKeys {
    fn prop_shuffle_keys(self) -> impl Strategy<Value = Value>;
}

impl<S: Strategy<Value = std::collections::BTreeMap<String, (String, Value)>>> ShuffleKeys for S {
    fn prop_shuffle_keys(self) -> impl Strategy<Value = Value> {
        self.prop_map(|map| map.into_iter().collect::<Vec<_>>()).prop_shuffle().prop_map(|items| {
            let item = |(name, (value, settings))| json!({"name": name, "value": value, "settings": settings});
            Value::Array(items.into_iter().map(item).collect())
        })
    }
}

fn object(mut spec: Map<String, Value>) -> Value {
    spec.insert("enabled".to_owned(), json!(true));
    json!({"apiVersion": GROUP, "kind": "Widget", "metadata": {"name": "x"}, "spec": spec})
}

fn request<'a>(manager: &'a str, reset_fields: &'a FieldSet) -> ApplyRequest<'a> {
    ApplyRequest {
        manager,
        force: false,
        api_version: GROUP,
        kind: "Widget",
        subresource: "",
        now: "2024-01-01T00:00:00Z",
        origin: KindOrigin::Custom,
        versions: &[],
        reset_fields,
    }
}

/// The fields of a configuration under other names of the same types, so that two do not meet.
fn elsewhere(spec: Map<String, Value>) -> Map<String, Value> {
    let other = |name: String| match name.as_str() {
        "title" => "flavour".to_owned(),
        "labels" => "otherLabels".to_owned(),
        "frozen" => "otherFrozen".to_owned(),
        "tags" => "otherTags".to_owned(),
        "words" => "otherWords".to_owned(),
        "items" => "otherItems".to_owned(),
        _ => "otherFree".to_owned(),
    };
    spec.into_iter().map(|(name, value)| (other(name), value)).collect()
}

/// The custom kind of the recordings, with some of its fields doubled.
static WIDGET: LazyLock<Schema> = LazyLock::new(|| {
    let mut schema: Value = serde_json::from_str(include_str!("schemas/widget.json")).unwrap();
    let spec = schema["properties"]["spec"]["properties"].as_object_mut().unwrap();
    for (name, like) in [
        ("otherLabels", "labels"),
        ("otherFrozen", "frozen"),
        ("otherTags", "tags"),
        ("otherWords", "words"),
        ("otherItems", "items"),
        ("otherFree", "free"),
    ] {
        spec.insert(name.to_owned(), spec[like].clone());
    }
    Schema::parse(&schema).unwrap()
});

static DEPLOYMENT: LazyLock<Schema> = LazyLock::new(|| {
    let builtin: Value = serde_json::from_str(include_str!("schemas/builtin.json")).unwrap();
    let name = builtin["roots"]["Deployment"].as_str().unwrap();
    Schema::parse_component(builtin["components"].as_object().unwrap(), name).unwrap()
});

proptest! {
    #[test]
    fn apply_is_idempotent(before in config(), spec in config()) {
        let (schema, reset) = (WIDGET.root(), FieldSet::new());
        let live = apply(None, &object(before), schema, &request("a", &reset)).unwrap();
        let once = apply(Some(&live), &object(spec.clone()), schema, &request("a", &reset)).unwrap();
        let later = ApplyRequest { now: "2025-01-01T00:00:00Z", ..request("a", &reset) };
        let twice = apply(Some(&once), &object(spec), schema, &later).unwrap();
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn appliers_of_other_fields_commute(a in config(), b in config()) {
        let (schema, reset) = (WIDGET.root(), FieldSet::new());
        let (a, b) = (object(a), object(elsewhere(b)));
        let in_order = |first: (&str, &Value), second: (&str, &Value)| {
            let live = apply(None, first.1, schema, &request(first.0, &reset)).unwrap();
            let mut both = apply(Some(&live), second.1, schema, &request(second.0, &reset)).unwrap();
            // Who changed nothing new has no time; that is a matter of order.
            for entry in both["metadata"]["managedFields"].as_array_mut().into_iter().flatten() {
                entry.as_object_mut().unwrap().remove("time");
            }
            if let Some(entries) = both["metadata"]["managedFields"].as_array_mut() {
                entries.sort_by_key(|entry| entry["manager"].to_string());
            }
            both
        };
        prop_assert_eq!(in_order(("a", &a), ("b", &b)), in_order(("b", &b), ("a", &a)));
    }

    #[test]
    fn what_is_applied_is_there_and_owned(before in config(), spec in config()) {
        let (schema, reset) = (WIDGET.root(), FieldSet::new());
        let live = apply(None, &object(before), schema, &request("a", &reset)).unwrap();
        let forced = ApplyRequest { force: true, ..request("b", &reset) };
        let result = apply(Some(&live), &object(spec.clone()), schema, &forced).unwrap();
        let again = apply(Some(&result), &object(spec), schema, &request("b", &reset));
        prop_assert_eq!(again.unwrap(), result);
    }

    #[test]
    fn an_update_owns_exactly_what_it_set(before in config(), spec in config()) {
        let (schema, reset) = (WIDGET.root(), FieldSet::new());
        let update = |manager| UpdateRequest {
            manager,
            api_version: GROUP,
            subresource: "",
            now: "2024-01-01T00:00:00Z",
            origin: KindOrigin::Custom,
            versions: &[],
            reset_fields: &reset,
        };
        let mut live = object(before);
        track_update(None, &mut live, schema, &update("a"));
        let mut new = object(spec);
        new["metadata"]["managedFields"] = live["metadata"]["managedFields"].clone();
        track_update(Some(&live), &mut new, schema, &update("b"));
        // No field has two owners after updates alone.
        let owners: Vec<FieldSet> = new["metadata"]["managedFields"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|entry| FieldSet::from_fields_v1(&entry["fieldsV1"]).unwrap())
            .collect();
        for (index, owner) in owners.iter().enumerate() {
            for other in &owners[index + 1..] {
                prop_assert!(owner.intersection(other).is_empty());
            }
        }
    }
}

/// Any JSON, with keys that mean something here.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..3i64).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
        Just(json!("delete")),
        Just(json!("replace")),
    ];
    let key = prop::sample::select(vec![
        "spec",
        "metadata",
        "items",
        "tags",
        "ports",
        "free",
        "labels",
        "name",
        "port",
        "value",
        "subs",
        "id",
        "a",
        "managedFields",
        "operation",
        "fieldsV1",
        "f:a",
        "k:{\"name\":1}",
        "v:1",
        ".",
        "containers",
        "template",
        "env",
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$deleteFromPrimitiveList/tags",
        "finalizers",
        "status",
    ]);
    leaf.prop_recursive(6, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

fn typed(mut value: Value, kind: &str, version: &str) -> Value {
    if let Value::Object(map) = &mut value {
        map.insert("kind".to_owned(), json!(kind));
        map.insert("apiVersion".to_owned(), json!(version));
    }
    value
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn nothing_crashes(live in any_json(), change in any_json()) {
        let reset = FieldSet::new();
        let kinds = [
            ("Widget", GROUP, KindOrigin::Custom, WIDGET.root()),
            ("Deployment", "apps/v1", KindOrigin::BuiltIn, DEPLOYMENT.root()),
        ];
        for (name, version, origin, schema) in kinds {
            let (live, change) = (typed(live.clone(), name, version), typed(change.clone(), name, version));
            let apply_request = ApplyRequest { kind: name, api_version: version, origin, ..request("a", &reset) };
            let _ = apply(Some(&live), &change, schema, &apply_request);
            let _ = apply(None, &change, schema, &ApplyRequest { force: true, ..apply_request });
            let update = UpdateRequest {
                manager: "",
                api_version: version,
                subresource: "",
                now: "2024-01-01T00:00:00Z",
                origin,
                versions: &[],
                reset_fields: &reset,
            };
            let mut new = change.clone();
            track_update(Some(&live), &mut new, schema, &update);
            let mut new = change.clone();
            track_update(None, &mut new, schema, &update);
            let _ = strategic_merge(&live, &change, schema);
            let _ = merge_patch(&live, &change);
            let _ = json_patch(&live, change.to_string().as_bytes());
        }
    }

    #[test]
    fn no_json_patch_crashes(
        doc in any_json(),
        operations in prop::collection::vec((
            prop::sample::select(vec!["add", "remove", "replace", "move", "copy", "test"]),
            prop::sample::select(vec!["", "/", "/spec", "/spec/0", "/spec/-", "/spec/-1", "/a/b", "/spec/a", "x", "/items/9"]),
            prop::sample::select(vec!["", "/spec", "/a", "/spec/0", "/items", "/spec/-1"]),
            any_json(),
        ), 0..12),
    ) {
        let operations: Vec<Value> = operations
            .into_iter()
            .map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}))
            .collect();
        let _ = json_patch(&doc, Value::Array(operations).to_string().as_bytes());
    }
}
