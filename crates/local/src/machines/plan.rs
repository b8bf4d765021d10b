//! What to do next for a machine of the data centre, and what is told of it.

use capi::infrastructure::{InfrastructureMachineStatus, Provisioned};
use capi::names::finalizers::LOCAL_MACHINE;
use capi::{Condition, MachineAddress};
use jiff::{SignedDuration, Timestamp};

use super::Delays;
use crate::cluster_api::conditions::{holds_since, judged, since};

/// What is wrong with a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It stands still: nothing of it is heard any more.
    Dead,
    /// It is made and boots, but never joins.
    NeverJoins,
    /// It cannot be made.
    ProvisioningFails,
}

impl Fault {
    /// The fault of this name, as an annotation says it.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "dead" => Some(Self::Dead),
            "never-joins" => Some(Self::NeverJoins),
            "provisioning-fails" => Some(Self::ProvisioningFails),
            _ => None,
        }
    }
}

const DATA_AVAILABLE: &str = "BootstrapDataAvailable";
const PROVISIONED: &str = "VMProvisioned";
const JOINED: &str = "BootstrapExecSucceeded";

/// What a pass knows.
pub(super) struct Observed<'a> {
    pub(super) finalizers: &'a [String],
    pub(super) is_leaving: bool,
    pub(super) is_paused: bool,
    pub(super) provider_id: Option<&'a str>,
    pub(super) status: Option<&'a InfrastructureMachineStatus>,
    /// What is missing before it can be made, in a word and a sentence.
    pub(super) obstacle: Option<(&'static str, &'static str)>,
    pub(super) fault: Option<Fault>,
    pub(super) delays: Delays,
    pub(super) now: Timestamp,
}

/// One thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Hold the object while its machine is there.
    Hold,
    /// Give the machine its id.
    Name,
    /// Give the machine its address.
    Address,
    /// Let the machine join.
    Join,
    /// See that the kubelet is at work, or stands still.
    Run,
    /// Switch the machine off.
    Stop,
    /// Remove the Node of a machine that may have joined without that being on record.
    Leave,
    /// Let the object go.
    Release,
}

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) status: Option<InfrastructureMachineStatus>,
    /// When the next delay is over.
    pub(super) due: Option<Timestamp>,
}

/// Decides. Pure.
pub(super) fn plan(observed: &Observed<'_>) -> Plan {
    let known = observed.status.cloned();
    let rest = |steps: Vec<Step>| Plan { steps, status: known.clone(), due: None };
    let held = observed.finalizers.iter().any(|finalizer| finalizer == LOCAL_MACHINE);
    match () {
        () if observed.is_paused => rest(Vec::new()),
        () if observed.is_leaving && held && may_have_joined(observed) => {
            rest(vec![Step::Stop, Step::Leave, Step::Release])
        }
        () if observed.is_leaving && held => rest(vec![Step::Stop, Step::Release]),
        () if observed.is_leaving => rest(Vec::new()),
        () if !held => rest(vec![Step::Hold]),
        () => living(observed),
    }
}

/// Whether a join may have been cut short after its Node was made. One that is on record has its Node removed by whoever
/// made the machine.
fn may_have_joined(observed: &Observed<'_>) -> bool {
    let is_on_record = observed.status.is_some_and(|status| Condition::holds(&status.conditions, JOINED));
    observed.provider_id.is_some() && !is_on_record
}

fn living(observed: &Observed<'_>) -> Plan {
    let before = observed.status.cloned().unwrap_or_default();
    let after = |since: Option<Timestamp>, delay: std::time::Duration| {
        since.and_then(|since| since.saturating_add(SignedDuration::try_from(delay).ok()?).ok())
    };
    if before.failure_reason.is_some() {
        return Plan { steps: Vec::new(), status: Some(before), due: None };
    }
    if observed.fault == Some(Fault::ProvisioningFails) && !before.ready {
        let failed = InfrastructureMachineStatus {
            failure_reason: Some("CreateError".into()),
            failure_message: Some("the data centre was told to fail".into()),
            ..before
        };
        return Plan { steps: Vec::new(), status: Some(failed), due: None };
    }
    // What was made once is not unmade by what it was made from.
    let obstacle = observed.obstacle.filter(|_| !before.ready);
    let has_data = obstacle.is_none();
    let made_at = after(holds_since(&before.conditions, DATA_AVAILABLE), observed.delays.provisioning);
    let is_made = before.ready || has_data && made_at.is_some_and(|at| at <= observed.now);
    let booted_at = after(holds_since(&before.conditions, PROVISIONED), observed.delays.boot);
    let has_booted = is_made && booted_at.is_some_and(|at| at <= observed.now);
    let has_joined = Condition::holds(&before.conditions, JOINED);
    let mut steps = Vec::new();
    if is_made && observed.provider_id.is_none() {
        steps.push(Step::Name);
    }
    if is_made && before.addresses.is_empty() {
        steps.push(Step::Address);
    }
    match has_joined {
        true => steps.push(Step::Run),
        false if has_booted && steps.is_empty() && observed.fault.is_none() => steps.push(Step::Join),
        false => {}
    }
    let (reason, message) = obstacle.unwrap_or(("Provisioning", "it is being made"));
    let verdicts = vec![
        judged("Ready", is_made, reason, message),
        judged(DATA_AVAILABLE, has_data, reason, message),
        judged(PROVISIONED, is_made, reason, message),
        judged(JOINED, has_joined, "Booting", "its node has not joined yet"),
    ];
    let due = [made_at, booted_at].into_iter().flatten().filter(|at| *at > observed.now).min();
    let status = InfrastructureMachineStatus {
        ready: is_made,
        initialization: is_made.then_some(Provisioned { provisioned: true }),
        conditions: since(&before.conditions, verdicts, observed.now),
        ..before
    };
    Plan { steps, status: Some(status), due: due.filter(|_| !has_joined) }
}

/// The status of a machine whose node has joined.
pub(super) fn joined(status: &InfrastructureMachineStatus, now: Timestamp) -> InfrastructureMachineStatus {
    let others = status.conditions.iter().filter(|condition| condition.type_ != JOINED).cloned();
    let verdicts = others.chain([judged(JOINED, true, "", "")]).collect();
    InfrastructureMachineStatus { conditions: since(&status.conditions, verdicts, now), ..status.clone() }
}

/// The status of a machine with its address.
pub(super) fn addressed(status: &InfrastructureMachineStatus, name: &str, ip: &str) -> InfrastructureMachineStatus {
    let address = |type_: &str, address: &str| MachineAddress { type_: type_.into(), address: address.into() };
    let addresses = vec![address("InternalIP", ip), address("Hostname", name)];
    InfrastructureMachineStatus { addresses, ..status.clone() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    struct Case {
        status: Option<InfrastructureMachineStatus>,
        provider_id: Option<&'static str>,
        obstacle: Option<(&'static str, &'static str)>,
        fault: Option<Fault>,
        delays: Delays,
    }

    impl Case {
        fn new() -> Self {
            Self { status: None, provider_id: None, obstacle: None, fault: None, delays: Delays::default() }
        }

        fn plan(&mut self, second: i64) -> Plan {
            let finalizers = [LOCAL_MACHINE.to_owned()];
            let plan = plan(&Observed {
                finalizers: &finalizers,
                is_leaving: false,
                is_paused: false,
                provider_id: self.provider_id,
                status: self.status.as_ref(),
                obstacle: self.obstacle,
                fault: self.fault,
                delays: self.delays,
                now: at(second),
            });
            self.status = plan.status.clone();
            plan
        }
    }

    #[test]
    fn a_machine_is_made_boots_and_joins() {
        let mut case = Case::new();
        case.obstacle = Some(("WaitingForBootstrapData", "wait"));
        let waiting = case.plan(0);
        assert!(waiting.steps.is_empty() && !waiting.status.unwrap().ready);
        case.obstacle = None;
        // Each pass puts on record what the next one goes by.
        assert!(case.plan(1).steps.is_empty());
        assert_eq!(case.plan(1).steps, [Step::Name, Step::Address]);
        case.provider_id = Some("local://x");
        case.status = case.status.as_ref().map(|status| addressed(status, "m", "100.64.0.1"));
        assert_eq!(case.plan(1).steps, [Step::Join]);
        case.status = case.status.as_ref().map(|status| joined(status, at(1)));
        let running = case.plan(2);
        assert_eq!(running.steps, [Step::Run]);
        assert!(running.status.unwrap().ready);
    }

    #[test]
    fn everything_takes_its_time() {
        let mut case = Case::new();
        case.delays =
            Delays { provisioning: Duration::from_secs(10), boot: Duration::from_secs(20), ..Delays::default() };
        case.plan(0);
        assert_eq!(case.plan(5).due, Some(at(10)));
        assert_eq!(case.plan(10).steps, [Step::Name, Step::Address]);
        case.provider_id = Some("local://x");
        case.status = case.status.as_ref().map(|status| addressed(status, "m", "100.64.0.1"));
        let booting = case.plan(11);
        assert!(booting.steps.is_empty());
        assert_eq!(booting.due, Some(at(30)));
        assert_eq!(case.plan(30).steps, [Step::Join]);
    }

    #[test]
    fn faults_show_as_what_they_are() {
        let mut broken = Case::new();
        broken.fault = Some(Fault::ProvisioningFails);
        assert_eq!(broken.plan(0).status.unwrap().failure_reason.as_deref(), Some("CreateError"));
        let mut lost = Case::new();
        lost.fault = Some(Fault::NeverJoins);
        lost.plan(0);
        lost.plan(0);
        lost.provider_id = Some("local://x");
        lost.status = lost.status.as_ref().map(|status| addressed(status, "m", "100.64.0.1"));
        assert!(lost.plan(9).steps.is_empty());
        for (name, fault) in [("dead", Some(Fault::Dead)), ("never-joins", Some(Fault::NeverJoins)), ("other", None)] {
            assert_eq!(Fault::from_name(name), fault);
        }
    }

    #[test]
    fn a_machine_that_goes_is_switched_off_first() {
        let finalizers = [LOCAL_MACHINE.to_owned()];
        let mut leaving = Observed {
            finalizers: &finalizers,
            is_leaving: true,
            is_paused: true,
            provider_id: None,
            status: None,
            obstacle: None,
            fault: None,
            delays: Delays::default(),
            now: at(0),
        };
        assert!(plan(&leaving).steps.is_empty(), "one that is paused stays as it is");
        leaving.is_paused = false;
        assert_eq!(plan(&leaving).steps, [Step::Stop, Step::Release]);
        leaving.provider_id = Some("local://x");
        assert_eq!(plan(&leaving).steps, [Step::Stop, Step::Leave, Step::Release]);
        let on_record = joined(&InfrastructureMachineStatus::default(), at(0));
        leaving.status = Some(&on_record);
        assert_eq!(plan(&leaving).steps, [Step::Stop, Step::Release]);
        leaving.finalizers = &[];
        assert!(plan(&leaving).steps.is_empty());
        leaving.is_leaving = false;
        assert_eq!(plan(&leaving).steps, [Step::Hold]);
    }
}
