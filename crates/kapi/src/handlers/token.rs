//! `serviceaccounts/x/token`: tokens for ServiceAccounts.

use kapi_auth::{TokenRequest, create_token};
use serde_json::Value;

use crate::admission;
use crate::call::{Answer, Call};
use crate::decode::{self, Format};
use crate::status::Status;
use crate::write::{self, Aspect, new_uid};

/// How long a token lives that asks for nothing else.
const DEFAULT_SECONDS: i64 = 3600;

pub(super) fn create(call: &mut Call) -> Result<Answer, Status> {
    let format = Format::of(call.header(http::header::CONTENT_TYPE))?;
    let mut object = decode::read(&call.body, format).map_err(Status::bad_request)?.value;
    check_kind(&object)?;
    if object.pointer("/spec/expirationSeconds").is_none_or(Value::is_null) {
        object["spec"]["expirationSeconds"] = DEFAULT_SECONDS.into();
    }
    track(call, &mut object)?;
    admission::check_token(call, &object)?;
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
