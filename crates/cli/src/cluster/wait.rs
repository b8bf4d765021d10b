//! `butlerctl cluster wait`, and `--wait` of the commands that change something.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use butler_api::butler::TenantCluster;
use butler_api::butler::tenant_cluster::ClusterPhase;
use butler_api::names::annotations;
use butler_api::shared::{Condition, ConditionStatus};
use clap::Args;
use futures::{Stream, StreamExt};
use kernel::duration::GoDuration;
use kube::ResourceExt;
use kube::runtime::{WatchStreamExt, watcher};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use super::progress::{Progress, waiting_for};
use super::{Named, holds_changes, receipt, rest, waker};
use crate::failure::{Code, Failure, Outcome};
use crate::lookup;
use crate::screen::print;
use crate::session::Session;

/// How often the elapsed time is redrawn on a terminal.
const TICK: Duration = Duration::from_secs(1);

#[derive(Args)]
pub(crate) struct Wait {
    #[command(flatten)]
    cluster: Named,
    /// What to wait for: Ready, Deleted, phase=PHASE, or condition=TYPE[=STATUS]
    #[arg(long = "for", value_name = "GOAL", default_value = "Ready")]
    goal: Goal,
    /// How long to wait at most
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "15m")]
    timeout: Duration,
}

/// Whether a command waits for what it asked for.
#[derive(Args, Clone, Debug)]
pub(crate) struct Patience {
    /// Wait until it is done, showing the way there
    #[arg(long)]
    pub(crate) wait: bool,
    /// How long to wait at most
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "15m", requires = "wait")]
    pub(crate) timeout: Duration,
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    Ready,
    Deleted,
    Phase(String),
    Condition { type_: String, status: String },
}

/// How far a cluster is from a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Reached,
    NotYet,
    /// It will not come to that by itself.
    Hopeless(String),
    /// Somebody wants it so; how it is, and the way out.
    Held(String),
    /// It is not there any more.
    Gone,
}

impl Wait {
    pub(crate) async fn run(self, session: &Session) -> Outcome {
        let found = match lookup::find(session, &self.cluster.name).await {
            // What is not there needs no deleting.
            Err(failure) if failure.code == Code::NotFound && self.goal == Goal::Deleted => {
                print(&format!("{} is gone\n", self.cluster.name))?;
                return receipt::show_left(session, &self.cluster.name, None).await;
            }
            found => found?,
        };
        let uid = found.object.metadata.uid.as_deref();
        follow(session, &found.namespace, &found.name, uid, &self.goal, self.timeout).await?;
        print(&format!("{} {}\n", found.name, self.goal.reached()))?;
        match self.goal {
            Goal::Deleted => {
                let name = format!("{}/{}", found.namespace, found.name);
                receipt::show_left(session, &name, uid).await
            }
            _ => Ok(()),
        }
    }
}

/// Follows a cluster until it has reached the goal, and shows the way there.
pub(crate) async fn follow(
    session: &Session,
    namespace: &str,
    name: &str,
    uid: Option<&str>,
    goal: &Goal,
    timeout: Duration,
) -> Outcome {
    let started = Instant::now();
    let mut progress = Progress::new(session.screen, name);
    let mut states = std::pin::pin!(watcher::watch_object(session.clusters(namespace), name).default_backoff());
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last: Option<TenantCluster> = None;
    let ended = timeout_at(started + timeout, async {
        loop {
            tokio::select! {
                state = next(&mut states) => match state? {
                    Some(cluster) => {
                        let cluster = cluster.filter(|cluster| uid.is_none() || cluster.metadata.uid.as_deref() == uid);
                        match judge(goal, cluster.as_ref()) {
                            Verdict::NotYet => {}
                            end => return Ok(end),
                        }
                        last = cluster;
                        progress.show(last.as_ref(), started.elapsed());
                    }
                    None => return Err(Failure::failed("the watch ended early")),
                },
                _ = ticks.tick() => progress.tick(started.elapsed()),
            }
        }
    })
    .await;
    progress.finish();
    let why = format!("`butlerctl cluster why {name} -n {namespace}` says more");
    match ended {
        Ok(Ok(Verdict::Reached | Verdict::NotYet)) => Ok(()),
        Ok(Ok(Verdict::Gone)) => Err(Failure::new(Code::NotFound, format!("{name} is gone"))),
        Ok(Ok(Verdict::Hopeless(reason))) => Err(Failure::failed(format!("{name} is {reason}; {why}"))),
        Ok(Ok(Verdict::Held(how))) => Err(Failure::failed(format!("{name} is {how}"))),
        Ok(Err(failure)) => Err(failure),
        Err(_) => {
            let waits = last.as_ref().and_then(waiting_for).map(|waits| format!(", it waits for {waits}"));
            let waits = waits.unwrap_or_default();
            let after = kernel::duration::human(i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX));
            Err(Failure::new(Code::TimedOut, format!("{name} {} after {after}{waits}; {why}", goal.missed())))
        }
    }
}

/// What a watch says next. It begins again by itself when it breaks, unless asking again cannot help.
pub(crate) async fn next<T>(stream: &mut (impl Stream<Item = watcher::Result<T>> + Unpin)) -> Outcome<Option<T>> {
    loop {
        match stream.next().await {
            Some(Ok(item)) => return Ok(Some(item)),
            Some(Err(error)) if is_final(&error) => return Err(error.into()),
            Some(Err(error)) => tracing::info!("{error}"),
            None => return Ok(None),
        }
    }
}

/// Whether asking again cannot help.
fn is_final(error: &watcher::Error) -> bool {
    use watcher::Error::{InitialListFailed, WatchFailed, WatchStartFailed};
    match error {
        InitialListFailed(source) | WatchStartFailed(source) | WatchFailed(source) => {
            matches!(source, kube::Error::Api(status) if matches!(status.code, 401 | 403 | 404))
        }
        _ => false,
    }
}

/// How far a cluster is from a goal.
pub(crate) fn judge(goal: &Goal, cluster: Option<&TenantCluster>) -> Verdict {
    let Some(cluster) = cluster else {
        return if *goal == Goal::Deleted { Verdict::Reached } else { Verdict::Gone };
    };
    let status = cluster.status.clone().unwrap_or_default();
    let phase = status.phase.unwrap_or(ClusterPhase::Pending);
    let outdated = status.observed_generation.is_some_and(|seen| Some(seen) < cluster.metadata.generation);
    let reached = match goal {
        Goal::Deleted => false,
        Goal::Phase(wanted) => phase.as_str() == wanted,
        Goal::Ready => {
            let is_ready =
                |condition: &Condition| condition.type_ == "Ready" && condition.status == ConditionStatus::True;
            phase == ClusterPhase::Ready
                && cluster.metadata.deletion_timestamp.is_none()
                && status.conditions.iter().any(is_ready)
        }
        Goal::Condition { type_, status: wanted } => {
            let condition = status.conditions.iter().find(|condition| condition.type_ == *type_);
            condition.is_some_and(|condition| condition.status.as_str() == wanted)
        }
    };
    let is_paused = cluster.spec.paused == Some(true);
    let is_held = is_paused && *goal == Goal::Ready && !status.remaining.is_empty();
    let is_leaving = cluster.metadata.deletion_timestamp.is_some();
    // By the spec, as pods may answer for a while longer.
    let is_to_sleep = *goal == Goal::Ready && cluster.spec.control_plane.replicas == Some(0) && !is_paused;
    if reached && !outdated && !is_held && !is_to_sleep {
        return Verdict::Reached;
    }
    let held = match goal {
        // Until its controller has seen a change, nobody knows whether anything waits.
        Goal::Ready if is_paused && !outdated && !is_leaving => Some("what was asked for"),
        Goal::Deleted if is_paused && is_leaving => Some("its deletion"),
        _ => None,
    };
    if let Some(held) = held {
        let (name, team) = (cluster.name_any(), cluster.namespace().unwrap_or_default());
        return Verdict::Held(format!("paused, and {held} waits for `butlerctl cluster resume {name} -n {team}`"));
    }
    if is_to_sleep && !outdated && !is_leaving && phase != ClusterPhase::Failed {
        let (how, waker) = (rest(cluster), waker(cluster));
        let waits = if holds_changes(cluster) { ", and what was asked for waits" } else { "" };
        return Verdict::Held(format!("{how}: spec.controlPlane.replicas is 0{waits}; `{waker}` wakes it"));
    }
    let retried = cluster.annotations().get(annotations::RETRY);
    let retry_waits = retried.is_some() && retried != status.observed_retry.as_ref();
    if *goal == Goal::Ready && phase == ClusterPhase::Failed && !outdated && !retry_waits {
        let reason = waiting_for(cluster).map(|reason| format!(": {reason}")).unwrap_or_default();
        return Verdict::Hopeless(format!("Failed{reason}"));
    }
    Verdict::NotYet
}

impl Goal {
    fn reached(&self) -> String {
        match self {
            Self::Deleted => "is gone".to_owned(),
            goal => format!("is {goal}"),
        }
    }

    fn missed(&self) -> String {
        match self {
            Self::Deleted => "is not gone".to_owned(),
            goal => format!("is not {goal}"),
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("Ready"),
            Self::Deleted => f.write_str("Deleted"),
            Self::Phase(phase) => f.write_str(phase),
            Self::Condition { type_, status } => write!(f, "{type_}={status}"),
        }
    }
}

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('=').collect();
        match parts.as_slice() {
            ["Ready" | "ready"] => Ok(Self::Ready),
            ["Deleted" | "deleted" | "delete"] => Ok(Self::Deleted),
            ["phase", phase] => match ClusterPhase::ALL.iter().find(|known| known.as_str() == *phase) {
                Some(phase) => Ok(Self::Phase(phase.to_string())),
                None => Err(format!(
                    "no such phase, choose one of {}",
                    ClusterPhase::ALL.iter().map(|phase| phase.as_str()).collect::<Vec<_>>().join(", ")
                )),
            },
            ["condition", type_] if !type_.is_empty() => {
                Ok(Self::Condition { type_: (*type_).to_owned(), status: "True".to_owned() })
            }
            ["condition", type_, status @ ("True" | "False" | "Unknown")] if !type_.is_empty() => {
                Ok(Self::Condition { type_: (*type_).to_owned(), status: (*status).to_owned() })
            }
            _ => {
                Err("write Ready, Deleted, phase=PHASE, condition=TYPE or condition=TYPE=True|False|Unknown".to_owned())
            }
        }
    }
}

/// A duration as kubectl takes them: `90s`, `10m`, `1h30m`.
fn duration(text: &str) -> Result<Duration, String> {
    let read = GoDuration::parse(text).map_err(|_| "write it as 90s, 10m or 1h30m".to_owned())?;
    u64::try_from(read.0).map(Duration::from_nanos).map_err(|_| "it cannot be negative".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn goals_are_read_as_written() {
        let condition = |type_: &str, status: &str| Goal::Condition { type_: type_.into(), status: status.into() };
        for (text, goal) in [
            ("Ready", Some(Goal::Ready)),
            ("delete", Some(Goal::Deleted)),
            ("phase=Installing", Some(Goal::Phase("Installing".into()))),
            ("condition=WorkersReady", Some(condition("WorkersReady", "True"))),
            ("condition=Ready=False", Some(condition("Ready", "False"))),
            ("phase=Happy", None),
            ("condition=Ready=maybe", None),
            ("condition=", None),
            ("", None),
        ] {
            assert_eq!(text.parse::<Goal>().ok(), goal, "{text}");
        }
        assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5400)));
        assert!(duration("-1s").is_err() && duration("5").is_err());
    }

    #[test]
    fn a_goal_is_judged_by_the_newest_spec() {
        let cluster = |generation: i64, status: serde_json::Value| -> TenantCluster {
            let metadata = json!({
                "name": "a", "generation": generation, "annotations": {"butler.butlerlabs.dev/retry": "2"},
            });
            serde_json::from_value(json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
                "metadata": metadata, "spec": {}, "status": status,
            }))
            .unwrap()
        };
        let ready = json!({
            "phase": "Ready", "observedGeneration": 2, "conditions": [{"type": "Ready", "status": "True"}],
        });
        // A change that was refused leaves the phase, and says why.
        let refused = json!({
            "phase": "Ready", "observedGeneration": 2, "conditions": [{"type": "Ready", "status": "False"}],
        });
        let failed = |retry: &str| {
            json!({"phase": "Failed", "observedGeneration": 2, "observedRetry": retry,
                   "blockers": [{"reason": "QuotaExceeded", "message": "10 of 10 clusters"}]})
        };
        for (goal, generation, status, expected) in [
            ("Ready", 2, ready.clone(), Verdict::Reached),
            ("Ready", 3, ready.clone(), Verdict::NotYet),
            ("Ready", 2, refused, Verdict::NotYet),
            ("Deleted", 2, ready.clone(), Verdict::NotYet),
            ("phase=Ready", 2, ready, Verdict::Reached),
            ("Ready", 2, failed("2"), Verdict::Hopeless("Failed: QuotaExceeded: 10 of 10 clusters".into())),
            ("Ready", 2, failed("1"), Verdict::NotYet),
            ("Ready", 3, failed("2"), Verdict::NotYet),
            ("phase=Failed", 2, failed("2"), Verdict::Reached),
            ("Ready", 1, json!({}), Verdict::NotYet),
            (
                "condition=WorkersReady",
                1,
                json!({"conditions": [{"type": "WorkersReady", "status": "True"}]}),
                Verdict::Reached,
            ),
        ] {
            let told = format!("{goal} {status}");
            assert_eq!(judge(&goal.parse().unwrap(), Some(&cluster(generation, status))), expected, "{told}");
        }
        assert_eq!(judge(&Goal::Deleted, None), Verdict::Reached);
        assert_eq!(judge(&Goal::Ready, None), Verdict::Gone);
    }

    #[test]
    fn nobody_waits_for_what_somebody_holds() {
        let paused =
            |what: &str| Verdict::Held(format!("paused, and {what} waits for `butlerctl cluster resume a -n t`"));
        let waker = "`kubectl -n t patch tenantcluster a --type merge \
                     -p '{\"spec\":{\"controlPlane\":{\"replicas\":1}}}'` wakes it";
        let asleep =
            |how: &str, waits: &str| Verdict::Held(format!("{how}: spec.controlPlane.replicas is 0{waits}; {waker}"));
        let pause = || json!({"paused": true});
        let sleep = || json!({"controlPlane": {"replicas": 0}});
        let leaving = Some("2026-01-01T00:00:00Z");
        let night = json!([{"type": "Ready", "status": "False", "reason": "Asleep"}]);
        let day = json!([{"type": "Ready", "status": "True"}]);
        // Told before it was put to sleep, and while it is.
        let both = json!([{"type": "Ready", "status": "True"}, {"type": "ControlPlaneReady", "status": "True"}]);
        let dusk = json!([{"type": "Ready", "status": "False"}, {"type": "ControlPlaneReady", "status": "True"}]);
        let waits = ", and what was asked for waits";
        for (goal, spec, deleted, seen, remaining, conditions, expected) in [
            ("Ready", pause(), None, 2, json!([]), &day, Verdict::Reached),
            ("Ready", pause(), None, 1, json!([]), &day, Verdict::NotYet),
            ("Ready", pause(), leaving, 2, json!(["workers: 3 to 5 machines"]), &day, Verdict::NotYet),
            ("Ready", pause(), None, 2, json!(["workers: 3 to 5 machines"]), &day, paused("what was asked for")),
            ("phase=Ready", pause(), None, 2, json!(["workers: 3 to 5 machines"]), &day, Verdict::Reached),
            ("phase=Updating", pause(), None, 2, json!([]), &day, Verdict::NotYet),
            ("Deleted", pause(), leaving, 2, json!([]), &day, paused("its deletion")),
            ("Deleted", pause(), None, 2, json!([]), &day, Verdict::NotYet),
            ("Ready", sleep(), None, 2, json!([]), &night, asleep("asleep", "")),
            ("Ready", sleep(), None, 2, json!(["workers: 3 to 5 machines"]), &night, asleep("asleep", waits)),
            ("Ready", sleep(), None, 2, json!([]), &both, asleep("being put to sleep", "")),
            (
                "Ready",
                sleep(),
                None,
                2,
                json!(["control plane: put it to sleep"]),
                &dusk,
                asleep("being put to sleep", ""),
            ),
            ("Ready", sleep(), leaving, 2, json!([]), &night, Verdict::NotYet),
            ("Ready", sleep(), None, 1, json!([]), &night, Verdict::NotYet),
            ("Deleted", sleep(), leaving, 2, json!([]), &night, Verdict::NotYet),
        ] {
            let cluster: TenantCluster = serde_json::from_value(json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster", "spec": spec,
                "metadata": {"name": "a", "namespace": "t", "generation": 2, "deletionTimestamp": deleted},
                "status": {"phase": "Ready", "observedGeneration": seen, "remaining": remaining, "conditions": conditions},
            }))
            .unwrap();
            assert_eq!(judge(&goal.parse().unwrap(), Some(&cluster)), expected, "{goal} {spec} {seen} {remaining}");
        }
    }
}
