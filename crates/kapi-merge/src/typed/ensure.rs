//! Sets that hold the parents of their members, where those are named fields.

use super::shape::Shape;
use crate::fields::{FieldSet, Node, PathElement};

/// The set, and every named field that has members below it: `spec.replicas` brings `spec`, while a map entry or
/// list item only counts when it is a member by itself.
pub(crate) fn with_named_fields(set: &FieldSet, shape: Shape<'_>) -> FieldSet {
    let nodes = set.nodes().iter().map(|node| {
        let (is_named, below_shape) = match &node.element {
            PathElement::Field(name) => match shape.map() {
                Some(map) => (map.named(name).is_some(), map.field(name)),
                None => (false, Shape::Undeclared),
            },
            PathElement::Key(_) => (false, shape.list().map_or(Shape::Undeclared, |list| list.item())),
            _ => (false, Shape::Undeclared),
        };
        Node {
            element: node.element.clone(),
            member: node.member || (is_named && !node.below.is_empty()),
            below: with_named_fields(&node.below, below_shape),
        }
    });
    FieldSet::from_nodes(nodes.collect())
}
