//! Which machines are missed least.

use std::cmp::Reverse;
use std::sync::Arc;

use capi::Condition;
use capi::core::Machine;
use capi::names::annotations::DELETE_MACHINE;
use capi::names::conditions::NODE_HEALTHY;
use jiff::Timestamp;
use kube::ResourceExt;

use crate::cluster_api::world::is_leaving;

/// The machines in the order in which they are deleted: those that go already, those that somebody marked, those that are
/// not well, and then as the policy says.
pub(super) fn most_expendable(mut machines: Vec<Arc<Machine>>, policy: Option<&str>) -> Vec<Arc<Machine>> {
    machines.sort_by_cached_key(|machine| {
        let age = machine.metadata.creation_timestamp.as_ref().map_or(Timestamp::MAX, |time| time.0).as_second();
        let turn = match policy {
            Some("Newest") => (Some(Reverse(age)), None),
            Some("Oldest") => (None, Some(age)),
            // Names end in chance.
            _ => (None, None),
        };
        let is_marked = machine.annotations().contains_key(DELETE_MACHINE);
        (!is_leaving(&**machine), !is_marked, is_well(machine), turn, suffix(machine))
    });
    machines
}

/// Whether a machine's node does its work.
pub(in crate::cluster_api) fn is_well(machine: &Machine) -> bool {
    machine.status.as_ref().is_some_and(|status| {
        status.node_ref.is_some()
            && status.failure_reason.is_none()
            && Condition::holds(&status.conditions, NODE_HEALTHY)
    })
}

fn suffix(machine: &Machine) -> String {
    let name = machine.name_any();
    name.rsplit('-').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn machine(name: &str, second: i64, is_well: bool, marked: bool) -> Arc<Machine> {
        let status = if is_well { "True" } else { "False" };
        let mut object = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
            "metadata": {"name": name, "creationTimestamp": Timestamp::from_second(second).unwrap().to_string()},
            "spec": {"clusterName": "c", "infrastructureRef": {}},
            "status": {"nodeRef": {"name": "x"}, "conditions": [{"type": NODE_HEALTHY, "status": status}]},
        });
        if marked {
            object["metadata"]["annotations"] = json!({DELETE_MACHINE: "yes"});
        }
        Arc::new(serde_json::from_value(object).unwrap())
    }

    #[test]
    fn marked_ones_go_first_then_broken_ones_then_as_asked_for() {
        let mut leaving = (*machine("s-z", 5, true, false)).clone();
        leaving.metadata.deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(Timestamp::UNIX_EPOCH));
        let leaving = Arc::new(leaving);
        let all = || {
            vec![
                Arc::clone(&leaving),
                machine("s-c", 10, true, false),
                machine("s-a", 30, true, false),
                machine("s-b", 20, true, false),
                machine("s-x", 5, false, false),
                machine("s-y", 5, true, true),
            ]
        };
        for (policy, expected) in [
            (None, ["s-z", "s-y", "s-x", "s-a", "s-b", "s-c"]),
            (Some("Random"), ["s-z", "s-y", "s-x", "s-a", "s-b", "s-c"]),
            (Some("Newest"), ["s-z", "s-y", "s-x", "s-a", "s-b", "s-c"]),
            (Some("Oldest"), ["s-z", "s-y", "s-x", "s-c", "s-b", "s-a"]),
        ] {
            let order: Vec<String> = most_expendable(all(), policy).iter().map(|machine| machine.name_any()).collect();
            assert_eq!(order, expected, "{policy:?}");
        }
    }
}
