//! OpenAPI documents: one per group version (v3), and one of everything (v2).

use std::sync::Arc;

use http::{HeaderMap, Response, header};
use kapi_kinds::Resource;
use kapi_kinds::openapi::{
    Descriptions, component_name, custom_component, custom_list_component, document, document_v2,
};
use serde_json::{Map, Value, json};

use crate::api::Inner;
use crate::registry::{self, Served};
use crate::respond::{self, Body};

/// `/openapi/v3`: where the documents are. The hash in an address changes with what is behind it.
pub(super) fn index(api: &Inner) -> Value {
    let mut paths = Map::new();
    let mut add = |group: &str, version: &str, hash: String| {
        let path = if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
        let url = format!("/openapi/v3/{path}?hash={hash}");
        paths.insert(path, json!({"serverRelativeURL": url}));
    };
    for (group, found) in &registry::builtin().0 {
        for (version, _) in &found.versions {
            add(group, version, api.options.version.replace('.', ""));
        }
    }
    for (group, found) in &api.custom().0 {
        for (version, resources) in &found.versions {
            let revision = |served: &Arc<Served>| served.custom.as_ref().map_or(0, |custom| custom.definition_revision);
            let latest = resources.values().map(revision).max().unwrap_or(0);
            add(group, version, format!("{latest:X}-{}", resources.len()));
        }
    }
    json!({"paths": paths})
}

/// `/openapi/v3/apis/<group>/<version>`.
pub(super) fn v3(api: &Inner, headers: &HeaderMap, group: &str, version: &str) -> Response<Body> {
    if !accepts_json(headers) {
        return respond::empty(406);
    }
    let custom = api.custom();
    let found: Vec<Arc<Served>> = [registry::builtin(), &*custom]
        .into_iter()
        .filter_map(|groups| groups.0.get(group))
        .flat_map(|group| &group.versions)
        .filter(|(name, _)| &**name == version)
        .flat_map(|(_, resources)| resources.values().cloned())
        .collect();
    if found.is_empty() {
        return respond::empty(404);
    }
    let resources: Vec<&Resource> = found.iter().map(|served| &*served.resource).collect();
    let described = Descriptions::load();
    let text = document(group, version, &resources, |name| component(&described, &found, name));
    respond::text(200, "application/json", text)
}

/// The media type kubectl asks for the v2 document in, when it looks for a kind that no v3 document has.
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// The same media type as it is spelled in answers.
const V2_PROTOBUF_ANSWER: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// A v2 document that describes no path, in protobuf: `swagger: "2.0"`, `info {title, version}`, `paths {}`. It tells
/// kubectl that what v3 does not know is not served.
const V2_OUTLINE: &[u8] = b"\x0a\x032.0\x12\x13\x0a\x0aKubernetes\x12\x051.34.\x42\x00";

fn accepts(headers: &HeaderMap, media: &str) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|clause| clause.trim() == media)
}

fn accepts_json(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
    accepted.split(',').any(|clause| clause.contains("json") || clause.contains("*/*"))
}

/// `/openapi/v2`, in JSON alone.
pub(super) fn v2(api: &Inner, headers: &HeaderMap) -> Response<Body> {
    if !accepts_json(headers) && accepts(headers, V2_PROTOBUF) {
        return respond::text(200, V2_PROTOBUF_ANSWER, V2_OUTLINE);
    }
    if !accepts_json(headers) {
        return respond::empty(406);
    }
    let custom = api.custom();
    let found: Vec<Arc<Served>> = registry::builtin().all().chain(custom.all()).cloned().collect();
    let resources: Vec<&Resource> = found.iter().map(|served| &*served.resource).collect();
    let described = Descriptions::load();
    let names = kapi_kinds::component_names().map(str::to_owned).chain(found.iter().filter_map(|served| {
        let resource = &served.resource;
        served.custom.as_ref().map(|_| component_name(&resource.group, &resource.version, &resource.kind))
    }));
    let components = names.filter_map(|name| component(&described, &found, &name).map(|schema| (name, schema)));
    respond::text(200, "application/json", document_v2(&resources, components))
}

/// The schema called `name`, with descriptions.
fn component(described: &Descriptions, found: &[Arc<Served>], name: &str) -> Option<Value> {
    if let Some(mut schema) = kapi_kinds::component(name) {
        described.describe(name, &mut schema);
        return Some(schema);
    }
    found.iter().find_map(|served| {
        let (resource, custom) = (&served.resource, served.custom.as_ref()?);
        if name == component_name(&resource.group, &resource.version, &resource.kind) {
            let mut schema = custom_component(resource, &custom.version(&resource.version));
            described.describe_custom(&mut schema);
            return Some(schema);
        }
        (name == component_name(&resource.group, &resource.version, &resource.list_kind))
            .then(|| custom_list_component(resource))
    })
}
