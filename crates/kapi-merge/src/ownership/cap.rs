//! A bound on how many updaters an object remembers.

use std::collections::BTreeMap;

use super::managed::{Entry, Managed, Operation};

/// With more updaters than this the oldest are merged.
const MAX_UPDATE_MANAGERS: usize = 10;

/// The manager that stands for the oldest.
const OLD_UPDATES: &str = "ancient-changes";

/// Merges the oldest updaters of a version into one entry until few enough are left.
pub(super) fn cap_update_managers(managed: &mut Managed) {
    let mut updaters: Vec<Entry> =
        managed.entries.iter().filter(|entry| entry.operation == Operation::Update).cloned().collect();
    let mut count = updaters.len();
    if count <= MAX_UPDATE_MANAGERS {
        return;
    }
    updaters.sort_by(|a, b| a.time.cmp(&b.time).then_with(|| a.identity().cmp(&b.identity())));
    // The oldest of each version: it only becomes a bucket when a second one joins it.
    let mut oldest: BTreeMap<&str, &Entry> = BTreeMap::new();
    for entry in &updaters {
        if count <= MAX_UPDATE_MANAGERS {
            return;
        }
        let Some(first) = oldest.get(entry.api_version.as_str()) else {
            oldest.insert(&entry.api_version, entry);
            continue;
        };
        let bucket_identity = (OLD_UPDATES, Operation::Update, entry.api_version.as_str(), "");
        if entry.identity() == bucket_identity {
            continue;
        }
        let bucket = managed.take(bucket_identity).or_else(|| managed.take(first.identity()));
        let before = bucket.map(|bucket| bucket.fields).unwrap_or_default();
        managed.take(entry.identity());
        managed.put(Entry {
            manager: OLD_UPDATES.to_owned(),
            operation: Operation::Update,
            api_version: entry.api_version.clone(),
            subresource: String::new(),
            time: entry.time.clone(),
            fields: before.union(&entry.fields),
        });
        count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::FieldSet;

    #[test]
    fn the_oldest_are_merged() {
        let mut managed = Managed::default();
        for n in 0..12 {
            managed.put(Entry {
                manager: format!("m{n:02}"),
                operation: Operation::Update,
                api_version: "v1".into(),
                subresource: String::new(),
                time: Some(format!("2024-01-01T00:00:{n:02}Z")),
                fields: FieldSet::of_fields(&[&[&format!("f{n}")]]),
            });
        }
        cap_update_managers(&mut managed);
        assert_eq!(managed.entries.len(), 10);
        let bucket = managed.find((OLD_UPDATES, Operation::Update, "v1", "")).unwrap();
        assert_eq!(bucket.fields.to_string(), ".f0\n.f1\n.f2");
        assert_eq!(bucket.time.as_deref(), Some("2024-01-01T00:00:02Z"));
        assert!(managed.find(("m03", Operation::Update, "v1", "")).is_some());
    }
}
