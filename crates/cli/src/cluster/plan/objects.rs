//! Which objects a change creates, changes and deletes.

use butler_api::butler::TenantCluster;
use kube::Client;
use serde::Serialize;
use serde_json::Value;

use super::diff::{Field, fields};
use crate::cluster::export::cleaned;
use crate::failure::Outcome;

/// What would happen to one object.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Planned {
    pub(crate) action: Action,
    pub(crate) kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    /// What of it changes.
    pub(crate) fields: Vec<Field>,
}

#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    Create,
    Change,
    Delete,
}

/// A plan for programs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary<'a> {
    pub(crate) create: usize,
    pub(crate) change: usize,
    pub(crate) delete: usize,
    pub(crate) objects: &'a [Planned],
    /// What cannot be told, or would be in the way; without it the plan is complete.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(crate) incomplete: &'a [String],
}

/// What happens to the TenantCluster itself.
pub(crate) fn changes(before: Option<&Value>, after: Option<&Value>) -> Vec<Planned> {
    planned(before, after).into_iter().collect()
}

/// The objects below a TenantCluster that a change touches, and why they cannot be told if they cannot.
#[derive(Default)]
pub(crate) struct Below {
    pub(crate) objects: Vec<Planned>,
    pub(crate) unknown: Vec<String>,
}

/// What becomes of the objects below, as the controller that makes them would have it.
pub(crate) async fn below(client: &Client, before: Option<&Value>, after: Option<&Value>) -> Outcome<Below> {
    let Some(object) = after.or(before) else { return Ok(Below::default()) };
    let mut cluster: TenantCluster = serde_json::from_value(object.clone())?;
    if before.is_none() {
        // A dry run makes one up.
        cluster.metadata.uid = None;
    }
    let (observed, mut unknown) = match fleet::cluster::look(client, cluster).await {
        Ok(looked) => looked,
        Err(kube::Error::Api(status)) if status.code == 403 => {
            let unknown = vec![format!("the objects below are not yours to see: {}", status.message)];
            return Ok(Below { unknown, ..Below::default() });
        }
        // Where Cluster API is not installed, nothing is below.
        Err(kube::Error::Api(status)) if status.code == 404 => {
            let unknown = vec!["the objects below cannot be told: the API does not know all of their kinds".to_owned()];
            return Ok(Below { unknown, ..Below::default() });
        }
        Err(error) => return Err(error.into()),
    };
    let previews = if after.is_some() {
        match fleet::cluster::preview(&observed) {
            Ok((previews, in_the_way)) => {
                unknown.extend(in_the_way.iter().map(|blocker| format!("{}: {}", blocker.reason, blocker.message)));
                previews
            }
            Err(blockers) => {
                unknown.extend(blockers.iter().map(|blocker| format!("{}: {}", blocker.reason, blocker.message)));
                return Ok(Below { unknown, ..Below::default() });
            }
        }
    } else {
        fleet::cluster::removal(&observed)
    };
    let objects = previews.iter().filter_map(|object| planned(object.before.as_ref(), object.after.as_ref()));
    Ok(Below { objects: objects.collect(), unknown })
}

/// What happens to one object; nothing when it stays as it is.
fn planned(before: Option<&Value>, after: Option<&Value>) -> Option<Planned> {
    let object = after.or(before)?;
    let (action, fields) = match (before, after) {
        (None, Some(after)) => (Action::Create, fields(None, Some(&content(after)))),
        (Some(_), None) => (Action::Delete, Vec::new()),
        (Some(before), Some(after)) => (Action::Change, fields(Some(&content(before)), Some(&content(after)))),
        (None, None) => return None,
    };
    if action == Action::Change && fields.is_empty() {
        return None;
    }
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Some(Planned {
        action,
        kind: text("/kind").unwrap_or_default(),
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name").unwrap_or_default(),
        fields,
    })
}

/// What people wrote of an object, without what names it.
fn content(object: &Value) -> Value {
    let mut content = cleaned(object);
    if let Some(fields) = content.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    if let Some(metadata) = content.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("name");
        metadata.remove("namespace");
        if metadata.is_empty()
            && let Some(fields) = content.as_object_mut()
        {
            fields.remove("metadata");
        }
    }
    content
}

/// How many of each.
pub(crate) fn summary<'a>(planned: &'a [Planned], incomplete: &'a [String]) -> Summary<'a> {
    let count = |action: Action| planned.iter().filter(|object| object.action == action).count();
    Summary {
        create: count(Action::Create),
        change: count(Action::Change),
        delete: count(Action::Delete),
        objects: planned,
        incomplete,
    }
}

impl Planned {
    /// `TenantCluster team-a/my-cluster`.
    pub(crate) fn name(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{} {namespace}/{}", self.kind, self.name),
            None => format!("{} {}", self.kind, self.name),
        }
    }
}

impl Action {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Change => "change",
            Self::Delete => "delete",
        }
    }
}
