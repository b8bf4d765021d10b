//! Installing, upgrading, rolling back, uninstalling and testing releases, as `helm` does it.
//!
//! ```text
//!   render ─▶ check: kinds, owners, size ─▶ pending record ─▶ definitions ─▶ hooks ─▶ objects ─▶ wait ─▶ hooks ─▶ deployed
//!                  nothing is written                    └──────── work.rs, all of it also after a crash ────────┘
//! ```
//!
//! The pending record has all that is left to do, and every step may be done again. So whatever was killed is finished by
//! the next call ([`Actions::settle`]): no revision is counted twice, and no hook runs twice that is known to have succeeded.

mod cluster;
mod error;
mod history;
mod hooks;
mod kinds;
mod object;
mod prepare;
mod repair;
mod uninstall;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use kube::core::DynamicObject;
use parking_lot::Mutex;

use crate::chart::Chart;
use crate::manifest::Event;
use crate::release::{Info, Pending, Records, Release, Status};
use crate::values::Values;
use cluster::Cluster;
pub use error::{ActionError, went_back};
use history::was_complete;
use kinds::Kinds;
pub use object::ObjectRef;
use prepare::{Plan, Prior};
use work::Work;

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The field manager that Helm writes as. Whoever uses another one makes `helm upgrade` of version 4 refuse fields that
/// changed meanwhile.
pub const MANAGER: &str = "helm";

/// What records call server-side apply.
const APPLY_METHOD: &str = "ssa";

/// How an action is done.
#[derive(Debug, Clone)]
pub struct Options {
    /// The namespace of the release.
    pub namespace: String,
    /// Whether the namespace is made if it is not there.
    pub create_namespace: bool,
    /// How long each hook may take, and, with `wait`, all objects together.
    pub timeout: Duration,
    /// Whether the action is over only when all objects are ready, or gone.
    pub wait: bool,
    /// Whether what failed is taken back. That the API was away is no failure: the release stays pending, and the next
    /// call goes on with it.
    pub atomic: bool,
    /// Whether objects that are there and are not this release's become its own.
    pub take_ownership: bool,
    /// Whether fields are taken over that others have written. Helm 3 always did, Helm 4 has to be told.
    pub force_conflicts: bool,
    /// How many revisions are kept; all if it is 0.
    pub max_history: usize,
    /// Whether an uninstalled release stays in the history.
    pub keep_history: bool,
    /// Whether definitions under `crds/` are left out.
    pub skip_crds: bool,
    /// Whether hooks are left out.
    pub no_hooks: bool,
    /// What becomes of the values of the revision before.
    pub prior_values: PriorValues,
    /// The part of the values that a user gave, to be remembered.
    pub given: Option<Values>,
    /// Why what is installed has failed, if it has: its record says so once another revision takes its place.
    pub failed_because: Option<String>,
    /// Labels for every object, hooks included.
    pub labels: BTreeMap<String, String>,
    /// Labels for the records.
    pub record_labels: BTreeMap<String, String>,
}

/// What becomes of the values of the revision before, when a release is upgraded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PriorValues {
    /// They are forgotten.
    #[default]
    Reset,
    /// They are taken if none are given, which is what `helm upgrade` does if it is told nothing.
    IfNoneGiven,
    /// Those that are given are put over them, and over the defaults of the chart before.
    Reuse,
    /// Those that are given are put over them, and over the defaults of the new chart.
    ResetThenReuse,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            namespace: "default".to_owned(),
            create_namespace: false,
            timeout: Duration::from_secs(300),
            wait: false,
            atomic: false,
            take_ownership: false,
            force_conflicts: true,
            max_history: 10,
            keep_history: false,
            skip_crds: false,
            no_hooks: false,
            prior_values: PriorValues::default(),
            given: None,
            failed_because: None,
            labels: BTreeMap::new(),
            record_labels: BTreeMap::new(),
        }
    }
}

/// Acts on the releases of one cluster.
#[derive(Clone)]
pub struct Actions {
    client: Client,
    manager: String,
    clock: Clock,
    /// What the cluster could when it was asked last.
    kinds: Arc<Mutex<Option<Kinds>>>,
}

impl Actions {
    /// Acts through `client`, writing as `manager` (see [`MANAGER`]).
    pub fn new(client: Client, manager: &str, clock: Clock) -> Self {
        Self { client, manager: manager.to_owned(), clock, kinds: Arc::default() }
    }

    /// The records of a namespace.
    pub fn records(&self, namespace: &str) -> Records {
        Records::new(self.client.clone(), namespace, &self.manager)
    }

    /// Asks the cluster what it can: charts and removals depend on all of it.
    async fn learn_kinds(&self) -> Result<Kinds, ActionError> {
        let kinds = Kinds::ask(&self.client).await?;
        *self.kinds.lock() = Some(kinds.clone());
        Ok(kinds)
    }

    fn cluster(&self) -> Cluster {
        Cluster { client: self.client.clone(), manager: self.manager.clone() }
    }

    /// All revisions of a release, oldest first.
    pub async fn history(&self, namespace: &str, name: &str) -> Result<Vec<Release>, ActionError> {
        Ok(self.records(namespace).history(name).await?)
    }

    /// Installs a release. One that was uninstalled may be installed again; one that failed is upgraded.
    pub async fn install(
        &self,
        name: &str,
        chart: &Chart,
        values: &Values,
        options: &Options,
    ) -> Result<Release, ActionError> {
        check_name(name)?;
        let mut work = Work::begin(self, options, name).await?;
        let pending = work.pending(name).await?;
        let last = work.index.last().copied();
        let prior = Prior { revision: last.map_or(0, |(revision, _)| revision), upgraded: None, was_complete: false };
        let plan = work.prepare(name, chart, values, prior).await?;
        if last.is_some_and(|(_, status)| status != Status::Uninstalled)
            && !pending.as_ref().is_some_and(|pending| plan.is_pending_as(pending))
        {
            return Err(ActionError::NameInUse(name.to_owned()));
        }
        self.act(&mut work, plan, pending).await
    }

    /// Upgrades a release, or installs again what failed.
    pub async fn upgrade(
        &self,
        name: &str,
        chart: &Chart,
        values: &Values,
        options: &Options,
    ) -> Result<Release, ActionError> {
        let mut work = Work::begin(self, options, name).await?;
        let pending = work.pending(name).await?;
        let last = work.existing(name).await?;
        let upgraded = work.upgraded(&last).await?;
        let was_complete = was_complete(&work.index);
        let prior = Prior { revision: last.revision, upgraded: Some(&upgraded), was_complete };
        let plan = work.prepare(name, chart, values, prior).await?;
        self.act(&mut work, plan, pending).await
    }

    /// What an upgrade would make of a release, or an installation where there is none. Nothing is written.
    pub async fn preview(
        &self,
        name: &str,
        chart: &Chart,
        values: &Values,
        options: &Options,
    ) -> Result<Release, ActionError> {
        let work = Work::begin(self, options, name).await?;
        let upgraded = match work.existing(name).await {
            Ok(last) => Some(work.upgraded(&last).await?),
            Err(ActionError::NotFound(_)) => None,
            Err(error) => return Err(error),
        };
        let revision = work.index.last().map_or(0, |(revision, _)| *revision);
        let prior = Prior { revision, upgraded: upgraded.as_ref(), was_complete: was_complete(&work.index) };
        Ok(work.prepare(name, chart, values, prior).await?.release)
    }

    /// Goes back to a revision; without one, to the last that was complete before the newest.
    pub async fn rollback(&self, name: &str, to: Option<u32>, options: &Options) -> Result<Release, ActionError> {
        let mut work = Work::begin(self, options, name).await?;
        let pending = work.pending(name).await?;
        let last = work.existing(name).await?;
        let index = &work.index;
        // What is pending is not what one goes back from.
        let newest = index.iter().rev().map(|(revision, _)| *revision).nth(usize::from(pending.is_some()));
        let before = |revision: u32| newest.is_some_and(|newest| revision < newest);
        let earlier = || index.iter().rev().find(|(revision, status)| before(*revision) && status.is_complete());
        let to = to.or_else(|| earlier().map(|(revision, _)| *revision));
        let to = to.ok_or_else(|| ActionError::NoEarlier(name.to_owned()))?;
        let target = work.records.get(name, to).await?;
        let target = target.ok_or_else(|| ActionError::NotFound(format!("{name} revision {to}")))?;
        let plan = Plan::of(rolled_back(target, &last, work.now()));
        self.act(&mut work, plan, pending).await
    }

    /// Goes on with what is pending, if it is what is wanted; else begins anew, and what is pending has failed.
    async fn act(&self, work: &mut Work<'_>, plan: Plan, pending: Option<Release>) -> Result<Release, ActionError> {
        let release = match pending {
            Some(pending) if plan.is_pending_as(&pending) => {
                work.define(&pending)?;
                pending
            }
            Some(pending) => {
                work.abandon(pending).await?;
                work.record(plan).await?
            }
            None => work.record(plan).await?,
        };
        let (name, status) = (release.name.clone(), release.info.status);
        match work.carry_out(release).await {
            Err(cause) if work.options.atomic && !cause.is_inconclusive() => {
                Err(self.taken_back(&name, status, cause, work.options).await)
            }
            other => other,
        }
    }

    /// Takes back what failed.
    async fn taken_back(&self, name: &str, status: Status, cause: ActionError, options: &Options) -> ActionError {
        let cause = Box::new(cause);
        let options = Options { atomic: false, keep_history: false, ..options.clone() };
        let outcome = match status {
            Status::PendingInstall => self.uninstall(name, &options).await.map(|_| None),
            Status::PendingUpgrade => Box::pin(self.rollback(name, None, &options)).await.map(|to| Some(to.revision)),
            // Going back from going back would never end.
            _ => return *cause,
        };
        match outcome {
            Ok(to) => ActionError::TakenBack { to, cause },
            Err(why) => ActionError::NotTakenBack { cause, why: Box::new(why) },
        }
    }

    /// Runs the tests of a release. Its record tells how they went.
    pub async fn test(&self, name: &str, options: &Options) -> Result<Release, ActionError> {
        let work = Work::begin(self, options, name).await?;
        let mut release = work.existing(name).await?;
        release.pending.event.clear();
        let outcome = work.hooks(&mut release, Event::Test).await;
        release.pending.event.clear();
        work.records.update(&mut release, work.now()).await?;
        outcome.map(|()| release)
    }

    /// Finishes what was left pending, by us at any time, or by others longer ago than an action may take: nothing if
    /// nothing was. What fails on the way is told as the action itself would have told it.
    pub async fn settle(&self, name: &str, options: &Options) -> Result<Option<Release>, ActionError> {
        let index = self.records(&options.namespace).index(name).await?;
        if !index.last().is_some_and(|(_, status)| status.is_pending()) {
            return Ok(None);
        }
        let mut work = Work::begin(self, options, name).await?;
        let Some(release) = work.left_pending(name).await? else { return Ok(None) };
        if release.info.status == Status::Uninstalling {
            return work.finish_uninstall(release).await.map(Some);
        }
        work.define(&release)?;
        let status = release.info.status;
        match work.carry_out(release).await {
            Err(cause) if options.atomic && !cause.is_inconclusive() => {
                Err(self.taken_back(name, status, cause, options).await)
            }
            other => other.map(Some),
        }
    }

    /// The objects of a release as they should be, marked as its own. Those whose namespace the manifest leaves open have
    /// none, because only a cluster knows which kinds are in one.
    pub fn objects(release: &Release) -> Result<Vec<DynamicObject>, ActionError> {
        let objects = object::parse(&release.manifest).map_err(ActionError::Manifest)?;
        let typed = objects.into_iter().map(|mut json| {
            object::own(&mut json, &release.name, &release.namespace);
            let name = ObjectRef::of(&json);
            serde_json::from_value(json).map_err(|error| ActionError::Manifest(format!("{name}: {error}")))
        });
        typed.collect()
    }
}

/// The revision that makes an older one what is installed.
fn rolled_back(target: Release, last: &Release, now: Timestamp) -> Release {
    Release {
        info: Info {
            first_deployed: last.info.first_deployed,
            last_deployed: Some(now),
            deleted: None,
            description: format!("Rollback to {}", target.revision),
            status: Status::PendingRollback,
            ..target.info
        },
        revision: last.revision + 1,
        apply_method: APPLY_METHOD.to_owned(),
        pending: Pending::default(),
        operator: None,
        secret_version: None,
        ..target
    }
}

/// Names that Helm takes.
fn check_name(name: &str) -> Result<(), ActionError> {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let parts_fit = name.split('.').all(|part| part.starts_with(is_letter) && part.ends_with(is_letter));
    let fits = name.len() <= 53 && parts_fit && name.chars().all(|c| is_letter(c) || c == '-' || c == '.');
    if fits { Ok(()) } else { Err(ActionError::BadName(name.to_owned())) }
}
