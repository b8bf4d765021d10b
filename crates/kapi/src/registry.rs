//! What is served: built-in kinds, shared by every API of the process, and each API's custom ones.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use kapi_kinds::Resource;

use crate::crd::Custom;
use crate::status::Named;

/// A resource at one version, and where its objects are stored.
#[derive(Debug)]
pub struct Served {
    /// Names, schema and behaviour.
    pub resource: Arc<Resource>,
    /// `group/version`, or the version alone for core.
    pub api_version: Arc<str>,
    /// The collection's name within an API, such as `deployments.apps`.
    pub collection: Arc<str>,
    /// The version objects are stored in.
    pub stored_version: Arc<str>,
    /// The apiVersion objects are stored with; events of both groups share one.
    pub stored_api_version: Arc<str>,
    /// The apiVersions the kind is served at.
    pub versions: Arc<[Arc<str>]>,
    /// What only custom resources have.
    pub custom: Option<Arc<Custom>>,
}

impl Served {
    /// The resource as messages name it.
    pub fn named(&self) -> Named<'_> {
        Named { group: &self.resource.group, plural: &self.resource.plural }
    }

    /// A subresource as messages name it.
    pub(crate) fn named_sub(&self, subresource: &'static str) -> Named<'_> {
        match subresource {
            "binding" => Named { group: "", plural: "pods/binding" },
            _ => self.named(),
        }
    }

    /// Whether this is the built-in kind `kind` of `group`.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.custom.is_none() && &*self.resource.group == group && &*self.resource.kind == kind
    }

    /// What to warn users of this version about.
    pub fn deprecation(&self) -> Option<String> {
        match &self.custom {
            Some(custom) => custom.deprecation.clone(),
            None if self.is("", "ComponentStatus") => Some("v1 ComponentStatus is deprecated in v1.19+".into()),
            None if self.is("", "Endpoints") => {
                Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice".into())
            }
            None => None,
        }
    }

    /// Whether objects have a status only `/status` may change.
    pub fn has_subresource(&self, name: &str) -> bool {
        self.resource.subresources.iter().any(|subresource| &*subresource.name == name)
    }

    /// Whether discovery lists the verb.
    pub fn has_verb(&self, verb: &str) -> bool {
        self.resource.verbs.iter().any(|known| &**known == verb)
    }

    /// The key of an object in the collection.
    pub fn key(&self, namespace: &str, name: &str) -> Box<str> {
        if self.resource.namespaced { format!("{namespace}/{name}").into() } else { name.into() }
    }
}

/// The resources of a group version, by plural name.
pub type Resources = BTreeMap<Arc<str>, Arc<Served>>;

/// The versions of a group in order of preference, each with its resources by plural name.
#[derive(Debug, Default, Clone)]
pub struct Group {
    /// Version name and resources.
    pub versions: Vec<(Arc<str>, Resources)>,
}

/// Groups by name.
#[derive(Debug, Default, Clone)]
pub struct Groups(pub BTreeMap<Arc<str>, Group>);

impl Groups {
    /// Adds a resource; versions keep the order they come in.
    pub fn add(&mut self, served: Arc<Served>) {
        let group = self.0.entry(Arc::clone(&served.resource.group)).or_default();
        let at = match group.versions.iter().position(|(version, _)| *version == served.resource.version) {
            Some(at) => at,
            None => {
                group.versions.push((Arc::clone(&served.resource.version), BTreeMap::new()));
                group.versions.len() - 1
            }
        };
        if let Some((_, resources)) = group.versions.get_mut(at) {
            resources.insert(Arc::clone(&served.resource.plural), served);
        }
    }

    /// Finds a resource.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Served>> {
        let versions = &self.0.get(group)?.versions;
        versions.iter().find(|(name, _)| &**name == version)?.1.get(plural)
    }

    /// Removes all versions of a custom resource, named `<plural>.<group>` as its definition is.
    pub fn remove_custom(&mut self, definition: &str) {
        let Some((plural, group)) = definition.split_once('.') else { return };
        let Some(found) = self.0.get_mut(group) else { return };
        for (_, resources) in &mut found.versions {
            resources.remove(plural);
        }
        found.versions.retain(|(_, resources)| !resources.is_empty());
        if found.versions.is_empty() {
            self.0.remove(group);
        }
    }

    /// Finds a resource by its kind.
    pub fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Served>> {
        let versions = &self.0.get(group)?.versions;
        let (_, resources) = versions.iter().find(|(name, _)| &**name == version)?;
        resources.values().find(|served| &*served.resource.kind == kind && served.has_verb("list"))
    }

    /// All resources.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Served>> {
        self.0.values().flat_map(|group| &group.versions).flat_map(|(_, resources)| resources.values())
    }
}

/// The built-in kinds.
pub fn builtin() -> &'static Groups {
    static BUILTIN: LazyLock<Groups> = LazyLock::new(|| {
        let mut groups = Groups::default();
        for resource in kapi_kinds::builtin() {
            groups.add(Arc::new(builtin_served(resource)));
        }
        groups
    });
    &BUILTIN
}

fn builtin_served(resource: &Arc<Resource>) -> Served {
    let (group, version, plural) = (&*resource.group, &*resource.version, &*resource.plural);
    // Kinds served at several places are stored once, in the form that loses nothing.
    let (stored_group, stored_version) = match (group, plural) {
        ("events.k8s.io", "events") => ("", "v1"),
        ("autoscaling", "horizontalpodautoscalers") => ("autoscaling", "v2"),
        _ => (group, stored_version_of(group, plural, version)),
    };
    Served {
        api_version: api_version(group, version),
        collection: Arc::from(format!("{plural}.{stored_group}")),
        stored_version: Arc::from(stored_version),
        stored_api_version: api_version(stored_group, stored_version),
        versions: kapi_kinds::builtin()
            .iter()
            .filter(|known| known.group == resource.group && known.plural == resource.plural)
            .map(|known| api_version(group, &known.version))
            .collect(),
        custom: None,
        resource: Arc::clone(resource),
    }
}

/// The first version the table lists for a resource: versions come in order of preference.
fn stored_version_of<'a>(group: &str, plural: &str, version: &'a str) -> &'a str {
    let first = kapi_kinds::builtin().iter().find(|known| &*known.group == group && &*known.plural == plural);
    match first {
        Some(first) => {
            let found: &'static str = &first.version;
            found
        }
        None => version,
    }
}

/// `group/version`, or the version alone for core.
pub fn api_version(group: &str, version: &str) -> Arc<str> {
    if group.is_empty() { Arc::from(version) } else { Arc::from(format!("{group}/{version}")) }
}
