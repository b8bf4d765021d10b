//! From a CustomResourceDefinition to what is served.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use kapi_kinds::{Behaviour, Resource, Subresource};
use kapi_schema::field::{FieldError, Path};
use kapi_schema::{CelRules, JsonPath, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::registry::{Served, api_version};

/// The collection definitions are stored in.
pub(crate) const COLLECTION: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Keeps a definition until its objects are gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Says in a definition's conditions that it is going.
pub(crate) fn mark_terminating(definition: &mut Value, now: &str) {
    let condition = json!({
        "type": "Terminating", "status": "True", "lastTransitionTime": now, "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    });
    let Some(root) = definition.as_object_mut() else { return };
    let status = root.entry("status").or_insert_with(|| json!({}));
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    if let Some(conditions) = status["conditions"].as_array_mut() {
        conditions.push(condition);
    }
}

/// What only custom resources have.
#[derive(Debug)]
pub struct Custom {
    /// Whether `/status` is served, and so the status kept from other writes.
    pub status: bool,
    /// How `/scale` maps, if it is served.
    pub scale: Option<Scale>,
    /// The revision of the definition: objects stored before it may lack its defaults.
    pub definition_revision: u64,
    /// Fields selectors may name, with where they are.
    pub selectable: Vec<(String, JsonPath)>,
    /// The schema of the version objects are stored in.
    pub stored_schema: Schema,
    /// Whether the definition is going, so that nothing new is made.
    pub terminating: bool,
    /// What to warn users of this version about.
    pub deprecation: Option<String>,
    /// CEL rules, compiled at their first use.
    pub rules: LazyLock<CelRules, Box<dyn FnOnce() -> CelRules + Send>>,
    /// The definition as it is stored.
    definition: Bytes,
}

/// Where a custom resource keeps what `/scale` shows.
#[derive(Debug, Clone)]
pub struct Scale {
    /// The desired replicas, as `spec.replicas`.
    pub spec: Vec<String>,
    /// The observed replicas.
    pub status: Vec<String>,
    /// The label selector in its text form.
    pub selector: Option<Vec<String>>,
}

impl Scale {
    /// What is wrong with an object's replicas, where they are not what `/scale` can show.
    pub(crate) fn fault(&self, object: &Value) -> Option<FieldError> {
        let path = Path::new(format!(".{}", self.spec.join(".")));
        let mut value = object;
        for step in &self.spec {
            let Some(map) = value.as_object() else {
                let found = match value {
                    Value::Null => return None,
                    Value::String(text) => format!("{text} is of the type string"),
                    other => format!("{other} is of the type {}", kapi_schema::go::json_type(other)),
                };
                let detail = format!("{path} accessor error: {found}, expected map[string]interface{{}}");
                return Some(FieldError::invalid(&path, &0.into(), detail));
            };
            value = map.get(step)?;
        }
        let replicas = value.as_i64()?;
        (replicas < 0).then(|| FieldError::invalid(&path, &replicas.into(), "should be a non-negative integer"))
    }
}

impl Custom {
    /// The version `name` as the definition has it, for serving documents.
    pub(crate) fn version(&self, name: &str) -> Value {
        version(&self.definition, name)
    }
}

/// A stored definition without its schemas, which are nearly all of it and seldom needed.
pub(crate) fn outline(definition: &[u8]) -> Option<Value> {
    let outline: Outline = serde_json::from_slice(definition).ok()?;
    serde_json::to_value(outline).ok()
}

#[derive(Deserialize, Serialize)]
struct Outline {
    metadata: Value,
    spec: OutlineSpec,
    #[serde(default)]
    status: Value,
}

#[derive(Deserialize, Serialize)]
struct OutlineSpec {
    group: Value,
    names: Value,
    scope: Value,
    versions: Vec<OutlineVersion>,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct OutlineVersion {
    name: Value,
    served: Value,
    storage: Value,
    deprecated: Value,
    deprecation_warning: Value,
    subresources: Value,
    additional_printer_columns: Value,
    selectable_fields: Value,
}

/// A version of a stored definition, schema and all.
fn version(definition: &[u8], name: &str) -> Value {
    let Ok(mut definition) = serde_json::from_slice::<Value>(definition) else { return Value::Null };
    let versions = definition.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    let found = versions.into_iter().flatten().find(|version| version["name"] == name);
    found.map(Value::take).unwrap_or_default()
}

/// The schema of a version, read when it is needed.
fn schema(definition: &Bytes, name: &str) -> Schema {
    let (definition, name) = (definition.clone(), name.to_owned());
    Schema::deferred(move || {
        let version = version(&definition, &name);
        let openapi = version.pointer("/schema/openAPIV3Schema").unwrap_or(&Value::Null);
        Schema::parse(openapi).unwrap_or_else(|_| Schema::any())
    })
}

/// What a stored definition serves once it is established: one entry per served version.
pub(crate) fn serve(bytes: &Bytes) -> Vec<Served> {
    let Some(definition) = outline(bytes).filter(is_established) else { return Vec::new() };
    let spec = &definition["spec"];
    let versions = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let stored = versions.iter().find(|version| version["storage"] == true);
    let Some(stored) = stored.and_then(|version| version["name"].as_str()) else { return Vec::new() };
    let mut served: Vec<_> = versions.iter().filter(|version| version["served"] == true).collect();
    served.sort_by_key(|version| std::cmp::Reverse(priority(version["name"].as_str().unwrap_or_default())));
    served.into_iter().filter_map(|version| served_version(bytes, &definition, version, stored)).collect()
}

/// Whether a condition of the definition is `True`.
pub(crate) fn has_condition(definition: &Value, name: &str) -> bool {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| condition["type"] == name && condition["status"] == "True")
}

fn is_established(definition: &Value) -> bool {
    has_condition(definition, "Established")
}

fn served_version(bytes: &Bytes, definition: &Value, version: &Value, stored: &str) -> Option<Served> {
    let spec = &definition["spec"];
    let (group, names) = (spec["group"].as_str()?, &spec["names"]);
    let name = version["name"].as_str()?;
    let kind = names["kind"].as_str()?;
    let plural: Arc<str> = Arc::from(names["plural"].as_str()?);
    let own_schema = schema(bytes, name);
    let stored_schema = if name == stored { own_schema.clone() } else { schema(bytes, stored) };
    let with_rules = own_schema.clone();
    let has_status = version.pointer("/subresources/status").is_some_and(Value::is_object);
    let scale = version.pointer("/subresources/scale").and_then(scale);
    let mut selectable = Vec::new();
    for field in version["selectableFields"].as_array().into_iter().flatten() {
        if let Some(path) = field["jsonPath"].as_str()
            && let Ok(parsed) = JsonPath::parse(path)
        {
            selectable.push((path.trim_start_matches('.').to_owned(), parsed));
        }
    }
    let columns = kapi_kinds::custom_columns(&version["additionalPrinterColumns"], |path| {
        let path = JsonPath::parse(path).ok()?;
        Some(Box::new(move |object: &Value| path.eval(object).first().map(|found| (*found).clone())))
    });
    let resource = Resource {
        group: Arc::from(group),
        version: Arc::from(name),
        kind: Arc::from(kind),
        list_kind: text(&names["listKind"]).unwrap_or_else(|| Arc::from(format!("{kind}List"))),
        plural: Arc::clone(&plural),
        singular: text(&names["singular"]).unwrap_or_else(|| Arc::from(kind.to_lowercase())),
        short_names: texts(&names["shortNames"]),
        categories: texts(&names["categories"]),
        namespaced: spec["scope"] == "Namespaced",
        verbs: ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
            .map(Arc::from)
            .to_vec(),
        subresources: subresources(group, name, kind, has_status, scale.is_some()),
        schema: own_schema,
        behaviour: Behaviour { generation: true, ..Behaviour::default() },
        columns,
    };
    Some(Served {
        api_version: api_version(group, name),
        collection: Arc::from(format!("{plural}.{group}")),
        stored_version: Arc::from(stored),
        stored_api_version: api_version(group, stored),
        versions: spec["versions"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|version| version["served"] == true)
            .filter_map(|version| Some(api_version(group, version["name"].as_str()?)))
            .collect(),
        custom: Some(Arc::new(Custom {
            status: has_status,
            scale,
            definition_revision: crate::object::revision(definition),
            selectable,
            rules: LazyLock::new(Box::new(move || CelRules::compile(with_rules.root()))),
            stored_schema,
            terminating: has_condition(definition, "Terminating"),
            deprecation: deprecation(spec, version),
            definition: bytes.clone(),
        })),
        resource: Arc::new(resource),
    })
}

fn deprecation(spec: &Value, version: &Value) -> Option<String> {
    if version["deprecated"] != true {
        return None;
    }
    if let Some(own) = version["deprecationWarning"].as_str() {
        return Some(own.to_owned());
    }
    let (group, kind) = (spec["group"].as_str()?, spec["names"]["kind"].as_str()?);
    let named = |version: &str| format!("{group}/{version} {kind}");
    let mut others: Vec<&str> = spec["versions"]
        .as_array()?
        .iter()
        .filter(|other| other["served"] == true && other["deprecated"] != true)
        .filter_map(|other| other["name"].as_str())
        .collect();
    others.sort_by_key(|name| std::cmp::Reverse(priority(name)));
    let this = version["name"].as_str()?;
    Some(match others.first() {
        Some(better) if priority(better) > priority(this) => {
            format!("{} is deprecated; use {}", named(this), named(better))
        }
        _ => format!("{} is deprecated", named(this)),
    })
}

fn subresources(group: &str, version: &str, kind: &str, status: bool, scale: bool) -> Vec<Subresource> {
    let verbs = || ["get", "patch", "update"].map(Arc::from).to_vec();
    let mut out = Vec::new();
    if status {
        out.push(Subresource {
            name: "status".into(),
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            verbs: verbs(),
        });
    }
    if scale {
        out.push(Subresource {
            name: "scale".into(),
            group: "autoscaling".into(),
            version: "v1".into(),
            kind: "Scale".into(),
            verbs: verbs(),
        });
    }
    out
}

fn scale(from: &Value) -> Option<Scale> {
    let path = |key: &str| from[key].as_str().map(steps);
    Some(Scale {
        spec: path("specReplicasPath")?,
        status: path("statusReplicasPath")?,
        selector: path("labelSelectorPath"),
    })
}

/// `.spec.replicas` as its steps.
fn steps(path: &str) -> Vec<String> {
    path.split('.').filter(|step| !step.is_empty()).map(str::to_owned).collect()
}

fn text(value: &Value) -> Option<Arc<str>> {
    value.as_str().filter(|text| !text.is_empty()).map(Arc::from)
}

fn texts(value: &Value) -> Vec<Arc<str>> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(Arc::from).collect()
}

/// Kubernetes' order of versions: GA above beta above alpha, higher numbers first, anything else last by name.
fn priority(version: &str) -> (u8, u64, u64, std::cmp::Reverse<String>) {
    let parsed = version.strip_prefix('v').and_then(|rest| {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let major: u64 = rest.get(..digits)?.parse().ok()?;
        let tail = rest.get(digits..)?;
        if tail.is_empty() {
            return Some((3, major, 0));
        }
        let (level, number) = match (tail.strip_prefix("beta"), tail.strip_prefix("alpha")) {
            (Some(number), _) => (2, number),
            (_, Some(number)) => (1, number),
            _ => return None,
        };
        Some((level, major, number.parse().ok()?))
    });
    match parsed {
        Some((level, major, minor)) => (level, major, minor, std::cmp::Reverse(String::new())),
        None => (0, 0, 0, std::cmp::Reverse(version.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_kubernetes_orders_them() {
        let mut versions =
            ["foo10", "v1beta1", "v10", "v2", "v11alpha2", "foo1", "v3beta1", "v12alpha1", "v11beta2", "v10beta3"];
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
        assert_eq!(
            versions,
            ["v10", "v2", "v11beta2", "v10beta3", "v3beta1", "v1beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
        );
    }
}
