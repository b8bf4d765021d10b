//! `serviceaccounts/x/token`: tokens for ServiceAccounts.

use kapi_auth::{TokenRequest, create_token};

use crate::call::{Answer, Call};
use crate::decode::{self, Format};
use crate::status::Status;
use crate::write::new_uid;

pub(super) fn create(call: &mut Call) -> Result<Answer, Status> {
    let format = Format::of(call.header(http::header::CONTENT_TYPE))?;
    let object = decode::read(&call.body, format).map_err(Status::bad_request)?.value;
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
