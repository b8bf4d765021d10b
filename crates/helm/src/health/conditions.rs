//! The conditions of an object.

use serde_json::Value as Json;

pub(super) struct Conditions<'a>(&'a [Json]);

impl<'a> Conditions<'a> {
    pub(super) fn of(object: &'a Json) -> Self {
        Self(object.pointer("/status/conditions").and_then(Json::as_array).map_or(&[], Vec::as_slice))
    }

    fn find(&self, name: &str) -> Option<&'a Json> {
        self.0.iter().find(|condition| condition["type"] == name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    pub(super) fn is_true(&self, name: &str) -> bool {
        self.find(name).is_some_and(|condition| condition["status"] == "True")
    }

    pub(super) fn is_false(&self, name: &str) -> bool {
        self.find(name).is_some_and(|condition| condition["status"] == "False")
    }

    pub(super) fn reason(&self, name: &str) -> &'a str {
        self.find(name).and_then(|condition| condition["reason"].as_str()).unwrap_or_default()
    }

    /// What a condition says: its message, else its reason, else that it is what it is.
    pub(super) fn told(&self, name: &str) -> String {
        let Some(condition) = self.find(name) else { return format!("it has no condition {name} yet") };
        let said = ["message", "reason"].iter().filter_map(|field| condition[field].as_str());
        let status = condition["status"].as_str().unwrap_or("Unknown");
        let said = said.into_iter().find(|text| !text.is_empty());
        said.map_or_else(|| format!("{name} is {status}"), str::to_owned)
    }
}
