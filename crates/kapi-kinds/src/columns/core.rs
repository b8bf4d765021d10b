//! The small kinds of the core group, and the fallback for kinds without columns of their own.

use std::fmt::Write as _;

use serde_json::Value;

use super::cell::{Row, at, condition, plain, sorted, text};
use super::{AGE, CREATED, NAME, Printer, string};

/// For kinds Kubernetes prints in no special way.
pub(super) const ANY: Printer = Printer {
    group: "",
    kind: "",
    columns: &[NAME, CREATED],
    row: |it| {
        let created = it.text("metadata.creationTimestamp");
        // Go's zero time.
        let created = if created.is_empty() { "0001-01-01T00:00:00Z" } else { created };
        vec![it.name(), created.into()]
    },
};

pub(super) const PRINTERS: &[Printer] = &[
    Printer {
        group: "",
        kind: "ConfigMap",
        columns: &[NAME, string("Data", "How many entries it has, text and binary."), AGE],
        row: |it| vec![it.name(), (it.count("data") + it.count("binaryData")).into(), it.age()],
    },
    Printer {
        group: "",
        kind: "Secret",
        columns: &[NAME, string("Type", "What the secret is for."), string("Data", "How many entries it has."), AGE],
        row: |it| vec![it.name(), it.text("type").into(), it.count("data").into(), it.age()],
    },
    Printer {
        group: "",
        kind: "ServiceAccount",
        columns: &[NAME, string("Secrets", "How many secrets its pods may use."), AGE],
        row: |it| vec![it.name(), it.count("secrets").into(), it.age()],
    },
    Printer {
        group: "",
        kind: "Namespace",
        columns: &[NAME, string("Status", "Whether it is in use or going away."), AGE],
        row: |it| vec![it.name(), it.text("status.phase").into(), it.age()],
    },
    Printer {
        group: "",
        kind: "ComponentStatus",
        columns: &[
            NAME,
            string("Status", "Whether the component is healthy."),
            string("Message", "What the component says of its health."),
            string("Error", "What went wrong asking it."),
        ],
        row: component_status,
    },
    Printer {
        group: "",
        kind: "ResourceQuota",
        columns: &[
            NAME,
            string("Request", "Used and allowed amounts of everything but limits."),
            string("Limit", "Used and allowed amounts of limits."),
            AGE,
        ],
        row: resource_quota,
    },
];

fn component_status(it: Row<'_>) -> Vec<Value> {
    match condition(it.list("conditions"), "Healthy") {
        None => vec![it.name(), "Unknown".into(), "".into(), "".into()],
        Some(found) => {
            let status = if text(found, "status") == "True" { "Healthy" } else { "Unhealthy" };
            vec![it.name(), status.into(), text(found, "message").into(), text(found, "error").into()]
        }
    }
}

fn resource_quota(it: Row<'_>) -> Vec<Value> {
    let (mut requests, mut limits) = (String::new(), String::new());
    let used = it.at("status.used");
    for (resource, hard) in sorted(it.at("status.hard").and_then(Value::as_object)) {
        let column = if resource.starts_with("limits.") { &mut limits } else { &mut requests };
        let used = used.and_then(|used| used.get(resource)).map_or_else(|| "0".to_owned(), plain);
        let gap = if column.is_empty() { "" } else { ", " };
        let _ = write!(column, "{gap}{resource}: {used}/{}", plain(hard));
    }
    vec![it.name(), requests.into(), limits.into(), it.age()]
}

/// The quantity of storage at a path; a quantity that is not set prints as zero.
pub(super) fn storage(it: Row<'_>, path: &str) -> String {
    it.at(path).and_then(|amounts| at(amounts, "storage")).map_or_else(|| "0".to_owned(), plain)
}
