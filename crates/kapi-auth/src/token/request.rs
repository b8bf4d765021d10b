//! The `token` subresource of ServiceAccounts.

use jiff::{SignedDuration, Timestamp};
use kapi_schema::field::go_quote;
use serde_json::{Value, json};

use super::issue::{BoundObject, Lifetime, TokenIssuer};
use crate::{
    FieldError, ObjectReader, StatusError,
    objects::{at, name, text, texts, uid},
};

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenRequest";
/// What is asked for without saying so.
const DEFAULT_SECONDS: i64 = 3600;
/// Kubelets ask for one hour and seven seconds when the pod did not choose: such tokens live a year, because old
/// clients do not reload them, and a late use is noted instead.
const EXTENDABLE_SECONDS: i64 = 3607;
const EXTENDED_SECONDS: i64 = 365 * 24 * 3600;

/// A request for a token and what is needed to answer it.
#[derive(Clone, Copy)]
pub struct TokenRequest<'a> {
    /// The namespace in the path.
    pub namespace: &'a str,
    /// The ServiceAccount in the path.
    pub name: &'a str,
    /// The `TokenRequest` object sent.
    pub object: &'a Value,
    /// The audiences of this server: the default, and those whose tokens may be extended.
    pub audiences: &'a [String],
    /// The longest lifetime given, if it is limited.
    pub max_seconds: Option<i64>,
    /// The moment of the request.
    pub now: Timestamp,
    /// A new random identifier (a UUID) for the token.
    pub id: &'a str,
}

/// The answer to a request for a token.
#[derive(Clone)]
pub struct TokenRequestOutcome {
    /// The completed `TokenRequest`; it holds the token.
    pub object: Value,
    /// Texts for `Warning` headers.
    pub warnings: Vec<String>,
}

/// Makes a token, or tells why not. Admission belongs between validation and this call.
pub fn create_token(
    request: &TokenRequest<'_>,
    issuer: &TokenIssuer,
    objects: &dyn ObjectReader,
) -> Result<TokenRequestOutcome, StatusError> {
    check_metadata(request)?;
    let account = objects
        .get("", "serviceaccounts", request.namespace, request.name)
        .ok_or_else(|| StatusError::not_found("", "serviceaccounts", request.name))?;
    let asked_uid = uid(request.object);
    if !asked_uid.is_empty() && asked_uid != uid(&account) {
        let why = format!(
            "the UID in the token request ({asked_uid}) does not match the UID of the service account ({})",
            uid(&account)
        );
        return Err(StatusError::conflict(GROUP, KIND, request.name, &why));
    }
    let mut audiences = texts(request.object, &["spec", "audiences"]);
    if audiences.is_empty() {
        audiences = request.audiences.to_vec();
    }
    let seconds = checked_seconds(request.object)?;
    let bound = find_bound_object(request, objects)?;
    let (seconds, warnings) = match request.max_seconds {
        Some(max) if max > 0 && seconds > max => {
            (max, vec![format!("requested expiration of {seconds} seconds shortened to {max} seconds")])
        }
        _ => (seconds, Vec::new()),
    };
    let for_this_server = audiences.iter().all(|audience| request.audiences.contains(audience));
    let extend = seconds == EXTENDABLE_SECONDS && matches!(bound, Bound::Pod(..)) && for_this_server;
    let lifetime = Lifetime {
        now: request.now,
        seconds: if extend { EXTENDED_SECONDS } else { seconds },
        warn_after: extend.then_some(seconds),
    };
    let token = issuer
        .issue(&account, bound.as_object(), &audiences, lifetime, request.id)
        .map_err(|e| StatusError::internal(&format!("failed to generate token: {e}")))?;
    let ends = request.now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
    let object = complete(request, &account, &audiences, seconds, ends, token.expose());
    Ok(TokenRequestOutcome { object, warnings })
}

fn complete(
    request: &TokenRequest<'_>,
    account: &Value,
    audiences: &[String],
    seconds: i64,
    ends: Timestamp,
    token: &str,
) -> Value {
    let mut metadata = request.object.get("metadata").filter(|m| m.is_object()).cloned().unwrap_or_else(|| json!({}));
    metadata["name"] = request.name.into();
    metadata["namespace"] = request.namespace.into();
    metadata["uid"] = uid(account).into();
    metadata["creationTimestamp"] = whole_second(request.now).into();
    json!({
        "kind": KIND,
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": metadata,
        "spec": {
            "audiences": audiences,
            "expirationSeconds": seconds,
            "boundObjectRef": at(request.object, &["spec", "boundObjectRef"]),
        },
        "status": {"token": token, "expirationTimestamp": whole_second(ends)},
    })
}

fn whole_second(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn check_metadata(request: &TokenRequest<'_>) -> Result<(), StatusError> {
    let sent = |field| text(request.object, &["metadata", field]);
    let differs = |field, wanted: &str| !sent(field).is_empty() && sent(field) != wanted;
    if differs("namespace", request.namespace) {
        return Err(StatusError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    if differs("name", request.name) {
        let detail = "must match the service account name if specified";
        let error = FieldError::invalid("metadata.name", &go_quote(sent("name")), detail);
        return Err(StatusError::invalid(GROUP, KIND, request.name, &[error]));
    }
    Ok(())
}

fn checked_seconds(object: &Value) -> Result<i64, StatusError> {
    let seconds = at(object, &["spec", "expirationSeconds"]).and_then(Value::as_i64).unwrap_or(DEFAULT_SECONDS);
    let detail = match seconds {
        ..600 => "may not specify a duration less than 10 minutes",
        seconds if seconds > 1 << 32 => "may not specify a duration larger than 2^32 seconds",
        _ => return Ok(seconds),
    };
    let error = FieldError::invalid("spec.expirationSeconds", &seconds.to_string(), detail);
    Err(StatusError::invalid(GROUP, KIND, "", &[error]))
}

/// The object found for the reference; see [`BoundObject`].
enum Bound {
    Nothing,
    Pod(std::sync::Arc<Value>, Option<(String, String)>),
    Node(std::sync::Arc<Value>),
    Secret(std::sync::Arc<Value>),
}

impl Bound {
    fn as_object(&self) -> BoundObject<'_> {
        match self {
            Self::Nothing => BoundObject::Nothing,
            Self::Pod(pod, node) => {
                BoundObject::Pod(pod, node.as_ref().map(|(name, uid)| (name.as_str(), uid.as_str())))
            }
            Self::Node(node) => BoundObject::Node(node),
            Self::Secret(secret) => BoundObject::Secret(secret),
        }
    }
}

fn find_bound_object(request: &TokenRequest<'_>, objects: &dyn ObjectReader) -> Result<Bound, StatusError> {
    let Some(reference) = at(request.object, &["spec", "boundObjectRef"]) else { return Ok(Bound::Nothing) };
    let field = |name| text(reference, &[name]);
    let (group, version) = field("apiVersion").rsplit_once('/').unwrap_or(("", field("apiVersion")));
    let find = |resource: &str, namespace: &str| {
        let found = objects.get("", resource, namespace, field("name"));
        found.ok_or_else(|| StatusError::not_found("", resource, field("name")))
    };
    let (bound, found_uid) = match (group, field("kind")) {
        ("", "Pod") => {
            let pod = find("pods", request.namespace)?;
            if text(&pod, &["spec", "serviceAccountName"]) != request.name {
                return Err(StatusError::bad_request(format!(
                    "cannot bind token for serviceaccount {} to pod running with different serviceaccount name.",
                    go_quote(request.name)
                )));
            }
            let (node, found_uid) = (node_of(&pod, objects), uid(&pod).to_owned());
            (Bound::Pod(pod, node), found_uid)
        }
        ("", "Node") => {
            let node = find("nodes", "")?;
            let found_uid = uid(&node).to_owned();
            (Bound::Node(node), found_uid)
        }
        ("", "Secret") => {
            let secret = find("secrets", request.namespace)?;
            let found_uid = uid(&secret).to_owned();
            (Bound::Secret(secret), found_uid)
        }
        (group, kind) => {
            let group = if group.is_empty() { "/".to_owned() } else { format!("{group}/") };
            return Err(StatusError::bad_request(format!(
                "cannot bind token to object of type {group}{version}, Kind={kind}"
            )));
        }
    };
    let asked = field("uid");
    if !asked.is_empty() && asked != found_uid {
        let why = format!(
            "the UID in the bound object reference ({asked}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        return Err(StatusError::conflict("", field("kind"), field("name"), &why));
    }
    Ok(bound)
}

/// Name and UID of the pod's node; the UID is empty when the node is not known.
fn node_of(pod: &Value, objects: &dyn ObjectReader) -> Option<(String, String)> {
    let node = text(pod, &["spec", "nodeName"]);
    if node.is_empty() {
        return None;
    }
    let found = objects.get("", "nodes", "", node);
    Some(found.map_or((node.to_owned(), String::new()), |n| (name(&n).to_owned(), uid(&n).to_owned())))
}
