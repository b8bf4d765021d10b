//! Discovery: which groups, versions and resources there are, plain and aggregated.

use std::sync::Arc;

use base64::Engine;
use http::{HeaderValue, Response, header};
use serde_json::{Value, json};

use crate::api::Inner;
use crate::registry::{self, Group, Served};
use crate::respond::{self, Body, Form, Representation};

/// `/api`: the versions of the core group.
pub(super) fn core(api: &Inner, representation: &Representation) -> Response<Body> {
    if representation.form == Form::Aggregated {
        let groups: Vec<_> = all_groups(api).into_iter().filter(|(name, _)| name.is_empty()).collect();
        return aggregated(&groups, representation);
    }
    let value = json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
    });
    respond::plain(200, representation, value)
}

/// `/apis`: the named groups.
pub(super) fn groups(api: &Inner, representation: &Representation) -> Response<Body> {
    let groups: Vec<_> = all_groups(api).into_iter().filter(|(name, _)| !name.is_empty()).collect();
    if representation.form == Form::Aggregated {
        return aggregated(&groups, representation);
    }
    let listed: Vec<Value> = groups.iter().map(|(name, group)| group_value(name, group)).collect();
    let value = json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": listed});
    respond::plain(200, representation, value)
}

/// `/apis/<group>`.
pub(super) fn group(api: &Inner, name: &str) -> Option<Value> {
    let groups = all_groups(api);
    let (name, group) = groups.iter().find(|(known, _)| &**known == name && !known.is_empty())?;
    let mut value = group_value(name, group);
    value["kind"] = "APIGroup".into();
    value["apiVersion"] = "v1".into();
    Some(value)
}

/// `/api/v1` and `/apis/<group>/<version>`: the resources.
pub(super) fn resources(api: &Inner, group: &str, version: &str) -> Option<Value> {
    let groups = all_groups(api);
    let (_, found) = groups.iter().find(|(known, _)| &**known == group)?;
    let (_, resources) = found.versions.iter().find(|(known, _)| &**known == version)?;
    let mut listed = Vec::new();
    for served in resources.values() {
        listed.push(resource_value(served));
        for subresource in &served.resource.subresources {
            let mut value = json!({
                "name": format!("{}/{}", served.resource.plural, subresource.name),
                "singularName": "",
                "namespaced": served.resource.namespaced,
                "kind": &*subresource.kind,
                "verbs": subresource.verbs,
            });
            if (&*subresource.group, &*subresource.version) != (group, version) {
                value["group"] = (&*subresource.group).into();
                value["version"] = (&*subresource.version).into();
            }
            listed.push(value);
        }
    }
    let group_version = registry::api_version(group, version);
    let mut value = json!({"kind": "APIResourceList", "groupVersion": &*group_version, "resources": listed});
    // The oldest group never said what its lists are.
    if !group.is_empty() {
        value["apiVersion"] = "v1".into();
    }
    Some(value)
}

fn resource_value(served: &Served) -> Value {
    let resource = &served.resource;
    let mut value = json!({
        "name": &*resource.plural,
        "singularName": &*resource.singular,
        "namespaced": resource.namespaced,
        "kind": &*resource.kind,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        value["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        value["categories"] = json!(resource.categories);
    }
    if let Some(hash) = storage_hash(served) {
        value["storageVersionHash"] = hash.into();
    }
    value
}

/// Tells clients when the version objects are stored in changes.
fn storage_hash(served: &Served) -> Option<String> {
    let resource = &served.resource;
    if served.custom.is_none() {
        return kapi_kinds::storage_version_hash(&resource.group, &resource.version, &resource.plural)
            .map(str::to_owned);
    }
    let text = format!("{}/{}/{}", resource.group, served.stored_version, resource.kind);
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
    digest.as_ref().get(..8).map(|bytes| base64::engine::general_purpose::STANDARD.encode(bytes))
}

/// Built-in groups in their table's order, then custom ones by name.
fn all_groups(api: &Inner) -> Vec<(Arc<str>, Group)> {
    let custom = api.custom();
    let mut groups: Vec<(Arc<str>, Group)> =
        registry::builtin().0.iter().map(|(name, group)| (Arc::clone(name), group.clone())).collect();
    let order: Vec<&str> = kapi_kinds::groups().iter().map(|group| group.name).collect();
    groups.sort_by_key(|(name, _)| order.iter().position(|known| *known == &**name).unwrap_or(usize::MAX));
    for (name, group) in &custom.0 {
        match groups.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => known.versions.extend(group.versions.clone()),
            None => groups.push((Arc::clone(name), group.clone())),
        }
    }
    groups
}

fn group_value(name: &str, group: &Group) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|(version, _)| json!({"groupVersion": format!("{name}/{version}"), "version": &**version}))
        .collect();
    json!({"name": name, "versions": versions, "preferredVersion": versions.first()})
}

fn aggregated(groups: &[(Arc<str>, Group)], representation: &Representation) -> Response<Body> {
    let items: Vec<Value> = groups.iter().map(|(name, group)| aggregated_group(name, group)).collect();
    let value = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    });
    let mut response = respond::plain(200, representation, value);
    let headers = response.headers_mut();
    let media = headers.get(header::CONTENT_TYPE).and_then(|media| media.to_str().ok()).unwrap_or_default();
    if let Ok(media) = HeaderValue::from_str(&format!("{media};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")) {
        headers.insert(header::CONTENT_TYPE, media);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
    response
}

fn aggregated_group(name: &str, group: &Group) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|(version, resources)| {
            let resources: Vec<Value> = resources.values().map(|served| aggregated_resource(served)).collect();
            json!({"version": &**version, "resources": resources, "freshness": "Current"})
        })
        .collect();
    let mut metadata = json!({});
    if !name.is_empty() {
        metadata["name"] = name.into();
    }
    json!({"metadata": metadata, "versions": versions})
}

fn aggregated_resource(served: &Served) -> Value {
    let resource = &served.resource;
    // A kind of the resource's own group version is told without them.
    let kind = |group: &str, version: &str, kind: &str| {
        let own = group == &*resource.group && version == &*resource.version;
        let (group, version) = if own { ("", "") } else { (group, version) };
        json!({"group": group, "version": version, "kind": kind})
    };
    let mut value = json!({
        "resource": &*resource.plural,
        "responseKind": kind(&resource.group, &resource.version, &resource.kind),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": &*resource.singular,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        value["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        value["categories"] = json!(resource.categories);
    }
    if !resource.subresources.is_empty() {
        value["subresources"] = resource
            .subresources
            .iter()
            .map(|sub| {
                json!({
                    "subresource": &*sub.name,
                    "responseKind": kind(&sub.group, &sub.version, &sub.kind),
                    "verbs": sub.verbs,
                })
            })
            .collect();
    }
    value
}
