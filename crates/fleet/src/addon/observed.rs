//! What a pass over an addon knows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use butler_api::butler::AddonDefinition;
use butler_api::butler::addon_install::{AddonInstallStatus, AddonPhase, HelmRelease};
use butler_api::shared::Blocker;
use helm::release::Status;
use jiff::Timestamp;
use kernel::version::Version;
use runtime::Key;

use super::ask::Ask;
use super::fields::Obstacle;
use super::graph::Node;

/// What a pass knows.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Which object it is.
    pub key: Key,
    /// What it asks for.
    pub ask: Ask,
    /// Generation of its spec.
    pub generation: Option<i64>,
    /// Whether it is held until nothing is left on the cluster.
    pub is_held: bool,
    /// Whether it is to go.
    pub is_leaving: bool,
    /// Whether the cluster itself asks for it, by its spec.
    pub is_clusters_own: bool,
    /// Whether somebody said that it goes although it is a part of the platform.
    pub may_go: bool,
    /// The value by which another try was asked for.
    pub retry: Option<String>,
    /// Stands for all outside of it that may put trouble right: mirrors, Secrets, the catalogue.
    pub surroundings: u64,
    /// What was told last time.
    pub before: AddonInstallStatus,
    /// Its entry of the catalogue.
    pub definition: Option<Arc<AddonDefinition>>,
    /// Itself, as the others see it.
    pub own: Node,
    /// The others on the cluster.
    pub others: Vec<Node>,
    /// The cluster.
    pub ground: Ground,
    /// What this process has done and found out.
    pub progress: Progress,
    /// What the watches say.
    pub sight: Sight,
    /// The time.
    pub now: Timestamp,
}

/// The cluster an addon goes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ground {
    /// What people call it.
    pub title: String,
    /// Whether there is such a cluster.
    pub exists: bool,
    /// Whether its API answers.
    pub answers: bool,
    /// Whether its API does not answer because its team wants it so.
    pub sleeps: bool,
    /// Whether its API is about to answer once more, for its contents to be removed.
    pub is_waking: bool,
    /// Whether its API has not answered once, so that nothing can be on it.
    pub is_void: bool,
    /// Whether it has nodes, so that workloads can run.
    pub has_nodes: bool,
    /// Its workers: how many are ready, and how many are wanted. Nothing where nobody counts them.
    pub workers: Option<(i32, i32)>,
    /// Whether it is to go.
    pub is_leaving: bool,
    /// Whether it is let go although nobody can say what is in it.
    pub is_abandoned: bool,
    /// Why nothing happens on it, not even while it goes.
    pub paused: Option<Blocker>,
    /// Why nothing is to be changed on it as long as it lives.
    pub hands_off: Option<Blocker>,
    /// Why this addon may not be on it.
    pub denied: Option<String>,
    /// Its version of Kubernetes.
    pub kubernetes: Option<Version>,
}

/// What this process has done and found out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// What is being done.
    pub running: Option<Running>,
    /// What went wrong last.
    pub trouble: Option<Trouble>,
    /// What is on the cluster.
    pub installed: Option<Installed>,
    /// Nothing is on the cluster any more.
    pub is_removed: bool,
    /// What the last comparison with the cluster gave.
    pub compared: Option<Compared>,
    /// What was put right.
    pub mending: Mending,
    /// Why nobody could compare since.
    pub incomparable: Option<Trouble>,
    /// When the pods of workloads that do not run were last looked at.
    pub pods_seen: Option<Timestamp>,
    /// Since when nobody looks at its objects; nothing while somebody does.
    pub unseen_since: Option<Timestamp>,
}

/// Work that is being done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Running {
    /// Bringing about what has this digest.
    Ensure(String),
    /// Going back from what has this digest, because of this.
    TakeBack(String, String),
    /// Comparing with what is on the cluster, and putting it right.
    Compare,
    /// Looking at what is on the cluster.
    Look,
    /// Removing it.
    Uninstall,
}

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Trouble {
    /// Digest of what was tried; nothing when it was to be removed.
    pub digest: Option<String>,
    /// The value by which the try was asked for.
    pub retry: Option<String>,
    /// What was around it then.
    pub surroundings: u64,
    /// What it was.
    pub obstacle: Obstacle,
    /// Trying the same again cannot help.
    pub is_final: bool,
    /// How often in a row.
    pub failures: i32,
    /// When.
    pub at: Timestamp,
}

/// What is on the cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Installed {
    /// Digest of what was asked for.
    pub digest: String,
    /// The release.
    pub release: HelmRelease,
    /// When it was applied.
    pub at: Timestamp,
}

/// What a comparison with the cluster gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// State of the cluster it holds for.
    pub state: u64,
    /// Objects that differ still.
    pub differing: Vec<String>,
}

/// What others changed and was put right again. Whoever changes things as often as they are put right must not keep
/// Butler busy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mending {
    /// How often, without a long calm in between.
    pub times: u32,
    /// When last.
    pub last: Option<Timestamp>,
    /// How often each of them.
    pub objects: BTreeMap<String, u32>,
}

impl Mending {
    /// So often nobody changes things by mistake.
    pub(crate) const FIGHT: u32 = 3;
    /// After this long without a change whoever it was has stopped.
    const CALM: Duration = Duration::from_secs(900);
    const LONGEST_PAUSE: Duration = Duration::from_secs(300);

    /// Something was put right.
    pub(crate) fn note(&mut self, objects: Vec<String>, now: Timestamp) {
        if self.calm_in(now).is_zero() {
            *self = Self::default();
        }
        (self.times, self.last) = (self.times + 1, Some(now));
        for object in objects {
            *self.objects.entry(object).or_default() += 1;
        }
    }

    /// What was put right, the most often first.
    pub(crate) fn by_times(&self) -> Vec<(&str, u32)> {
        let mut all: Vec<(&str, u32)> = self.objects.iter().map(|(object, times)| (object.as_str(), *times)).collect();
        all.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        all
    }

    /// How long to leave things as they are: longer with every time.
    pub(crate) fn pause(&self, now: Timestamp) -> Duration {
        let pause = match self.times {
            0..2 => Duration::ZERO,
            times => Duration::from_secs(1 << times.min(16)).min(Self::LONGEST_PAUSE),
        };
        pause.saturating_sub(self.since(now))
    }

    /// Whether somebody else wants it otherwise.
    pub(crate) fn is_fight(&self, now: Timestamp) -> bool {
        self.times >= Self::FIGHT && !self.calm_in(now).is_zero()
    }

    /// How long until it is over if nothing happens.
    pub(crate) fn calm_in(&self, now: Timestamp) -> Duration {
        Self::CALM.saturating_sub(self.since(now))
    }

    fn since(&self, now: Timestamp) -> Duration {
        self.last.map_or(Duration::MAX, |last| now.duration_since(last).unsigned_abs())
    }
}

/// What the watches on the cluster say of the addon's objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Sight {
    /// Nobody looks yet.
    #[default]
    None,
    /// What there is.
    Seen {
        /// Stands for everything that is wanted of the objects: it changes when somebody changes or removes one.
        state: u64,
        /// Workloads that do not run, and why.
        unhealthy: Vec<String>,
        /// The newest revision of its release, if there is any.
        release: Option<Revision>,
    },
}

/// A revision of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Which.
    pub number: u32,
    /// Where it is in its life.
    pub status: Status,
    /// When it was begun.
    pub since: Option<Timestamp>,
    /// Whether it is pending, and by Butler.
    pub is_ours: bool,
}

impl Observed {
    /// What it is called in the catalogue, else by its name.
    pub fn title(&self) -> String {
        self.ask.addon.clone().unwrap_or_else(|| self.key.name.clone())
    }

    /// Whether its workloads have run since it was last changed.
    pub(crate) fn has_run(&self) -> bool {
        matches!(self.before.phase, Some(AddonPhase::Installed | AddonPhase::Degraded))
    }
}
