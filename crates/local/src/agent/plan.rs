//! What to do next with a pod.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use super::record::{Ended, Progress, Record, Role, State};

/// What to do with a pod now, and when to look again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) wake: Option<Duration>,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Start this container.
    Start(String),
    /// Ask all containers to stop.
    Stop,
    /// All is over: let the pod go.
    Finish,
}

/// Decides what to do with a pod.
pub(crate) fn plan(pod: &Pod, record: &Record, now: Timestamp) -> Plan {
    let steps = |steps: Vec<Step>| Plan { steps, wake: None };
    if pod.metadata.deletion_timestamp.is_some() {
        return steps(vec![if record.is_running() { Step::Stop } else { Step::Finish }]);
    }
    if phase(pod, record).is_terminal() {
        return steps(if record.is_running() { vec![Step::Stop] } else { Vec::new() });
    }
    let mut out = Plan::default();
    for container in &record.containers {
        let passed = match (container.role, &container.state) {
            (Role::Init, State::Ended(ended)) => ended.code == 0,
            (Role::Sidecar, State::Running { started, .. }) => *started,
            (Role::Main, _) => true,
            _ => false,
        };
        if !(passed && container.role == Role::Init) {
            out.consider(container, policy(pod), now);
        }
        if !passed {
            break;
        }
    }
    out
}

impl Plan {
    /// Starts a container that should run, unless it has to wait.
    fn consider(&mut self, container: &Progress, policy: Policy, now: Timestamp) {
        let wanted = match &container.state {
            State::Running { .. } => false,
            State::Waiting(_) => true,
            State::Ended(ended) => restarts(container.role, policy, ended),
        };
        if !wanted {
            return;
        }
        match container.retry_at.filter(|at| *at > now) {
            Some(at) => {
                let wait = Duration::try_from(at.duration_since(now)).unwrap_or_default();
                self.wake = Some(self.wake.map_or(wait, |known| known.min(wait)));
            }
            None => self.steps.push(Step::Start(container.name.clone())),
        }
    }
}

/// When containers of a pod are started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    Always,
    OnFailure,
    Never,
}

/// The policy of a pod.
pub(crate) fn policy(pod: &Pod) -> Policy {
    match pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()) {
        Some("Never") => Policy::Never,
        Some("OnFailure") => Policy::OnFailure,
        _ => Policy::Always,
    }
}

/// Whether a container that ended is started again.
pub(crate) fn restarts(role: Role, policy: Policy, ended: &Ended) -> bool {
    match (role, policy) {
        (Role::Sidecar, _) | (Role::Main, Policy::Always) => true,
        (Role::Init, Policy::Always) | (_, Policy::OnFailure) => ended.code != 0,
        (_, Policy::Never) => false,
    }
}

/// Where a pod stands as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Pending,
    Running,
    Succeeded,
    Failed,
}

impl Phase {
    /// The phase as Kubernetes writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }

    /// Whether it is the last.
    pub(crate) fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// The phase of a pod. What is over stays over.
pub(crate) fn phase(pod: &Pod, record: &Record) -> Phase {
    match pod.status.as_ref().and_then(|status| status.phase.as_deref()) {
        Some("Succeeded") => return Phase::Succeeded,
        Some("Failed") => return Phase::Failed,
        _ => {}
    }
    let policy = policy(pod);
    for container in record.containers.iter().filter(|container| container.role == Role::Init) {
        match &container.state {
            State::Ended(ended) if ended.code == 0 => {}
            State::Ended(ended) if !restarts(Role::Init, policy, ended) => return Phase::Failed,
            _ => return Phase::Pending,
        }
    }
    let main: Vec<_> = record.containers.iter().filter(|container| container.role == Role::Main).collect();
    let running = main.iter().any(|container| matches!(container.state, State::Running { .. }));
    let waiting = main.iter().any(|container| matches!(container.state, State::Waiting(_)));
    let codes: Vec<i32> = main
        .iter()
        .filter_map(|container| match &container.state {
            State::Ended(ended) if !restarts(container.role, policy, ended) => Some(ended.code),
            _ => None,
        })
        .collect();
    match () {
        () if waiting => Phase::Pending,
        () if running || codes.len() < main.len() => Phase::Running,
        () if codes.iter().all(|code| *code == 0) => Phase::Succeeded,
        () => Phase::Failed,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::record::Trouble;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pod(policy: &str) -> Pod {
        serde_json::from_value(json!({"spec": {
            "restartPolicy": policy,
            "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
            "containers": [{"name": "a"}, {"name": "b"}],
        }}))
        .unwrap()
    }

    fn running(started: bool) -> State {
        State::Running { id: "x".into(), since: at(0), started, ready: started }
    }

    fn ended(code: i32) -> State {
        let (began, finished) = (at(0), at(1));
        State::Ended(Ended { code, reason: String::new(), message: None, id: "x".into(), began, finished })
    }

    fn start(names: &[&str]) -> Vec<Step> {
        names.iter().map(|name| Step::Start((*name).into())).collect()
    }

    /// States of i, s, a, b.
    fn record(pod: &Pod, states: [State; 4]) -> Record {
        let mut record = Record::of(pod, at(0));
        for (container, state) in record.containers.iter_mut().zip(states) {
            container.state = state;
        }
        record
    }

    fn fresh() -> State {
        State::Waiting(None)
    }

    #[test]
    fn containers_start_in_order() {
        let pod = pod("Always");
        for (states, steps, phase_now) in [
            ([fresh(), fresh(), fresh(), fresh()], start(&["i"]), Phase::Pending),
            ([running(true), fresh(), fresh(), fresh()], vec![], Phase::Pending),
            ([ended(1), fresh(), fresh(), fresh()], start(&["i"]), Phase::Pending),
            ([ended(0), fresh(), fresh(), fresh()], start(&["s"]), Phase::Pending),
            ([ended(0), running(false), fresh(), fresh()], vec![], Phase::Pending),
            ([ended(0), running(true), fresh(), fresh()], start(&["a", "b"]), Phase::Pending),
            ([ended(0), running(true), running(false), running(false)], vec![], Phase::Running),
            ([ended(0), ended(1), running(true), running(true)], start(&["s"]), Phase::Running),
            ([ended(0), running(true), running(true), ended(0)], start(&["b"]), Phase::Running),
        ] {
            let record = record(&pod, states);
            assert_eq!(plan(&pod, &record, at(9)).steps, steps, "{record:?}");
            assert_eq!(phase(&pod, &record), phase_now, "{record:?}");
        }
    }

    #[test]
    fn what_ends_is_started_again_as_the_policy_says() {
        let main = |a: State, b: State| [ended(0), running(true), a, b];
        for (policy, states, steps, phase_now) in [
            ("Always", main(ended(0), ended(1)), start(&["a", "b"]), Phase::Running),
            ("OnFailure", main(ended(0), ended(1)), start(&["b"]), Phase::Running),
            ("OnFailure", main(ended(0), ended(0)), vec![Step::Stop], Phase::Succeeded),
            ("Never", main(ended(0), running(true)), vec![], Phase::Running),
            ("Never", main(ended(0), ended(0)), vec![Step::Stop], Phase::Succeeded),
            ("Never", main(ended(1), ended(0)), vec![Step::Stop], Phase::Failed),
            ("Never", [ended(1), fresh(), fresh(), fresh()], vec![], Phase::Failed),
        ] {
            let pod = pod(policy);
            let record = record(&pod, states);
            assert_eq!(plan(&pod, &record, at(9)).steps, steps, "{policy} {record:?}");
            assert_eq!(phase(&pod, &record), phase_now, "{policy} {record:?}");
        }
    }

    #[test]
    fn a_start_waits_until_it_is_due() {
        let pod = pod("Always");
        let mut record = record(&pod, [ended(0), running(true), running(true), ended(1)]);
        record.container("b").unwrap().retry_at = Some(at(20));
        assert_eq!(plan(&pod, &record, at(15)), Plan { steps: vec![], wake: Some(Duration::from_secs(5)) });
        assert_eq!(plan(&pod, &record, at(20)).steps, start(&["b"]));
        let trouble = Trouble { reason: "CreateContainerConfigError".into(), message: String::new() };
        record.container("a").unwrap().state = State::Waiting(Some(trouble));
        assert_eq!(phase(&pod, &record), Phase::Pending);
    }

    #[test]
    fn a_deleted_pod_is_stopped_and_then_let_go() {
        let mut pod = pod("Always");
        pod.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(1)));
        let running = record(&pod, [ended(0), running(true), running(true), fresh()]);
        assert_eq!(plan(&pod, &running, at(9)).steps, [Step::Stop]);
        let over = record(&pod, [ended(0), ended(0), ended(0), fresh()]);
        assert_eq!(plan(&pod, &over, at(9)).steps, [Step::Finish]);
    }
}
