//! Answers that are not objects: the `Status` every client knows how to read.

use kapi_schema::field::{FieldError, aggregate};
use serde_json::{Map, Value, json};

/// A failure as Kubernetes reports it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// The HTTP code.
    pub code: u16,
    /// The machine-readable reason, such as `NotFound`.
    pub reason: &'static str,
    /// The sentence for people.
    pub message: String,
    /// What it is about; absent when empty.
    pub details: Option<Box<Details>>,
    /// A token to continue a list with.
    pub next: Option<String>,
}

/// What a failure is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// The object's name.
    pub name: String,
    /// The API group.
    pub group: String,
    /// The resource or kind.
    pub kind: String,
    /// The object's uid.
    pub uid: String,
    /// The single faults.
    pub causes: Vec<Cause>,
    /// When to try again.
    pub retry_after_seconds: u32,
}

/// One fault.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cause {
    /// The machine-readable reason.
    pub reason: String,
    /// The sentence for people.
    pub message: String,
    /// The field at fault.
    pub field: String,
}

/// A resource by group and plural name, as messages print it.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The API group; empty for core.
    pub group: &'a str,
    /// The plural name.
    pub plural: &'a str,
}

impl std::fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.group {
            "" => f.write_str(self.plural),
            group => write!(f, "{}.{group}", self.plural),
        }
    }
}

impl Status {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, next: None }
    }

    fn about(mut self, resource: Named<'_>, name: &str) -> Self {
        let details = self.details.get_or_insert_default();
        details.group = resource.group.into();
        details.kind = resource.plural.into();
        details.name = name.into();
        self
    }

    /// 400: the request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 401: who is asking is not known.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 403: the message is the whole sentence.
    pub fn forbidden(resource: Named<'_>, name: &str, message: impl Into<String>) -> Self {
        Self::new(403, "Forbidden", message).about(resource, name)
    }

    /// 403 in the usual wording.
    pub fn forbidden_because(resource: Named<'_>, name: &str, why: impl std::fmt::Display) -> Self {
        let message = match name {
            "" => format!("{resource} is forbidden: {why}"),
            name => format!("{resource} {name:?} is forbidden: {why}"),
        };
        Self::forbidden(resource, name, message)
    }

    /// 404: no such object.
    pub fn not_found(resource: Named<'_>, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{resource} {name:?} not found")).about(resource, name)
    }

    /// 404: nothing is served at this path.
    pub fn no_such_path() -> Self {
        let mut status = Self::new(404, "NotFound", "the server could not find the requested resource");
        status.details = Some(Box::default());
        status
    }

    /// 405: the resource does not do this.
    pub fn method_refused() -> Self {
        let message = "the server does not allow this method on the requested resource";
        let mut status = Self::new(405, "MethodNotAllowed", message);
        status.details = Some(Box::default());
        status
    }

    /// 406: no representation the client accepts.
    pub fn not_acceptable(available: &str) -> Self {
        let message = format!("406: Not Acceptable\n\nAvailable representations: {available}");
        let mut status = Self::new(406, "NotAcceptable", message);
        status.details = Some(Box::default());
        status
    }

    /// 406: the media type is served, but not in the form asked for.
    pub fn no_such_form(media_types: &[&str]) -> Self {
        Self::wrong_form(format!("only the following media types are accepted: {}", media_types.join(", ")))
    }

    /// 406: the form asked for does not fit what it was asked of.
    pub fn wrong_form(message: impl Into<String>) -> Self {
        Self::new(406, "NotAcceptable", message)
    }

    /// 409: the name is taken.
    pub fn already_exists(resource: Named<'_>, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{resource} {name:?} already exists")).about(resource, name)
    }

    /// 409: the change does not fit what is there.
    pub fn conflict(resource: Named<'_>, name: &str, why: impl std::fmt::Display) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} {name:?}: {why}");
        Self::new(409, "Conflict", message).about(resource, name)
    }

    /// 409 in the wording of a lost race.
    pub fn modified(resource: Named<'_>, name: &str) -> Self {
        const WHY: &str = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, WHY)
    }

    /// 409 of server-side apply.
    pub fn apply_conflict(message: String, causes: Vec<Cause>) -> Self {
        let mut status = Self::new(409, "Conflict", message);
        status.details = Some(Box::new(Details { causes, ..Details::default() }));
        status
    }

    /// 410: history is gone.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 413: the body is too large.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// 415: the body is in no format we take.
    pub fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 415: a patch in no format the kind takes.
    pub fn unsupported_patch(custom: bool) -> Self {
        if custom {
            return Self::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            );
        }
        let mut status = Self::unsupported_media_type("415: Unsupported Media Type");
        status.details = Some(Box::default());
        status
    }

    /// 410: a continue token whose revision is gone; the list can go on from the present with the token given.
    pub fn expired_continue(next: String) -> Self {
        let mut status = Self::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list \
             without the continue parameter, or use the continue token in this response to retrieve the remainder of the \
             results. Continuing with the provided token results in an inconsistent list - objects that were created, \
             modified, or deleted between the time the first chunk was returned and now may show up in the list.",
        );
        status.next = Some(next);
        status
    }

    /// 422: a patch that cannot be applied to this object.
    pub fn unprocessable_patch() -> Self {
        let mut status = Self::new(422, "Invalid", "the server rejected our request due to an error in our request");
        status.details = Some(Box::default());
        status
    }

    /// 422: the object is wrong; every fault is named.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let message = format!("{} {name:?} is invalid: {}", Named { group, plural: kind }, aggregate(errors));
        let mut status = Self::new(422, "Invalid", message).about(Named { group, plural: kind }, name);
        if let Some(details) = &mut status.details {
            details.causes = errors.iter().map(Cause::from).collect();
        }
        status
    }

    /// 422 without field errors.
    pub fn unprocessable(resource: Named<'_>, name: &str, message: impl Into<String>) -> Self {
        Self::new(422, "Invalid", message).about(resource, name)
    }

    /// 429: later.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        let mut status = Self::new(429, "TooManyRequests", message);
        status.details = Some(Box::new(Details { retry_after_seconds, ..Details::default() }));
        status
    }

    /// 500: our fault.
    pub fn internal(error: impl std::fmt::Display) -> Self {
        let message = format!("Internal error occurred: {error}");
        let mut status = Self::new(500, "InternalError", message);
        let cause = Cause { message: error.to_string(), ..Cause::default() };
        status.details = Some(Box::new(Details { causes: vec![cause], ..Details::default() }));
        status
    }

    /// 500 with nothing but the sentence.
    pub fn unexplained(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// 503: not now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(503, "ServiceUnavailable", message)
    }

    /// 504: a revision that has not happened.
    pub fn too_large_revision(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let mut status = Self::new(504, "Timeout", message);
        let cause = Cause {
            reason: "ResourceVersionTooLarge".into(),
            message: "Too large resource version".into(),
            field: String::new(),
        };
        status.details = Some(Box::new(Details { causes: vec![cause], retry_after_seconds: 1, ..Details::default() }));
        status
    }

    /// The Status document.
    pub fn to_value(&self) -> Value {
        let mut out = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if !self.reason.is_empty() {
            out["reason"] = self.reason.into();
        }
        if let Some(next) = &self.next {
            out["metadata"]["continue"] = next.as_str().into();
        }
        if let Some(details) = &self.details {
            out["details"] = details.to_value();
        }
        out
    }
}

impl Details {
    /// The `details` of a Status document.
    pub fn to_value(&self) -> Value {
        let mut out = Map::new();
        let mut text = |key: &str, value: &str| {
            if !value.is_empty() {
                out.insert(key.into(), value.into());
            }
        };
        text("name", &self.name);
        text("group", &self.group);
        text("kind", &self.kind);
        text("uid", &self.uid);
        if !self.causes.is_empty() {
            out.insert("causes".into(), self.causes.iter().map(Cause::to_value).collect());
        }
        if self.retry_after_seconds > 0 {
            out.insert("retryAfterSeconds".into(), self.retry_after_seconds.into());
        }
        Value::Object(out)
    }
}

impl Cause {
    fn to_value(&self) -> Value {
        let mut out = Map::new();
        for (key, value) in [("reason", &self.reason), ("message", &self.message), ("field", &self.field)] {
            if !value.is_empty() {
                out.insert(key.into(), value.as_str().into());
            }
        }
        Value::Object(out)
    }
}

impl From<&FieldError> for Cause {
    fn from(error: &FieldError) -> Self {
        Self { reason: error.kind.reason().into(), message: error.body(), field: error.path.to_string() }
    }
}

impl From<kapi_store::StoreError> for Status {
    fn from(error: kapi_store::StoreError) -> Self {
        Self::internal(error)
    }
}
