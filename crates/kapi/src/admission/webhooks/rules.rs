//! Which requests a webhook's rules speak of.

use serde_json::Value;

use super::super::Operation;
use super::super::fields::{text, texts};

/// A rule of a webhook.
pub(super) struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    /// Resource and subresource.
    resources: Vec<(String, String)>,
    scope: Scope,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    All,
    Cluster,
    Namespaced,
}

/// What a rule is asked about.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) operation: Operation,
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    pub(super) resource: &'a str,
    pub(super) subresource: &'a str,
    pub(super) namespace: &'a str,
}

impl Rule {
    pub(super) fn read(rule: &Value) -> Self {
        let all = |pointer: &str| texts(rule, pointer).into_iter().map(str::to_owned).collect();
        let split = |resource: &str| match resource.split_once('/') {
            Some((resource, subresource)) => (resource.to_owned(), subresource.to_owned()),
            None => (resource.to_owned(), String::new()),
        };
        Self {
            operations: all("/operations"),
            groups: all("/apiGroups"),
            versions: all("/apiVersions"),
            resources: texts(rule, "/resources").into_iter().map(split).collect(),
            scope: match text(rule, "/scope") {
                "Cluster" => Scope::Cluster,
                "Namespaced" => Scope::Namespaced,
                _ => Scope::All,
            },
        }
    }

    pub(super) fn matches(&self, asked: &Asked<'_>) -> bool {
        // Namespaces are in no namespace, though requests for one carry its name as theirs.
        let namespaces = asked.group.is_empty() && asked.resource == "namespaces";
        let namespaced = !namespaces && !asked.namespace.is_empty();
        let scope = match self.scope {
            Scope::All => true,
            Scope::Cluster => !namespaced,
            Scope::Namespaced => namespaced,
        };
        let lists = |known: &[String], wanted: &str| known.iter().any(|item| item == "*" || item == wanted);
        scope
            && lists(&self.operations, asked.operation.name())
            && lists(&self.groups, asked.group)
            && lists(&self.versions, asked.version)
            && self.resources.iter().any(|(resource, subresource)| {
                (resource == "*" || resource == asked.resource)
                    && (subresource == "*" || subresource == asked.subresource)
            })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_match_as_written() {
        let asked = |resource, subresource, namespace| Asked {
            operation: Operation::Create,
            group: "",
            version: "v1",
            resource,
            subresource,
            namespace,
        };
        let pod = asked("pods", "", "a");
        let rows = [
            (json!({"resources": ["pods"]}), pod, true),
            (json!({"resources": ["pods/*"]}), pod, true),
            (json!({"resources": ["*"]}), pod, true),
            (json!({"resources": ["*"]}), asked("pods", "status", "a"), false),
            (json!({"resources": ["*/status"]}), asked("pods", "status", "a"), true),
            (json!({"resources": ["*/*"]}), asked("pods", "status", "a"), true),
            (json!({"resources": ["pods"], "scope": "Cluster"}), pod, false),
            (json!({"resources": ["pods"], "scope": "Namespaced"}), pod, true),
            (json!({"resources": ["namespaces"], "scope": "Cluster"}), asked("namespaces", "", "a"), true),
            (json!({"resources": ["pods"], "operations": ["DELETE"]}), pod, false),
            (json!({"resources": ["pods"], "apiVersions": ["v2"]}), pod, false),
        ];
        for (given, asked, expected) in rows {
            let mut rule = json!({"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"]});
            rule.as_object_mut().unwrap().extend(given.as_object().unwrap().clone());
            assert_eq!(Rule::read(&rule).matches(&asked), expected, "{rule}");
        }
    }
}
