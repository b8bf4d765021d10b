//! Reviews: questions that are answered, not stored.

use kapi_auth::review;
use serde_json::Value;

use crate::call::{Answer, Call};
use crate::status::Status;
use crate::write::{self, Aspect};

/// Answers a review. None when the kind is no review.
pub(super) fn answer(call: &mut Call) -> Option<Result<Answer, Status>> {
    let group = &*call.served.resource.group;
    if !matches!(group, "authentication.k8s.io" | "authorization.k8s.io") {
        return None;
    }
    Some(reviewed(call).map(|value| Answer::Plain { code: 201, value }))
}

fn reviewed(call: &mut Call) -> Result<Value, Status> {
    let mut review = write::read_object(call)?;
    write::track(call, None, &mut review, Aspect::Main)?;
    let auth = &call.api.auth;
    let authorizer = &auth.authorizer;
    let answered = match &*call.served.resource.plural {
        "tokenreviews" => review::token_review(review, &auth.authenticator, call.now),
        "subjectaccessreviews" => review::subject_access_review(review, authorizer),
        "selfsubjectaccessreviews" => review::self_subject_access_review(review, &call.user, authorizer),
        "localsubjectaccessreviews" => {
            review::local_subject_access_review(review, &call.target.namespace, authorizer)
        }
        "selfsubjectrulesreviews" => review::self_subject_rules_review(&review, &call.user, authorizer),
        "selfsubjectreviews" => Ok(review::self_subject_review(&call.user, call.now)),
        _ => return Err(Status::no_such_path()),
    };
    Ok(answered?)
}
