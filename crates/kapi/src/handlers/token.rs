//! `serviceaccounts/x/token`: tokens for ServiceAccounts.

use kapi_auth::{TokenRequest, create_token};
use serde_json::Value;

use crate::call::{Answer, Call};
use crate::decode::{self, Format};
use crate::status::Status;
use crate::write::{self, Aspect, new_uid};

pub(super) fn create(call: &mut Call) -> Result<Answer, Status> {
    let format = Format::of(call.header(http::header::CONTENT_TYPE))?;
    let mut object = decode::read(&call.body, format).map_err(Status::bad_request)?.value;
    track(call, &mut object)?;
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

/// Books the request on its manager, as if it were stored.
fn track(call: &Call, object: &mut Value) -> Result<(), Status> {
    let Some(schema) = kapi_kinds::schema("authentication.k8s.io", "v1", "TokenRequest") else { return Ok(()) };
    write::track_as(call, object, "authentication.k8s.io/v1", schema.root(), Aspect::Part("token"))
}
