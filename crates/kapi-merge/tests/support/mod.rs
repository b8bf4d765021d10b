//! Reading the recordings.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use kapi_merge::{ApplyRequest, FieldSet, KindOrigin, UpdateRequest, keep_times_of_no_op};
use kapi_schema::Schema;
use serde_json::{Map, Value};

/// The recorded scenarios of a group.
pub(crate) fn golden(group: &str) -> Vec<Value> {
    let path = format!("{}/tests/golden/{group}.json", env!("CARGO_MANIFEST_DIR"));
    let mut scenarios: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for scenario in &mut scenarios {
        // Steps without an object before them follow from the step before.
        let mut before = Value::Null;
        for step in scenario["steps"].as_array_mut().unwrap() {
            let step = step.as_object_mut().unwrap();
            step.entry("live").or_insert(before.clone());
            before = step.get("result").cloned().unwrap_or(before);
        }
    }
    scenarios
}

/// A kind the recordings use.
pub(crate) struct Kind {
    pub(crate) name: String,
    pub(crate) origin: KindOrigin,
    pub(crate) schema: Schema,
    /// What the server sets after ownership is noted, on create.
    set_later: &'static [&'static str],
}

static BUILT_IN: LazyLock<Value> = LazyLock::new(|| {
    let mut builtin: Value = serde_json::from_str(include_str!("../schemas/builtin.json")).unwrap();
    // Nothing in the document says so, but raw values are never looked into.
    let raw = &mut builtin["components"]["io.k8s.apimachinery.pkg.runtime.RawExtension"];
    raw["x-kubernetes-map-type"] = "atomic".into();
    builtin
});

const VERSIONS: &[&str] = &["merge.example.com/v1", "merge.example.com/v2"];

impl Kind {
    pub(crate) fn named(name: &str) -> Self {
        let set_later: &'static [&'static str] = match name {
            "Widget" => {
                let schema = serde_json::from_str(include_str!("../schemas/widget.json")).unwrap();
                return Self {
                    name: name.to_owned(),
                    origin: KindOrigin::Custom,
                    schema: Schema::parse(&schema).unwrap(),
                    set_later: &[],
                };
            }
            "Service" => &[
                "/spec/clusterIP",
                "/spec/clusterIPs",
                "/spec/ipFamilies",
                "/spec/ipFamilyPolicy",
                "/spec/ports/0/nodePort",
            ],
            "Pod" => &[
                "/spec/tolerations",
                "/spec/serviceAccount",
                "/spec/serviceAccountName",
                "/spec/priority",
                "/spec/preemptionPolicy",
                "/spec/volumes",
                "/spec/containers/0/volumeMounts",
            ],
            "PersistentVolume" | "PersistentVolumeClaim" => &["/metadata/finalizers"],
            "Namespace" => &["/spec/finalizers"],
            _ => &[],
        };
        let builtin = &*BUILT_IN;
        let schema = Schema::parse_component(
            builtin["components"].as_object().unwrap(),
            builtin["roots"][name].as_str().unwrap(),
        );
        Self { name: name.to_owned(), origin: KindOrigin::BuiltIn, schema: schema.unwrap(), set_later }
    }

    pub(crate) fn reset_fields(&self, subresource: &str) -> FieldSet {
        match (self.name.as_str(), subresource) {
            ("ConfigMap" | "Scale", _) | (_, "ephemeralcontainers") => FieldSet::new(),
            ("Deployment", "status") => FieldSet::of_fields(&[&["spec"], &["metadata", "labels"]]),
            ("Pod", "status") => {
                FieldSet::of_fields(&[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]])
            }
            (_, "status") => FieldSet::of_fields(&[&["spec"]]),
            _ => FieldSet::of_fields(&[&["status"]]),
        }
    }

    pub(crate) fn apply_request<'a>(&'a self, step: &Step<'a>, reset_fields: &'a FieldSet) -> ApplyRequest<'a> {
        ApplyRequest {
            manager: step.text("manager"),
            force: step.0["force"].as_bool().unwrap_or(false),
            api_version: self.version(step),
            kind: &self.name,
            subresource: step.subresource(),
            now: step.now(),
            origin: self.origin,
            versions: VERSIONS,
            reset_fields,
        }
    }

    pub(crate) fn update_request<'a>(&self, step: &Step<'a>, reset_fields: &'a FieldSet) -> UpdateRequest<'a> {
        UpdateRequest {
            manager: step.text("manager"),
            api_version: self.version(step),
            subresource: step.subresource(),
            now: step.now(),
            origin: self.origin,
            versions: VERSIONS,
            reset_fields,
        }
    }

    fn version<'a>(&self, step: &Step<'a>) -> &'a str {
        if self.name == "Scale" { "autoscaling/v1" } else { step.text("apiVersion") }
    }
}

/// One recorded write.
pub(crate) struct Step<'a>(pub(crate) &'a Value);

impl<'a> Step<'a> {
    pub(crate) fn text(&self, key: &str) -> &'a str {
        self.0[key].as_str().unwrap_or_default()
    }

    pub(crate) fn subresource(&self) -> &'a str {
        self.text("subresource")
    }

    pub(crate) fn live(&self) -> Option<&'a Value> {
        Some(&self.0["live"]).filter(|live| !live.is_null())
    }

    pub(crate) fn body(&self) -> &'a Value {
        &self.0["body"]
    }

    pub(crate) fn result(&self) -> Option<&'a Value> {
        self.0.get("result")
    }

    fn now(&self) -> &'a str {
        if self.0.get("now").is_some() { self.text("now") } else { "2006-01-02T15:04:05Z" }
    }
}

pub(crate) fn managed_fields(object: &Value) -> Value {
    object["metadata"]["managedFields"].clone()
}

/// The `managedFields` we would store: ours, or the old ones if the write changed nothing.
pub(crate) fn as_stored(ours: &Value, real: &Value, step: &Step<'_>) -> Value {
    let mut stored = real.clone();
    let entries = managed_fields(ours);
    if entries.is_null() {
        return entries;
    }
    stored["metadata"]["managedFields"] = entries;
    if let Some(live) = step.live() {
        keep_times_of_no_op(live, &mut stored);
    }
    managed_fields(&stored)
}

/// The object as it was when the server noted ownership: the result, with the `managedFields` the client sent.
pub(crate) fn as_sent(kind: &Kind, step: &Step<'_>, real: &Value) -> Value {
    let mut object = real.clone();
    let sent = match step.0.get("sent") {
        Some(Value::String(_)) => managed_fields(step.body()),
        Some(sent) => sent.clone(),
        None => step.live().map(managed_fields).unwrap_or_default(),
    };
    let metadata = object["metadata"].as_object_mut().unwrap();
    if sent.is_null() {
        metadata.remove("managedFields");
    } else {
        metadata.insert("managedFields".into(), sent);
    }
    if step.live().is_none() {
        for pointer in kind.set_later {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            if let Some(Value::Object(parent)) = object.pointer_mut(parent) {
                parent.remove(key);
            }
        }
    }
    object
}

/// What came out otherwise.
#[derive(Default)]
pub(crate) struct Problems {
    place: String,
    found: Vec<String>,
}

impl Problems {
    pub(crate) fn at(&mut self, place: String) {
        self.place = place;
    }

    pub(crate) fn add(&mut self, problem: String) {
        self.found.push(format!("{}: {problem}", self.place));
    }

    pub(crate) fn same(&mut self, what: &str, ours: &Value, real: &Value) {
        if ours != real {
            self.add(format!("{what}\n    ours {ours}\n    real {real}"));
        }
    }

    /// The real result is ours with defaults added and what the server owns changed.
    pub(crate) fn covered(&mut self, ours: &Value, real: &Value, step: &Step<'_>) {
        let redefaulted = step.0.get("redefaulted").is_some();
        let mut wrong = Vec::new();
        cover(ours, real, step.live().filter(|_| !redefaulted), "", &mut wrong);
        if !wrong.is_empty() {
            self.add(format!("object {wrong:?}\n    ours {ours}\n    real {real}"));
        }
    }

    pub(crate) fn none(&self) {
        assert!(self.found.is_empty(), "{} problems:\n{}", self.found.len(), self.found.join("\n"));
    }
}

/// Fields only the server sets.
const SERVERS: &[&str] = &[
    "/metadata/managedFields",
    "/metadata/resourceVersion",
    "/metadata/generation",
    "/metadata/uid",
    "/metadata/creationTimestamp",
    "/status",
    "/stringData",
];

fn cover(ours: &Value, real: &Value, live: Option<&Value>, path: &str, wrong: &mut Vec<String>) {
    if SERVERS.contains(&path) {
        return;
    }
    match (ours, real) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let path = format!("{path}/{key}");
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => cover(a, b, live.and_then(|live| live.get(key)), &path, wrong),
                    // Directives in added items are unknown fields, which are pruned later.
                    (Some(_), None) if key.starts_with('$') => {}
                    (Some(a), None) if is_hollow(a) || SERVERS.contains(&path.as_str()) => {}
                    (Some(_), None) => wrong.push(format!("{path} is not there")),
                    // A default, unless it was there before and we removed it.
                    (None, _) => {
                        let was_there = live.and_then(|live| live.get(key)).is_some();
                        if was_there && !SERVERS.contains(&path.as_str()) {
                            wrong.push(format!("{path} is still there"));
                        }
                    }
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                cover(a, b, None, &format!("{path}/{index}"), wrong);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
        (a, b) if a == b => {}
        // Null is the zero value of a scalar in a Go map.
        (Value::Null, Value::String(text)) if text.is_empty() => {}
        (Value::Array(a), Value::Null) if a.is_empty() => {}
        _ => wrong.push(format!("{path} differs")),
    }
}

fn is_hollow(value: &Value) -> bool {
    let is_zero = matches!(value, Value::Bool(false)) || value == 0 || value == "";
    is_zero
        || value.is_null()
        || value.as_object().is_some_and(Map::is_empty)
        || value.as_array().is_some_and(Vec::is_empty)
}
