//! `pods/x/log`: what a container has printed. Kubelets have it.

use serde_json::Value;

use crate::call::{Answer, Call};
use crate::object;
use crate::read;
use crate::status::Status;

pub(super) fn read(call: &Call) -> Result<Answer, Status> {
    let entry = read::required(&call.api, &call.served, &call.target.namespace, &call.target.name)?;
    let pod = object::parse(&entry.bytes)?;
    check_container(&pod, call.query.get("container").unwrap_or_default())?;
    match pod.pointer("/spec/nodeName").and_then(Value::as_str) {
        // Nothing has run yet.
        None | Some("") => Ok(Answer::Nothing),
        Some(node) => Err(Status::internal(format!("the kubelet of {node:?} cannot be asked for logs by this API"))),
    }
}

/// Refuses a container that is not there, or several when none is named.
fn check_container(pod: &Value, wanted: &str) -> Result<(), Status> {
    let names = |field: &str| -> Vec<&str> {
        let containers = pod["spec"][field].as_array().into_iter().flatten();
        containers.filter_map(|container| container["name"].as_str()).collect()
    };
    let name = object::name(pod);
    let all = [names("initContainers"), names("containers"), names("ephemeralContainers")].concat();
    match (wanted, all.as_slice()) {
        ("", [_]) => Ok(()),
        ("", _) => Err(Status::bad_request(format!(
            "a container name must be specified for pod {name}, choose one of: [{}]",
            all.join(" ")
        ))),
        (wanted, all) if all.contains(&wanted) => Ok(()),
        (wanted, _) => Err(Status::bad_request(format!("container {wanted} is not valid for pod {name}"))),
    }
}
