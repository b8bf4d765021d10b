//! What can be asked of a resource, independent of the version of OpenAPI it is written in.

use super::parameters::{self, Parameter};
use crate::{Resource, Subresource, component_of, delete_returns_object};

/// One path and what can be asked of it.
pub(super) struct PathItem {
    pub(super) path: String,
    pub(super) operations: Vec<Operation>,
}

/// One thing that can be asked.
#[derive(Clone)]
pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) id: String,
    /// `x-kubernetes-action`; none for what is about no object.
    pub(super) action: Option<&'static str>,
    /// Group, version and kind.
    pub(super) kind: Option<[String; 3]>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    /// The status codes of success and what is answered.
    pub(super) success: &'static [u16],
    pub(super) answer: Content,
    pub(super) produces: &'static [&'static str],
}

/// What a request carries.
#[derive(Clone)]
pub(super) struct Body {
    pub(super) component: String,
    pub(super) consumes: &'static [&'static str],
    pub(super) required: bool,
}

/// What an answer carries.
#[derive(Clone)]
pub(super) enum Content {
    Component(String),
    Text,
}

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";
const OBJECT: &[&str] = &["application/json", "application/yaml"];
const STREAM: &[&str] = &["application/json", "application/json;stream=watch", "application/yaml"];
const LOG: &[&str] = &["application/json", "application/yaml", "text/plain"];
const ANYTHING: &[&str] = &["*/*"];
const PATCHES: &[&str] = &[
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// The name of the component that describes a resource's kind.
pub fn component_name(group: &str, version: &str, kind: &str) -> String {
    component_of(group, version, kind).map_or_else(
        || {
            let reversed = group.rsplit('.').collect::<Vec<_>>().join(".");
            format!("{reversed}.{version}.{kind}")
        },
        str::to_owned,
    )
}

/// The name of a group version as operations spell it: `apps_v1` for tags, `AppsV1` in ids.
pub(super) fn spelled(group: &str, version: &str) -> (String, String) {
    let group = if group.is_empty() { "core" } else { group };
    let words: String = group.trim_end_matches(".k8s.io").split('.').map(capitalized).collect();
    let tag = words.chars().take(1).flat_map(char::to_lowercase).chain(words.chars().skip(1)).collect::<String>();
    (format!("{tag}_{version}"), format!("{words}{}", capitalized(version)))
}

fn capitalized(word: &str) -> String {
    word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect()
}

/// The path below which a group version is served, such as `/apis/apps/v1`.
pub(super) fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

/// The path that lists the resources of a built-in group version.
pub(super) fn discovery(group: &str, version: &str) -> PathItem {
    let (_, words) = spelled(group, version);
    let operation = Operation {
        method: "get",
        id: format!("get{words}APIResources"),
        action: None,
        kind: None,
        parameters: Vec::new(),
        body: None,
        success: &[200],
        answer: Content::Component(format!("{META}APIResourceList")),
        produces: OBJECT,
    };
    PathItem { path: format!("{}/", root(group, version)), operations: vec![operation] }
}

/// Everything that can be asked of a resource.
pub(super) fn paths(resource: &Resource) -> Vec<PathItem> {
    let of = Of {
        resource,
        words: spelled(&resource.group, &resource.version).1,
        scope: if resource.namespaced { "Namespaced" } else { "" },
        custom: component_of(&resource.group, &resource.version, &resource.kind).is_none(),
    };
    let root = root(&resource.group, &resource.version);
    let namespace = if resource.namespaced { "/namespaces/{namespace}" } else { "" };
    let collection = format!("{root}{namespace}/{}", resource.plural);

    let mut items = vec![
        PathItem { path: collection.clone(), operations: of.collection() },
        PathItem { path: format!("{collection}/{{name}}"), operations: of.item() },
    ];
    for below in &resource.subresources {
        let path = format!("{collection}/{{name}}/{}", below.name);
        if &*below.name == "proxy" {
            let operations = of.subresource(below, "WithPath");
            items.push(PathItem { path: format!("{path}/{{path}}"), operations });
        }
        items.push(PathItem { path, operations: of.subresource(below, "") });
    }
    if resource.namespaced && of.can("list") {
        let everywhere = of.list(format!("list{}{}ForAllNamespaces", of.words, resource.kind));
        items.push(PathItem { path: format!("{root}/{}", resource.plural), operations: vec![everywhere] });
    }
    // An old way to watch. Custom resources came too late to have it.
    if of.can("watch") && !of.custom {
        let plural = &resource.plural;
        if resource.namespaced {
            let id = format!("watch{}{}ListForAllNamespaces", of.words, resource.kind);
            items
                .push(PathItem { path: format!("{root}/watch/{plural}"), operations: vec![of.watch(id, "watchlist")] });
        }
        let path = format!("{root}/watch{namespace}/{plural}");
        items.push(PathItem {
            path: format!("{path}/{{name}}"),
            operations: vec![of.watch(of.id("watch", ""), "watch")],
        });
        items.push(PathItem { path, operations: vec![of.watch(of.id("watch", "List"), "watchlist")] });
    }
    items.retain(|item| !item.operations.is_empty());
    items
}

struct Of<'a> {
    resource: &'a Resource,
    words: String,
    scope: &'static str,
    custom: bool,
}

impl Of<'_> {
    fn can(&self, verb: &str) -> bool {
        self.resource.verbs.iter().any(|known| &**known == verb)
    }

    fn id(&self, verb: &str, suffix: &str) -> String {
        format!("{verb}{}{}{}{suffix}", self.words, self.scope, self.resource.kind)
    }

    fn component(&self, kind: &str) -> String {
        component_name(&self.resource.group, &self.resource.version, kind)
    }

    /// An operation on the resource's own kind, answered with the object.
    fn operation(&self, method: &'static str, action: &'static str, id: String, parameters: &[Parameter]) -> Operation {
        let Resource { group, version, kind, .. } = self.resource;
        let mut parameters = parameters.to_vec();
        parameters.push(parameters::PRETTY);
        Operation {
            method,
            id,
            action: Some(action),
            kind: Some([group, version, kind].map(|text| text.to_string())),
            parameters,
            body: None,
            success: &[200],
            answer: Content::Component(self.component(kind)),
            produces: OBJECT,
        }
    }

    fn list(&self, id: String) -> Operation {
        let list = format!("{}List", self.resource.kind);
        // The component of a list is named like that of its kind.
        let component = self.component(&self.resource.kind);
        let package = component.strip_suffix(&*self.resource.kind).unwrap_or_default();
        Operation {
            answer: Content::Component(format!("{package}{list}")),
            produces: if self.custom { OBJECT } else { STREAM },
            ..self.operation("get", "list", id, parameters::LIST)
        }
    }

    fn watch(&self, id: String, action: &'static str) -> Operation {
        Operation {
            answer: Content::Component(format!("{META}WatchEvent")),
            produces: STREAM,
            ..self.operation("get", action, id, parameters::LIST)
        }
    }

    fn collection(&self) -> Vec<Operation> {
        let mut all = Vec::new();
        if self.can("list") {
            all.push(self.list(self.id("list", "")));
        }
        if self.can("create") {
            all.push(self.create(self.operation("post", "post", self.id("create", ""), parameters::WRITE)));
        }
        if self.can("deletecollection") {
            let id = format!("delete{}Collection{}{}", self.words, self.scope, self.resource.kind);
            let parameters = if self.custom { parameters::LIST } else { parameters::DELETE_COLLECTION };
            let mut delete = self.delete(self.operation("delete", "deletecollection", id, parameters));
            delete.success = &[200];
            delete.body = delete.body.filter(|_| !self.custom);
            all.push(delete);
        }
        all
    }

    fn item(&self) -> Vec<Operation> {
        let mut all = Vec::new();
        if self.can("get") {
            let parameters = if self.custom { parameters::READ_CUSTOM } else { &[] };
            all.push(self.operation("get", "get", self.id("read", ""), parameters));
        }
        if self.can("update") {
            all.push(self.replace(self.operation("put", "put", self.id("replace", ""), parameters::WRITE)));
        }
        if self.can("delete") {
            let delete = self.operation("delete", "delete", self.id("delete", ""), parameters::DELETE);
            all.push(self.delete(delete));
        }
        if self.can("patch") {
            all.push(self.patch(self.operation("patch", "patch", self.id("patch", ""), parameters::PATCH)));
        }
        all
    }

    fn body(&self, component: String, required: bool) -> Option<Body> {
        Some(Body { component, consumes: if self.custom { OBJECT } else { ANYTHING }, required })
    }

    fn own_body(&self, operation: &Operation) -> Option<Body> {
        match &operation.answer {
            Content::Component(component) => self.body(component.clone(), true),
            Content::Text => None,
        }
    }

    fn create(&self, operation: Operation) -> Operation {
        Operation { body: self.own_body(&operation), success: &[200, 201, 202], ..operation }
    }

    fn replace(&self, operation: Operation) -> Operation {
        Operation { body: self.own_body(&operation), success: &[200, 201], ..operation }
    }

    fn patch(&self, operation: Operation) -> Operation {
        // Custom resources have no strategic merge.
        let consumes = if self.custom { PATCHES.split_last().map_or(PATCHES, |(_, rest)| rest) } else { PATCHES };
        let body = Some(Body { component: format!("{META}Patch"), consumes, required: true });
        Operation { body, success: if self.custom { &[200] } else { &[200, 201] }, ..operation }
    }

    fn delete(&self, operation: Operation) -> Operation {
        let one = operation.action == Some("delete");
        let answer = match one && delete_returns_object(&self.resource.group, &self.resource.plural) {
            true => operation.answer.clone(),
            false => Content::Component(format!("{META}Status")),
        };
        Operation { body: self.body(format!("{META}DeleteOptions"), false), success: &[200, 202], answer, ..operation }
    }

    fn subresource(&self, below: &Subresource, suffix: &str) -> Vec<Operation> {
        let name = capitalized(&below.name);
        let own = |operation: Operation| Operation {
            kind: match self.custom {
                true => operation.kind,
                false => Some([&below.group, &below.version, &below.kind].map(|text| text.to_string())),
            },
            answer: Content::Component(component_name(&below.group, &below.version, &below.kind)),
            ..operation
        };
        if let Some(parameters) = parameters::connect(&below.name) {
            let connect = |method: &'static str| {
                let id = format!(
                    "connect{}{}{}{}{name}{suffix}",
                    self.words,
                    capitalized(method),
                    self.scope,
                    self.resource.kind
                );
                Operation {
                    parameters: parameters.to_vec(),
                    answer: Content::Text,
                    produces: ANYTHING,
                    ..own(self.operation(method, "connect", id, &[]))
                }
            };
            let all: &[&str] = match &*below.name {
                "proxy" => &["get", "put", "post", "delete", "options", "head", "patch"],
                _ => &["get", "post"],
            };
            return all.iter().map(|method| connect(method)).collect();
        }
        let can = |verb: &str| below.verbs.iter().any(|known| &**known == verb);
        let mut all = Vec::new();
        if can("get") {
            let read = own(self.operation("get", "get", self.id("read", &name), &[]));
            all.push(match &*below.name {
                "log" => Operation {
                    parameters: [parameters::LOG, &[parameters::PRETTY]].concat(),
                    answer: Content::Text,
                    produces: LOG,
                    ..read
                },
                _ if self.custom => {
                    Operation { parameters: [parameters::READ_CUSTOM, &[parameters::PRETTY]].concat(), ..read }
                }
                _ => read,
            });
        }
        if can("create") {
            all.push(self.create(own(self.operation("post", "post", self.id("create", &name), parameters::WRITE))));
        }
        if can("update") {
            all.push(self.replace(own(self.operation("put", "put", self.id("replace", &name), parameters::WRITE))));
        }
        if can("patch") {
            all.push(self.patch(own(self.operation("patch", "patch", self.id("patch", &name), parameters::PATCH))));
        }
        all
    }
}
