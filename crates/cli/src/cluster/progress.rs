//! The way to a goal, shown live: which step, what it waits for, how long it takes.

use std::io::Write;
use std::time::Duration;

use butler_api::butler::TenantCluster;
use butler_api::butler::tenant_cluster::{ClusterPhase, TenantClusterStatus};
use butler_api::shared::ConditionStatus;

use super::are_workers_unknown;
use crate::screen::{Screen, plain, tell};

/// The phases of a new cluster, in their order.
const WAY: [ClusterPhase; 4] =
    [ClusterPhase::Pending, ClusterPhase::Provisioning, ClusterPhase::Installing, ClusterPhase::Ready];

/// More than this of what was seen is left to `butlerctl cluster why`.
const SEEN: usize = 2;

/// Shows progress on standard error: redrawn in place on a terminal, else a line per step and what it waits for.
pub(crate) struct Progress {
    screen: Screen,
    name: String,
    /// What is shown, without the time.
    shown: Vec<String>,
    /// Lines of the present drawing.
    drawn: usize,
}

impl Progress {
    pub(crate) fn new(screen: Screen, name: &str) -> Self {
        Self { screen, name: name.to_owned(), shown: Vec::new(), drawn: 0 }
    }

    /// Shows a state.
    pub(crate) fn show(&mut self, cluster: Option<&TenantCluster>, elapsed: Duration) {
        let state = cluster.map(state).unwrap_or_default();
        if self.screen.live {
            self.shown = state.in_full();
            self.tick(elapsed);
        } else if state.head != self.shown {
            let told: Vec<String> = state.head.iter().chain(&state.seen).cloned().collect();
            tell(&format!("[{}] {}: {}", seconds(elapsed), self.name, told.join("; ")));
            self.shown = state.head;
        }
    }

    /// Shows that time passes, on a terminal.
    pub(crate) fn tick(&mut self, elapsed: Duration) {
        if self.screen.live && !self.shown.is_empty() {
            let frame = frame(&self.name, &self.shown, elapsed, self.screen.width());
            let redrawn = format!("{}{}\n", self.wiped(), frame.join("\n"));
            self.drawn = frame.len();
            // In one piece, so that nothing flickers.
            let _ = std::io::stderr().write_all(redrawn.as_bytes());
        }
    }

    /// Takes the drawing away; what came of it is told by others.
    pub(crate) fn finish(&mut self) {
        let _ = std::io::stderr().write_all(self.wiped().as_bytes());
        self.drawn = 0;
    }

    /// What takes the present drawing away.
    fn wiped(&self) -> String {
        if self.drawn > 0 { format!("\x1b[{}A\r\x1b[J", self.drawn) } else { String::new() }
    }
}

/// The most important thing a cluster waits for, on one line.
pub(crate) fn waiting_for(cluster: &TenantCluster) -> Option<String> {
    let blocker = cluster.status.as_ref()?.blockers.first()?;
    Some(format!("{}: {}", blocker.reason, plain(&blocker.message)))
}

/// A state in lines.
#[derive(Default)]
struct State {
    /// The step, what holds already, and what is waited for.
    head: Vec<String>,
    /// What was seen of what it waits for: which machine comes, which node is emptied.
    seen: Vec<String>,
    left: Vec<String>,
}

impl State {
    fn in_full(self) -> Vec<String> {
        self.head.into_iter().chain(self.seen).chain(self.left).collect()
    }
}

fn state(cluster: &TenantCluster) -> State {
    let status = cluster.status.clone().unwrap_or_default();
    let deleting = cluster.metadata.deletion_timestamp.is_some();
    let phase = if deleting { ClusterPhase::Deleting } else { status.phase.unwrap_or(ClusterPhase::Pending) };
    let mut head = vec![step(phase, &status)];
    if cluster.spec.paused == Some(true) {
        head.push("it is paused: `butlerctl cluster resume` lets it go on".to_owned());
    }
    if is_stale(cluster) {
        head.push("nobody has looked at the change yet".to_owned());
        return State { head, ..State::default() };
    }
    let waits = waiting_for(cluster).unwrap_or_default();
    let left = status.remaining.iter().map(|left| plain(left)).filter(|left| !waits.ends_with(left.as_str()));
    let left = left.map(|left| format!("left: {left}")).collect();
    if !waits.is_empty() {
        head.push(format!("waits for {waits}"));
    }
    State { head, seen: seen(&status), left }
}

fn seen(status: &TenantClusterStatus) -> Vec<String> {
    let evidence = status.blockers.first().map(|blocker| blocker.evidence.as_slice()).unwrap_or_default();
    evidence.iter().take(SEEN).map(|seen| format!("seen: {}", plain(seen))).collect()
}

/// Whether the status is about what was before the newest change.
fn is_stale(cluster: &TenantCluster) -> bool {
    let Some(status) = &cluster.status else { return false };
    let is_leaving = cluster.metadata.deletion_timestamp.is_some() && cluster.spec.paused != Some(true);
    let seen = status.observed_generation;
    seen.is_some() && seen < cluster.metadata.generation || is_leaving && status.phase != Some(ClusterPhase::Deleting)
}

fn step(phase: ClusterPhase, status: &TenantClusterStatus) -> String {
    let number = WAY.iter().position(|step| *step == phase).filter(|_| status.ready_since.is_none());
    let step = number.map(|number| format!(" (step {} of {})", number + 1, WAY.len())).unwrap_or_default();
    let held = status.conditions.iter().filter(|condition| condition.status == ConditionStatus::True);
    let held: Vec<&str> = held.map(|condition| condition.type_.as_str()).collect();
    let ready = match are_workers_unknown(status) {
        true => "-".to_owned(),
        false => status.worker_nodes_ready.unwrap_or(0).to_string(),
    };
    let workers = status.worker_nodes_desired.map(|wanted| format!(", {ready}/{wanted} workers"));
    let held = if held.is_empty() { String::new() } else { format!(", {}", held.join(", ")) };
    format!("{phase}{step}{}{held}", workers.unwrap_or_default())
}

/// What a terminal of this width shows.
fn frame(name: &str, lines: &[String], elapsed: Duration, width: usize) -> Vec<String> {
    let cut = |line: String| match line.chars().count() > width {
        true => line.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        false => line,
    };
    let first = lines.first().map(|line| format!("{name} {}  {line}", seconds(elapsed)));
    let others = lines.iter().skip(1).map(|line| format!("  {line}"));
    first.into_iter().chain(others).map(cut).collect()
}

fn seconds(elapsed: Duration) -> String {
    kernel::duration::human(i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cluster(status: serde_json::Value) -> TenantCluster {
        serde_json::from_value(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
            "metadata": {"name": "a"}, "spec": {}, "status": status,
        }))
        .unwrap()
    }

    fn lines(cluster: &TenantCluster) -> Vec<String> {
        state(cluster).in_full()
    }

    #[test]
    fn every_step_says_what_it_waits_for() {
        let provisioning = cluster(json!({
            "phase": "Provisioning", "workerNodesReady": 1, "workerNodesDesired": 3,
            "conditions": [
                {"type": "ControlPlaneReady", "status": "True"}, {"type": "WorkersReady", "status": "False"},
            ],
            "blockers": [{"reason": "MachinesStarting", "message": "2 machines\nare starting"}],
            "remaining": ["install cilium"],
        }));
        assert_eq!(
            lines(&provisioning),
            [
                "Provisioning (step 2 of 4), 1/3 workers, ControlPlaneReady",
                "waits for MachinesStarting: 2 machines are starting",
                "left: install cilium",
            ]
        );
        let asleep = json!({
            "phase": "Ready", "readySince": "2026-01-01T00:00:00Z", "workerNodesReady": 3, "workerNodesDesired": 3,
            "conditions": [{"type": "WorkersReady", "status": "Unknown"}],
        });
        assert_eq!(lines(&cluster(asleep)), ["Ready, -/3 workers"]);
        let updating = json!({"phase": "Updating", "readySince": "2026-01-01T00:00:00Z"});
        assert_eq!(lines(&cluster(updating)), ["Updating"]);
        assert_eq!(lines(&cluster(json!({}))), ["Pending (step 1 of 4)"]);
        let shrinking = cluster(json!({
            "phase": "Updating", "observedGeneration": 2, "readySince": "2026-01-01T00:00:00Z",
            "blockers": [{"reason": "MachinesDeleting", "message": "pool: 1 of 3 machines to go",
                "evidence": ["Machine m-1 is Deleting: 2 pods are still there", "Machine m-2 is Deleting", "Machine m-3 is Deleting"]}],
            "remaining": ["pool: 1 of 3 machines to go", "cilium: change it"],
        }));
        let told = [
            "Updating",
            "waits for MachinesDeleting: pool: 1 of 3 machines to go",
            "seen: Machine m-1 is Deleting: 2 pods are still there",
            "seen: Machine m-2 is Deleting",
            "left: cilium: change it",
        ];
        assert_eq!(lines(&shrinking), told);
        let mut asked = shrinking;
        asked.metadata.generation = Some(3);
        assert_eq!(lines(&asked), ["Updating", "nobody has looked at the change yet"]);
        asked.metadata.generation = Some(2);
        asked.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        assert_eq!(lines(&asked), ["Deleting", "nobody has looked at the change yet"]);
    }

    #[test]
    fn a_frame_fits_the_terminal() {
        let lines = ["Provisioning".to_owned(), "waits for a very long thing".to_owned()];
        let drawn = frame("a", &lines, Duration::from_secs(75), 20);
        assert_eq!(drawn, ["a 75s  Provisioning", "  waits for a very …"]);
    }
}
