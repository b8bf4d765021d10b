//! Stored objects as a version of their kind shows them.

use std::sync::Arc;

use bytes::Bytes;
use kapi_store::Entry;
use serde_json::Value;

use crate::api::Inner;
use crate::call::Document;
use crate::object;
use crate::registry::Served;
use crate::status::Status;

/// A stored document as `served` shows it. Nearly always the stored bytes themselves.
pub(crate) fn shown(served: &Served, revision: u64, bytes: &Bytes) -> Result<Bytes, Status> {
    if !needs_work(served, revision) {
        return Ok(bytes.clone());
    }
    Ok(Bytes::from(shown_value(served, object::parse(bytes)?).to_string()))
}

/// A stored object as `served` shows it.
pub(crate) fn shown_value(served: &Served, mut object: Value) -> Value {
    if served.custom.is_some() {
        // A definition may have changed since the object was written.
        crate::write::reshape(served, &mut object);
    }
    convert(served, object, &served.api_version)
}

fn needs_work(served: &Served, revision: u64) -> bool {
    served.api_version != served.stored_api_version
        || served.custom.as_ref().is_some_and(|custom| revision < custom.definition_revision)
}

/// An object as another version of its kind has it.
pub(crate) fn convert(served: &Served, mut object: Value, api_version: &str) -> Value {
    if object["apiVersion"] == api_version {
        return object;
    }
    match served.resource.behaviour.convert {
        Some(convert) => convert(&object, api_version),
        None => {
            object["apiVersion"] = api_version.into();
            object
        }
    }
}

/// Where kube-apiserver would keep the object in etcd; some messages name it.
pub(crate) fn registry_key(served: &Served, namespace: &str, name: &str) -> String {
    let (group, plural) = (&served.resource.group, &*served.resource.plural);
    let resource = match (served.custom.is_some(), &**group, plural) {
        (true, group, plural) => format!("{group}/{plural}"),
        (false, "", "services") => "services/specs".into(),
        (false, "", "endpoints") => "services/endpoints".into(),
        (false, "", "nodes") => "minions".into(),
        (false, "networking.k8s.io", "ingresses") => "ingress".into(),
        (false, _, plural) => plural.to_owned(),
    };
    format!("/registry/{resource}/{}", served.key(namespace, name))
}

/// The stored object, in the stored version, with its revision.
pub(crate) fn stored(api: &Inner, served: &Served, namespace: &str, name: &str) -> Option<Entry> {
    api.collection(served).get(&served.key(namespace, name))
}

/// The stored object, or the NotFound everybody expects.
pub(crate) fn required(api: &Inner, served: &Arc<Served>, namespace: &str, name: &str) -> Result<Entry, Status> {
    stored(api, served, namespace, name).ok_or_else(|| Status::not_found(served.named(), name))
}

/// What a write stored, as the call's version shows it.
pub(crate) fn answered(served: &Served, stored: Document) -> Result<Document, Status> {
    if served.api_version == served.stored_api_version {
        return Ok(stored);
    }
    Ok(Document::Value(convert(served, stored.into_value()?, &served.api_version)))
}
