//! What a change does to the objects of an addon: a unified diff of each.

use std::collections::{BTreeMap, BTreeSet};

use helm::action::ObjectRef;
use kube::core::DynamicObject;
use serde::Serialize;
use serde_json::Value;
use similar::TextDiff;

use crate::failure::Outcome;

/// An object that changes.
#[derive(Debug, Serialize)]
pub(super) struct Change {
    /// `Deployment default/web`.
    object: String,
    change: Kind,
    /// What changes of it, as `diff -u` shows it.
    pub(super) diff: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Added,
    Removed,
    Changed,
}

/// The objects that differ, by kind and name.
pub(super) fn changes(before: &[DynamicObject], after: &[DynamicObject]) -> Outcome<Vec<Change>> {
    let (before, after) = (by_name(before)?, by_name(after)?);
    let names: BTreeSet<&ObjectRef> = before.keys().chain(after.keys()).collect();
    let mut found = Vec::new();
    for name in names {
        let (mut old, mut new) = (before.get(name).cloned(), after.get(name).cloned());
        if old == new {
            continue;
        }
        hide(name, &mut old, &mut new);
        let change = match (&old, &new) {
            (None, _) => Kind::Added,
            (_, None) => Kind::Removed,
            _ => Kind::Changed,
        };
        let text = |value: Option<Value>| value.map_or(Ok(String::new()), |value| kernel::yaml::to_string(&value));
        let (old, new, object) = (text(old)?, text(new)?, name.to_string());
        let diff = TextDiff::from_lines(&old, &new).unified_diff().header(&object, &object).to_string();
        found.push(Change { object, change, diff });
    }
    Ok(found)
}

fn by_name(objects: &[DynamicObject]) -> Outcome<BTreeMap<ObjectRef, Value>> {
    let named = objects.iter().map(|object| {
        let value = serde_json::to_value(object)?;
        Ok((ObjectRef::of(&value), value))
    });
    named.collect()
}

/// Leaves out what Secrets hold, but not whether it changes.
fn hide(name: &ObjectRef, before: &mut Option<Value>, after: &mut Option<Value>) {
    if name.kind != "Secret" {
        return;
    }
    for pointer in ["/data", "/stringData"] {
        let old = before.as_ref().and_then(|value| value.pointer(pointer)?.as_object().cloned()).unwrap_or_default();
        for (value, is_new) in [(&mut *before, false), (&mut *after, true)] {
            let fields = value.as_mut().and_then(|value| value.pointer_mut(pointer)).and_then(Value::as_object_mut);
            for (field, value) in fields.into_iter().flatten() {
                let is_changed = is_new && old.get(field).is_some_and(|old| old != value);
                *value = if is_changed { "(hidden, changed)" } else { "(hidden)" }.into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn objects(all: &[Value]) -> Vec<DynamicObject> {
        all.iter().map(|object| serde_json::from_value(object.clone()).unwrap()).collect()
    }

    #[test]
    fn objects_are_compared_by_name_and_secrets_kept() {
        let map = |name: &str, colour: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"colour": colour}});
        let secret = |word: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"same": "eA==", "word": word}});
        let before = objects(&[map("same", "red"), map("gone", "red"), map("other", "red"), secret("aHVudGVyMg==")]);
        let after = objects(&[map("same", "red"), map("new", "red"), map("other", "blue"), secret("c2VjcmV0")]);
        let found = changes(&before, &after).unwrap();
        let kinds: Vec<(&str, Kind)> = found.iter().map(|change| (change.object.as_str(), change.change)).collect();
        assert_eq!(
            kinds,
            [
                ("ConfigMap gone", Kind::Removed),
                ("ConfigMap new", Kind::Added),
                ("ConfigMap other", Kind::Changed),
                ("Secret s", Kind::Changed)
            ]
        );
        assert!(found[2].diff.starts_with("--- ConfigMap other\n+++ ConfigMap other\n"), "{}", found[2].diff);
        assert!(found[2].diff.contains("-  colour: red\n+  colour: blue\n"), "{}", found[2].diff);
        assert!(found[3].diff.contains("-  word: (hidden)\n+  word: (hidden, changed)\n"), "{}", found[3].diff);
        assert!(!found[3].diff.contains("aHVudGVyMg") && !found[3].diff.contains("c2VjcmV0"));
    }
}
