//! What the control plane keeps for itself: leases, priorities, runtimes, flow control.

use serde_json::Value;

use super::cell::{Row, at, condition, text};
use super::{AGE, NAME, Printer, boolean, integer, string};

pub(super) const PRINTERS: &[Printer] = &[
    Printer {
        group: "coordination.k8s.io",
        kind: "Lease",
        columns: &[NAME, string("Holder", "Who holds it."), AGE],
        row: |it| vec![it.name(), it.text("spec.holderIdentity").into(), it.age()],
    },
    Printer {
        group: "scheduling.k8s.io",
        kind: "PriorityClass",
        columns: &[
            NAME,
            integer("Value", "The priority of its pods; higher goes first."),
            boolean("Global-Default", "Whether pods that name no class get this one."),
            AGE,
            string("PreemptionPolicy", "Whether its pods may push others out."),
        ],
        row: |it| {
            let (value, default) = (it.number("value").into(), it.flag("globalDefault").into());
            vec![it.name(), value, default, it.age(), it.text("preemptionPolicy").into()]
        },
    },
    Printer {
        group: "node.k8s.io",
        kind: "RuntimeClass",
        columns: &[NAME, string("Handler", "What the node's container runtime calls it."), AGE],
        row: |it| vec![it.name(), it.text("handler").into(), it.age()],
    },
    Printer {
        group: "flowcontrol.apiserver.k8s.io",
        kind: "FlowSchema",
        columns: &[
            NAME,
            string("PriorityLevel", "The level its requests are served at."),
            string("MatchingPrecedence", "Its place in the order of schemas; lower goes first."),
            string("DistinguisherMethod", "What tells its flows apart."),
            AGE,
            string("MissingPL", "Whether that level does not exist."),
        ],
        row: flow_schema,
    },
    Printer {
        group: "flowcontrol.apiserver.k8s.io",
        kind: "PriorityLevelConfiguration",
        columns: &[
            NAME,
            string("Type", "Whether the level is limited."),
            string("NominalConcurrencyShares", "Its share of the requests served at a time."),
            string("Queues", "How many queues it has."),
            string("HandSize", "How many queues a flow is dealt."),
            string("QueueLengthLimit", "How many requests may wait in a queue."),
            AGE,
        ],
        row: priority_level,
    },
];

fn flow_schema(it: Row<'_>) -> Vec<Value> {
    let dangling = condition(it.list("status.conditions"), "Dangling").map_or("?", |found| text(found, "status"));
    vec![
        it.name(),
        it.text("spec.priorityLevelConfiguration.name").into(),
        it.number("spec.matchingPrecedence").into(),
        it.text_or("spec.distinguisherMethod.type", "<none>"),
        it.age(),
        dangling.into(),
    ]
}

fn priority_level(it: Row<'_>) -> Vec<Value> {
    let none = || Value::from("<none>");
    let limited = it.at("spec.limited");
    let queuing = limited.and_then(|limited| at(limited, "limitResponse.queuing"));
    let queue = |key: &str| queuing.map_or_else(none, |queuing| queuing.get(key).cloned().unwrap_or_else(|| 0.into()));
    let shares = limited
        .map_or_else(none, |limited| limited.get("nominalConcurrencyShares").cloned().unwrap_or_else(|| 0.into()));
    vec![
        it.name(),
        it.text("spec.type").into(),
        shares,
        queue("queues"),
        queue("handSize"),
        queue("queueLengthLimit"),
        it.age(),
    ]
}
