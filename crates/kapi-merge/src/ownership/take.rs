//! Moving fields between managers.

use super::managed::{Entry, Identity, Managed};
use crate::error::{Conflict, Conflicts};
use crate::fields::{FieldSet, path_text};
use crate::typed::Comparison;

/// A field that another manager owns and a write would change.
#[derive(Clone, Debug)]
pub(super) struct Clash {
    pub(super) manager: String,
    pub(super) path: Vec<crate::fields::PathElement>,
}

/// The clashes as clients get them.
pub(super) fn conflicts(clashes: &[Clash]) -> Conflicts {
    let conflict = |clash: &Clash| Conflict { manager: clash.manager.clone(), field: path_text(&clash.path) };
    Conflicts(clashes.iter().map(conflict).collect())
}

impl Managed {
    /// What others than `writer` own of the changed fields.
    pub(super) fn clashes(&self, changes: &Comparison, writer: Identity<'_>) -> Vec<Clash> {
        let changed = changes.modified.union(&changes.added);
        let mut others: Vec<&Entry> = self.entries.iter().filter(|entry| entry.identity() != writer).collect();
        others.sort_by_key(|entry| entry.identity());
        let mut clashes = Vec::new();
        for entry in others {
            entry.fields.intersection(&changed).for_each(&mut |path| {
                clashes.push(Clash { manager: entry.described(), path: path.to_vec() });
            });
        }
        clashes
    }

    /// Takes what was changed or removed away from all but `writer`; entries left without fields go.
    pub(super) fn give_up(&mut self, changes: &Comparison, writer: Identity<'_>) {
        let changed = changes.modified.union(&changes.added);
        for entry in &mut self.entries {
            if entry.identity() != writer {
                entry.fields = entry.fields.difference(&changed).difference(&changes.removed);
            }
        }
        self.entries.retain(|entry| !entry.fields.is_empty());
    }
}

/// The set of all paths that clash.
pub(super) fn clash_set(clashes: &[Clash]) -> FieldSet {
    let mut set = FieldSet::new();
    for clash in clashes {
        set.insert(&clash.path);
    }
    set
}
