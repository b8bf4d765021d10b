//! A bound on how many updaters an object remembers.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::managed::{Entry, Managed, Operation};
use crate::fields::FieldSet;

/// With more updaters than this the oldest are merged.
const MAX_UPDATE_MANAGERS: usize = 10;

/// The manager that stands for the oldest.
const OLD_UPDATES: &str = "ancient-changes";

/// Merges the oldest updaters of a version into one entry until few enough are left.
pub(super) fn cap_update_managers(managed: &mut Managed) {
    let is_update = |entry: &Entry| entry.operation == Operation::Update;
    let mut count = managed.entries.iter().filter(|entry| is_update(entry)).count();
    if count <= MAX_UPDATE_MANAGERS {
        return;
    }
    let (mut updaters, appliers): (Vec<_>, Vec<_>) = managed.entries.drain(..).partition(is_update);
    updaters.sort_by(|a, b| a.time.cmp(&b.time).then_with(|| a.identity().cmp(&b.identity())));

    // The oldest of each version becomes its bucket when a second one joins it, unless there is a bucket already.
    let is_bucket = |entry: &Entry| entry.manager == OLD_UPDATES && entry.subresource.is_empty();
    let mut oldest: HashMap<&str, usize> = HashMap::new();
    let mut buckets: HashMap<&str, usize> = HashMap::new();
    for (index, entry) in updaters.iter().enumerate().filter(|(_, entry)| is_bucket(entry)) {
        buckets.insert(&entry.api_version, index);
    }
    let mut joins: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, entry) in updaters.iter().enumerate() {
        if count <= MAX_UPDATE_MANAGERS {
            break;
        }
        let Some(&first) = oldest.get(entry.api_version.as_str()) else {
            oldest.insert(&entry.api_version, index);
            continue;
        };
        let bucket = *buckets.entry(&entry.api_version).or_insert(first);
        if bucket != index {
            joins.entry(bucket).or_default().push(index);
            count -= 1;
        }
    }

    let merged: HashSet<usize> = joins.values().flatten().copied().collect();
    for (bucket, joining) in joins {
        let of = |index: &usize| updaters.get(*index).map(|entry| &entry.fields);
        let fields = FieldSet::union_of(std::iter::once(&bucket).chain(&joining).filter_map(of));
        let time = joining.last().and_then(|&last| updaters.get(last)?.time.clone());
        if let Some(entry) = updaters.get_mut(bucket) {
            *entry = Entry {
                manager: OLD_UPDATES.to_owned(),
                subresource: String::new(),
                api_version: std::mem::take(&mut entry.api_version),
                operation: Operation::Update,
                time,
                fields,
            };
        }
    }
    let left = updaters.into_iter().enumerate().filter(|(index, _)| !merged.contains(index));
    managed.entries = left.map(|(_, entry)| entry).chain(appliers).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn thousands_are_merged_at_once() {
        let entry = |n: usize| Entry {
            manager: format!("m{n}"),
            operation: Operation::Update,
            api_version: "v1".into(),
            subresource: String::new(),
            time: None,
            fields: FieldSet::of_fields(&[&[&format!("f{n}")]]),
        };
        let mut managed = Managed { entries: (0..20_000).map(entry).collect() };
        cap_update_managers(&mut managed);
        assert_eq!(managed.entries.len(), MAX_UPDATE_MANAGERS);
        assert_eq!(managed.entries.iter().map(|entry| entry.fields.len()).sum::<usize>(), 20_000);
    }
}
