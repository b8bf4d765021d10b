//! The status of a pod, as a kubelet writes it.

use std::net::IpAddr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus,
    HostIP, Pod, PodCondition, PodIP, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::plan::{Phase, phase, policy, restarts};
use super::record::{Backoff, Ended, Progress, Record, Role, State};

/// The conditions a kubelet writes, in its order.
const CONDITIONS: [&str; 5] = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];

/// The part of a pod's status that an agent writes, as it should be.
pub(crate) fn telling(pod: &Pod, record: &Record, host: IpAddr, backoff: &Backoff, now: Timestamp) -> PodStatus {
    let view = View { pod, record, phase: phase(pod, record), backoff, now };
    let address = record.address.map(|address| address.to_string());
    let host = host.to_string();
    PodStatus {
        phase: Some(view.phase.name().into()),
        conditions: Some(view.conditions()),
        host_ip: Some(host.clone()),
        host_ips: Some(vec![HostIP { ip: host }]),
        pod_ip: address.clone(),
        pod_ips: address.map(|ip| vec![PodIP { ip }]),
        start_time: Some(seconds(record.since)),
        init_container_statuses: view.containers(true),
        container_statuses: view.containers(false),
        observed_generation: pod.metadata.generation,
        ..PodStatus::default()
    }
}

/// The part of a pod's status that an agent writes, as it is.
pub(crate) fn told(pod: &Pod) -> PodStatus {
    let status = pod.status.clone().unwrap_or_default();
    let mut conditions: Vec<PodCondition> = status
        .conditions
        .into_iter()
        .flatten()
        .filter(|condition| CONDITIONS.contains(&condition.type_.as_str()))
        .collect();
    conditions.sort_by_key(|condition| CONDITIONS.iter().position(|name| *name == condition.type_));
    PodStatus {
        phase: status.phase,
        conditions: Some(conditions),
        host_ip: status.host_ip,
        host_ips: status.host_ips,
        pod_ip: status.pod_ip,
        pod_ips: status.pod_ips,
        start_time: status.start_time,
        init_container_statuses: status.init_container_statuses,
        container_statuses: status.container_statuses,
        observed_generation: status.observed_generation,
        ..PodStatus::default()
    }
}

struct View<'a> {
    pod: &'a Pod,
    record: &'a Record,
    phase: Phase,
    backoff: &'a Backoff,
    now: Timestamp,
}

impl View<'_> {
    fn conditions(&self) -> Vec<PodCondition> {
        let unready = self.names(|c| c.role != Role::Init && !is_ready(c));
        let incomplete = self.names(|c| match c.role {
            Role::Init => !matches!(&c.state, State::Ended(ended) if ended.code == 0),
            Role::Sidecar => !matches!(c.state, State::Running { started: true, .. }),
            Role::Main => false,
        });
        let completed = || Some(("PodCompleted", String::new()));
        let initialized = match () {
            () if self.phase == Phase::Succeeded => Ok(completed()),
            () if incomplete.is_empty() => Ok(None),
            () => Err(("ContainersNotInitialized", format!("containers with incomplete status: [{incomplete}]"))),
        };
        let containers_ready = match () {
            () if self.phase == Phase::Succeeded => Err(("PodCompleted", String::new())),
            () if self.phase == Phase::Failed => Err(("PodFailed", String::new())),
            () if unready.is_empty() => Ok(None),
            () => Err(("ContainersNotReady", format!("containers with unready status: [{unready}]"))),
        };
        let ready = containers_ready.clone().and_then(|_| self.gates());
        let prepared = match self.record.prepared && !self.phase.is_terminal() {
            true => Ok(None),
            false => Err(("", String::new())),
        };
        let verdicts = [prepared, initialized, ready, containers_ready, Ok(None)];
        CONDITIONS.iter().zip(verdicts).map(|(name, verdict)| self.condition(name, verdict)).collect()
    }

    /// Conditions that others must set before the pod is ready.
    fn gates(&self) -> Result<Option<(&'static str, String)>, (&'static str, String)> {
        let gates = self.pod.spec.iter().flat_map(|spec| spec.readiness_gates.iter().flatten());
        let set = |name: &str| {
            let conditions = self.pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
            conditions.into_iter().any(|condition| condition.type_ == name && condition.status == "True")
        };
        match gates.into_iter().find(|gate| !set(&gate.condition_type)) {
            None => Ok(None),
            Some(gate) => {
                let message = format!("the status of pod readiness gate {:?} is not \"True\"", gate.condition_type);
                Err(("ReadinessGatesNotReady", message))
            }
        }
    }

    fn condition(
        &self,
        name: &str,
        verdict: Result<Option<(&'static str, String)>, (&'static str, String)>,
    ) -> PodCondition {
        let (status, cause) = match verdict {
            Ok(cause) => ("True", cause),
            Err(cause) => ("False", Some(cause)),
        };
        let known = self.pod.status.iter().flat_map(|known| known.conditions.iter().flatten());
        let known = known.into_iter().find(|known| known.type_ == name && known.status == status);
        let (reason, message) = cause.unwrap_or_default();
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        PodCondition {
            type_: name.into(),
            status: status.into(),
            reason: text(reason),
            message: text(&message),
            last_transition_time: known
                .map_or_else(|| Some(seconds(self.now)), |known| known.last_transition_time.clone()),
            last_probe_time: None,
            observed_generation: self.pod.metadata.generation,
        }
    }

    fn names(&self, wanted: impl Fn(&Progress) -> bool) -> String {
        let found = self.record.containers.iter().filter(|container| wanted(container));
        found.map(|container| container.name.as_str()).collect::<Vec<_>>().join(" ")
    }

    fn containers(&self, initial: bool) -> Option<Vec<ContainerStatus>> {
        let spec = self.pod.spec.as_ref()?;
        let declared: Vec<&Container> = match initial {
            true => spec.init_containers.iter().flatten().collect(),
            false => spec.containers.iter().collect(),
        };
        let status = |container: &Container| {
            let progress = self.record.containers.iter().find(|progress| progress.name == container.name)?;
            Some(self.container(container, progress))
        };
        let all: Vec<_> = declared.into_iter().filter_map(status).collect();
        (!all.is_empty()).then_some(all)
    }

    fn container(&self, container: &Container, progress: &Progress) -> ContainerStatus {
        let waiting = |reason: &str, message: Option<String>| ContainerState {
            waiting: Some(ContainerStateWaiting { reason: Some(reason.into()), message }),
            ..ContainerState::default()
        };
        let mut last = progress.last.clone();
        let (state, id) = match &progress.state {
            State::Waiting(Some(trouble)) => {
                (waiting(&trouble.reason, Some(trouble.message.clone()).filter(|text| !text.is_empty())), None)
            }
            State::Waiting(None) => {
                let initializing = progress.role == Role::Main
                    && self.record.containers.iter().any(|container| container.role != Role::Main);
                (waiting(if initializing { "PodInitializing" } else { "ContainerCreating" }, None), None)
            }
            State::Running { id, since, .. } => {
                let running = ContainerStateRunning { started_at: Some(seconds(*since)) };
                (ContainerState { running: Some(running), ..ContainerState::default() }, Some(id.clone()))
            }
            State::Ended(ended) if self.waits_for_restart(progress, ended) => {
                last = Some(ended.clone());
                (waiting("CrashLoopBackOff", Some(self.backing_off(progress))), Some(ended.id.clone()))
            }
            State::Ended(ended) => (terminated(ended), Some(ended.id.clone())),
        };
        let started = match (&progress.state, progress.role) {
            (State::Running { started, .. }, _) => *started,
            _ => false,
        };
        ContainerStatus {
            name: container.name.clone(),
            image: container.image.clone().unwrap_or_default(),
            image_id: String::new(),
            container_id: id.filter(|id| !id.is_empty()),
            ready: is_ready(progress) || is_complete(progress),
            started: Some(started),
            restart_count: progress.restarts,
            state: Some(state),
            last_state: Some(last.as_ref().map(terminated).unwrap_or_default()),
            ..ContainerStatus::default()
        }
    }

    fn waits_for_restart(&self, progress: &Progress, ended: &Ended) -> bool {
        self.pod.metadata.deletion_timestamp.is_none()
            && restarts(progress.role, policy(self.pod), ended)
            && progress.retry_at.is_some_and(|at| at > self.now)
    }

    fn backing_off(&self, progress: &Progress) -> String {
        let delay = self.backoff.delay(progress.failures).as_secs();
        let wait = match delay / 60 {
            0 => format!("{delay}s"),
            minutes => format!("{minutes}m{}s", delay % 60),
        };
        let pod = self.pod;
        format!(
            "back-off {wait} restarting failed container={} pod={}_{}({})",
            progress.name,
            pod.name_any(),
            pod.namespace().unwrap_or_default(),
            pod.uid().unwrap_or_default(),
        )
    }
}

fn is_ready(progress: &Progress) -> bool {
    matches!(progress.state, State::Running { ready: true, .. })
}

/// An initialising container that did its work counts as ready.
fn is_complete(progress: &Progress) -> bool {
    progress.role == Role::Init && matches!(&progress.state, State::Ended(ended) if ended.code == 0)
}

fn terminated(ended: &Ended) -> ContainerState {
    let terminated = ContainerStateTerminated {
        exit_code: ended.code,
        reason: Some(ended.reason.clone()),
        message: ended.message.clone(),
        container_id: Some(ended.id.clone()).filter(|id| !id.is_empty()),
        started_at: Some(seconds(ended.began)),
        finished_at: Some(seconds(ended.finished)),
        signal: None,
    };
    ContainerState { terminated: Some(terminated), ..ContainerState::default() }
}

fn seconds(time: Timestamp) -> Time {
    Time(Timestamp::from_second(time.as_second()).unwrap_or(time))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::agent::record::Trouble;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pod() -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": "n", "uid": "u", "generation": 1},
            "spec": {"containers": [{"name": "c", "image": "x:1"}]},
        }))
        .unwrap()
    }

    fn shown(pod: &Pod, record: &Record, now: i64) -> Value {
        let status = telling(pod, record, "127.0.0.1".parse().unwrap(), &Backoff::default(), at(now));
        serde_json::to_value(status).unwrap()
    }

    fn conditions(status: &Value) -> Vec<String> {
        let text = |condition: &Value| {
            let part = |name: &str| condition[name].as_str().unwrap_or_default().to_owned();
            format!("{}={} {} {}", part("type"), part("status"), part("reason"), part("message")).trim_end().to_owned()
        };
        status["conditions"].as_array().unwrap().iter().map(text).collect()
    }

    #[test]
    fn a_pod_on_its_way() {
        let pod = pod();
        let mut record = Record::of(&pod, at(1));
        let status = shown(&pod, &record, 1);
        assert_eq!(status["phase"], "Pending");
        assert_eq!(
            conditions(&status),
            [
                "PodReadyToStartContainers=False",
                "Initialized=True",
                "Ready=False ContainersNotReady containers with unready status: [c]",
                "ContainersReady=False ContainersNotReady containers with unready status: [c]",
                "PodScheduled=True",
            ]
        );
        assert_eq!(
            status["containerStatuses"],
            json!([{"name": "c", "image": "x:1", "imageID": "", "ready": false, "started": false, "restartCount": 0,
                "lastState": {}, "state": {"waiting": {"reason": "ContainerCreating"}}}])
        );
        record.prepared = true;
        record.address = Some("127.112.0.1".parse().unwrap());
        record.container("c").unwrap().begin("butler://1".into(), at(2));
        if let State::Running { started, ready, .. } = &mut record.container("c").unwrap().state {
            (*started, *ready) = (true, true);
        }
        let status = shown(&pod, &record, 2);
        assert_eq!(
            conditions(&status),
            [
                "PodReadyToStartContainers=True",
                "Initialized=True",
                "Ready=True",
                "ContainersReady=True",
                "PodScheduled=True"
            ]
        );
        assert_eq!(status["podIPs"], json!([{"ip": "127.112.0.1"}]));
        assert_eq!(status["hostIP"], "127.0.0.1");
        assert_eq!(status["startTime"], "1970-01-01T00:00:01Z");
        assert_eq!(
            status["containerStatuses"],
            json!([{"name": "c", "image": "x:1", "imageID": "", "ready": true, "started": true, "restartCount": 0,
                "containerID": "butler://1", "lastState": {}, "state": {"running": {"startedAt": "1970-01-01T00:00:02Z"}}}])
        );
    }

    #[test]
    fn a_container_that_keeps_failing() {
        let pod = pod();
        let mut record = Record::of(&pod, at(1));
        let backoff = Backoff { first: Duration::from_secs(70), ..Backoff::default() };
        for second in [2, 3] {
            let container = record.container("c").unwrap();
            container.begin(format!("butler://{second}"), at(second));
            container.end(1, Some("no certificate".into()), &backoff, at(second));
        }
        let status = telling(&pod, &record, "127.0.0.1".parse().unwrap(), &backoff, at(4));
        let status = serde_json::to_value(status).unwrap();
        let container = &status["containerStatuses"][0];
        assert_eq!(
            container["state"]["waiting"],
            json!({"reason": "CrashLoopBackOff", "message": "back-off 1m10s restarting failed container=c pod=p_n(u)"})
        );
        assert_eq!(
            container["lastState"]["terminated"],
            json!({"exitCode": 1, "reason": "Error", "message": "no certificate", "containerID": "butler://3",
                "startedAt": "1970-01-01T00:00:03Z", "finishedAt": "1970-01-01T00:00:03Z"})
        );
        assert_eq!((&container["restartCount"], &status["phase"]), (&json!(1), &json!("Running")));
    }

    #[test]
    fn what_is_in_the_way_is_told_and_times_stay() {
        let mut pod = pod();
        let mut record = Record::of(&pod, at(1));
        let trouble = Trouble { reason: "CreateContainerConfigError".into(), message: "secret \"s\" not found".into() };
        record.container("c").unwrap().state = State::Waiting(Some(trouble));
        let first = telling(&pod, &record, "127.0.0.1".parse().unwrap(), &Backoff::default(), at(5));
        assert_eq!(
            serde_json::to_value(&first).unwrap()["containerStatuses"][0]["state"],
            json!({"waiting": {"reason": "CreateContainerConfigError", "message": "secret \"s\" not found"}})
        );
        pod.status = Some(first.clone());
        assert_eq!(told(&pod), first);
        assert_eq!(telling(&pod, &record, "127.0.0.1".parse().unwrap(), &Backoff::default(), at(9)), first);
    }
}
