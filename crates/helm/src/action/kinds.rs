//! What a cluster can: its kinds, where they are served, its version.

use std::collections::{BTreeMap, BTreeSet};

use kube::Client;
use kube::core::{ApiResource, GroupVersionKind};
use kube::discovery::{Discovery, Scope};
use serde_json::Value as Json;

use super::error::ActionError;
use super::object::{self, ObjectRef};
use crate::release::Release;
use crate::render::Capabilities;

/// The kinds that a cluster knows, or is about to.
#[derive(Debug, Clone)]
pub(super) struct Kinds {
    version: String,
    /// By `apiVersion` and `kind`.
    known: BTreeMap<(String, String), Served>,
}

/// Where a kind is served.
#[derive(Debug, Clone)]
pub(super) struct Served {
    pub(super) resource: ApiResource,
    pub(super) is_namespaced: bool,
}

impl Kinds {
    pub(super) async fn ask(client: &Client) -> Result<Self, ActionError> {
        let failed = |error| ActionError::Discovery(Box::new(error));
        let version = client.apiserver_version().await.map_err(failed)?.git_version;
        let discovery = match Discovery::new(client.clone()).run_aggregated().await {
            Ok(discovery) => discovery,
            // Old clusters answer by group only.
            Err(kube::Error::SerdeError(_)) => Discovery::new(client.clone()).run().await.map_err(failed)?,
            Err(error) => return Err(failed(error)),
        };
        let mut kinds = Self { version, known: BTreeMap::new() };
        for group in discovery.groups() {
            for version in group.versions() {
                for (resource, capabilities) in group.versioned_resources(version) {
                    kinds.add(resource, capabilities.scope == Scope::Namespaced);
                }
            }
        }
        Ok(kinds)
    }

    fn add(&mut self, resource: ApiResource, is_namespaced: bool) {
        let key = (resource.api_version.clone(), resource.kind.clone());
        self.known.insert(key, Served { resource, is_namespaced });
    }

    /// Adds what definitions are about to define.
    pub(super) fn define(&mut self, definitions: &[Json]) {
        for definition in definitions.iter().filter(|object| object["kind"] == "CustomResourceDefinition") {
            let text = |pointer: &str| definition.pointer(pointer).and_then(Json::as_str).unwrap_or_default();
            let (group, kind) = (text("/spec/group"), text("/spec/names/kind"));
            let versions = definition.pointer("/spec/versions").and_then(Json::as_array).into_iter().flatten();
            for version in versions.filter(|version| version["served"] != false) {
                let Some(version) = version["name"].as_str() else { continue };
                let kind = GroupVersionKind::gvk(group, version, kind);
                let resource = ApiResource::from_gvk_with_plural(&kind, text("/spec/names/plural"));
                self.add(resource, text("/spec/scope") != "Cluster");
            }
        }
    }

    pub(super) fn find(&self, api_version: &str, kind: &str) -> Option<&Served> {
        self.known.get(&(api_version.to_owned(), kind.to_owned()))
    }

    /// Where an object belongs. Without a namespace of its own it is in the release's.
    pub(super) fn locate(&self, mut object: Json, namespace: &str) -> Result<Located, ActionError> {
        let mut name = ObjectRef::of(&object);
        let Some(served) = self.find(&name.api_version, &name.kind) else {
            return Err(ActionError::UnknownKind { object: Box::new(name) });
        };
        if served.is_namespaced && name.namespace.is_empty() {
            namespace.clone_into(&mut name.namespace);
        } else if !served.is_namespaced {
            name.namespace.clear();
        }
        if let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) {
            if served.is_namespaced {
                metadata.insert("namespace".to_owned(), name.namespace.as_str().into());
            } else {
                metadata.remove("namespace");
            }
        }
        Ok(Located { name, resource: served.resource.clone(), json: object })
    }

    /// The objects of a manifest, each where it belongs.
    pub(super) fn locate_all(&self, manifest: &str, namespace: &str) -> Result<Vec<Located>, ActionError> {
        self.locate_each(object::parse(manifest).map_err(ActionError::Manifest)?, namespace)
    }

    pub(super) fn locate_each(&self, objects: Vec<Json>, namespace: &str) -> Result<Vec<Located>, ActionError> {
        objects.into_iter().map(|object| self.locate(object, namespace)).collect()
    }

    /// The objects of a release, each where it belongs, marked as its own.
    pub(super) fn objects(&self, release: &Release) -> Result<Vec<Located>, ActionError> {
        let mut objects = self.locate_all(&release.manifest, &release.namespace)?;
        objects.iter_mut().for_each(|located| object::own(&mut located.json, &release.name, &release.namespace));
        Ok(objects)
    }

    /// Whether an object is of a kind that the cluster knows.
    pub(super) fn knows(&self, object: &Json) -> bool {
        let ObjectRef { api_version, kind, .. } = ObjectRef::of(object);
        self.find(&api_version, &kind).is_some()
    }

    /// What charts see of it.
    pub(super) fn capabilities(&self) -> Capabilities {
        let versions: BTreeSet<&String> = self.known.keys().map(|(api_version, _)| api_version).collect();
        let kinds = self.known.keys().map(|(api_version, kind)| format!("{api_version}/{kind}"));
        let api_versions = versions.into_iter().cloned().chain(kinds).collect();
        Capabilities { kube_version: self.version.clone(), api_versions }
    }
}

/// An object, and where it belongs.
#[derive(Debug, Clone)]
pub(super) struct Located {
    pub(super) name: ObjectRef,
    pub(super) resource: ApiResource,
    pub(super) json: Json,
}

impl Located {
    /// Whether both are the same object, in whatever version.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.resource.group == other.resource.group
            && (&self.name.kind, &self.name.namespace, &self.name.name)
                == (&other.name.kind, &other.name.namespace, &other.name.name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_put_where_they_belong() {
        let mut kinds = Kinds { version: "v1.34.0".to_owned(), known: BTreeMap::new() };
        let definition = |kind: &str, plural: &str, scope: &str| {
            json!({"kind": "CustomResourceDefinition", "spec": {
                "group": "example.com", "scope": scope, "names": {"kind": kind, "plural": plural},
                "versions": [{"name": "v1", "served": true}, {"name": "v0", "served": false}],
            }})
        };
        kinds.define(&[definition("Bell", "bells", "Namespaced"), definition("Tower", "towers", "Cluster")]);
        let object = |version: &str, kind: &str, namespace: &str| json!({"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": namespace}});
        for (version, kind, namespace, expected) in [
            ("example.com/v1", "Bell", "", "Bell shop/x"),
            ("example.com/v1", "Bell", "other", "Bell other/x"),
            ("example.com/v1", "Tower", "ignored", "Tower x"),
            ("example.com/v0", "Bell", "", "unknown"),
            ("v1", "Bell", "", "unknown"),
        ] {
            let located = kinds.locate(object(version, kind, namespace), "shop");
            let told = located.map_or_else(|_| "unknown".to_owned(), |located| located.name.to_string());
            assert_eq!(told, expected, "{version} {kind} {namespace}");
        }
        let expected = ["example.com/v1", "example.com/v1/Bell", "example.com/v1/Tower"];
        assert_eq!(kinds.capabilities().api_versions, expected);
    }
}
