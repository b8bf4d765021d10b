//! Which objects of a collection a list or watch is about.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use kapi_schema::{fields, labels};

use crate::call::Call;
use crate::registry::Served;
use crate::status::Status;

/// A selection: the namespace by key prefix, the rest by selectors.
pub(crate) struct Selection {
    /// What keys must begin with.
    pub(crate) prefix: String,
    labels: Option<labels::Selector>,
    fields: Option<fields::Selector>,
}

impl Selection {
    pub(crate) fn of(call: &Call) -> Result<Self, Status> {
        let labels = match call.query.get("labelSelector") {
            Some(text) => Some(labels::Selector::parse(text).map_err(|error| Status::bad_request(error.to_string()))?),
            None => None,
        };
        let mut selected = match call.query.get("fieldSelector") {
            Some(text) => Some(fields::Selector::parse(text).map_err(|error| Status::bad_request(error.to_string()))?),
            None => None,
        };
        if let Some(selector) = &selected {
            check_fields(&call.served, selector)?;
        }
        // `GET …/pods/x?watch=1` watches one object.
        if !call.target.name.is_empty() {
            let one = format!("metadata.name={}", call.target.name);
            selected = fields::Selector::parse(&one).ok();
        }
        let namespace = &call.target.namespace;
        let scoped = call.served.resource.namespaced && !namespace.is_empty();
        let prefix = if scoped { format!("{namespace}/") } else { String::new() };
        Ok(Self {
            prefix,
            labels: labels.filter(|selector| !selector.is_empty()),
            fields: selected.filter(|selector| !selector.is_empty()),
        })
    }

    /// Whether everything with the prefix is selected.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_none() && self.fields.is_none()
    }

    /// Whether an object is selected.
    pub(crate) fn matches(&self, served: &Served, bytes: &[u8]) -> bool {
        if let Some(selector) = &self.labels {
            let Ok(head) = serde_json::from_slice::<Head<'_>>(bytes) else { return false };
            if !selector.matches(&head.metadata.labels) {
                return false;
            }
        }
        let Some(selector) = &self.fields else { return true };
        if selector.terms.iter().all(|term| is_identity(&term.field)) {
            let Ok(head) = serde_json::from_slice::<Head<'_>>(bytes) else { return false };
            return selector.matches(|field| match field {
                "metadata.name" => Some(head.metadata.name.as_ref()),
                _ => Some(head.metadata.namespace.as_ref()),
            });
        }
        let Ok(object) = serde_json::from_slice::<Value>(bytes) else { return false };
        let known = fields_of(served, &object);
        selector.matches(|field| known.get(field).map(String::as_str))
    }
}

fn is_identity(field: &str) -> bool {
    matches!(field, "metadata.name" | "metadata.namespace")
}

/// The part of an object selectors look at most.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, default)]
    metadata: HeadMeta<'a>,
}

#[derive(Deserialize, Default)]
struct HeadMeta<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
    #[serde(default)]
    labels: Map<String, Value>,
}

/// The fields of an object that selectors may name, with their values.
fn fields_of(served: &Served, object: &Value) -> BTreeMap<String, String> {
    let mut known: BTreeMap<String, String> =
        (served.resource.behaviour.fields)(object).into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
    if let Some(custom) = &served.custom {
        known.extend(custom.selectable.iter().map(|(name, path)| {
            let value = path.eval(object).first().map(|found| match found {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            (name.clone(), value.unwrap_or_default())
        }));
    }
    known.insert("metadata.name".into(), crate::object::name(object).into());
    known.insert("metadata.namespace".into(), crate::object::namespace(object).into());
    known
}

fn check_fields(served: &Served, selector: &fields::Selector) -> Result<(), Status> {
    let empty = Value::Object(serde_json::Map::new());
    let known = fields_of(served, &empty);
    for term in selector.terms.iter().filter(|term| !(term.field.is_empty() && term.value.is_empty())) {
        let field = term.field.as_str();
        if known.contains_key(field) || (field == "metadata.namespace" && served.resource.namespaced) {
            continue;
        }
        let message = match (&served.custom, known.len() > 2) {
            (Some(_), _) | (None, true) => format!("field label not supported: {field}"),
            (None, false) => {
                format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
            }
        };
        return Err(Status::bad_request(message));
    }
    Ok(())
}
