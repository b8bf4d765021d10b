//! Removing what an applier dropped.

use serde_json::Value;

use super::managed::Managed;
use crate::fields::FieldSet;
use crate::typed::{Shape, field_set, remove, with_named_fields};

/// The merged object without what the applier applied last time, does not apply now, and nobody else owns.
/// `managed` already holds the applier's new fields.
pub(super) fn prune(merged: Value, last: &FieldSet, managed: &Managed, shape: Shape<'_>) -> Value {
    let kept = FieldSet::union_of(managed.entries.iter().map(|entry| &entry.fields));
    if last.difference(&kept).is_empty() {
        return merged;
    }
    let full = |set: &FieldSet| with_named_fields(set, shape);
    let last = full(last);
    let all = full(&field_set(&merged, shape));

    let without_last = full(&field_set(&remove(&merged, &last, shape), shape));
    let owned_back = remove(&merged, &all.difference(&without_last.union(&full(&kept))), shape);

    // What vanished with a parent, yet was never this applier's, stays.
    let dropped = all.difference(&full(&field_set(&owned_back, shape))).intersection(&last);
    remove(&merged, &dropped, shape)
}
