//! What earlier revisions of a release say, as it was when the action began: whoever begins one meanwhile is refused, because
//! the record of the next revision can be made only once.

use super::error::ActionError;
use super::kinds::Located;
use super::work::Work;
use super::{APPLY_METHOD, object};
use crate::release::{Release, Status};

impl Work<'_> {
    /// Reads which revisions there are.
    pub(super) async fn look(&mut self, name: &str) -> Result<(), ActionError> {
        self.index = self.records.index(name).await?;
        Ok(())
    }

    /// The newest revision, if it is pending and ours to finish.
    pub(super) async fn left_pending(&self, name: &str) -> Result<Option<Release>, ActionError> {
        let Some((revision, _)) = self.index.last().filter(|(_, status)| status.is_pending()) else { return Ok(None) };
        let Some(release) = self.records.get(name, *revision).await? else { return Ok(None) };
        let since = release.info.deleted.or(release.info.last_deployed);
        let age = since.map(|since| self.now().duration_since(since).unsigned_abs());
        let is_ours = release.operator.as_ref() == Some(&self.cluster.manager);
        if !is_ours && age.is_some_and(|age| age < self.options.timeout) {
            return Err(ActionError::Busy {
                name: name.to_owned(),
                revision: *revision,
                status: release.info.status.name(),
                since: since.map(|since| since.to_string()).unwrap_or_default(),
            });
        }
        Ok(Some(release))
    }

    /// An action that was left pending; a removal that was is finished first.
    pub(super) async fn pending(&mut self, name: &str) -> Result<Option<Release>, ActionError> {
        let Some(release) = self.left_pending(name).await? else { return Ok(None) };
        if release.info.status == Status::Uninstalling {
            self.finish_uninstall(release).await?;
            self.look(name).await?;
            return Ok(None);
        }
        Ok(Some(release))
    }

    /// The newest revision of a release that is installed.
    pub(super) async fn existing(&self, name: &str) -> Result<Release, ActionError> {
        let missing = || ActionError::NotFound(format!("{}/{name}", self.options.namespace));
        let last = self.index.last().filter(|(_, status)| *status != Status::Uninstalled);
        let (revision, _) = last.ok_or_else(missing)?;
        self.records.get(name, *revision).await?.ok_or_else(missing)
    }

    /// The revision that is installed, or else the newest.
    pub(super) async fn upgraded(&self, last: &Release) -> Result<Release, ActionError> {
        let deployed = self.index.iter().rev().find(|(_, status)| *status == Status::Deployed);
        let Some((revision, _)) = deployed.filter(|(revision, _)| *revision != last.revision) else {
            return Ok(last.clone());
        };
        Ok(self.records.get(&last.name, *revision).await?.unwrap_or_else(|| last.clone()))
    }

    /// The last revision that was complete, and those that failed since: what they made may be there still.
    async fn traces(&self, release: &Release) -> Result<Vec<Release>, ActionError> {
        let mut traces = Vec::new();
        for revision in traced(&self.index, release.revision) {
            traces.extend(self.records.get(&release.name, revision).await?);
        }
        Ok(traces)
    }

    /// What earlier revisions may have left. Also whether some of it was written by updates.
    pub(super) async fn objects_before(&self, release: &Release) -> Result<(Vec<Located>, bool), ActionError> {
        let traces = self.traces(release).await?;
        let mut objects: Vec<Located> = Vec::new();
        for old in &traces {
            for located in self.known_objects(old)? {
                if !objects.iter().any(|known| known.is(&located)) {
                    objects.push(located);
                }
            }
        }
        Ok((objects, traces.iter().any(|old| old.apply_method != APPLY_METHOD)))
    }

    /// The objects of a release whose kinds the cluster knows. What it knows no more is gone.
    pub(super) fn known_objects(&self, release: &Release) -> Result<Vec<Located>, ActionError> {
        let parsed = object::parse(&release.manifest).map_err(ActionError::Manifest)?;
        Ok(parsed.into_iter().filter_map(|object| self.kinds.locate(object, &release.namespace).ok()).collect())
    }

    /// Marks revisions as superseded, or as failed: before the new one is deployed, so that two never are.
    pub(super) async fn supersede(&self, release: &Release, revisions: Vec<u32>) -> Result<(), ActionError> {
        for revision in revisions {
            if let Some(mut old) = self.records.get(&release.name, revision).await? {
                old.info.status = Status::Superseded;
                if let Some(why) = &self.options.failed_because {
                    old.info.status = Status::Failed;
                    old.info.description = format!("Upgrade \"{}\" failed: {why}", old.name);
                }
                self.records.update(&mut old, self.now()).await?;
            }
        }
        Ok(())
    }

    /// Makes room in the history for one more, which has these objects. What only a failed revision has goes with its record:
    /// nobody would know of it any more.
    pub(super) async fn prune(&self, release: &Release, objects: &[Located]) -> Result<(), ActionError> {
        let pruned = pruned(&self.index, self.options.max_history);
        if pruned.is_empty() {
            return Ok(());
        }
        let (going, staying): (Vec<Release>, Vec<Release>) =
            self.traces(release).await?.into_iter().partition(|old| pruned.contains(&old.revision));
        let mut needed = objects.to_vec();
        for old in &staying {
            needed.extend(self.known_objects(old)?);
        }
        for revision in pruned {
            for old in going.iter().filter(|old| old.revision == revision) {
                let objects = self.known_objects(old)?;
                for left in objects.iter().filter(|object| !needed.iter().any(|needed| needed.is(object))) {
                    self.remove(release, left).await?;
                }
            }
            self.records.delete(&release.name, revision).await?;
        }
        Ok(())
    }

    /// Deletes all records, the newest last: so a removal that is cut short is still seen.
    pub(super) async fn forget(&self, release: &Release) -> Result<(), ActionError> {
        for (revision, _) in &self.index {
            self.records.delete(&release.name, *revision).await?;
        }
        Ok(())
    }
}

/// Whether some revision was complete since the release was last uninstalled.
pub(super) fn was_complete(index: &[(u32, Status)]) -> bool {
    let lived = index.iter().rev().map(|(_, status)| *status).take_while(|status| *status != Status::Uninstalled);
    lived.into_iter().any(Status::is_complete)
}

/// The last revision before `new` that was complete since the release was last uninstalled, and those since, newest first.
fn traced(index: &[(u32, Status)], new: u32) -> Vec<u32> {
    let mut traced = Vec::new();
    for (revision, status) in index.iter().rev().filter(|(revision, _)| *revision < new) {
        if *status == Status::Uninstalled {
            break;
        }
        traced.push(*revision);
        if status.is_complete() {
            break;
        }
    }
    traced
}

/// The revisions that make room for one more. What is installed stays, and the last that was complete: it is the way back.
fn pruned(index: &[(u32, Status)], max_history: usize) -> Vec<u32> {
    let spare = if max_history == 0 { 0 } else { (index.len() + 1).saturating_sub(max_history) };
    let way_back = index.iter().rfind(|(_, status)| status.is_complete()).map(|(revision, _)| *revision);
    let old = index.iter().filter(|(revision, status)| *status != Status::Deployed && Some(*revision) != way_back);
    old.map(|(revision, _)| *revision).take(spare).collect()
}

/// The revisions before `new` that are said to be installed.
pub(super) fn deployed(index: &[(u32, Status)], new: u32) -> Vec<u32> {
    let deployed = index.iter().filter(|(revision, status)| *revision < new && *status == Status::Deployed);
    deployed.map(|(revision, _)| *revision).collect()
}

/// The revisions that a new one takes the place of: what was installed, else what failed right before it.
pub(super) fn superseded(index: &[(u32, Status)], new: u32) -> Vec<u32> {
    let earlier: Vec<(u32, Status)> = index.iter().copied().filter(|(revision, _)| *revision < new).collect();
    if earlier.iter().any(|(_, status)| status.is_complete()) {
        return deployed(index, new);
    }
    let last = earlier.last().filter(|(_, status)| *status == Status::Failed);
    last.map(|(revision, _)| *revision).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::Status::{Deployed, Failed, PendingInstall, PendingUpgrade, Superseded, Uninstalled};
    use super::*;

    #[test]
    fn what_was_cut_short_was_never_complete() {
        for (index, expected) in [
            (&[][..], false),
            (&[(1, PendingInstall)], false),
            (&[(1, Failed), (2, PendingUpgrade)], false),
            (&[(1, Deployed), (2, PendingUpgrade)], true),
            (&[(1, Superseded), (2, Failed)], true),
            (&[(1, Superseded), (2, Uninstalled), (3, PendingInstall)], false),
        ] {
            assert_eq!(was_complete(index), expected, "{index:?}");
        }
    }

    #[test]
    fn traces_reach_back_to_what_was_complete() {
        for (index, new, expected) in [
            (&[][..], 1, &[][..]),
            (&[(1, Superseded), (2, Deployed)], 3, &[2]),
            (&[(1, Superseded), (2, Superseded), (3, Failed)], 3, &[2]),
            (&[(1, Superseded), (2, Failed), (3, Failed), (4, PendingUpgrade)], 4, &[3, 2, 1]),
            (&[(1, Failed), (2, Failed)], 3, &[2, 1]),
            (&[(1, Superseded), (2, Uninstalled), (3, Failed)], 4, &[3]),
        ] {
            assert_eq!(traced(index, new), expected, "{index:?}");
        }
    }

    #[test]
    fn the_way_back_is_never_pruned() {
        for (index, max_history, expected) in [
            (&[(1, Superseded), (2, Superseded), (3, Deployed)][..], 0, &[][..]),
            (&[(1, Superseded), (2, Superseded), (3, Deployed)], 4, &[]),
            (&[(1, Superseded), (2, Superseded), (3, Deployed)], 3, &[1]),
            (&[(1, Superseded), (2, Superseded), (3, Deployed)], 1, &[1, 2]),
            (&[(1, Deployed), (2, Failed), (3, Failed)], 3, &[2]),
            (&[(1, Superseded), (2, Superseded), (3, Failed), (4, Failed)], 3, &[1, 3]),
            (&[(1, Failed), (2, Failed), (3, Failed)], 3, &[1]),
        ] {
            assert_eq!(pruned(index, max_history), expected, "{index:?}");
        }
    }

    #[test]
    fn a_new_revision_takes_the_place_of_another() {
        for (index, new, expected) in [
            (&[(1, PendingUpgrade)][..], 1, &[][..]),
            (&[(1, Deployed), (2, PendingUpgrade)], 2, &[1]),
            (&[(1, Superseded), (2, Deployed), (3, Failed), (4, PendingUpgrade)], 4, &[2]),
            (&[(1, Failed), (2, PendingUpgrade)], 2, &[1]),
            (&[(1, Superseded), (2, Failed), (3, PendingUpgrade)], 3, &[]),
        ] {
            assert_eq!(superseded(index, new), expected, "{index:?}");
        }
    }
}
