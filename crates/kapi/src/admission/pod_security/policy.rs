//! What a namespace's labels demand of its pods.

use kapi_schema::field::{FieldError, Path};
use serde_json::{Map, Value};

/// How strict a policy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Privileged,
    Baseline,
    Restricted,
}

/// A level as of a version of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standard {
    pub(super) level: Level,
    /// The minor version; none is the latest.
    minor: Option<u32>,
}

/// What is refused and what is warned about. Auditing goes to no log here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Policy {
    pub(super) enforce: Standard,
    pub(super) warn: Standard,
}

impl Level {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "privileged" => Some(Self::Privileged),
            "baseline" => Some(Self::Baseline),
            "restricted" => Some(Self::Restricted),
            _ => None,
        }
    }
}

impl Standard {
    /// Whether rules that came with this minor version apply.
    pub(super) fn has(self, minor: u32) -> bool {
        self.minor.is_none_or(|own| own >= minor)
    }
}

impl std::fmt::Display for Standard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        })?;
        match self.minor {
            Some(minor) => write!(f, ":v1.{minor}"),
            None => f.write_str(":latest"),
        }
    }
}

/// Reads the labels of a namespace, telling what is wrong with them.
pub(super) fn of_labels(labels: Option<&Map<String, Value>>) -> (Policy, Vec<FieldError>) {
    let mut errors = Vec::new();
    let (enforce, enforced) = standard(labels, "enforce", Level::Restricted, &mut errors);
    standard(labels, "audit", Level::Privileged, &mut errors);
    let (mut warn, _) = standard(labels, "warn", Level::Privileged, &mut errors);
    let said =
        |name: &str| labels.is_some_and(|labels| labels.contains_key(&format!("pod-security.kubernetes.io/{name}")));
    // What is refused is worth a warning on what makes such pods.
    if !said("warn") && enforced && enforce.level > warn.level {
        warn.level = enforce.level;
        if !said("warn-version") {
            warn.minor = enforce.minor;
        }
    }
    (Policy { enforce, warn }, errors)
}

/// The standard of a mode, and whether its level was said soundly.
fn standard(
    labels: Option<&Map<String, Value>>,
    mode: &str,
    when_unreadable: Level,
    errors: &mut Vec<FieldError>,
) -> (Standard, bool) {
    let label = |name: &str| {
        let key = format!("pod-security.kubernetes.io/{name}");
        let value = labels.and_then(|labels| labels.get(&key)).and_then(Value::as_str)?;
        Some((Path::new("metadata.labels").key(&key), value))
    };
    let mut found = Standard { level: Level::Privileged, minor: None };
    let mut sound = false;
    if let Some((path, value)) = label(mode) {
        match Level::parse(value) {
            Some(level) => (found.level, sound) = (level, true),
            None => {
                found.level = when_unreadable;
                let detail = "must be one of privileged, baseline, restricted";
                errors.push(FieldError::invalid(&path, &value.into(), detail));
            }
        }
    }
    if let Some((path, value)) = label(&format!("{mode}-version")) {
        let minor = value.strip_prefix("v1.").and_then(|minor| minor.parse().ok());
        match minor {
            Some(minor) => found.minor = Some(minor),
            None if value == "latest" => {}
            None => errors.push(FieldError::invalid(&path, &value.into(), "must be \"latest\" or \"v1.x\"")),
        }
    }
    (found, sound)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_say_what_is_demanded() {
        let rows = [
            (json!({}), "privileged:latest", "privileged:latest", 0),
            (json!({"enforce": "baseline", "enforce-version": "v1.30"}), "baseline:v1.30", "baseline:v1.30", 0),
            (json!({"enforce": "baseline", "warn": "restricted"}), "baseline:latest", "restricted:latest", 0),
            (json!({"enforce": "strict"}), "restricted:latest", "privileged:latest", 1),
            (json!({"warn": "strict", "warn-version": "2"}), "privileged:latest", "privileged:latest", 2),
        ];
        for (given, enforce, warn, faults) in rows {
            let labels: Map<String, Value> = given
                .as_object()
                .unwrap()
                .iter()
                .map(|(key, value)| (format!("pod-security.kubernetes.io/{key}"), value.clone()))
                .collect();
            let (policy, errors) = of_labels(Some(&labels));
            assert_eq!((policy.enforce.to_string(), policy.warn.to_string()), (enforce.into(), warn.into()), "{given}");
            assert_eq!(errors.len(), faults, "{given}");
        }
    }
}
