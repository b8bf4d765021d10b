//! Machines that failed before they became nodes. They hold nothing, so the brake that guards nodes does not guard them: they are
//! replaced a few at a time, and later the longer it goes on.

use capi::core::Machine;
use capi::names::annotations::SKIP_REMEDIATION;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::health::workers_turned;
use super::observed::Observed;
use super::plan::{Kind, Step};

/// So many of a pool go at once.
pub(super) const AT_ONCE: usize = 3;
/// A machine that failed stays at least so long: whoever looks finds it.
const SOONEST: SignedDuration = SignedDuration::from_secs(30);
/// What is mended is noticed after that long at most.
const LATEST: SignedDuration = SignedDuration::from_mins(10);

/// Machines to remove now, and when there are more of them.
pub(super) fn replaced(observed: &Observed) -> (Vec<Step>, Option<Timestamp>) {
    let turned = workers_turned(observed);
    let (mut steps, mut look_again) = (Vec::new(), None);
    for pool in observed.deployments.keys().filter(|pool| observed.checks.contains_key(*pool)) {
        let machines: Vec<&Machine> = observed.machines_of(pool).map(|machine| &**machine).collect();
        let (due, next) = due_of(&machines, turned, observed.now);
        steps.extend(due.into_iter().map(|name| Step::Delete(Kind::Machine, name)));
        look_again = look_again.into_iter().chain(next).min();
    }
    (steps, look_again)
}

/// When the first of these machines that failed before it became a node is replaced.
pub(super) fn first_due<'a>(
    machines: impl Iterator<Item = &'a Machine>,
    turned: Option<Timestamp>,
) -> Option<Timestamp> {
    machines.filter_map(|machine| due(machine, turned)).min()
}

fn due_of(machines: &[&Machine], turned: Option<Timestamp>, now: Timestamp) -> (Vec<String>, Option<Timestamp>) {
    let going = machines.iter().filter(|machine| is_going(machine) && has_failed_to_start(machine)).count();
    let mut failed: Vec<(Timestamp, String)> =
        machines.iter().filter_map(|machine| Some((due(machine, turned)?, machine.name_any()))).collect();
    failed.sort();
    let next = failed.iter().map(|(due, _)| *due).find(|due| *due > now);
    let now_due = failed.into_iter().filter(|(due, _)| *due <= now).map(|(_, name)| name);
    (now_due.take(AT_ONCE.saturating_sub(going)).collect(), next)
}

/// When a machine that failed before it became a node is replaced: after as long as workers have been missing until then.
fn due(machine: &Machine, turned: Option<Timestamp>) -> Option<Timestamp> {
    let is_guarded = machine.annotations().contains_key(SKIP_REMEDIATION);
    if is_going(machine) || is_guarded || !has_failed_to_start(machine) {
        return None;
    }
    let made = machine.metadata.creation_timestamp.as_ref()?.0;
    let failed = machine.status.as_ref()?.last_updated.as_ref().map_or(made, |at| at.0);
    let missing = failed.duration_since(turned.unwrap_or(made));
    failed.checked_add(missing.clamp(SOONEST, LATEST)).ok()
}

fn has_failed_to_start(machine: &Machine) -> bool {
    let status = machine.status.as_ref();
    status.is_some_and(|status| {
        status.node_ref.is_none() && (status.failure_reason.is_some() || status.failure_message.is_some())
    })
}

fn is_going(machine: &Machine) -> bool {
    machine.metadata.deletion_timestamp.is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOON: &str = "2026-01-01T12:00:00Z";

    fn machine(name: &str, metadata: Value, status: Value) -> Machine {
        let mut object = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
            "metadata": {"name": name, "creationTimestamp": NOON},
            "spec": {"clusterName": "c", "infrastructureRef": {}}, "status": status,
        });
        for (field, value) in metadata.as_object().into_iter().flatten() {
            object["metadata"][field] = value.clone();
        }
        serde_json::from_value(object).unwrap()
    }

    fn failed_at(at: &str) -> Value {
        json!({"phase": "Failed", "failureMessage": "no room", "lastUpdated": at})
    }

    #[test]
    fn what_failed_to_start_is_replaced_later_the_longer_it_goes_on() {
        let guarded = json!({"annotations": {SKIP_REMEDIATION: ""}});
        let going = json!({"deletionTimestamp": NOON});
        let (soon, late) = ("2026-01-01T12:00:05Z", "2026-01-01T12:02:00Z");
        let was_node =
            json!({"phase": "Failed", "failureMessage": "gone", "nodeRef": {"name": "n"}, "lastUpdated": late});
        for (metadata, status, turned, expected) in [
            (json!({}), failed_at(soon), Some(NOON), Some("2026-01-01T12:00:35Z")),
            (json!({}), failed_at(late), Some(NOON), Some("2026-01-01T12:04:00Z")),
            (json!({}), failed_at(late), Some("2026-01-01T09:00:00Z"), Some("2026-01-01T12:12:00Z")),
            (json!({}), failed_at(soon), None, Some("2026-01-01T12:00:35Z")),
            (json!({}), json!({"phase": "Provisioning"}), Some(NOON), None),
            // What was a node is the health check's.
            (json!({}), was_node, Some(NOON), None),
            (guarded, failed_at(soon), Some(NOON), None),
            (going, failed_at(soon), Some(NOON), None),
        ] {
            let machine = machine("m", metadata, status.clone());
            let found = due(&machine, turned.map(|turned| turned.parse().unwrap()));
            assert_eq!(found.map(|at| at.to_string()).as_deref(), expected, "{status}");
        }
    }

    #[test]
    fn a_few_go_at_once_whatever_the_brake_says() {
        let failed = |name: &str| machine(name, json!({}), failed_at("2026-01-01T12:00:05Z"));
        let going = |name: &str| machine(name, json!({"deletionTimestamp": NOON}), failed_at(NOON));
        let later = || machine("late", json!({}), failed_at("2026-01-01T12:02:00Z"));
        let well = || machine("well", json!({}), json!({"phase": "Running", "nodeRef": {"name": "n"}}));
        let after = Some("2026-01-01T12:04:00Z");
        for (machines, now, expected, next) in [
            (vec![failed("a"), failed("b"), well()], "2026-01-01T12:00:35Z", vec!["a", "b"], None),
            (vec![failed("a"), later()], "2026-01-01T12:00:35Z", vec!["a"], after),
            (vec![failed("a"), later()], "2026-01-01T12:00:34Z", vec![], Some("2026-01-01T12:00:35Z")),
            (["a", "b", "c", "d"].map(failed).into(), "2026-01-01T12:10:00Z", vec!["a", "b", "c"], None),
            (vec![failed("a"), failed("b"), going("x"), going("y")], "2026-01-01T12:10:00Z", vec!["a"], None),
            (vec![well()], "2026-01-01T12:10:00Z", vec![], None),
        ] {
            let machines: Vec<&Machine> = machines.iter().collect();
            let found = due_of(&machines, NOON.parse().ok(), now.parse().unwrap());
            let next = next.map(|next: &str| next.parse().unwrap());
            assert_eq!(found, (expected.into_iter().map(str::to_owned).collect(), next), "{now}");
        }
    }
}
