//! Which fields a write to an endpoint can own.

use crate::fields::{FieldSet, Node, PathElement};

/// Which fields a write to an endpoint can own: the others are reset by the endpoint and must not count as changed.
#[derive(Clone, Debug, Default)]
pub enum OwnedFields {
    /// All.
    #[default]
    All,
    /// All but these and what is below them, as `status` at a kind with a status endpoint.
    Except(FieldSet),
    /// Only what begins with one of these paths, where a step that is none matches anything, as
    /// `spec.containers.*.resources` at a pod's `resize`.
    Only(Vec<Vec<Option<PathElement>>>),
}

impl OwnedFields {
    /// All but the fields with these names at the top of the object.
    pub fn except_top_level(names: &[&str]) -> Self {
        let paths: Vec<&[&str]> = names.iter().map(std::slice::from_ref).collect();
        Self::Except(FieldSet::of_fields(&paths))
    }

    pub(super) fn filter(&self, set: FieldSet) -> FieldSet {
        match self {
            Self::All => set,
            Self::Except(reset) => set.recursive_difference(reset),
            Self::Only(patterns) => {
                let patterns: Vec<_> = patterns.iter().map(Vec::as_slice).collect();
                only(&set, &patterns)
            }
        }
    }
}

fn only(set: &FieldSet, patterns: &[&[Option<PathElement>]]) -> FieldSet {
    if patterns.iter().any(|pattern| pattern.is_empty()) {
        return set.clone();
    }
    let nodes = set.nodes().iter().filter_map(|node| {
        let rest: Vec<_> = patterns
            .iter()
            .filter_map(|pattern| pattern.split_first())
            .filter(|(first, _)| first.as_ref().is_none_or(|first| *first == node.element))
            .map(|(_, rest)| rest)
            .collect();
        (!rest.is_empty()).then(|| Node {
            element: node.element.clone(),
            member: node.member,
            below: only(&node.below, &rest),
        })
    });
    FieldSet::from_nodes(nodes.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_keeps_what_begins_with_a_pattern() {
        let set = FieldSet::from_fields_v1(&json!({
            "f:metadata": {"f:labels": {}},
            "f:spec": {"f:nodeName": {}, "f:containers": {"k:{\"name\":\"a\"}": {"f:image": {}, "f:resources": {"f:limits": {}}}}},
        }))
        .unwrap();
        let step = |name| Some(PathElement::field(name));
        let owned = OwnedFields::Only(vec![vec![step("spec"), step("containers"), None, step("resources")]]);
        let kept = json!({"f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {"f:resources": {"f:limits": {}}}}}});
        assert_eq!(owned.filter(set).to_fields_v1(), kept);
    }
}
