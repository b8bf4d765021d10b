//! Making an object.

use kapi_store::Expect;
use serde_json::Value;

use super::commit::{self, Outcome};
use super::{Aspect, input, ownership, prepare, validate};
use crate::admission::{self, Operation};
use crate::call::{Call, Document};
use crate::object;
use crate::read;
use crate::status::Status;

/// Other names tried when a generated one is taken, as kube-apiserver does.
const GENERATE_ATTEMPTS: usize = 8;

/// Makes the object in the body.
pub(crate) async fn create(call: &mut Call) -> Result<Document, Status> {
    let object = input::read_object(call)?;
    create_object(call, object, true).await
}

/// Makes an object that has been read and defaulted. `track` is off when ownership is settled already (apply).
pub(crate) async fn create_object(call: &mut Call, object: Value, track: bool) -> Result<Document, Status> {
    let mut object = object;
    settle_namespace(call, &mut object)?;
    if call.served.custom.as_ref().is_some_and(|custom| custom.terminating) {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(Status::forbidden_because(call.served.named(), object::name(&object), why));
    }
    if object::revision(&object) != 0 {
        return Err(Status::unexplained("resourceVersion should not be set on objects to be created"));
    }
    let generated = object::name(&object).is_empty() && !object::meta(&object, "generateName").is_empty();
    let attempts = if generated { GENERATE_ATTEMPTS } else { 1 };
    for _ in 0..attempts {
        let mut attempt = object.clone();
        match create_once(call, &mut attempt, track).await? {
            Outcome::Done(document) => return Ok(document),
            Outcome::Raced => object::clear_meta(&mut object, "resourceVersion"),
        }
        if !generated {
            return Err(taken(call, &attempt));
        }
    }
    Err(Status::already_exists(call.served.named(), object::meta(&object, "generateName")))
}

/// The name is taken, maybe by an object on its way out.
fn taken(call: &Call, object: &Value) -> Status {
    let mut status = Status::already_exists(call.served.named(), object::name(object));
    let live = read::stored(&call.api, &call.served, object::namespace(object), object::name(object));
    if live.and_then(|entry| object::parse(&entry.bytes).ok()).is_some_and(|live| object::is_deleting(&live)) {
        status.message = format!("object is being deleted: {}", status.message);
    }
    status
}

async fn create_once(call: &mut Call, object: &mut Value, track: bool) -> Result<Outcome, Status> {
    prepare::for_create(call, object);
    if track {
        ownership::track(call, None, object, Aspect::Main)?;
    }
    prepare::generate_name(object);
    admission::mutate(call, Operation::Create, object, None).await?;
    prepare::kind_on_create(&call.served, object);
    let reservation = admission::allocate(call, object, None)?;
    validate::new_object(&call.served, object)?;
    call.warnings.extend((call.served.resource.behaviour.warnings)(object));
    admission::validate(call, Operation::Create, Some(object), None).await?;
    input::settle_stored(&call.served, object);
    let outcome = commit::put(call, object, Expect::Absent).await;
    drop(reservation);
    outcome
}

fn settle_namespace(call: &Call, object: &mut Value) -> Result<(), Status> {
    let asked = &call.target.namespace;
    if !call.served.resource.namespaced {
        object::clear_meta(object, "namespace");
        return Ok(());
    }
    match object::namespace(object) {
        "" => object::set_meta(object, "namespace", asked.clone()),
        given if given == asked => {}
        _ => {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
    }
    Ok(())
}
