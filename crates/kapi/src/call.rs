//! One request on its way through the server.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use jiff::Timestamp;
use kapi_auth::User;
use serde_json::Value;

use crate::api::Inner;
use crate::registry::Served;
use crate::request::{Query, Target};
use crate::status::Status;

/// All a handler needs to know.
pub(crate) struct Call {
    pub(crate) api: Arc<Inner>,
    pub(crate) served: Arc<Served>,
    pub(crate) target: Target,
    pub(crate) query: Query,
    pub(crate) user: User,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) now: Timestamp,
    /// What to do about fields that are unknown or given twice.
    pub(crate) field_validation: FieldValidation,
    /// What to warn the client about.
    pub(crate) warnings: Vec<String>,
}

/// What to do about fields that are unknown or given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// What a handler gives back, before it is put in the form the client asked for.
pub(crate) enum Answer {
    /// An object, complete with apiVersion and kind.
    Object { code: u16, object: Document },
    /// A list.
    List(List),
    /// A stream of changes.
    Watch(Box<crate::handlers::watch::Watch>),
    /// Nothing, which is all there is to say.
    Nothing,
    /// A document of no resource: discovery, reviews, success.
    Plain { code: u16, value: Value },
}

/// An object, parsed or not.
#[derive(Clone, Debug)]
pub(crate) enum Document {
    Bytes(Bytes),
    Value(Value),
}

impl Document {
    pub(crate) fn into_value(self) -> Result<Value, Status> {
        match self {
            Self::Bytes(bytes) => crate::object::parse(&bytes),
            Self::Value(value) => Ok(value),
        }
    }

    pub(crate) fn into_bytes(self) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Value(value) => Bytes::from(value.to_string()),
        }
    }
}

/// Part of a collection.
pub(crate) struct List {
    pub(crate) revision: u64,
    pub(crate) next: Option<String>,
    pub(crate) remaining: Option<usize>,
    pub(crate) items: Vec<Bytes>,
}

impl Call {
    pub(crate) fn header(&self, name: http::HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub(crate) fn dry_run(&self) -> Result<bool, Status> {
        self.query.dry_run().map_err(|_| {
            let path = kapi_schema::field::Path::new("dryRun");
            let given: Vec<&str> = self.query.all("dryRun").collect();
            let error = kapi_schema::field::FieldError::not_supported(&path, &Value::from(given), &["All"]);
            Status::invalid("meta.k8s.io", self.options_kind(), "", &[error])
        })
    }

    /// Reads the `fieldValidation` parameter.
    pub(crate) fn choose_field_validation(&mut self) -> Result<(), Status> {
        self.field_validation = match self.query.get("fieldValidation") {
            None | Some("Warn") => FieldValidation::Warn,
            Some("Strict") => FieldValidation::Strict,
            Some("Ignore") => FieldValidation::Ignore,
            Some(other) => {
                let path = kapi_schema::field::Path::new("fieldValidation");
                let choices = ["", "Ignore", "Strict", "Warn"];
                let error = kapi_schema::field::FieldError::not_supported(&path, &other.into(), &choices);
                return Err(Status::invalid("meta.k8s.io", self.options_kind(), "", &[error]));
            }
        };
        Ok(())
    }

    /// The kind the query parameters of this request make up.
    pub(crate) fn options_kind(&self) -> &'static str {
        match self.target.name.is_empty() {
            true => "CreateOptions",
            false if self.header(http::header::CONTENT_TYPE).is_some_and(|media| media.contains("patch")) => {
                "PatchOptions"
            }
            false => "UpdateOptions",
        }
    }

    pub(crate) fn timestamp(&self) -> String {
        self.now.to_string()
    }
}
