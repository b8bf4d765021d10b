//! `serviceaccounts/x/token`: tokens for ServiceAccounts.

use kapi_auth::{TokenRequest, create_token};
use serde_json::{Value, json};

use crate::admission;
use crate::call::{Answer, Call};
use crate::decode::{self, Format};
use crate::object;
use crate::read;
use crate::status::Status;
use crate::write::{self, Aspect, new_uid};

/// How long a token lives that asks for nothing else.
const DEFAULT_SECONDS: i64 = 3600;

pub(super) async fn create(call: &mut Call) -> Result<Answer, Status> {
    let format = Format::of(call.header(http::header::CONTENT_TYPE))?;
    let mut object = decode::read(&call.body, format).map_err(Status::bad_request)?.value;
    check_kind(&object)?;
    if object.pointer("/spec/expirationSeconds").is_none_or(Value::is_null) {
        object["spec"]["expirationSeconds"] = DEFAULT_SECONDS.into();
    }
    track(call, &mut object)?;
    admission::check_token(call, &object)?;
    for (field, value) in [("name", call.target.name.clone()), ("namespace", call.target.namespace.clone())] {
        if object::meta(&object, field).is_empty() {
            object::set_meta(&mut object, field, value);
        }
    }
    admission::mutate_posted(call, &mut object).await?;
    let account = read::required(&call.api, &call.served, &call.target.namespace, &call.target.name)?;
    let judged = as_judged(call, &object, &object::parse(&account.bytes)?);
    admission::validate_posted(call, &judged).await?;
    let auth = &call.api.auth;
    let issuer = auth.issuer.as_ref().ok_or_else(|| Status::internal("this API signs no ServiceAccount tokens"))?;
    let request = TokenRequest {
        namespace: &call.target.namespace,
        name: &call.target.name,
        object: &object,
        audiences: &auth.authenticator.audiences,
        max_seconds: None,
        now: call.now,
        id: &new_uid(),
    };
    let outcome = create_token(&request, issuer, auth.objects())?;
    call.warnings.extend(outcome.warnings);
    Ok(Answer::Plain { code: 201, value: outcome.object })
}

/// The request as it is judged: with everything but the token.
fn as_judged(call: &Call, object: &Value, account: &Value) -> Value {
    let mut judged = object.clone();
    object::copy_meta(&mut judged, account, "uid");
    object::set_meta(&mut judged, "creationTimestamp", call.timestamp());
    if judged["spec"]["audiences"].as_array().is_none_or(Vec::is_empty) {
        judged["spec"]["audiences"] = call.api.auth.authenticator.audiences.clone().into();
    }
    judged["spec"]["boundObjectRef"] = object.pointer("/spec/boundObjectRef").cloned().unwrap_or_default();
    judged["status"] = json!({"token": "", "expirationTimestamp": null});
    judged
}

fn check_kind(object: &Value) -> Result<(), Status> {
    let given = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    match given("kind") {
        "" | "TokenRequest" if object.is_object() => Ok(()),
        kind => {
            let version = given("apiVersion").rsplit('/').next().unwrap_or_default();
            Err(Status::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a TokenRequest: converting ({version}.{kind}) to \
                 (authentication.TokenRequest): unknown conversion"
            )))
        }
    }
}

/// Books the request on its manager, as if it were stored.
fn track(call: &Call, object: &mut Value) -> Result<(), Status> {
    let Some(schema) = kapi_kinds::schema("authentication.k8s.io", "v1", "TokenRequest") else { return Ok(()) };
    write::track_as(call, object, "authentication.k8s.io/v1", schema.root(), Aspect::Part("token"))
}
