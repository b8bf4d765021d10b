//! Ownership recorded under an older schema.

use super::shape::{Form, Shape};
use crate::fields::{FieldSet, PathElement};

/// The set as it would have been recorded under this schema, or none if it already fits. Fields that have become
/// atomic since are owned as a whole by whoever owned a part.
pub(crate) fn reconcile(set: &FieldSet, shape: Shape<'_>) -> Option<FieldSet> {
    let mut atomic = FieldSet::new();
    visit(Some(set), false, shape, &mut Vec::new(), &mut atomic);
    if atomic.is_empty() {
        return None;
    }
    Some(set.recursive_difference(&atomic).union(&atomic))
}

/// `owned_whole` says that the path itself is a member and nothing below it is.
fn visit(
    below: Option<&FieldSet>,
    owned_whole: bool,
    shape: Shape<'_>,
    path: &mut Vec<PathElement>,
    atomic: &mut FieldSet,
) {
    match shape.form(None) {
        Form::Map(map) => {
            if map.is_deduced() {
                return;
            }
            if map.atomic && !owned_whole {
                if below.is_some() {
                    atomic.insert(path);
                }
                return;
            }
            for node in below.into_iter().flat_map(FieldSet::nodes) {
                let shape = match &node.element {
                    PathElement::Field(name) => map.field(name),
                    _ => map.unnamed(),
                };
                if !matches!(shape, Shape::Undeclared) {
                    descend(node, shape, path, atomic);
                }
            }
        }
        Form::List(list) => {
            if list.atomic && !owned_whole {
                atomic.insert(path);
                return;
            }
            for node in below.into_iter().flat_map(FieldSet::nodes) {
                descend(node, list.item(), path, atomic);
            }
        }
        Form::Scalar(_) | Form::Nothing => {}
    }
}

fn descend(node: &crate::fields::Node, shape: Shape<'_>, path: &mut Vec<PathElement>, atomic: &mut FieldSet) {
    let has_children = !node.below.is_empty();
    path.push(node.element.clone());
    visit(has_children.then_some(&node.below), node.member && !has_children, shape, path, atomic);
    path.pop();
}

#[cfg(test)]
mod tests {
    use kapi_schema::Schema;
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_of_what_became_atomic_are_owned_as_a_whole() {
        let schema = Schema::parse(&json!({"type": "object", "properties": {
            "map": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
            "list": {"type": "array", "items": {"type": "string"}},
            "other": {"type": "object", "additionalProperties": {"type": "string"}},
        }}))
        .unwrap();
        let shape = Shape::object(schema.root());
        let set = |value| FieldSet::from_fields_v1(&value).unwrap();
        let old = set(json!({"f:map": {".": {}, "f:a": {}}, "f:list": {"v:\"x\"": {}}, "f:other": {"f:a": {}}}));
        let new = set(json!({"f:map": {}, "f:list": {}, "f:other": {"f:a": {}}}));
        assert_eq!(reconcile(&old, shape), Some(new.clone()));
        assert_eq!(reconcile(&new, shape), None);
    }
}
