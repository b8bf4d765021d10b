//! The AdmissionReview: what a webhook is sent, and what its answer means.

use base64::Engine as _;
use serde_json::{Map, Value, json};

use super::super::Operation;
use super::super::fields::{present, text};
use super::{Subject, posted_kind};
use crate::call::Call;
use crate::registry::Served;
use crate::status::{Cause, Details, Status};

/// What a webhook decided.
#[derive(Debug, PartialEq)]
pub(super) struct Verdict {
    pub(super) denial: Option<Status>,
    /// The JSON patch, if there is one.
    pub(super) patch: Option<Vec<u8>>,
    pub(super) warnings: Vec<String>,
}

/// The review of a write, for a webhook that sees the kind as `seen` serves it.
pub(super) fn request(call: &Call, subject: &Subject<'_>, seen: &Served, uid: &str) -> Value {
    let kind = |served: &Served| {
        let resource = &served.resource;
        let (group, version, kind) = match call.target.subresource.as_str() {
            "scale" => ("autoscaling", "v1", "Scale"),
            part => posted_kind(part).unwrap_or((&resource.group, &resource.version, &resource.kind)),
        };
        json!({"group": group, "version": version, "kind": kind})
    };
    let resource = |served: &Served| {
        json!({
            "group": &*served.resource.group, "version": &*served.resource.version, "resource": &*served.resource.plural,
        })
    };
    let mut request = json!({
        "uid": uid,
        "kind": kind(seen),
        "resource": resource(seen),
        "requestKind": kind(&call.served),
        "requestResource": resource(&call.served),
        "operation": subject.operation.name(),
        "userInfo": call.user.to_user_info(),
        "object": subject.object_as(seen),
        "oldObject": subject.old_as(seen),
        "dryRun": subject.dry_run,
        "options": options(call, subject),
    });
    let name = if call.target.name.is_empty() { subject.name() } else { call.target.name.as_str() };
    for (field, value) in [
        ("subResource", call.target.subresource.as_str()),
        ("requestSubResource", call.target.subresource.as_str()),
        ("name", name),
        ("namespace", subject.namespace),
    ] {
        if !value.is_empty() {
            request[field] = value.into();
        }
    }
    json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
}

fn options(call: &Call, subject: &Subject<'_>) -> Value {
    let kind = match subject.operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
    };
    let mut out = Map::new();
    if subject.operation == Operation::Delete
        && let Ok(Value::Object(body)) = serde_json::from_slice(&call.body)
    {
        out.extend(body);
    }
    out.insert("kind".into(), kind.into());
    out.insert("apiVersion".into(), "meta.k8s.io/v1".into());
    for field in ["fieldManager", "fieldValidation", "propagationPolicy"] {
        let applies = (field == "propagationPolicy") == (subject.operation == Operation::Delete);
        if let Some(value) = call.query.get(field).filter(|_| applies) {
            out.insert(field.into(), value.into());
        }
    }
    if subject.dry_run {
        out.insert("dryRun".into(), json!(["All"]));
    }
    Value::Object(out)
}

/// Reads an answer. The error is what is wrong with it.
pub(super) fn verdict(hook: &str, uid: &str, mutating: bool, review: &Value) -> Result<Verdict, String> {
    let Some(response) = present(review, "/response") else { return Err("webhook response was absent".into()) };
    let found = text(response, "/uid");
    if found != uid {
        return Err(format!("expected response.uid={uid:?}, got {found:?}"));
    }
    let (api_version, kind) = (text(review, "/apiVersion"), text(review, "/kind"));
    if (api_version, kind) != ("admission.k8s.io/v1", "AdmissionReview") {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        return Err(format!(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {group}/{version}, Kind={kind}"
        ));
    }
    let patch = text(response, "/patch");
    let patch_type = present(response, "/patchType").map(|kind| kind.as_str().unwrap_or_default());
    match (mutating, patch.is_empty(), patch_type) {
        (true, false, None) => return Err("webhook returned response.patch but not response.patchType".into()),
        (true, true, Some(_)) => return Err("webhook returned response.patchType but not response.patch".into()),
        (true, false, Some("")) => return Err("webhook returned invalid response.patchType of \"\"".into()),
        (true, false, Some(other)) if other != "JSONPatch" => return Err(format!("unsupported patch type {other:?}")),
        (false, false, _) => return Err("validating webhook may not return response.patch".into()),
        (false, true, Some(_)) => return Err("validating webhook may not return response.patchType".into()),
        _ => {}
    }
    let patch = base64::engine::general_purpose::STANDARD
        .decode(patch)
        .map_err(|error| format!("illegal base64 data in response.patch: {error}"))?;
    let warnings = super::super::fields::texts(response, "/warnings").into_iter().map(str::to_owned).collect();
    let allowed = response.get("allowed").and_then(Value::as_bool).unwrap_or(false);
    let denial = (!allowed).then(|| denial(hook, response.get("status").unwrap_or(&Value::Null)));
    Ok(Verdict { denial, patch: Some(patch).filter(|patch| !patch.is_empty()), warnings })
}

fn denial(hook: &str, status: &Value) -> Status {
    let denied = format!("admission webhook {hook:?} denied the request");
    let code = status.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let message = match (text(status, "/message"), text(status, "/reason")) {
        ("", "") => format!("{denied} without explanation"),
        ("", reason) => format!("{denied}: {reason}"),
        (message, _) => format!("{denied}: {message}"),
    };
    Status {
        code: code.filter(|code| (400..600).contains(code)).unwrap_or(400),
        reason: known_reason(text(status, "/reason")),
        message,
        details: present(status, "/details").map(|details| Box::new(read_details(details))),
        next: None,
    }
}

fn read_details(details: &Value) -> Details {
    let own = |value: &Value, pointer: &str| text(value, pointer).to_owned();
    let causes = super::super::fields::list(details, "/causes").iter();
    Details {
        name: own(details, "/name"),
        group: own(details, "/group"),
        kind: own(details, "/kind"),
        uid: own(details, "/uid"),
        causes: causes
            .map(|cause| Cause {
                reason: own(cause, "/reason"),
                message: own(cause, "/message"),
                field: own(cause, "/field"),
            })
            .collect(),
        retry_after_seconds: details
            .get("retryAfterSeconds")
            .and_then(Value::as_u64)
            .and_then(|seconds| u32::try_from(seconds).ok())
            .unwrap_or(0),
    }
}

/// The reasons Kubernetes knows; clients act on no others.
fn known_reason(reason: &str) -> &'static str {
    const KNOWN: [&str; 19] = [
        "Unauthorized",
        "Forbidden",
        "NotFound",
        "AlreadyExists",
        "Conflict",
        "Gone",
        "Invalid",
        "ServerTimeout",
        "StoreReadError",
        "Timeout",
        "TooManyRequests",
        "BadRequest",
        "MethodNotAllowed",
        "NotAcceptable",
        "RequestEntityTooLarge",
        "UnsupportedMediaType",
        "InternalError",
        "Expired",
        "ServiceUnavailable",
    ];
    KNOWN.iter().find(|known| **known == reason).copied().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(response: Value) -> Value {
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
    }

    #[test]
    fn answers_that_make_no_sense_are_told() {
        let rows = [
            (true, json!({"kind": "AdmissionReview"}), "webhook response was absent"),
            (true, answer(json!({"uid": "b"})), "expected response.uid=\"a\", got \"b\""),
            (
                true,
                json!({"apiVersion": "v1", "kind": "Pod", "response": {"uid": "a"}}),
                "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /v1, Kind=Pod",
            ),
            (
                true,
                answer(json!({"uid": "a", "patch": "W10="})),
                "webhook returned response.patch but not response.patchType",
            ),
            (
                true,
                answer(json!({"uid": "a", "patchType": "JSONPatch"})),
                "webhook returned response.patchType but not response.patch",
            ),
            (
                false,
                answer(json!({"uid": "a", "patch": "W10=", "patchType": "JSONPatch"})),
                "validating webhook may not return response.patch",
            ),
        ];
        for (mutating, review, expected) in rows {
            assert_eq!(verdict("h", "a", mutating, &review), Err(expected.to_owned()), "{review}");
        }
    }

    #[test]
    fn denials_carry_what_the_webhook_said() {
        let rows = [
            (json!({}), 400, "", "admission webhook \"h\" denied the request without explanation"),
            (json!({"reason": "Gone"}), 400, "Gone", "admission webhook \"h\" denied the request: Gone"),
            (
                json!({"code": 422, "reason": "Invalid", "message": "never"}),
                422,
                "Invalid",
                "admission webhook \"h\" denied the request: never",
            ),
            (json!({"code": 200, "message": "no"}), 400, "", "admission webhook \"h\" denied the request: no"),
        ];
        for (status, code, reason, message) in rows {
            let review = answer(json!({"uid": "a", "allowed": false, "status": status}));
            let denial = verdict("h", "a", false, &review).unwrap().denial.unwrap();
            assert_eq!((denial.code, denial.reason, denial.message.as_str()), (code, reason, message));
        }
    }
}
