//! Subresources that let a part of an object through: finalizers of namespaces, conditions of certificate requests,
//! the node of a pod, the eviction of one.

use kapi_schema::field::{FieldError, Path, aggregate};
use serde_json::{Value, json};

use super::update::{self, check_identity};
use super::{delete, patch};
use crate::admission;
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
    let errors = kapi_kinds::meta::validate_namespace_finalizers(&given);
    if !errors.is_empty() {
        return Err(Status::invalid("", "Namespace", &call.target.name, &errors));
    }
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
    check_approver(call)?;
    update::update(call, Aspect::Part("approval")).await
}

/// The same by patch.
pub(super) async fn approve_by_patch(call: &mut Call) -> Result<Answer, Status> {
    check_approver(call)?;
    patch::patch(call, Aspect::Part("approval")).await
}

fn check_approver(call: &Call) -> Result<(), Status> {
    let live = read::required(&call.api, &call.served, "", &call.target.name)?;
    let live = object::parse(&live.bytes)?;
    Ok(kapi_auth::csr::check_approval(&call.user, &live, &call.api.auth.authorizer)?)
}

/// `pods/x/binding`: puts a pod on a node.
pub(super) async fn bind(call: &mut Call) -> Result<Answer, Status> {
    let format = Format::of(call.header(http::header::CONTENT_TYPE))?;
    let binding = decode::read(&call.body, format).map_err(Status::bad_request)?.value;
    let text = |pointer: &str| binding.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let node = text("/target/name").to_owned();
    let mut errors = Vec::new();
    if !matches!(text("/target/kind"), "" | "Node") {
        let kind = text("/target/kind");
        errors.push(FieldError::not_supported(&Path::new("target.kind"), &kind.into(), &["Node", "<empty>"]));
    }
    if node.is_empty() {
        errors.push(FieldError::required(&Path::new("target.name"), ""));
    }
    if !errors.is_empty() {
        return Err(Status::unexplained(aggregate(&errors)));
    }
    let uid = object::uid(&binding).to_owned();
    let (named, name, now) = (call.served.clone(), call.target.name.clone(), call.timestamp());
    let preconditions = Preconditions { uid: (!uid.is_empty()).then_some(uid), revision: None };
    let change = Change { aspect: Aspect::BINDING, way: Way::Patch, preconditions };
    write::modify(call, &change, |_, live| {
        let conflict = |why: String| Status::conflict(named.named_sub("binding"), &name, why);
        if object::is_deleting(live) {
            return Err(conflict(format!("pod {name} is being deleted, cannot be assigned to a host")));
        }
        if let Some(taken) = live.pointer("/spec/nodeName").and_then(Value::as_str).filter(|taken| !taken.is_empty()) {
            return Err(conflict(format!("pod {name} is already assigned to node {taken:?}")));
        }
        let gates = live.pointer("/spec/schedulingGates").and_then(Value::as_array);
        if gates.is_some_and(|gates| !gates.is_empty()) {
            return Err(conflict(format!("pod {name} has non-empty .spec.schedulingGates")));
        }
        let mut new = live.clone();
        new["spec"]["nodeName"] = node.as_str().into();
        add_metadata(&mut new, &binding, "annotations", true);
        add_metadata(&mut new, &binding, "labels", false);
        set_condition(&mut new, "PodScheduled", &now);
        Ok(new)
    })
    .await?;
    Ok(Answer::Plain { code: 201, value: success(201) })
}

/// `bindings`: the same, with the pod named in the body.
pub(super) async fn bind_by_name(call: &mut Call) -> Result<Answer, Status> {
    let format = Format::of(call.header(http::header::CONTENT_TYPE))?;
    let binding = decode::read(&call.body, format).map_err(Status::bad_request)?.value;
    call.target.name = object::name(&binding).to_owned();
    call.target.resource = "pods".to_owned();
    call.target.subresource = "binding".to_owned();
    call.served = call.api.find("", "v1", "pods").ok_or_else(Status::no_such_path)?;
    bind(call).await
}

/// Adds the labels or annotations of a binding to its pod.
fn add_metadata(pod: &mut Value, binding: &Value, field: &str, overwrite: bool) {
    for (key, value) in binding["metadata"][field].as_object().into_iter().flatten() {
        if overwrite || pod["metadata"][field].get(key).is_none() {
            pod["metadata"][field][key] = value.clone();
        }
    }
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
    let mut eviction = decode::read(&call.body, format).map_err(Status::bad_request)?.value;
    if object::namespace(&eviction).is_empty() {
        object::set_meta(&mut eviction, "namespace", call.target.namespace.as_str());
    }
    if let Some(schema) = kapi_kinds::schema("policy", "v1", "Eviction") {
        write::track_as(call, &mut eviction, "policy/v1", schema.root(), Aspect::Part("eviction"))?;
    }
    admission::mutate_posted(call, &mut eviction).await?;
    if object::name(&eviction) != call.target.name {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    admission::validate_posted(call, &eviction).await?;
    let entry = read::required(&call.api, &call.served, &call.target.namespace, &call.target.name)?;
    let pod = object::parse(&entry.bytes)?;
    if !call.dry_run()? {
        super::disruption::spend(call, &pod).await?;
    }
    let options = eviction.get("deleteOptions").cloned().unwrap_or_else(|| json!({}));
    call.body = options.to_string().into();
    call.headers.remove(http::header::CONTENT_TYPE);
    delete::delete(call).await?;
    Ok(Answer::Plain { code: 201, value: success(201) })
}

async fn part(call: &mut Call, name: &'static str, mut next: impl FnMut(&Value) -> Value) -> Result<Answer, Status> {
    let change = Change { aspect: Aspect::Part(name), way: Way::Patch, preconditions: Preconditions::default() };
    let changed = write::modify(call, &change, |_, live| Ok(next(live))).await?;
    Ok(Answer::Object { code: 200, object: read::answered(&call.served, changed.into_document())? })
}

fn success(code: u16) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code})
}
