//! How far the containers of a pod are.

use std::net::IpAddr;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, ContainerState, ContainerStatus, Pod};

/// How far a pod is, as its agent knows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    /// The pod's address, once it has one.
    pub(crate) address: Option<IpAddr>,
    /// Since when the agent has known of the pod.
    pub(crate) since: Timestamp,
    /// Whether network and volumes are ready for containers.
    pub(crate) prepared: bool,
    /// What is in the way of that.
    pub(crate) unprepared: Option<String>,
    /// The containers, those that initialise first, in the order of the pod.
    pub(crate) containers: Vec<Progress>,
}

/// How far a container is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Progress {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) restarts: i32,
    pub(crate) state: State,
    /// How it ended the time before.
    pub(crate) last: Option<Ended>,
    /// Ends in a row, for the time to wait until the next start.
    pub(crate) failures: u32,
    /// When it may be started again.
    pub(crate) retry_at: Option<Timestamp>,
}

/// What a container is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Runs to its end before the next one starts.
    Init,
    /// Is started before the next one and stays.
    Sidecar,
    /// The pod's own work.
    Main,
}

/// What a container does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum State {
    /// Not started. Nothing to tell means that it is its turn later.
    Waiting(Option<Trouble>),
    /// Running.
    Running { id: String, since: Timestamp, started: bool, ready: bool },
    /// Over.
    Ended(Ended),
}

/// Why a container cannot be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) reason: String,
    pub(crate) message: Option<String>,
    pub(crate) id: String,
    pub(crate) began: Timestamp,
    pub(crate) finished: Timestamp,
}

/// How long to wait before a container is started again.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// After the second end in a row; the first is not waited for. It doubles from there.
    pub first: Duration,
    /// At most.
    pub most: Duration,
    /// A container that ran for so long starts from the beginning.
    pub forgiven_after: Duration,
}

impl Default for Backoff {
    /// As a kubelet waits.
    fn default() -> Self {
        Self {
            first: Duration::from_secs(10),
            most: Duration::from_secs(300),
            forgiven_after: Duration::from_secs(600),
        }
    }
}

impl Backoff {
    /// The wait after this many ends in a row.
    pub(crate) fn delay(&self, failures: u32) -> Duration {
        match failures {
            0 | 1 => Duration::ZERO,
            more => self.first.saturating_mul(1 << (more - 2).min(16)).min(self.most),
        }
    }
}

impl Record {
    /// The record of a pod as its status tells it. What ran before this agent started does not run any more.
    pub(crate) fn of(pod: &Pod, now: Timestamp) -> Self {
        let status = pod.status.clone().unwrap_or_default();
        let known: Vec<ContainerStatus> = status
            .init_container_statuses
            .into_iter()
            .flatten()
            .chain(status.container_statuses.into_iter().flatten())
            .collect();
        let find = |container: &Container| known.iter().find(|known| known.name == container.name);
        let spec = pod.spec.as_ref();
        let init = spec.iter().flat_map(|spec| spec.init_containers.iter().flatten()).map(|container| {
            let role = match container.restart_policy.as_deref() {
                Some("Always") => Role::Sidecar,
                _ => Role::Init,
            };
            Progress::of(container, role, find(container), now)
        });
        let main = spec.iter().flat_map(|spec| &spec.containers);
        let main = main.map(|container| Progress::of(container, Role::Main, find(container), now));
        Self {
            address: None,
            since: status.start_time.map_or(now, |time| time.0),
            prepared: false,
            unprepared: None,
            containers: init.chain(main).collect(),
        }
    }

    /// One container.
    pub(crate) fn container(&mut self, name: &str) -> Option<&mut Progress> {
        self.containers.iter_mut().find(|container| container.name == name)
    }

    /// Whether any container runs.
    pub(crate) fn is_running(&self) -> bool {
        self.containers.iter().any(|container| matches!(container.state, State::Running { .. }))
    }
}

impl Progress {
    fn of(container: &Container, role: Role, known: Option<&ContainerStatus>, now: Timestamp) -> Self {
        let lost = |state: &ContainerState| {
            let running = state.running.as_ref()?;
            Some(Ended {
                code: 255,
                reason: "Unknown".into(),
                message: None,
                id: known.and_then(|known| known.container_id.clone()).unwrap_or_default(),
                began: running.started_at.as_ref().map_or(now, |time| time.0),
                finished: now,
            })
        };
        let state = known.and_then(|known| known.state.as_ref());
        let last = known.and_then(|known| known.last_state.as_ref()).and_then(ended);
        let ended = state.and_then(|state| lost(state).or_else(|| ended(state)));
        Self {
            name: container.name.clone(),
            role,
            restarts: known.map_or(0, |known| known.restart_count),
            // One that waited for its next start goes on waiting for it.
            state: match ended.or_else(|| last.clone().filter(|_| state.is_some_and(|state| state.waiting.is_some()))) {
                Some(ended) => State::Ended(ended),
                None => State::Waiting(None),
            },
            last,
            failures: 0,
            retry_at: None,
        }
    }

    /// Takes in that the container runs.
    pub(crate) fn begin(&mut self, id: String, now: Timestamp) {
        let before =
            std::mem::replace(&mut self.state, State::Running { id, since: now, started: false, ready: false });
        if let State::Ended(ended) = before {
            self.restarts += 1;
            self.last = Some(ended);
        }
        self.retry_at = None;
    }

    /// Takes in that the container is over.
    pub(crate) fn end(&mut self, code: i32, message: Option<String>, backoff: &Backoff, now: Timestamp) {
        let (id, began) = match &self.state {
            State::Running { id, since, .. } => (id.clone(), *since),
            _ => (String::new(), now),
        };
        let ran = now.duration_since(began);
        if ran >= SignedDuration::try_from(backoff.forgiven_after).unwrap_or(SignedDuration::MAX) {
            self.failures = 0;
        }
        self.failures += 1;
        self.retry_at = now.checked_add(backoff.delay(self.failures)).ok();
        let reason = if code == 0 { "Completed" } else { "Error" };
        self.state = State::Ended(Ended { code, reason: reason.into(), message, id, began, finished: now });
    }

    /// Takes in that the container cannot be started before something it refers to changes. Tells whether that is news.
    pub(crate) fn refuse(&mut self, trouble: Trouble) -> bool {
        let state = State::Waiting(Some(trouble));
        self.retry_at = None;
        let news = self.state != state;
        self.state = state;
        news
    }

    /// Takes in that the container could not be started, which is tried again after a while.
    pub(crate) fn postpone(&mut self, trouble: Trouble, backoff: &Backoff, now: Timestamp) {
        self.failures += 1;
        self.retry_at = now.checked_add(backoff.delay(self.failures.max(2))).ok();
        self.state = State::Waiting(Some(trouble));
    }
}

fn ended(state: &ContainerState) -> Option<Ended> {
    let terminated = state.terminated.as_ref()?;
    let time = |time: &Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>| {
        time.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0)
    };
    Some(Ended {
        code: terminated.exit_code,
        reason: terminated.reason.clone().unwrap_or_default(),
        message: terminated.message.clone(),
        id: terminated.container_id.clone().unwrap_or_default(),
        began: time(&terminated.started_at),
        finished: time(&terminated.finished_at),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pod(status: Value) -> Pod {
        serde_json::from_value(json!({
            "spec": {"initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}], "containers": [{"name": "c"}]},
            "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn waits_double_up_to_a_limit_and_are_forgiven() {
        let backoff = Backoff::default();
        assert_eq!([0, 1, 2, 3, 4, 7, 99].map(|n| backoff.delay(n).as_secs()), [0, 0, 10, 20, 40, 300, 300]);
        let mut record = Record::of(&pod(json!({})), at(0));
        let container = record.container("c").unwrap();
        for (began, ended, retry) in [(0, 1, 1), (1, 2, 12), (12, 13, 33), (33, 33 + 600, 633)] {
            container.begin("x".into(), at(began));
            container.end(1, None, &backoff, at(ended));
            assert_eq!(container.retry_at, Some(at(retry)), "{began}");
        }
        assert_eq!(container.restarts, 3);
    }

    #[test]
    fn a_new_agent_takes_over_from_the_status() {
        let fresh = Record::of(&pod(json!({})), at(5));
        let roles: Vec<_> = fresh.containers.iter().map(|c| (c.name.as_str(), c.role, c.restarts)).collect();
        assert_eq!(roles, [("i", Role::Init, 0), ("s", Role::Sidecar, 0), ("c", Role::Main, 0)]);
        assert_eq!(fresh.since, at(5));
        let mut taken = Record::of(
            &pod(json!({
                "startTime": "1970-01-01T00:00:01Z",
                "initContainerStatuses": [{"name": "i", "image": "", "imageID": "", "ready": true, "restartCount": 0,
                    "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}],
                "containerStatuses": [{"name": "c", "image": "", "imageID": "", "ready": true, "restartCount": 2,
                    "containerID": "butler://old", "state": {"running": {"startedAt": "1970-01-01T00:00:02Z"}}}],
            })),
            at(9),
        );
        assert_eq!(taken.since, at(1));
        assert!(matches!(&taken.container("i").unwrap().state, State::Ended(ended) if ended.code == 0));
        let container = taken.container("c").unwrap();
        assert!(matches!(&container.state, State::Ended(Ended { code: 255, finished, .. }) if *finished == at(9)));
        container.begin("new".into(), at(9));
        assert_eq!((container.restarts, container.last.as_ref().unwrap().id.as_str()), (3, "butler://old"));
    }
}
