//! Whether a webhook is to be asked about a write, and which version of the kind it sees.

use std::sync::Arc;

use kapi_schema::Condition;
use kapi_schema::field::{FieldError, Path};
use serde_json::{Map, Value};

use super::super::Operation;
use super::super::fields::{forbid, list, stored, text};
use super::index::{Hook, VARIABLES};
use super::rules::Asked;
use super::{Subject, review};
use crate::call::Call;
use crate::object;
use crate::registry::{self, Served};
use crate::status::{Named, Status};

/// How the webhook sees the kind; none when it is not to be asked.
pub(super) fn seen_as(call: &Call, hook: &Hook, subject: &Subject<'_>) -> Result<Option<Arc<Served>>, Status> {
    let Some(seen) = by_rules(call, hook, subject) else { return Ok(None) };
    if !in_namespace(call, hook, subject)? || !by_object(hook, subject)? {
        return Ok(None);
    }
    Ok(by_conditions(call, hook, subject, &seen)?.then_some(seen))
}

fn by_rules(call: &Call, hook: &Hook, subject: &Subject<'_>) -> Option<Arc<Served>> {
    let matches = |served: &Served, rule: &super::rules::Rule| {
        rule.matches(&Asked {
            operation: subject.operation,
            group: &served.resource.group,
            version: &served.resource.version,
            resource: &served.resource.plural,
            subresource: subject.subresource,
            namespace: subject.namespace,
        })
    };
    if hook.rules.iter().any(|rule| matches(&call.served, rule)) {
        return Some(Arc::clone(&call.served));
    }
    if !hook.matches_equivalents {
        return None;
    }
    let custom = call.api.custom();
    let others: Vec<&Arc<Served>> = registry::builtin()
        .all()
        .chain(custom.all())
        .filter(|served| served.collection == call.served.collection && served.api_version != call.served.api_version)
        .collect();
    hook.rules
        .iter()
        .find_map(|rule| others.iter().find(|served| matches(served, rule)).map(|served| Arc::clone(served)))
}

fn in_namespace(call: &Call, hook: &Hook, subject: &Subject<'_>) -> Result<bool, Status> {
    let namespaces = call.served.is("", "Namespace");
    if subject.namespace.is_empty() && !namespaces {
        return Ok(true);
    }
    let selector = hook.namespaces.as_ref().map_err(Status::internal)?;
    if selector.is_empty() {
        return Ok(true);
    }
    let writes = matches!(subject.operation, Operation::Create | Operation::Update) && subject.subresource.is_empty();
    if let Some(object) = subject.object.filter(|_| namespaces && writes) {
        return Ok(selector.matches(&labels(object)));
    }
    match stored(call, "namespaces.", subject.namespace) {
        Some(namespace) => Ok(selector.matches(&labels(&namespace))),
        None => Err(Status::not_found(Named { group: "", plural: "namespaces" }, subject.namespace)),
    }
}

fn by_object(hook: &Hook, subject: &Subject<'_>) -> Result<bool, Status> {
    let selector = hook.objects.as_ref().map_err(Status::internal)?;
    let matches = |object: Option<&Value>| object.is_some_and(|object| selector.matches(&labels(object)));
    Ok(selector.is_empty() || matches(subject.object) || matches(subject.old))
}

fn labels(object: &Value) -> Map<String, Value> {
    object.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// All conditions must hold; one that does not decides even if another cannot be evaluated.
fn by_conditions(call: &Call, hook: &Hook, subject: &Subject<'_>, seen: &Served) -> Result<bool, Status> {
    if hook.conditions.is_empty() {
        return Ok(true);
    }
    let request = review::request(call, subject, seen, "");
    let request = request.get("request").cloned().unwrap_or_default();
    let (object, old) = (subject.object_as(seen), subject.old_as(seen));
    let variables = [("object", &object), ("oldObject", &old), ("request", &request)];
    let mut faults = Vec::new();
    for (name, condition) in &hook.conditions {
        let held = match condition {
            Ok(condition) => condition.holds(&variables),
            Err(error) => Err(error.clone()),
        };
        match held {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => faults.push(format!("'{name}': {error}")),
        }
    }
    if faults.is_empty() || hook.ignores_failure {
        return Ok(faults.is_empty());
    }
    let why = format!("failed to evaluate match conditions: {}", faults.join(", "));
    Err(forbid(call, subject.object.or(subject.old).unwrap_or(&Value::Null), why))
}

/// Refuses a configuration whose conditions do not compile.
pub(super) fn check_conditions(call: &Call, configuration: &Value) -> Result<(), Status> {
    let mut errors = Vec::new();
    for (i, hook) in list(configuration, "/webhooks").iter().enumerate() {
        for (j, condition) in list(hook, "/matchConditions").iter().enumerate() {
            let source = text(condition, "/expression");
            if let Err(fault) = Condition::compile(source, &VARIABLES) {
                let path = Path::new("webhooks").index(i).child("matchConditions").index(j).child("expression");
                errors.push(FieldError::invalid(&path, &source.into(), fault));
            }
        }
    }
    if errors.is_empty() {
        return Ok(());
    }
    let resource = &call.served.resource;
    Err(Status::invalid(&resource.group, &resource.kind, object::name(configuration), &errors))
}
