//! Objects without anything but their metadata.

use serde_json::{Value, json};

use super::negotiate::PartialOptions;
use crate::call::{Call, List};
use crate::registry::Served;
use crate::status::Status;

/// An object as PartialObjectMetadata of an apiVersion.
pub(super) fn object(mut object: Value, version: &str) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": version,
        "metadata": object.get_mut("metadata").map(Value::take).unwrap_or_default(),
    })
}

/// One object, unless a list was asked for.
pub(super) fn one(served: &Served, whole: Value, options: PartialOptions) -> Result<Value, Status> {
    match options.list {
        false => Ok(object(whole, options.version)),
        true if served.custom.is_some() => Err(Status::unexplained("content is not a list")),
        true => Err(Status::wrong_form(format!(
            "you requested PartialObjectMetadataList, but the requested object is not a list ({})",
            go_type(served, &served.resource.kind)
        ))),
    }
}

/// A list, unless one object was asked for.
pub(super) fn list(call: &Call, meta: Value, list: &List, options: PartialOptions) -> Result<Value, Status> {
    if !options.list {
        return Err(Status::wrong_form(format!(
            "you requested PartialObjectMetadata, but the requested object is a list ({})",
            go_type(&call.served, &call.served.resource.list_kind)
        )));
    }
    let items = list.items.iter().map(|bytes| Ok(object(crate::object::parse(bytes)?, options.version)));
    let items = items.collect::<Result<Vec<_>, Status>>()?;
    Ok(json!({
        "kind": "PartialObjectMetadataList", "apiVersion": options.version, "metadata": meta, "items": items,
    }))
}

/// What Go calls a kind.
fn go_type(served: &Served, kind: &str) -> String {
    if served.custom.is_some() {
        let suffix = if kind == &*served.resource.list_kind { "List" } else { "" };
        return format!("*unstructured.Unstructured{suffix}");
    }
    let package = match &*served.resource.group {
        "" | "events.k8s.io" => "core",
        group => group.split('.').next().unwrap_or(group),
    };
    format!("*{package}.{kind}")
}
