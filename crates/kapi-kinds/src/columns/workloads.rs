//! What keeps pods running: the kinds of `apps`, and their elders in core.

use serde_json::Value;

use super::cell::{Row, selector, text};
use super::{AGE, CONTAINERS, Def, IMAGES, NAME, Printer, integer, string};

const SELECTOR: Def = string("Selector", "Which pods it counts as its own.").wide();

const REPLICAS: &[Def] = &[
    NAME,
    integer("Desired", "How many pods there should be."),
    integer("Current", "How many pods there are."),
    integer("Ready", "How many pods are ready."),
    AGE,
    CONTAINERS.wide(),
    IMAGES.wide(),
    SELECTOR,
];

pub(super) const PRINTERS: &[Printer] = &[
    Printer {
        group: "",
        kind: "ReplicationController",
        columns: REPLICAS,
        row: |it| replicas(it, it.labels("spec.selector")),
    },
    Printer {
        group: "apps",
        kind: "ReplicaSet",
        columns: REPLICAS,
        row: |it| replicas(it, it.selector("spec.selector")),
    },
    Printer {
        group: "apps",
        kind: "Deployment",
        columns: &[
            NAME,
            string("Ready", "How many pods are ready, of how many there should be."),
            string("Up-to-date", "How many pods are of the newest template."),
            string("Available", "How many pods have been ready for long enough."),
            AGE,
            CONTAINERS.wide(),
            IMAGES.wide(),
            SELECTOR,
        ],
        row: deployment,
    },
    Printer {
        group: "apps",
        kind: "StatefulSet",
        columns: &[
            NAME,
            string("Ready", "How many pods are ready, of how many there should be."),
            AGE,
            CONTAINERS.wide(),
            IMAGES.wide(),
        ],
        row: |it| {
            let [containers, images] = it.containers("spec.template");
            vec![it.name(), ready(it), it.age(), containers, images]
        },
    },
    Printer {
        group: "apps",
        kind: "DaemonSet",
        columns: &[
            NAME,
            integer("Desired", "How many nodes should run its pod."),
            integer("Current", "How many nodes run its pod."),
            integer("Ready", "How many of those pods are ready."),
            integer("Up-to-date", "How many of those pods are of the newest template."),
            integer("Available", "How many of those pods have been ready for long enough."),
            string("Node Selector", "Which nodes it runs on."),
            AGE,
            CONTAINERS.wide(),
            IMAGES.wide(),
            SELECTOR,
        ],
        row: daemon_set,
    },
    Printer {
        group: "apps",
        kind: "ControllerRevision",
        columns: &[
            NAME,
            string("Controller", "Whose history it is part of."),
            string("Revision", "Its number in that history."),
            AGE,
        ],
        row: |it| vec![it.name(), controller(it).into(), it.number("revision").into(), it.age()],
    },
    Printer {
        group: "",
        kind: "PodTemplate",
        columns: &[NAME, CONTAINERS, IMAGES, string("Pod Labels", "The labels its pods get.")],
        row: |it| {
            let [containers, images] = it.containers("template");
            vec![it.name(), containers, images, it.labels("template.metadata.labels")]
        },
    },
];

fn replicas(it: Row<'_>, selector: Value) -> Vec<Value> {
    let [containers, images] = it.containers("spec.template");
    vec![
        it.name(),
        it.number("spec.replicas").into(),
        it.number("status.replicas").into(),
        it.number("status.readyReplicas").into(),
        it.age(),
        containers,
        images,
        selector,
    ]
}

fn ready(it: Row<'_>) -> Value {
    format!("{}/{}", it.number("status.readyReplicas"), it.number("spec.replicas")).into()
}

fn deployment(it: Row<'_>) -> Vec<Value> {
    let [containers, images] = it.containers("spec.template");
    let selector = it.at("spec.selector").map_or(Some(String::new()), selector);
    vec![
        it.name(),
        ready(it),
        it.number("status.updatedReplicas").into(),
        it.number("status.availableReplicas").into(),
        it.age(),
        containers,
        images,
        selector.unwrap_or_else(|| "<invalid>".to_owned()).into(),
    ]
}

fn daemon_set(it: Row<'_>) -> Vec<Value> {
    let [containers, images] = it.containers("spec.template");
    vec![
        it.name(),
        it.number("status.desiredNumberScheduled").into(),
        it.number("status.currentNumberScheduled").into(),
        it.number("status.numberReady").into(),
        it.number("status.updatedNumberScheduled").into(),
        it.number("status.numberAvailable").into(),
        it.labels("spec.template.spec.nodeSelector"),
        it.age(),
        containers,
        images,
        it.selector("spec.selector"),
    ]
}

/// The controlling owner as `kind.group/name`.
fn controller(it: Row<'_>) -> String {
    let Some(owner) = it.list("metadata.ownerReferences").iter().find(|owner| owner["controller"] == true) else {
        return "<none>".to_owned();
    };
    let kind = match text(owner, "apiVersion").split_once('/') {
        Some((group, _)) => format!("{}.{group}", text(owner, "kind")),
        None => text(owner, "kind").to_owned(),
    };
    format!("{}/{}", kind.to_lowercase(), text(owner, "name"))
}
