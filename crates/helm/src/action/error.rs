//! Why an action failed, and whether trying again makes sense.

use std::time::Duration;

use super::object::ObjectRef;
use crate::manifest::Event;
use crate::release::{RecordError, RecordsError};
use crate::render::RenderError;

/// Why an action failed.
#[derive(Debug, thiserror::Error)]
pub enum ActionError {
    /// The name is none that Helm takes.
    #[error("{0:?} is no name of a release: up to 53 letters, digits, dashes and dots, none of these two at an end")]
    BadName(String),
    /// The chart cannot be rendered with these values.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// What was rendered, or what a record has, is no object.
    #[error("the manifest cannot be read: {0}")]
    Manifest(String),
    /// There is a release of this name.
    #[error("release {0} is there already: upgrade or uninstall it")]
    NameInUse(String),
    /// There is no release of this name, or not this revision of it.
    #[error("release {0} is not there")]
    NotFound(String),
    /// Somebody else is at work on the release.
    #[error(
        "somebody else is at work on release {name} ({status} since {since}): wait for them, or delete the record of revision {revision} if they are gone"
    )]
    Busy {
        /// The release.
        name: String,
        /// Its pending revision.
        revision: u32,
        /// What it is about.
        status: &'static str,
        /// Since when.
        since: String,
    },
    /// Records cannot be read or written.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// The cluster knows no such kind.
    #[error("{object}: the cluster knows no kind {} of {}: install what defines it first", .object.kind, .object.api_version)]
    UnknownKind {
        /// What is of that kind.
        object: Box<ObjectRef>,
    },
    /// Objects are there and belong to somebody else.
    #[error("{}: they exist and are not of this release; delete them, or take ownership", .0.join(", "))]
    Owned(Vec<String>),
    /// The API refused something, or could not be reached.
    #[error("cannot {verb} {object}: {}", told(.object, .source))]
    Api {
        /// What was to be done.
        verb: &'static str,
        /// With what.
        object: Box<ObjectRef>,
        /// Why it was not.
        source: Box<kube::Error>,
    },
    /// The API cannot be asked what it can.
    #[error("cannot ask the cluster what it can: {}", answer(.0))]
    Discovery(Box<kube::Error>),
    /// A hook failed.
    #[error("the {} hook {object} failed: {reason}", .event.name())]
    Hook {
        /// When it ran.
        event: Event,
        /// Its object.
        object: Box<ObjectRef>,
        /// What it says.
        reason: String,
    },
    /// Something did not become what it should in time.
    #[error("after {} s {object} is not ready: {reason}", .after.as_secs())]
    NotReady {
        /// Which object.
        object: Box<ObjectRef>,
        /// What is missing.
        reason: String,
        /// How long it had.
        after: Duration,
    },
    /// Something will not become what it should.
    #[error("{object} failed: {reason}")]
    Unhealthy {
        /// Which object.
        object: Box<ObjectRef>,
        /// What it says.
        reason: String,
    },
    /// The action failed, and what it did was taken back.
    #[error("{cause}; {}", match .to { Some(to) => went_back(*to), None => "uninstalled again".to_owned() })]
    TakenBack {
        /// The revision that has what was there before, if there was anything.
        to: Option<u32>,
        /// Why.
        #[source]
        cause: Box<ActionError>,
    },
    /// The action failed, and what it did could not be taken back.
    #[error("{cause}; and it could not be taken back: {why}")]
    NotTakenBack {
        /// Why it failed.
        #[source]
        cause: Box<ActionError>,
        /// Why that could not be taken back.
        why: Box<ActionError>,
    },
    /// There is nothing to go back to.
    #[error("release {0} has no revision to go back to")]
    NoEarlier(String),
    /// Rendering was cut short.
    #[error("rendering was cut short: {0}")]
    Interrupted(String),
}

/// How people are told that what was there before is there again: as a revision of its own.
pub fn went_back(revision: u32) -> String {
    format!("went back to what was there before, as revision {revision}")
}

impl ActionError {
    /// Whether the same action fails again until somebody changes chart, values or cluster.
    pub fn is_final(&self) -> bool {
        match self {
            Self::BadName(_)
            | Self::Render(_)
            | Self::Manifest(_)
            | Self::NameInUse(_)
            | Self::NotFound(_)
            | Self::UnknownKind { .. }
            | Self::Owned(_)
            | Self::NoEarlier(_) => true,
            Self::Records(RecordsError::Record { .. }) => true,
            Self::Records(RecordsError::Api { source, .. }) | Self::Discovery(source) | Self::Api { source, .. } => {
                // What an object needs, its namespace for instance, may come.
                is_refusal(source) && !is_missing(source)
            }
            Self::TakenBack { cause, .. } => cause.is_final(),
            // Another try takes it back.
            Self::NotTakenBack { cause, why } => cause.is_final() && why.is_final(),
            Self::Busy { .. }
            | Self::Hook { .. }
            | Self::NotReady { .. }
            | Self::Unhealthy { .. }
            | Self::Interrupted(_) => false,
        }
    }

    /// What it is, in one word that programs can match.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::BadName(_) => "BadName",
            Self::Render(RenderError::Schema(_) | RenderError::Values(_)) => "ValuesRefused",
            Self::Render(RenderError::KubeVersion { .. }) => "KubernetesVersion",
            Self::Render(_) => "RenderFailed",
            Self::Manifest(_) => "BadManifest",
            Self::NameInUse(_) => "NameInUse",
            Self::NotFound(_) => "NotInstalled",
            Self::Busy { .. } => "Busy",
            Self::Records(RecordsError::Record {
                source: RecordError::TooLarge { .. } | RecordError::TooLargeUnpacked,
                ..
            }) => "RecordTooLarge",
            Self::Records(RecordsError::Record { .. }) => "BadRecord",
            Self::UnknownKind { .. } => "UnknownKind",
            Self::Owned(_) => "OwnedByOthers",
            Self::Records(RecordsError::Api { source, .. }) | Self::Discovery(source) | Self::Api { source, .. } => {
                match source.as_ref() {
                    kube::Error::Api(status) if status.code == 403 => "Forbidden",
                    kube::Error::Api(status) if status.code == 409 => "Conflict",
                    _ if is_refusal(source) => "Refused",
                    _ => "Unreachable",
                }
            }
            Self::Hook { .. } => "HookFailed",
            Self::NotReady { .. } => "NotReady",
            Self::Unhealthy { .. } => "Unhealthy",
            Self::TakenBack { cause, .. } | Self::NotTakenBack { cause, .. } => cause.reason(),
            Self::NoEarlier(_) => "NothingToGoBackTo",
            Self::Interrupted(_) => "Interrupted",
        }
    }

    /// The fields of an object that the API will not have, as it names them.
    pub fn refused_fields(&self) -> Vec<String> {
        match self {
            Self::Api { source, .. } => fields(source),
            Self::TakenBack { cause, .. } | Self::NotTakenBack { cause, .. } => cause.refused_fields(),
            _ => Vec::new(),
        }
    }

    /// Whether the cluster does not know what it was asked for: what is known of its kinds may be old.
    pub(super) fn is_missing(&self) -> bool {
        match self {
            Self::UnknownKind { .. } => true,
            Self::Api { source, .. } => is_missing(source),
            _ => false,
        }
    }

    /// Whether it says nothing of the release: the API was not there or not itself, so that the same step is worth another
    /// try, or somebody else has written the record meanwhile, and the release is theirs now.
    pub(super) fn is_inconclusive(&self) -> bool {
        match self {
            Self::Records(error) if error.is_conflict() => true,
            Self::Records(RecordsError::Api { source, .. }) | Self::Discovery(source) | Self::Api { source, .. } => {
                match source.as_ref() {
                    kube::Error::Api(status) => status.code == 429 || (status.code >= 500 && !is_refusal(source)),
                    _ => true,
                }
            }
            Self::Interrupted(_) => true,
            _ => false,
        }
    }
}

/// What the API begins with when an object that is applied does not have the shape of its kind. It says so with 500.
const MISSHAPEN: &str = "failed to create typed patch object";

/// Whether the API will not have it as it is. What else is said with 4xx, by proxies for instance, is not about the object.
fn is_refusal(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else { return false };
    match status.code {
        400 | 404 | 405 | 413 | 415 | 422 => true,
        code => code == 500 && status.message.starts_with(MISSHAPEN),
    }
}

fn is_missing(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// What the API said. Of Secrets only which fields it was about: it repeats values.
fn told(object: &ObjectRef, error: &kube::Error) -> String {
    let kube::Error::Api(status) = error else { return answer(error) };
    if object.kind != "Secret" || !is_refusal(error) || is_missing(error) {
        return plainly(&status.message);
    }
    let fields = fields(error);
    if fields.is_empty() { "it is not valid".to_owned() } else { format!("{} is not valid", fields.join(", ")) }
}

/// The fields that the API will not have.
fn fields(error: &kube::Error) -> Vec<String> {
    let kube::Error::Api(status) = error else { return Vec::new() };
    let wrong = misshapen(&status.message);
    if !wrong.is_empty() {
        let field = |told: &&str| told.strip_prefix('.')?.split_once(": ").map(|(field, _)| field.to_owned());
        return wrong.iter().filter_map(field).collect();
    }
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.map(|cause| cause.field.clone()).filter(|field| !field.is_empty()).collect()
}

/// All that is wrong with the shape of an object, without its name, if that is what the API complains about.
fn misshapen(message: &str) -> Vec<&str> {
    let Some((_, told)) = message.strip_prefix(MISSHAPEN).and_then(|rest| rest.split_once("): ")) else {
        return Vec::new();
    };
    match told.strip_prefix("errors:\n") {
        Some(several) => several.lines().map(str::trim).collect(),
        None => vec![told],
    }
}

/// A message without what only says how the API is made.
fn plainly(message: &str) -> String {
    let wrong = misshapen(message);
    if wrong.is_empty() { message.to_owned() } else { wrong.into_iter().map(unwrapped).collect::<Vec<_>>().join("; ") }
}

/// A complaint with the value it is about as people write it.
fn unwrapped(told: &str) -> String {
    let value = ["&value.valueUnstructured{Value:", "&{"].iter().find_map(|wrapping| told.split_once(wrapping));
    match value {
        Some((before, value)) => format!("{before}{}", value.strip_suffix('}').unwrap_or(value)),
        None => told.to_owned(),
    }
}

fn answer(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        _ => "the API cannot be reached".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use serde_json::json;

    use super::*;

    fn answered(kind: &str, code: u16, message: &str, fields: &[&str]) -> ActionError {
        let causes: Vec<_> = fields.iter().map(|field| json!({"field": field})).collect();
        let status = json!({"status": "Failure", "code": code, "message": message, "details": {"causes": causes}});
        let status: Status = serde_json::from_value(status).unwrap();
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "web", "namespace": "shop"}});
        let source = Box::new(kube::Error::Api(Box::new(status)));
        ActionError::Api { verb: "apply", object: Box::new(ObjectRef::of(&object)), source }
    }

    #[test]
    fn a_refusal_is_told_from_an_api_that_is_away() {
        let misshapen = "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): \
                         .spec.replicas: expected numeric (int or float), got string";
        for (code, message, reason, is_final, is_inconclusive) in [
            (400, "no", "Refused", true, false),
            (405, "no", "Refused", true, false),
            (413, "no", "Refused", true, false),
            (415, "no", "Refused", true, false),
            (422, "no", "Refused", true, false),
            (407, "no", "Unreachable", false, false),
            (408, "no", "Unreachable", false, false),
            (410, "no", "Unreachable", false, false),
            (421, "no", "Unreachable", false, false),
            (423, "no", "Unreachable", false, false),
            (425, "no", "Unreachable", false, false),
            (404, "namespaces \"shop\" not found", "Refused", false, false),
            (500, misshapen, "Refused", true, false),
            (500, "etcdserver: request timed out", "Unreachable", false, true),
            (503, "no", "Unreachable", false, true),
            (429, "no", "Unreachable", false, true),
            (401, "no", "Unreachable", false, false),
            (403, "no", "Forbidden", false, false),
            (409, "no", "Conflict", false, false),
        ] {
            let error = answered("Deployment", code, message, &[]);
            let found = (error.reason(), error.is_final(), error.is_inconclusive());
            assert_eq!(found, (reason, is_final, is_inconclusive), "{code} {message}");
        }
    }

    #[test]
    fn refused_fields_are_named() {
        let misshapen = "failed to create typed patch object (shop/web; v1, Kind=X): .data.k: expected string, got \
                         &value.valueUnstructured{Value:5}";
        let several = "failed to create typed patch object (shop/web; v1, Kind=X): errors:\n  \
                       .data.k: expected string, got &value.valueUnstructured{Value:5}\n  \
                       .data.l[0].m: field not declared in schema";
        let all = ".data.k: expected string, got 5; .data.l[0].m: field not declared in schema";
        for (kind, code, message, causes, fields, told) in [
            ("ConfigMap", 500, misshapen, &[][..], &["data.k"][..], ".data.k: expected string, got 5"),
            ("Secret", 500, misshapen, &[], &["data.k"], "data.k is not valid"),
            ("ConfigMap", 500, several, &[], &["data.k", "data.l[0].m"], all),
            ("Secret", 500, several, &[], &["data.k", "data.l[0].m"], "data.k, data.l[0].m is not valid"),
            ("Service", 422, "it is invalid", &["spec.ports", ""], &["spec.ports"], "it is invalid"),
            ("Secret", 400, "hunter2 is no base64", &[], &[], "it is not valid"),
            ("Secret", 404, "namespaces \"x\" not found", &[], &[], "namespaces \"x\" not found"),
        ] {
            let error = answered(kind, code, message, causes);
            assert_eq!(error.refused_fields(), fields, "{message}");
            assert_eq!(error.to_string(), format!("cannot apply {kind} shop/web: {told}"));
        }
    }
}
