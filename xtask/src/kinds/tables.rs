//! What is served, and the schemas of it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

use super::server::Server;

/// One version of one group.
pub(super) struct GroupVersion {
    pub(super) group: String,
    pub(super) version: String,
    /// Its resources, as aggregated discovery gives them.
    resources: Vec<Value>,
}

impl GroupVersion {
    /// Its path, such as `api/v1` or `apis/apps/v1`.
    fn path(&self) -> String {
        if self.group.is_empty() {
            format!("api/{}", self.version)
        } else {
            format!("apis/{}/{}", self.group, self.version)
        }
    }
}

/// All built-in group versions in the server's order, custom resources left out.
pub(super) fn discover(server: &Server) -> Result<Vec<GroupVersion>> {
    let custom: BTreeSet<(String, String)> = server
        .list("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")?
        .iter()
        .map(|crd| (text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["plural"])))
        .collect();
    let mut found = Vec::new();
    for path in ["/api", "/apis"] {
        for group in array(&server.discovery(path)?["items"]) {
            for version in array(&group["versions"]) {
                let group = text(&group["metadata"]["name"]);
                let mut resources = array(&version["resources"]).to_vec();
                resources.retain(|resource| !custom.contains(&(group.clone(), text(&resource["resource"]))));
                if !resources.is_empty() {
                    found.push(GroupVersion { group, version: text(&version["version"]), resources });
                }
            }
        }
    }
    Ok(found)
}

/// The groups in order, each with its versions, the preferred one first.
pub(super) fn groups(discovery: &[GroupVersion]) -> Vec<Value> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for gv in discovery {
        match groups.iter_mut().find(|(name, _)| *name == gv.group) {
            Some((_, versions)) => versions.push(&gv.version),
            None => groups.push((&gv.group, vec![&gv.version])),
        }
    }
    groups.into_iter().map(|(name, versions)| json!({"name": name, "versions": versions})).collect()
}

/// The OpenAPI documents of all group versions, in the same order.
pub(super) fn documents(server: &Server, discovery: &[GroupVersion]) -> Result<Vec<Value>> {
    discovery.iter().map(|gv| server.get(&format!("/openapi/v3/{}", gv.path()))).collect()
}

/// All component schemas by name, without prose.
pub(super) fn schemas(documents: &[Value]) -> BTreeMap<String, Value> {
    let components = documents.iter().filter_map(|document| document["components"]["schemas"].as_object());
    components.flatten().map(|(name, schema)| (name.clone(), without_prose(schema.clone()))).collect()
}

/// One entry per resource and version.
pub(super) fn resources(
    server: &Server,
    discovery: &[GroupVersion],
    documents: &[Value],
    schemas: &BTreeMap<String, Value>,
) -> Result<Vec<Value>> {
    let components = components_by_kind(schemas);
    let mut all = Vec::new();
    for (gv, document) in discovery.iter().zip(documents) {
        let plain = server.get(&format!("/{}", gv.path()))?;
        let hashes: BTreeMap<&str, &Value> = array(&plain["resources"])
            .iter()
            .filter_map(|resource| Some((resource["name"].as_str()?, resource.get("storageVersionHash")?)))
            .collect();
        for resource in &gv.resources {
            let mut entry = entry(gv, resource, &components, &hashes)?;
            if answers_delete_with_object(gv, &entry, document) {
                entry["deleteReturnsObject"] = json!(true);
            }
            all.push(entry);
        }
    }
    Ok(all)
}

type Kind = (String, String, String);

fn entry(
    gv: &GroupVersion,
    resource: &Value,
    components: &BTreeMap<Kind, &str>,
    hashes: &BTreeMap<&str, &Value>,
) -> Result<Value> {
    let kind = text(&resource["responseKind"]["kind"]);
    let plural = text(&resource["resource"]);
    let component = |kind: &str| components.get(&(gv.group.clone(), gv.version.clone(), kind.to_owned()));
    let list = format!("{kind}List");

    let mut entry = Map::new();
    entry.insert("group".into(), json!(gv.group));
    entry.insert("version".into(), json!(gv.version));
    entry.insert("component".into(), json!(component(&kind).with_context(|| format!("{plural} has no schema"))?));
    if component(&list).is_some() {
        entry.insert("listKind".into(), json!(list));
    }
    entry.insert("kind".into(), json!(kind));
    entry.insert("singular".into(), resource["singularResource"].clone());
    entry.insert("namespaced".into(), json!(resource["scope"] == "Namespaced"));
    for key in ["verbs", "shortNames", "categories"] {
        if let Some(value) = resource.get(key) {
            entry.insert(key.into(), value.clone());
        }
    }
    if let Some(&hash) = hashes.get(plural.as_str()) {
        entry.insert("storageVersionHash".into(), hash.clone());
    }
    let below: Vec<Value> = array(&resource["subresources"]).iter().map(|sub| subresource(gv, sub)).collect();
    if !below.is_empty() {
        entry.insert("subresources".into(), Value::Array(below));
    }
    entry.insert("plural".into(), json!(plural));
    Ok(Value::Object(entry))
}

/// Whether a delete is answered with the object rather than a status.
fn answers_delete_with_object(gv: &GroupVersion, entry: &Value, document: &Value) -> bool {
    let namespace = if entry["namespaced"] == true { "/namespaces/{namespace}" } else { "" };
    let path = format!("/{}{namespace}/{}/{{name}}", gv.path(), text(&entry["plural"]));
    let answer = &document["paths"][path]["delete"]["responses"]["200"]["content"]["application/json"]["schema"];
    let component = text(&answer["$ref"]);
    !component.is_empty() && component.ends_with(&format!("/{}", text(&entry["component"])))
}

/// Discovery leaves the group and version of a subresource's kind empty where they are the resource's own.
fn subresource(gv: &GroupVersion, sub: &Value) -> Value {
    let kind = &sub["responseKind"];
    let (group, version) = match kind["version"].as_str() {
        Some("") | None => (gv.group.clone(), gv.version.clone()),
        Some(version) => (text(&kind["group"]), version.to_owned()),
    };
    json!({"name": sub["subresource"], "group": group, "version": version, "kind": kind["kind"], "verbs": sub["verbs"]})
}

/// The component of each kind; components of many groups (`DeleteOptions`) are nobody's own kind.
fn components_by_kind(schemas: &BTreeMap<String, Value>) -> BTreeMap<Kind, &str> {
    schemas
        .iter()
        .filter_map(|(name, schema)| match array(&schema["x-kubernetes-group-version-kind"]) {
            [only] => Some(((text(&only["group"]), text(&only["version"]), text(&only["kind"])), name.as_str())),
            _ => None,
        })
        .collect()
}

/// A schema without its descriptions. A *property* called `description` is not prose and stays.
fn without_prose(schema: Value) -> Value {
    match schema {
        Value::Object(map) => map
            .into_iter()
            .filter(|(key, value)| key != "description" || !value.is_string())
            .map(|(key, value)| (key, without_prose(value)))
            .collect(),
        Value::Array(items) => items.into_iter().map(without_prose).collect(),
        other => other,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_goes_and_a_property_called_description_stays() {
        let schema = json!({"description": "gone", "properties": {
            "description": {"type": "string", "description": "gone"},
            "list": {"allOf": [{"description": "gone", "$ref": "x"}]},
        }});
        let bare = json!({"properties": {"description": {"type": "string"}, "list": {"allOf": [{"$ref": "x"}]}}});
        assert_eq!(without_prose(schema), bare);
    }

    #[test]
    fn subresources_without_a_version_have_the_resource_s_own() {
        let gv = GroupVersion { group: "apps".into(), version: "v1".into(), resources: Vec::new() };
        let of = |group: &str, version: &str| {
            let kind = json!({"group": group, "version": version, "kind": "K"});
            let sub = subresource(&gv, &json!({"subresource": "s", "responseKind": kind, "verbs": []}));
            (text(&sub["group"]), text(&sub["version"]))
        };
        assert_eq!(of("", ""), ("apps".to_owned(), "v1".to_owned()));
        assert_eq!(of("autoscaling", "v2"), ("autoscaling".to_owned(), "v2".to_owned()));
    }

    #[test]
    fn groups_keep_the_server_s_order() {
        let gv = |group: &str, version: &str| GroupVersion {
            group: group.into(),
            version: version.into(),
            resources: vec![],
        };
        let groups = groups(&[gv("", "v1"), gv("b", "v2"), gv("b", "v1"), gv("a", "v1")]);
        let expected = [
            json!({"name": "", "versions": ["v1"]}),
            json!({"name": "b", "versions": ["v2", "v1"]}),
            json!({"name": "a", "versions": ["v1"]}),
        ];
        assert_eq!(groups, expected);
    }
}
