//! Doing what a pending record says: the one way forward of install, upgrade and rollback, also after a crash.

use futures::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use serde_json::Value as Json;

use super::cluster::{Cluster, Leaving, Writing};
use super::error::ActionError;
use super::history::{deployed, superseded};
use super::kinds::{Kinds, Located};
use super::object::{self, Owner};
use super::{Actions, Options};
use crate::health::{self, Health};
use crate::manifest::Event;
use crate::release::{Pending, Records, Release, Status};

/// So many requests are on their way at the same time.
const AT_ONCE: usize = 8;

/// What every step of an action has at hand.
pub(super) struct Work<'a> {
    pub(super) options: &'a Options,
    pub(super) records: Records,
    pub(super) cluster: Cluster,
    pub(super) kinds: Kinds,
    /// The revisions there were when the action began, oldest first.
    pub(super) index: Vec<(u32, Status)>,
    clock: &'a super::Clock,
}

impl<'a> Work<'a> {
    /// Begins an action on a release.
    pub(super) async fn begin(actions: &'a Actions, options: &'a Options, name: &str) -> Result<Self, ActionError> {
        let mut work = Self {
            options,
            records: actions.records(&options.namespace),
            cluster: actions.cluster(),
            kinds: actions.learn_kinds().await?,
            index: Vec::new(),
            clock: &actions.clock,
        };
        work.look(name).await?;
        Ok(work)
    }

    pub(super) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    pub(super) fn writing(&self) -> Writing {
        Writing { force: self.options.force_conflicts, dry_run: false }
    }

    /// Fails if objects that are to be made are there and are not this release's.
    pub(super) async fn check_owners(
        &self,
        release: &Release,
        objects: &[Located],
        before: &[Located],
    ) -> Result<(), ActionError> {
        if self.options.take_ownership {
            return Ok(());
        }
        let is_new = |object: &&Located| !before.iter().any(|old| old.is(object));
        // Their own, because futures that borrow from an iterator cannot be sent to another thread.
        let new: Vec<Located> = objects.iter().filter(is_new).cloned().collect();
        let found: Vec<Option<String>> = futures::stream::iter(new)
            .map(|located| async move {
                let Some(live) = self.cluster.get(&located).await? else { return Ok(None) };
                Ok::<_, ActionError>(match object::owner(&live, &release.name, &release.namespace) {
                    Owner::This => None,
                    Owner::Other(release) => Some(format!("{} of release {release}", located.name)),
                    Owner::Nobody => Some(located.name.to_string()),
                })
            })
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        let found: Vec<String> = found.into_iter().flatten().collect();
        if found.is_empty() { Ok(()) } else { Err(ActionError::Owned(found)) }
    }

    /// Does what a pending record says, and writes how it ended.
    pub(super) async fn carry_out(&self, mut release: Release) -> Result<Release, ActionError> {
        match self.forward(&mut release).await {
            Ok(()) => {
                self.supersede(&release, superseded(&self.index, release.revision)).await?;
                let description = completed(&release);
                self.conclude(&mut release, Status::Deployed, description).await?;
                Ok(release)
            }
            // The next call goes on where this one stopped.
            Err(error) if error.is_inconclusive() => Err(error),
            Err(error) => {
                let description = match release.info.status {
                    Status::PendingUpgrade => format!("Upgrade \"{}\" failed: {error}", release.name),
                    Status::PendingRollback => format!("Rollback \"{}\" failed: {error}", release.name),
                    _ => format!("Release \"{}\" failed: {error}", release.name),
                };
                if release.info.status == Status::PendingRollback {
                    // What failed before was not complete, and must not look like it.
                    self.supersede(&release, deployed(&self.index, release.revision)).await?;
                }
                self.conclude(&mut release, Status::Failed, description).await?;
                Err(error)
            }
        }
    }

    /// Ends what is pending without going on with it.
    pub(super) async fn abandon(&self, mut release: Release) -> Result<(), ActionError> {
        self.conclude(&mut release, Status::Failed, "Interrupted, and not resumed".to_owned()).await
    }

    pub(super) async fn conclude(
        &self,
        release: &mut Release,
        status: Status,
        description: String,
    ) -> Result<(), ActionError> {
        release.info.status = status;
        release.info.description = description;
        release.pending = Pending::default();
        Ok(self.records.update(release, self.now()).await?)
    }

    async fn forward(&self, release: &mut Release) -> Result<(), ActionError> {
        let (before, after) = match release.info.status {
            Status::PendingUpgrade => (Event::PreUpgrade, Event::PostUpgrade),
            Status::PendingRollback => (Event::PreRollback, Event::PostRollback),
            _ => (Event::PreInstall, Event::PostInstall),
        };
        self.install_definitions(&release.pending.crds).await?;
        if release.pending.event != after.name() {
            self.hooks(release, before).await?;
            let applied = self.apply(release).await?;
            release.generations = applied.iter().filter_map(|(_, written)| generation(written)).collect();
            if self.options.wait {
                self.until_ready(&applied).await?;
            }
        }
        self.hooks(release, after).await
    }

    pub(super) async fn install_definitions(&self, definitions: &[String]) -> Result<(), ActionError> {
        let mut written = Vec::new();
        for definition in definitions {
            for located in self.kinds.locate_all(definition, &self.options.namespace)? {
                // What is there may be of another release, and newer. Helm does not touch it either.
                let live = match self.cluster.get(&located).await? {
                    Some(live) => live,
                    None => self.cluster.apply(&located, self.writing()).await?,
                };
                written.push((located, live));
            }
        }
        self.until_ready(&written).await
    }

    /// Applies all objects, kind by kind, and removes those that are no part of the release any more.
    async fn apply(&self, release: &Release) -> Result<Vec<(Located, Json)>, ActionError> {
        let (old, by_update) = self.objects_before(release).await?;
        let objects = self.kinds.objects(release)?;
        let mut applied = Vec::new();
        for same_kind in objects.chunk_by(|a, b| a.name.kind == b.name.kind) {
            let writes = futures::stream::iter(same_kind.iter().cloned()).map(|located| async {
                if by_update && old.iter().any(|old| old.is(&located)) {
                    self.cluster.adopt_fields(&located).await?;
                }
                let written = self.cluster.apply(&located, self.writing()).await?;
                Ok::<_, ActionError>((located, written))
            });
            applied.extend(writes.buffered(AT_ONCE).try_collect::<Vec<_>>().await?);
        }
        for old in old.iter().filter(|old| !objects.iter().any(|object| object.is(old))) {
            self.remove(release, old).await?;
        }
        Ok(applied)
    }

    /// Removes an object that is no part of a release any more, if it is still the release's.
    pub(super) async fn remove(&self, release: &Release, old: &Located) -> Result<Leaving, ActionError> {
        let Some(live) = self.cluster.get(old).await? else { return Ok(Leaving::Gone) };
        let is_others = matches!(object::owner(&live, &release.name, &release.namespace), Owner::Other(_));
        if is_others || object::is_kept(&live) || object::is_kept(&old.json) {
            return Ok(Leaving::Gone);
        }
        self.cluster.delete(old).await
    }

    /// Waits for those objects that were not ready when they were written.
    async fn until_ready(&self, written: &[(Located, Json)]) -> Result<(), ActionError> {
        let waits = written.iter().filter_map(|(located, written)| {
            let missing = match health::health(written) {
                Health::Current => return None,
                Health::InProgress(reason) | Health::Failed(reason) => reason,
                Health::Terminating => "it is being deleted".to_owned(),
            };
            Some(async move {
                let outcome = self.cluster.until(located, self.options.timeout, &missing, is_ready).await?;
                outcome.map_err(|reason| ActionError::Unhealthy { object: Box::new(located.name.clone()), reason })
            })
        });
        futures::future::try_join_all(waits).await.map(drop)
    }
}

/// Whether an object is ready, or never will be; else what is missing.
pub(super) fn is_ready(live: Option<&Json>) -> Result<Result<(), String>, String> {
    match live.map(health::health) {
        Some(Health::Current) => Ok(Ok(())),
        Some(Health::Failed(reason)) => Ok(Err(reason)),
        Some(Health::InProgress(missing)) => Err(missing),
        Some(Health::Terminating) => Err("it is being deleted".to_owned()),
        None => Err("it is not there".to_owned()),
    }
}

/// The uid and the generation of an object; some kinds have no generations.
fn generation(written: &Json) -> Option<(String, i64)> {
    let uid = written.pointer("/metadata/uid")?.as_str()?;
    Some((uid.to_owned(), written.pointer("/metadata/generation")?.as_i64()?))
}

/// What Helm says of a revision that is done.
fn completed(release: &Release) -> String {
    match release.info.status {
        Status::PendingUpgrade => "Upgrade complete".to_owned(),
        Status::PendingRollback => release.info.description.clone(),
        _ => "Install complete".to_owned(),
    }
}
