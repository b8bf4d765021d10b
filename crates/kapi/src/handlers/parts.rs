//! Subresources that let a part of an object through: finalizers of namespaces, conditions of certificate requests,
//! the node of a pod, the eviction of one.

use serde_json::{Value, json};

use super::update::check_identity;
use super::{delete, patch};
use crate::call::{Answer, Call};
use crate::decode::{self, Format};
use crate::object;
use crate::read;
use crate::status::Status;
use crate::write::{self, Aspect, Change, Preconditions, Way};

/// `namespaces/x/finalize`: `spec.finalizers` alone.
pub(super) async fn finalize(call: &mut Call) -> Result<Answer, Status> {
    let given = write::read_object(call)?;
    check_identity(call, &given)?;
    part(call, "finalize", |live| {
        let mut new = live.clone();
        let finalizers = given.pointer("/spec/finalizers").cloned().unwrap_or_else(|| json!([]));
        match finalizers.as_array().is_some_and(Vec::is_empty) {
            true => new["spec"] = json!({}),
            false => new["spec"]["finalizers"] = finalizers,
        }
        new
    })
    .await
}

/// `certificatesigningrequests/x/approval`: the conditions that approve or deny.
pub(super) async fn approve(call: &mut Call) -> Result<Answer, Status> {
    let given = write::read_object(call)?;
    check_identity(call, &given)?;
    let live = read::required(&call.api, &call.served, "", &call.target.name)?;
    let live = object::parse(&live.bytes)?;
    kapi_auth::csr::check_approval(&call.user, &live, &call.api.auth.authorizer)?;
    let now = call.timestamp();
    part(call, "approval", |live| {
        let mut new = live.clone();
        let mut conditions = given.pointer("/status/conditions").cloned().unwrap_or_else(|| json!([]));
        for condition in conditions.as_array_mut().into_iter().flatten() {
            stamp(condition, &now);
        }
        new["status"]["conditions"] = conditions;
        new
    })
    .await
}

/// `certificatesigningrequests/x/approval` by patch.
pub(super) async fn approve_by_patch(call: &mut Call) -> Result<Answer, Status> {
    let kind = patch::PatchType::of(call)?;
    let live = read::required(&call.api, &call.served, "", &call.target.name)?;
    let live = object::parse(&live.bytes)?;
    kapi_auth::csr::check_approval(&call.user, &live, &call.api.auth.authorizer)?;
    let patched = patch::patched(kind, &live, &call.body.clone(), call)?;
    part(call, "approval", |live| {
        let mut new = live.clone();
        new["status"]["conditions"] = patched.pointer("/status/conditions").cloned().unwrap_or_else(|| json!([]));
        new
    })
    .await
}

fn stamp(condition: &mut Value, now: &str) {
    for field in ["lastUpdateTime", "lastTransitionTime"] {
        if condition.get(field).is_none_or(Value::is_null) {
            condition[field] = now.into();
        }
    }
}

/// `pods/x/binding`: puts a pod on a node.
pub(super) async fn bind(call: &mut Call) -> Result<Answer, Status> {
    let format = Format::of(call.header(http::header::CONTENT_TYPE))?;
    let binding = decode::read(&call.body, format).map_err(Status::bad_request)?.value;
    let node = binding.pointer("/target/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    if node.is_empty() {
        let path = kapi_schema::field::Path::new("target.name");
        let error = kapi_schema::field::FieldError::required(&path, "");
        return Err(Status::invalid("", "Binding", &call.target.name, &[error]));
    }
    let uid = object::uid(&binding).to_owned();
    let (named, name, now) = (call.served.clone(), call.target.name.clone(), call.timestamp());
    let preconditions = Preconditions { uid: (!uid.is_empty()).then_some(uid), revision: None };
    let change = Change { aspect: Aspect::Part("binding"), way: Way::Patch, preconditions };
    write::modify(call, &change, |_, live| {
        let conflict = |why: String| Status::conflict(named.named_sub("binding"), &name, why);
        if object::is_deleting(live) {
            return Err(conflict(format!("pod {name} is being deleted, cannot be assigned to a host")));
        }
        if let Some(taken) = live.pointer("/spec/nodeName").and_then(Value::as_str).filter(|taken| !taken.is_empty()) {
            return Err(conflict(format!("pod {name} is already assigned to node {taken:?}")));
        }
        let mut new = live.clone();
        new["spec"]["nodeName"] = node.as_str().into();
        set_condition(&mut new, "PodScheduled", &now);
        Ok(new)
    })
    .await?;
    Ok(Answer::Plain { code: 201, value: success(201) })
}

fn set_condition(pod: &mut Value, name: &str, now: &str) {
    let condition = json!({"type": name, "status": "True", "lastProbeTime": null, "lastTransitionTime": now});
    if !pod["status"]["conditions"].is_array() {
        pod["status"]["conditions"] = json!([]);
    }
    if let Some(conditions) = pod["status"]["conditions"].as_array_mut() {
        conditions.retain(|known| known["type"] != name);
        conditions.push(condition);
    }
}

/// `pods/x/eviction`: deletes a pod if no disruption budget forbids it.
pub(super) async fn evict(call: &mut Call) -> Result<Answer, Status> {
    let format = Format::of(call.header(http::header::CONTENT_TYPE))?;
    let eviction = decode::read(&call.body, format).map_err(Status::bad_request)?.value;
    let entry = read::required(&call.api, &call.served, &call.target.namespace, &call.target.name)?;
    let pod = object::parse(&entry.bytes)?;
    if let Some(budget) = exhausted_budget(call, &pod)? {
        let mut status = Status::too_many_requests(
            "Cannot evict pod as it would violate the pod's disruption budget.",
            0,
        );
        if let Some(details) = &mut status.details {
            details.causes.push(crate::status::Cause {
                reason: "DisruptionBudget".into(),
                message: budget,
                field: String::new(),
            });
        }
        return Err(status);
    }
    call.target.subresource.clear();
    let options = eviction.get("deleteOptions").cloned().unwrap_or_else(|| json!({}));
    call.body = options.to_string().into();
    delete::delete(call).await?;
    Ok(Answer::Plain { code: 201, value: success(201) })
}

/// The reason a budget gives, if one that selects the pod allows no disruption now.
fn exhausted_budget(call: &Call, pod: &Value) -> Result<Option<String>, Status> {
    let budgets = call.api.collection_named("poddisruptionbudgets.policy");
    let labels = pod.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
    for item in budgets.list(&format!("{}/", call.target.namespace), None, usize::MAX).items {
        let budget = object::parse(&item.bytes)?;
        let selector = kapi_schema::labels::Selector::from_object(budget.pointer("/spec/selector"));
        if !selector.is_ok_and(|selector| selector.matches(&labels)) {
            continue;
        }
        let number = |field: &str| budget.pointer(&format!("/status/{field}")).and_then(Value::as_i64).unwrap_or(0);
        if number("disruptionsAllowed") <= 0 {
            return Ok(Some(format!(
                "The disruption budget {} needs {} healthy pods and has {} currently",
                object::name(&budget),
                number("desiredHealthy"),
                number("currentHealthy")
            )));
        }
    }
    Ok(None)
}

async fn part(
    call: &mut Call,
    name: &'static str,
    mut next: impl FnMut(&Value) -> Value,
) -> Result<Answer, Status> {
    let change = Change { aspect: Aspect::Part(name), way: Way::Patch, preconditions: Preconditions::default() };
    let changed = write::modify(call, &change, |_, live| {
        Ok(next(live))
    })
    .await?;
    Ok(Answer::Object { code: 200, object: read::answered(&call.served, changed.into_document())? })
}

fn success(code: u16) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code})
}
