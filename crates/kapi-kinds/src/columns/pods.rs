//! Pods.

use serde_json::{Value, json};

use super::cell::{Row, is_true, list, number, seconds, text};
use super::{AGE, NAME, Printer, string};

pub(super) const PRINTERS: &[Printer] = &[Printer {
    group: "",
    kind: "Pod",
    columns: &[
        NAME,
        string("Ready", "How many containers are ready, of how many that run throughout."),
        string("Status", "The phase, or the most telling reason a container gives."),
        string("Restarts", "How often containers were restarted, and when last."),
        AGE,
        string("IP", "The first address of the pod.").wide(),
        string("Node", "The node it is bound to.").wide(),
        string("Nominated Node", "The node it waits for until others have left it.").wide(),
        string("Readiness Gates", "How many of the extra readiness conditions hold.").wide(),
    ],
    row,
}];

/// The `conditions` of an object's table row; only pods that have ended carry one.
pub fn row_conditions(group: &str, kind: &str, object: &Value) -> Option<Value> {
    if (group, kind) != ("", "Pod") {
        return None;
    }
    let (reason, message) = match text(object, "status.phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}]))
}

fn row(pod: Row<'_>) -> Vec<Value> {
    let summary = Summary::of(pod);
    let restarts = match summary.last_restart {
        Some(when) if summary.restarts != 0 => format!("{} ({} ago)", summary.restarts, pod.since_text(when)),
        _ => summary.restarts.to_string(),
    };
    let ip = pod.list("status.podIPs").first().map(|ip| text(ip, "ip")).filter(|ip| !ip.is_empty());
    vec![
        pod.name(),
        format!("{}/{}", summary.ready, summary.total).into(),
        summary.reason.into(),
        restarts.into(),
        pod.age(),
        ip.unwrap_or("<none>").into(),
        pod.filled("spec.nodeName", "<none>"),
        pod.filled("status.nominatedNodeName", "<none>"),
        readiness_gates(pod).into(),
    ]
}

fn readiness_gates(pod: Row<'_>) -> String {
    let gates = pod.list("spec.readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let conditions = pod.list("status.conditions");
    let holding = gates.iter().filter(|gate| is_true(conditions, text(gate, "conditionType"))).count();
    format!("{holding}/{}", gates.len())
}

/// What the statuses of all containers come to.
struct Summary<'a> {
    reason: String,
    ready: usize,
    total: usize,
    restarts: i64,
    last_restart: Option<&'a str>,
}

impl<'a> Summary<'a> {
    fn of(pod: Row<'a>) -> Self {
        let sidecars: Vec<&str> = pod
            .list("spec.initContainers")
            .iter()
            .filter(|container| text(container, "restartPolicy") == "Always")
            .map(|container| text(container, "name"))
            .collect();
        let mut summary = Self {
            reason: phase(pod).to_owned(),
            ready: 0,
            total: pod.list("spec.containers").len() + sidecars.len(),
            restarts: 0,
            last_restart: None,
        };
        let initializing = summary.init_containers(pod, &sidecars);
        if !initializing || is_true(pod.list("status.conditions"), "Initialized") {
            summary.main_containers(pod, &sidecars);
        }
        if pod.being_deleted() {
            if text(pod.object, "status.reason") == "NodeLost" {
                summary.reason = "Unknown".to_owned();
            } else if !matches!(pod.text("status.phase"), "Succeeded" | "Failed") {
                summary.reason = "Terminating".to_owned();
            }
        }
        summary
    }

    fn count_restarts(&mut self, status: &'a Value) {
        self.restarts += number(status, "restartCount");
        let ended = text(status, "lastState.terminated.finishedAt");
        if seconds(ended).is_some() && seconds(ended) > self.last_restart.and_then(seconds) {
            self.last_restart = Some(ended);
        }
    }

    /// Goes through the init containers up to the first that is not done. Whether there is one.
    fn init_containers(&mut self, pod: Row<'a>, sidecars: &[&str]) -> bool {
        let count = pod.list("spec.initContainers").len();
        for (index, status) in pod.list("status.initContainerStatuses").iter().enumerate() {
            self.count_restarts(status);
            let ended = status.pointer("/state/terminated").filter(|state| !state.is_null());
            if ended.is_some_and(|state| number(state, "exitCode") == 0) {
                continue;
            }
            if sidecars.contains(&text(status, "name")) && status["started"] == true {
                self.ready += usize::from(status["ready"] == true);
                continue;
            }
            let waiting = text(status, "state.waiting.reason");
            self.reason = match ended {
                Some(state) => format!("Init:{}", ending(state)),
                None if !waiting.is_empty() && waiting != "PodInitializing" => format!("Init:{waiting}"),
                None => format!("Init:{index}/{count}"),
            };
            return true;
        }
        false
    }

    /// Goes through the main containers; the first of them has the last word. Of the init containers only those
    /// that keep running count from here on.
    fn main_containers(&mut self, pod: Row<'a>, sidecars: &[&str]) {
        (self.restarts, self.last_restart) = (0, None);
        for status in pod.list("status.initContainerStatuses") {
            if sidecars.contains(&text(status, "name")) {
                self.count_restarts(status);
            }
        }
        let mut running = false;
        for status in pod.list("status.containerStatuses").iter().rev() {
            self.count_restarts(status);
            let waiting = text(status, "state.waiting.reason");
            let state = &status["state"];
            if !waiting.is_empty() {
                self.reason = waiting.to_owned();
            } else if let Some(ended) = state.get("terminated").filter(|ended| !ended.is_null()) {
                self.reason = ending(ended);
            } else if status["ready"] == true && state.get("running").is_some_and(|state| !state.is_null()) {
                running = true;
                self.ready += 1;
            }
        }
        if running && self.reason == "Completed" {
            let ready = is_true(pod.list("status.conditions"), "Ready");
            self.reason = if ready { "Running" } else { "NotReady" }.to_owned();
        }
    }
}

fn phase(pod: Row<'_>) -> &str {
    let gated = list(pod.object, "status.conditions")
        .iter()
        .any(|it| text(it, "type") == "PodScheduled" && text(it, "reason") == "SchedulingGated");
    match pod.text("status.reason") {
        _ if gated => "SchedulingGated",
        "" => pod.text("status.phase"),
        reason => reason,
    }
}

/// Why a container ended.
fn ending(terminated: &Value) -> String {
    match (text(terminated, "reason"), number(terminated, "signal")) {
        ("", 0) => format!("ExitCode:{}", number(terminated, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}
