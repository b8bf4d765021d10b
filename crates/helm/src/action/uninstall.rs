//! Removing a release.

use super::cluster::Leaving;
use super::error::ActionError;
use super::kinds::Located;
use super::work::Work;
use super::{Actions, Options};
use crate::manifest::{Event, uninstall_order};
use crate::release::{Pending, Release, Status};

impl Actions {
    /// Removes a release: its objects, unless they say that they are kept, and its records, unless these are. Nothing if
    /// there is none. What is still pending is not finished first.
    pub async fn uninstall(&self, name: &str, options: &Options) -> Result<Option<Release>, ActionError> {
        let work = Work::begin(self, options, name).await?;
        let Some((revision, status)) = work.index.last().copied() else { return Ok(None) };
        let last = match work.left_pending(name).await? {
            Some(pending) => Some(pending),
            None => work.records.get(name, revision).await?,
        };
        let Some(mut release) = last else { return Ok(None) };
        if status == Status::Uninstalled {
            if !options.keep_history {
                work.forget(&release).await?;
            }
            return Ok(Some(release));
        }
        if release.info.status != Status::Uninstalling {
            release.pending = Pending { with_earlier: !release.info.status.is_complete(), ..Pending::default() };
            release.info.status = Status::Uninstalling;
            release.info.deleted = Some(work.now());
            release.info.description = "Deletion in progress (or silently failed)".to_owned();
            work.records.update(&mut release, work.now()).await?;
        }
        work.finish_uninstall(release).await.map(Some)
    }
}

impl Work<'_> {
    /// Does what is left of a removal.
    pub(super) async fn finish_uninstall(&self, mut release: Release) -> Result<Release, ActionError> {
        if release.pending.event != Event::PostDelete.name() {
            self.hooks(&mut release, Event::PreDelete).await?;
            self.remove_all(&release).await?;
        }
        self.hooks(&mut release, Event::PostDelete).await?;
        if self.options.keep_history {
            self.conclude(&mut release, Status::Uninstalled, "Uninstallation complete".to_owned()).await?;
        } else {
            release.info.status = Status::Uninstalled;
            self.forget(&release).await?;
        }
        Ok(release)
    }

    async fn remove_all(&self, release: &Release) -> Result<(), ActionError> {
        let mut objects = self.known_objects(release)?;
        let is_deployed =
            |(revision, status): &(u32, Status)| *revision < release.revision && *status == Status::Deployed;
        // It failed, and what it was to replace may still be there. A removal that helm began does not say so itself.
        if release.pending.with_earlier || self.index.iter().any(is_deployed) {
            let (before, _) = self.objects_before(release).await?;
            let only_before = before.into_iter().filter(|old| !objects.iter().any(|object| object.is(old)));
            let only_before: Vec<Located> = only_before.collect();
            objects.extend(only_before);
        }
        objects.sort_by(|a, b| uninstall_order(&a.name.kind, &b.name.kind));
        let mut leaving = Vec::new();
        for object in &objects {
            if self.remove(release, object).await? == Leaving::OnItsWay {
                leaving.push(object);
            }
        }
        for object in leaving.into_iter().filter(|_| self.options.wait) {
            self.cluster.until_gone(object, self.options.timeout).await?;
        }
        Ok(())
    }
}
