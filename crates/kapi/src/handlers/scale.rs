//! `/scale`: replicas of anything that has them, in one shape.

use serde_json::{Value, json};

use super::patch::{PatchType, patched};
use crate::call::{Answer, Call};
use crate::decode::{self, Format};
use crate::object;
use crate::read;
use crate::registry::Served;
use crate::status::Status;
use crate::write::{self, Aspect, Change, Preconditions, Way};

const PART: Aspect = Aspect::Part("scale");

pub(crate) fn get(call: &mut Call) -> Result<Answer, Status> {
    let entry = read::required(&call.api, &call.served, &call.target.namespace, &call.target.name)?;
    let live = read::shown_value(&call.served, object::parse(&entry.bytes)?);
    Ok(Answer::Plain { code: 200, value: scale_of(&call.served, &live)? })
}

pub(crate) async fn update(call: &mut Call) -> Result<Answer, Status> {
    let format = Format::of(call.header(http::header::CONTENT_TYPE))?;
    let given = decode::read(&call.body, format).map_err(Status::bad_request)?.value;
    let name = object::name(&given);
    if !name.is_empty() && name != call.target.name {
        return Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            call.target.name
        )));
    }
    change(call, |_, _| Ok(given.clone())).await
}

pub(crate) async fn patch(call: &mut Call) -> Result<Answer, Status> {
    let kind = PatchType::of(call)?;
    let body = call.body.clone();
    change(call, move |call, scale| patched(kind, scale, &body, call)).await
}

async fn change(
    call: &mut Call,
    mut next: impl FnMut(&mut Call, &Value) -> Result<Value, Status>,
) -> Result<Answer, Status> {
    let change = Change { aspect: PART, way: Way::Patch, preconditions: Preconditions::default() };
    let changed = write::modify(call, &change, |call, live| {
        let current = scale_of(&call.served, live)?;
        let scale = next(call, &current)?;
        let replicas = scale.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(0);
        if replicas < 0 && call.served.custom.is_none() {
            let path = kapi_schema::field::Path::new("spec.replicas");
            let detail = "must be greater than or equal to 0";
            let error = kapi_schema::field::FieldError::invalid(&path, &replicas.into(), detail);
            return Err(Status::invalid("autoscaling", "Scale", object::name(live), &[error]));
        }
        let mut new = live.clone();
        set(&mut new, &spec_path(&call.served), replicas.into());
        let asked = object::meta(&scale, "resourceVersion");
        if !asked.is_empty() {
            object::set_meta(&mut new, "resourceVersion", asked);
        }
        Ok(new)
    })
    .await?;
    let object = changed.into_document().into_value()?;
    Ok(Answer::Plain { code: 200, value: scale_of(&call.served, &object)? })
}

/// Takes the replicas of a Scale over into the object.
pub(crate) fn set_scale(served: &Served, object: &mut Value, scale: &Value) {
    let replicas = scale.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(0);
    set(object, &spec_path(served), replicas.into());
}

fn spec_path(served: &Served) -> Vec<String> {
    match served.custom.as_ref().and_then(|custom| custom.scale.as_ref()) {
        Some(scale) => scale.spec.clone(),
        None => vec!["spec".into(), "replicas".into()],
    }
}

/// The Scale of an object.
pub(crate) fn scale_of(served: &Served, object: &Value) -> Result<Value, Status> {
    let (spec, status, selector) = match served.custom.as_ref().and_then(|custom| custom.scale.as_ref()) {
        Some(scale) => {
            let spec = at(object, &scale.spec).and_then(Value::as_i64);
            let selector = scale.selector.as_ref().and_then(|path| at(object, path)).and_then(Value::as_str);
            let Some(spec) = spec else {
                let path = format!(".{}", scale.spec.join("."));
                return Err(Status::internal(format!("the spec replicas field {path:?} does not exist")));
            };
            (spec, at(object, &scale.status).and_then(Value::as_i64).unwrap_or(0), selector.map(str::to_owned))
        }
        None => {
            let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0);
            let selector = object.pointer("/spec/selector").map(selector_text);
            (number("/spec/replicas"), number("/status/replicas"), selector)
        }
    };
    let mut out = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": object::name(object),
            "namespace": object::namespace(object),
            "uid": object::uid(object),
            "resourceVersion": object::meta(object, "resourceVersion"),
            "creationTimestamp": object::meta(object, "creationTimestamp"),
        },
        "spec": {"replicas": spec},
        "status": {"replicas": status},
    });
    if spec == 0 {
        out["spec"] = json!({});
    }
    if let Some(selector) = selector.filter(|text| !text.is_empty()) {
        out["status"]["selector"] = selector.into();
    }
    Ok(out)
}

/// A label selector in the text form autoscalers read.
fn selector_text(selector: &Value) -> String {
    // ReplicationControllers have a plain map.
    if selector.get("matchLabels").is_none() && selector.get("matchExpressions").is_none() {
        return join_labels(selector);
    }
    let mut terms: Vec<String> = Vec::new();
    let labels = join_labels(&selector["matchLabels"]);
    terms.extend((!labels.is_empty()).then_some(labels));
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or_default();
        let values: Vec<&str> =
            expression["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        terms.push(match expression["operator"].as_str() {
            Some("In") => format!("{key} in ({})", values.join(",")),
            Some("NotIn") => format!("{key} notin ({})", values.join(",")),
            Some("DoesNotExist") => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    terms.join(",")
}

fn join_labels(labels: &Value) -> String {
    let pairs = labels.as_object().into_iter().flatten();
    pairs.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect::<Vec<_>>().join(",")
}

fn at<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, step| value.get(step))
}

fn set(object: &mut Value, path: &[String], value: Value) {
    let Some((last, parents)) = path.split_last() else { return };
    let mut slot = object;
    for step in parents {
        let Some(map) = slot.as_object_mut() else { return };
        slot = map.entry(step.clone()).or_insert_with(|| json!({}));
    }
    if let Some(map) = slot.as_object_mut() {
        map.insert(last.clone(), value);
    }
}
