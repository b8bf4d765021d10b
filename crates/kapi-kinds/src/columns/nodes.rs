//! Nodes, and the events that tell of everything.

use serde_json::Value;

use super::cell::{Row, condition, sorted, text};
use super::{AGE, Def, NAME, Printer, string};

const EVENT: &[Def] = &[
    string("Last Seen", "How long ago it happened last."),
    string("Type", "Normal or Warning."),
    string("Reason", "Why it was written, in one word."),
    string("Object", "What it is about."),
    string("Subobject", "The part of the object it is about.").wide(),
    string("Source", "Who reports it.").wide(),
    string("Message", "What happened."),
    string("First Seen", "How long ago it happened first.").wide(),
    string("Count", "How often it happened.").wide(),
    NAME.wide(),
];

pub(super) const PRINTERS: &[Printer] = &[
    Printer {
        group: "",
        kind: "Node",
        columns: &[
            NAME,
            string("Status", "Whether it is ready, and whether pods may be placed on it."),
            string("Roles", "What its labels say it is for."),
            AGE,
            string("Version", "The version of its kubelet."),
            string("Internal-IP", "Its first address inside the cluster's network.").wide(),
            string("External-IP", "Its first address outside of it.").wide(),
            string("OS-Image", "The operating system it reports.").wide(),
            string("Kernel-Version", "The kernel it reports.").wide(),
            string("Container-Runtime", "The container runtime it reports, and its version.").wide(),
        ],
        row: node,
    },
    Printer { group: "", kind: "Event", columns: EVENT, row: event },
    Printer { group: "events.k8s.io", kind: "Event", columns: EVENT, row: event },
];

fn node(it: Row<'_>) -> Vec<Value> {
    let mut status = match condition(it.list("status.conditions"), "Ready") {
        None => "Unknown",
        Some(ready) if text(ready, "status") == "True" => "Ready",
        Some(_) => "NotReady",
    }
    .to_owned();
    if it.flag("spec.unschedulable") {
        status.push_str(",SchedulingDisabled");
    }
    let address = |ty: &str| {
        let found = it.list("status.addresses").iter().find(|address| text(address, "type") == ty);
        Value::from(found.map_or("<none>", |address| text(address, "address")))
    };
    vec![
        it.name(),
        status.into(),
        roles(it).into(),
        it.age(),
        it.text("status.nodeInfo.kubeletVersion").into(),
        address("InternalIP"),
        address("ExternalIP"),
        it.filled("status.nodeInfo.osImage", "<unknown>"),
        it.filled("status.nodeInfo.kernelVersion", "<unknown>"),
        it.filled("status.nodeInfo.containerRuntimeVersion", "<unknown>"),
    ]
}

/// Both ways a label can say what a node is for.
fn roles(it: Row<'_>) -> String {
    let labels = it.at("metadata.labels").and_then(Value::as_object);
    let mut roles: Vec<&str> = sorted(labels)
        .into_iter()
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            None if key == "kubernetes.io/role" => value.as_str(),
            role => role,
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort_unstable();
    roles.dedup();
    if roles.is_empty() { "<none>".to_owned() } else { roles.join(",") }
}

/// Both APIs of events store the same object under different names; the older name of a field comes first here.
fn event(it: Row<'_>) -> Vec<Value> {
    let either = |old: &str, new: &str| Some(it.text(old)).filter(|text| !text.is_empty()).unwrap_or(it.text(new));
    let first = it.since_text(either(either_path(it, "firstTimestamp", "deprecatedFirstTimestamp"), "eventTime"));
    let last = match it.text(either_path(it, "lastTimestamp", "deprecatedLastTimestamp")) {
        "" => first.clone(),
        time => it.since_text(time),
    };
    let count = it.number(either_path(it, "count", "deprecatedCount"));
    let (last, count) = match it.at("series") {
        Some(series) => (it.since_text(text(series, "lastObservedTime")), it.number("series.count")),
        None => (last, if count == 0 { 1 } else { count }),
    };
    let about = it.at(either_path(it, "involvedObject", "regarding")).unwrap_or(&Value::Null);
    let mut object = text(about, "kind").to_lowercase();
    if !text(about, "name").is_empty() {
        object = format!("{object}/{}", text(about, "name"));
    }
    let source = it.at(either_path(it, "source", "deprecatedSource")).unwrap_or(&Value::Null);
    let or = |first: &str, second: &str| if first.is_empty() { second.to_owned() } else { first.to_owned() };
    let mut reporter = or(text(source, "component"), either("reportingComponent", "reportingController"));
    let instance = or(text(source, "host"), it.text("reportingInstance"));
    if !instance.is_empty() {
        reporter = format!("{reporter}, {instance}");
    }
    vec![
        last.into(),
        it.text("type").into(),
        it.text("reason").into(),
        object.into(),
        text(about, "fieldPath").into(),
        reporter.into(),
        either("message", "note").trim().into(),
        first.into(),
        count.into(),
        it.text("metadata.name").into(),
    ]
}

/// The path that is set, the first if none is.
fn either_path<'a>(it: Row<'_>, old: &'a str, new: &'a str) -> &'a str {
    if it.at(old).is_none() && it.at(new).is_some() { new } else { old }
}
