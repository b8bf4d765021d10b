//! Whether some rules grant everything that others do.

use std::collections::{BTreeMap, BTreeSet};

use kapi_schema::field::go_quote_list;

use super::{
    PolicyRule,
    rule::{has_or_star, url_covers},
};

/// The most atomic form of a rule: one verb on one thing.
struct Atom<'a> {
    verb: &'a str,
    target: Target<'a>,
}

enum Target<'a> {
    Resource { group: &'a str, resource: &'a str, name: Option<&'a str> },
    Url(&'a str),
}

/// Checks that `owned` grants all that `wanted` does. What is missing comes as descriptions, compacted and sorted as
/// kube-apiserver prints them.
pub fn rules_cover<'a>(
    owned: &[&PolicyRule],
    wanted: impl IntoIterator<Item = &'a PolicyRule>,
) -> Result<(), Vec<String>> {
    let mut missing = Missing::default();
    for rule in wanted {
        for_each_atom(rule, |atom| {
            if !owned.iter().any(|owner| covers(owner, &atom)) {
                missing.add(&atom);
            }
        });
    }
    let descriptions = missing.describe();
    if descriptions.is_empty() { Ok(()) } else { Err(descriptions) }
}

/// How many atoms the rules break down into.
pub(super) fn count_atoms(rules: &[PolicyRule]) -> usize {
    let count = |rule: &PolicyRule| {
        let names = rule.resource_names.len().max(1);
        let resources = rule.api_groups.len().saturating_mul(rule.resources.len()).saturating_mul(names);
        resources.saturating_add(rule.non_resource_urls.len()).saturating_mul(rule.verbs.len())
    };
    rules.iter().map(count).fold(0, usize::saturating_add)
}

fn for_each_atom<'a>(rule: &'a PolicyRule, mut visit: impl FnMut(Atom<'a>)) {
    for group in &rule.api_groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                let mut on = |name| visit(Atom { verb, target: Target::Resource { group, resource, name } });
                if rule.resource_names.is_empty() {
                    on(None);
                }
                rule.resource_names.iter().for_each(|name| on(Some(name)));
            }
        }
    }
    for url in &rule.non_resource_urls {
        for verb in &rule.verbs {
            visit(Atom { verb, target: Target::Url(url) });
        }
    }
}

fn covers(owner: &PolicyRule, atom: &Atom<'_>) -> bool {
    has_or_star(&owner.verbs, atom.verb)
        && match &atom.target {
            Target::Url(url) => {
                // A rule limited to names says nothing about paths.
                owner.resource_names.is_empty() && owner.non_resource_urls.iter().any(|owned| url_covers(owned, url))
            }
            Target::Resource { group, resource, name } => {
                has_or_star(&owner.api_groups, group)
                    && owner.resources.iter().any(|owned| resource_covers(owned, resource))
                    && (owner.resource_names.is_empty()
                        || name.is_some_and(|name| owner.resource_names.iter().any(|owned| owned == name)))
            }
        }
}

fn resource_covers(owned: &str, wanted: &str) -> bool {
    owned == "*"
        || owned == wanted
        || wanted.split_once('/').is_some_and(|(_, sub)| owned.strip_prefix("*/") == Some(sub))
}

/// What is not covered; verbs on the same resource are collected into one rule, paths are not.
#[derive(Default)]
struct Missing<'a> {
    resources: BTreeMap<(&'a str, &'a str, Option<&'a str>), Vec<&'a str>>,
    urls: Vec<(&'a str, &'a str)>,
}

impl<'a> Missing<'a> {
    fn add(&mut self, atom: &Atom<'a>) {
        match atom.target {
            Target::Resource { group, resource, name } => {
                self.resources.entry((group, resource, name)).or_default().push(atom.verb);
            }
            Target::Url(url) => self.urls.push((url, atom.verb)),
        }
    }

    fn describe(self) -> Vec<String> {
        let resources = self.resources.into_iter().map(|((group, resource, name), verbs)| {
            let names = name.map(|n| format!("ResourceNames:{}, ", go_quote_list(&[n]))).unwrap_or_default();
            format!(
                "{{APIGroups:{}, Resources:{}, {names}Verbs:{}}}",
                go_quote_list(&[group]),
                go_quote_list(&[resource]),
                go_quote_list(&verbs)
            )
        });
        let urls = self.urls.into_iter().map(|(url, verb)| {
            format!("{{NonResourceURLs:{}, Verbs:{}}}", go_quote_list(&[url]), go_quote_list(&[verb]))
        });
        resources.chain(urls).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn coverage_is_that_of_kube_apiserver() {
        let owned = json!([
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
            {"apiGroups": ["apps"], "resources": ["*/scale"], "verbs": ["*"]},
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["a"]},
            {"nonResourceURLs": ["/logs/*"], "verbs": ["get"]},
        ]);
        let rows: Vec<(Value, Vec<&str>)> = vec![
            (json!([]), vec![]),
            (json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]), vec![]),
            (json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["x"]}]), vec![]),
            (
                json!([{"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["get", "list", "watch"]}]),
                vec![
                    r#"{APIGroups:[""], Resources:["pods"], Verbs:["watch"]}"#,
                    r#"{APIGroups:[""], Resources:["services"], Verbs:["get" "list" "watch"]}"#,
                ],
            ),
            (
                json!([{"apiGroups": ["", "apps"], "resources": ["pods"], "verbs": ["delete"], "resourceNames": ["b", "a"]}]),
                vec![
                    r#"{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["delete"]}"#,
                    r#"{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["delete"]}"#,
                    r#"{APIGroups:["apps"], Resources:["pods"], ResourceNames:["a"], Verbs:["delete"]}"#,
                    r#"{APIGroups:["apps"], Resources:["pods"], ResourceNames:["b"], Verbs:["delete"]}"#,
                ],
            ),
            (
                json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]),
                vec![r#"{APIGroups:["*"], Resources:["*"], Verbs:["*"]}"#],
            ),
            (json!([{"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["get"]}]), vec![]),
            (
                json!([{"apiGroups": ["apps"], "resources": ["deployments/status"], "verbs": ["get"]}]),
                vec![r#"{APIGroups:["apps"], Resources:["deployments/status"], Verbs:["get"]}"#],
            ),
            (json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["a"]}]), vec![]),
            (
                json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]),
                vec![r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}"#],
            ),
            (json!([{"nonResourceURLs": ["/logs/x"], "verbs": ["get"]}]), vec![]),
            (json!([{"nonResourceURLs": ["/logs/*"], "verbs": ["get"]}]), vec![]),
            (
                json!([{"nonResourceURLs": ["/metrics", "/logs/*"], "verbs": ["get", "post"]}]),
                vec![
                    r#"{NonResourceURLs:["/logs/*"], Verbs:["post"]}"#,
                    r#"{NonResourceURLs:["/metrics"], Verbs:["get"]}"#,
                    r#"{NonResourceURLs:["/metrics"], Verbs:["post"]}"#,
                ],
            ),
            (json!([{"nonResourceURLs": ["*"], "verbs": ["get"]}]), vec![r#"{NonResourceURLs:["*"], Verbs:["get"]}"#]),
        ];
        let owned = PolicyRule::all_of(&json!({"rules": owned}));
        for (wanted, expected) in rows {
            let rules = PolicyRule::all_of(&json!({"rules": wanted}));
            let missing = rules_cover(&owned.iter().collect::<Vec<_>>(), &rules).err().unwrap_or_default();
            assert_eq!(missing, expected, "{wanted}");
        }
    }

    #[test]
    fn atoms_are_counted_without_making_them() {
        let many = vec!["x".to_owned(); 3000];
        let rule = PolicyRule {
            verbs: many.clone(),
            api_groups: many.clone(),
            resources: many.clone(),
            resource_names: many.clone(),
            non_resource_urls: many,
        };
        assert_eq!(count_atoms(std::slice::from_ref(&rule)), 3000_usize.pow(4) + 3000 * 3000);
        assert_eq!(count_atoms(&[PolicyRule { resource_names: vec![], ..rule }]), 3000_usize.pow(3) + 3000 * 3000);
    }
}
