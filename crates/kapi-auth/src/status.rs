//! Errors as the `Status` object that clients read.

use kapi_schema::field::{aggregate, go_quote};
use serde_json::{Map, Value, json};

/// A failure that becomes the answer to a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StatusError {
    /// The HTTP status code.
    pub code: u16,
    /// The machine-readable reason.
    pub reason: &'static str,
    /// The text for humans.
    pub message: String,
    /// `details` of the Status; empty when there are none.
    pub details: Option<Map<String, Value>>,
}

impl StatusError {
    fn plain(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None }
    }

    fn about(code: u16, reason: &'static str, message: String, group: &str, kind: &str, name: &str) -> Self {
        let mut details = Map::new();
        for (field, value) in [("name", name), ("group", group), ("kind", kind)] {
            if !value.is_empty() {
                details.insert(field.to_owned(), value.into());
            }
        }
        Self { code, reason, message, details: Some(details) }
    }

    /// 401: the credentials were not accepted; nothing is told about why.
    pub fn unauthorized() -> Self {
        Self::plain(401, "Unauthorized", "Unauthorized")
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::plain(400, "BadRequest", message)
    }

    /// 500.
    pub fn internal(message: &str) -> Self {
        let mut error = Self::plain(500, "InternalError", format!("Internal error occurred: {message}"));
        error.details = Some(Map::from_iter([("causes".to_owned(), json!([{"message": message}]))]));
        error
    }

    /// 403 on a resource, or on none for paths.
    pub fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message = match (resource, name) {
            ("", _) if group.is_empty() => format!("forbidden: {why}"),
            (_, "") => format!("{} is forbidden: {why}", qualified(resource, group)),
            _ => format!("{} {} is forbidden: {why}", qualified(resource, group), go_quote(name)),
        };
        Self::about(403, "Forbidden", message, group, resource, name)
    }

    /// 404.
    pub fn not_found(group: &str, resource: &str, name: &str) -> Self {
        Self::about(404, "NotFound", not_found_message(group, resource, name), group, resource, name)
    }

    /// 409.
    pub fn conflict(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} {}: {why}", qualified(resource, group), go_quote(name));
        Self::about(409, "Conflict", message, group, resource, name)
    }

    /// 422 with one cause per field.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let texts: Vec<_> = errors.iter().map(|e| format!("{}: {}", e.field, e.message)).collect();
        let message = format!("{} {} is invalid: {}", qualified(kind, group), go_quote(name), aggregate(&texts));
        let mut error = Self::about(422, "Invalid", message, group, kind, name);
        let causes: Vec<_> =
            errors.iter().map(|e| json!({"reason": e.reason, "message": e.message, "field": e.field})).collect();
        error.details.get_or_insert_default().insert("causes".to_owned(), causes.into());
        error
    }

    /// The whole `Status` object.
    pub fn to_value(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if let Some(details) = &self.details {
            status["details"] = details.clone().into();
        }
        status
    }
}

pub(crate) fn qualified(resource: &str, group: &str) -> String {
    if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") }
}

pub(crate) fn not_found_message(group: &str, resource: &str, name: &str) -> String {
    format!("{} {} not found", qualified(resource, group), go_quote(name))
}

/// What is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The path, such as `spec.user`.
    pub field: String,
    /// The machine-readable reason.
    pub reason: &'static str,
    /// The text, without the path.
    pub message: String,
}

impl FieldError {
    /// A wrong value, printed as JSON.
    pub fn invalid(field: impl Into<String>, value: &str, detail: &str) -> Self {
        Self { field: field.into(), reason: "FieldValueInvalid", message: format!("Invalid value: {value}: {detail}") }
    }

    /// A missing value.
    pub fn required(field: impl Into<String>, detail: &str) -> Self {
        Self { field: field.into(), reason: "FieldValueRequired", message: format!("Required value: {detail}") }
    }

    /// A value that must not be there.
    pub fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self { field: field.into(), reason: "FieldValueForbidden", message: format!("Forbidden: {detail}") }
    }
}
