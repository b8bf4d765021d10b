//! Releases, and the records of them that `helm` keeps in a cluster: one Secret per revision, which we read and write as it
//! does, both ways.
//!
//! What a record has beyond what is known here is kept when it is written again.

mod chart;
mod encoding;
mod records;
mod time;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::chart::Chart;
use crate::manifest::{DeletePolicy, Event};
use crate::values::Values;
pub use chart::{restored, stored};
pub use encoding::{MAX_RECORD, RecordError, decode, encode};
pub use records::{Records, RecordsError, SELECTOR, labelled, operator};

/// One revision of a release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Release {
    /// Its name.
    pub name: String,
    /// How it is.
    #[serde(default)]
    pub info: Info,
    /// The chart as records have it: without its subcharts, files in base64.
    #[serde(default)]
    pub chart: Json,
    /// The values that were given.
    #[serde(default, skip_serializing_if = "Map::is_empty", deserialize_with = "or_default")]
    pub config: Values,
    /// All documents that are no hooks.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub manifest: String,
    /// The hooks, with how they went.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub hooks: Vec<Hook>,
    /// Counts installations, upgrades and rollbacks.
    #[serde(rename = "version", default)]
    pub revision: u32,
    /// Where it is installed.
    #[serde(default)]
    pub namespace: String,
    /// `ssa` if its objects were written by server-side apply. Helm 4 goes on in the same way.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub apply_method: String,
    /// What it takes to go on with a pending release. Ours alone: Helm reads over it.
    #[serde(default, skip_serializing_if = "Pending::is_empty")]
    pub pending: Pending,
    /// The part of the values that a user gave, where others put defaults under them. Ours alone: Helm reads over it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<Values>,
    /// Labels of the record that are not Helm's own.
    #[serde(skip)]
    pub labels: BTreeMap<String, String>,
    /// Who is at work on it, if it is pending and they said so: a Secret's annotation.
    #[serde(skip)]
    pub operator: Option<String>,
    /// The version of its Secret that was read or written last: whoever wrote one since is not overwritten.
    #[serde(skip)]
    pub secret_version: Option<String>,
    /// The generations that its objects got when they were applied, by uid; of a release that was only read, none.
    #[serde(skip)]
    pub generations: BTreeMap<String, i64>,
    /// What else the record has.
    #[serde(flatten)]
    pub rest: Map<String, Json>,
}

/// What it takes to go on with a pending release.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pending {
    /// Definitions that are installed first. Records have no subcharts, and so not all of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crds: Vec<String>,
    /// The event whose hooks ran last. How these went is told of this event.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub event: String,
    /// Whether a removal takes what earlier revisions left with it, because what it removes was never complete.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub with_earlier: bool,
}

impl Pending {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How a release is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Info {
    /// When its first revision was made.
    #[serde(with = "time")]
    pub first_deployed: Option<Timestamp>,
    /// When this revision was made.
    #[serde(with = "time")]
    pub last_deployed: Option<Timestamp>,
    /// When it was uninstalled.
    #[serde(with = "time")]
    pub deleted: Option<Timestamp>,
    /// What happened last, for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Where it is in its life.
    pub status: Status,
    /// What `NOTES.txt` says.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub notes: String,
    /// What else the record has.
    #[serde(flatten)]
    pub rest: Map<String, Json>,
}

/// Where a revision is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Being installed.
    PendingInstall,
    /// Being upgraded to.
    PendingUpgrade,
    /// Being gone back to.
    PendingRollback,
    /// What is installed.
    Deployed,
    /// It was installed, and another one is now.
    Superseded,
    /// It could not be installed.
    Failed,
    /// Being removed.
    Uninstalling,
    /// Removed, and kept in the history.
    Uninstalled,
    /// Nobody knows.
    #[default]
    #[serde(other)]
    Unknown,
}

/// A hook, and how it went.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Hook {
    /// The name of its object.
    pub name: String,
    /// The kind of its object.
    pub kind: String,
    /// The template it is from.
    pub path: String,
    /// Its object.
    pub manifest: String,
    /// When it runs.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub events: Vec<String>,
    /// How it went when it ran last.
    pub last_run: Run,
    /// Hooks of one event run by weight, then by name.
    #[serde(skip_serializing_if = "is_zero")]
    pub weight: i64,
    /// When its object is deleted.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub delete_policies: Vec<String>,
    /// What else the record has.
    #[serde(flatten)]
    pub rest: Map<String, Json>,
}

/// How a hook went.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// When it began.
    #[serde(with = "time")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(with = "time")]
    pub completed_at: Option<Timestamp>,
    /// How far it is.
    pub phase: Phase,
}

/// How far a hook is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Phase {
    /// It did not run yet.
    #[default]
    #[serde(rename = "")]
    Never,
    /// It runs.
    Running,
    /// It did what it should.
    Succeeded,
    /// It did not.
    Failed,
    /// Nobody knows.
    #[serde(other)]
    Unknown,
}

impl Status {
    /// What records call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::PendingInstall => "pending-install",
            Self::PendingUpgrade => "pending-upgrade",
            Self::PendingRollback => "pending-rollback",
            Self::Deployed => "deployed",
            Self::Superseded => "superseded",
            Self::Failed => "failed",
            Self::Uninstalling => "uninstalling",
            Self::Uninstalled => "uninstalled",
            Self::Unknown => "unknown",
        }
    }

    /// Whether all of it was installed once.
    pub fn is_complete(self) -> bool {
        matches!(self, Self::Deployed | Self::Superseded)
    }

    /// Whether somebody is, or was, at work on it.
    pub fn is_pending(self) -> bool {
        matches!(self, Self::PendingInstall | Self::PendingUpgrade | Self::PendingRollback | Self::Uninstalling)
    }
}

impl Release {
    /// The name of its chart.
    pub fn chart_name(&self) -> &str {
        self.chart_text("name")
    }

    /// The version of its chart.
    pub fn chart_version(&self) -> &str {
        self.chart_text("version")
    }

    fn chart_text(&self, field: &str) -> &str {
        self.chart.pointer(&format!("/metadata/{field}")).and_then(Json::as_str).unwrap_or_default()
    }

    /// Whether it was made of this chart with these values, so that upgrading to them would change nothing.
    pub fn is_of(&self, chart: &Chart, values: &Values) -> bool {
        let mut chart = chart.clone();
        if crate::values::process_dependencies(&mut chart, values).is_err() {
            return false;
        }
        let plain = |values: &Values| {
            let mut values = Json::Object(values.clone());
            crate::values::integers(&mut values);
            values
        };
        self.chart == stored(&chart) && plain(&self.config) == plain(values)
    }
}

impl Hook {
    /// Whether it runs at an event.
    pub fn runs_at(&self, event: Event) -> bool {
        self.events.iter().any(|name| name == event.name())
    }

    /// Whether its object is deleted by a policy.
    pub fn is_deleted(&self, policy: DeletePolicy) -> bool {
        self.delete_policies.iter().any(|name| name == policy.name())
    }
}

impl From<crate::manifest::Hook> for Hook {
    fn from(hook: crate::manifest::Hook) -> Self {
        Self {
            name: hook.document.name,
            kind: hook.document.kind,
            path: hook.document.source,
            manifest: hook.document.text,
            events: hook.events.iter().map(|event| event.name().to_owned()).collect(),
            weight: hook.weight,
            delete_policies: hook.delete_policies.iter().map(|policy| policy.name().to_owned()).collect(),
            ..Self::default()
        }
    }
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// Null is as good as nothing.
fn or_default<'de, D: serde::Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
