//! The webhooks of an API, ready to be matched; kept up to date by committed changes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use kapi_schema::Condition;
use kapi_schema::labels::Selector;
use parking_lot::RwLock;
use serde_json::Value;

use super::super::fields::{int, list, text, texts};
use super::rules::Rule;

/// A webhook, read once.
pub(super) struct Hook {
    pub(super) name: String,
    pub(super) rules: Vec<Rule>,
    /// None where the selector cannot be read: such a webhook fails whatever it would have to judge.
    pub(super) namespaces: Result<Selector, String>,
    pub(super) objects: Result<Selector, String>,
    pub(super) matches_equivalents: bool,
    pub(super) conditions: Vec<(String, Result<Condition, String>)>,
    pub(super) ignores_failure: bool,
    pub(super) safe_in_dry_run: bool,
    pub(super) timeout: Duration,
    pub(super) reinvoked_if_needed: bool,
    pub(super) speaks_v1: bool,
    pub(super) place: Place,
    /// PEM certificates of the authorities to trust.
    pub(super) authorities: Vec<u8>,
}

/// Where a webhook is.
pub(super) enum Place {
    Url(String),
    Service { namespace: String, name: String, port: u16, path: String },
}

pub(super) type Hooks = Arc<Vec<Arc<Hook>>>;

/// The webhooks of one API, those of either kind in the order they are called.
#[derive(Default)]
pub(in super::super) struct Index {
    mutating: RwLock<Kept>,
    validating: RwLock<Kept>,
}

#[derive(Default)]
struct Kept {
    configurations: BTreeMap<Box<str>, Vec<Arc<Hook>>>,
    all: Hooks,
}

impl Index {
    /// Takes the state of a configuration in; none when it is gone.
    pub(in super::super) fn observe(&self, resource: &str, name: &str, object: Option<&[u8]>) {
        let kept = match resource {
            "mutatingwebhookconfigurations.admissionregistration.k8s.io" => &self.mutating,
            "validatingwebhookconfigurations.admissionregistration.k8s.io" => &self.validating,
            _ => return,
        };
        let object: Option<Value> = object.and_then(|bytes| serde_json::from_slice(bytes).ok());
        let mut kept = kept.write();
        match object {
            Some(object) => {
                let hooks = list(&object, "/webhooks").iter().map(|hook| Arc::new(Hook::read(hook))).collect();
                kept.configurations.insert(name.into(), hooks);
            }
            None => drop(kept.configurations.remove(name)),
        }
        kept.all = Arc::new(kept.configurations.values().flatten().cloned().collect());
    }

    pub(super) fn mutating(&self) -> Hooks {
        Arc::clone(&self.mutating.read().all)
    }

    pub(super) fn validating(&self) -> Hooks {
        Arc::clone(&self.validating.read().all)
    }
}

impl Hook {
    pub(super) fn read(hook: &Value) -> Self {
        let selector = |pointer: &str| match hook.pointer(pointer) {
            None | Some(Value::Null) => Ok(Selector::everything()),
            given => Selector::from_object(given).map_err(|error| error.to_string()),
        };
        let condition = |condition: &Value| {
            (text(condition, "/name").to_owned(), Condition::compile(text(condition, "/expression"), &VARIABLES))
        };
        let bundle = base64::engine::general_purpose::STANDARD.decode(text(hook, "/clientConfig/caBundle"));
        Self {
            name: text(hook, "/name").to_owned(),
            rules: list(hook, "/rules").iter().map(Rule::read).collect(),
            namespaces: selector("/namespaceSelector"),
            objects: selector("/objectSelector"),
            matches_equivalents: text(hook, "/matchPolicy") != "Exact",
            conditions: list(hook, "/matchConditions").iter().map(condition).collect(),
            ignores_failure: text(hook, "/failurePolicy") == "Ignore",
            safe_in_dry_run: matches!(text(hook, "/sideEffects"), "None" | "NoneOnDryRun"),
            timeout: Duration::from_secs(
                int(hook, "/timeoutSeconds").and_then(|s| u64::try_from(s).ok()).unwrap_or(10),
            ),
            reinvoked_if_needed: text(hook, "/reinvocationPolicy") == "IfNeeded",
            speaks_v1: texts(hook, "/admissionReviewVersions").contains(&"v1"),
            place: Place::read(hook),
            authorities: bundle.unwrap_or_default(),
        }
    }
}

/// What match conditions may speak of.
pub(super) const VARIABLES: [&str; 3] = ["object", "oldObject", "request"];

impl Place {
    fn read(hook: &Value) -> Self {
        match hook.pointer("/clientConfig/service").filter(|service| service.is_object()) {
            Some(service) => Self::Service {
                namespace: text(service, "/namespace").to_owned(),
                name: text(service, "/name").to_owned(),
                port: int(service, "/port").and_then(|port| u16::try_from(port).ok()).unwrap_or(443),
                path: text(service, "/path").to_owned(),
            },
            None => Self::Url(text(hook, "/clientConfig/url").to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn webhooks_come_in_the_order_of_their_configurations() {
        let index = Index::default();
        let put = |name: &str, hooks: &[&str]| {
            let hooks: Vec<Value> = hooks.iter().map(|hook| json!({"name": hook})).collect();
            let bytes = json!({"webhooks": hooks}).to_string();
            let resource = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
            index.observe(resource, name, Some(bytes.as_bytes()));
        };
        put("b", &["z", "a"]);
        put("a", &["m"]);
        let names = |hooks: Hooks| hooks.iter().map(|hook| hook.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(index.mutating()), ["m", "z", "a"]);
        assert!(index.validating().is_empty());
        index.observe("mutatingwebhookconfigurations.admissionregistration.k8s.io", "b", None);
        assert_eq!(names(index.mutating()), ["m"]);
    }
}
