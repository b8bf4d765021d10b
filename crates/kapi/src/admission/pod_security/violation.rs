//! A rule a pod breaks, and the words for it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::fields::{list, text};

/// A rule that is broken.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) reason: String,
    pub(super) detail: String,
}

impl Violation {
    pub(super) fn new(reason: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { reason: reason.into(), detail: detail.into() }
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.detail.as_str() {
            "" => f.write_str(&self.reason),
            detail => write!(f, "{} ({detail})", self.reason),
        }
    }
}

/// All containers of a pod spec.
pub(super) fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    ["/initContainers", "/containers", "/ephemeralContainers"].into_iter().flat_map(|pointer| list(spec, pointer))
}

/// The names of the containers of which something holds.
pub(super) fn names_of(spec: &Value, mut holds: impl FnMut(&Value) -> bool) -> Vec<&str> {
    containers(spec).filter(|container| holds(container)).map(|container| text(container, "/name")).collect()
}

/// `a` or `b` by number.
pub(super) fn plural<'a>(one: &'a str, many: &'a str, count: usize) -> &'a str {
    if count == 1 { one } else { many }
}

/// `"a", "b"`.
pub(super) fn quoted<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    items.into_iter().map(|item| format!("\"{item}\"")).collect::<Vec<_>>().join(", ")
}

/// `container "a"` or `containers "a", "b"`.
pub(super) fn these(names: &[&str]) -> String {
    format!("{} {}", plural("container", "containers", names.len()), quoted(names.iter().copied()))
}

/// Who set something that may not be: the pod, containers, or both.
#[derive(Default)]
pub(super) struct Setters<'a> {
    pub(super) pod: bool,
    pub(super) containers: Vec<&'a str>,
    pub(super) values: BTreeSet<&'a str>,
}

impl<'a> Setters<'a> {
    /// Looks at a field of the pod's and the containers' security contexts.
    pub(super) fn find(spec: &'a Value, pointer: &str, is_bad: impl Fn(&Value) -> bool) -> Self {
        let mut found = Self::default();
        let pointer = format!("/securityContext{pointer}");
        let mut check = |holder: &'a Value| {
            let value = holder.pointer(&pointer).filter(|value| !value.is_null() && is_bad(value))?;
            found.values.insert(value.as_str().unwrap_or_default());
            Some(())
        };
        let pod = check(spec).is_some();
        let names: Vec<&str> =
            containers(spec).filter(|container| check(container).is_some()).map(|c| text(c, "/name")).collect();
        found.pod = pod;
        found.containers = names;
        found
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.pod && self.containers.is_empty()
    }

    pub(super) fn names(&self) -> String {
        let pod = self.pod.then(|| "pod".to_owned());
        let containers = (!self.containers.is_empty()).then(|| these(&self.containers));
        pod.into_iter().chain(containers).collect::<Vec<_>>().join(" and ")
    }
}
