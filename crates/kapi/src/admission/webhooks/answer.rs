//! Asking a webhook, and everything that can go wrong about it.

use bytes::Bytes;
use serde_json::Value;

use super::super::fields::text;
use super::client::Answer;
use super::index::Hook;
use super::review::{self, Verdict};
use super::{Subject, endpoint};
use crate::call::Call;
use crate::registry::Served;
use crate::status::Status;

/// Why there is no verdict.
pub(super) enum Failure {
    /// The webhook could not be asked, or its answer makes no sense.
    Call(String),
    /// The write is refused, whatever the webhook's failure policy.
    Refused(Status),
}

/// Asks a webhook about a write.
pub(super) async fn ask(
    call: &Call,
    hook: &Hook,
    subject: &Subject<'_>,
    seen: &Served,
    mutating: bool,
) -> Result<Verdict, Failure> {
    if subject.dry_run && !hook.safe_in_dry_run {
        let why = format!("admission webhook {:?} does not support dry run", hook.name);
        return Err(Failure::Refused(Status::bad_request(why)));
    }
    if !hook.speaks_v1 {
        let why =
            "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)";
        return Err(Failure::Call(why.into()));
    }
    let uid = crate::write::new_uid();
    let body = Bytes::from(review::request(call, subject, seen, &uid).to_string());
    let sent = send(call, hook, body).await;
    let review = sent.map_err(|why| Failure::Call(format!("failed to call webhook: {why}")))?;
    review::verdict(&hook.name, &uid, mutating, &review)
        .map_err(|why| Failure::Call(format!("received invalid webhook response: {why}")))
}

async fn send(call: &Call, hook: &Hook, body: Bytes) -> Result<Value, String> {
    let endpoint = endpoint::find(call, hook)?;
    let query = format!("timeout={}s", hook.timeout.as_secs());
    let posting = call.api.admission.pool.post(&endpoint, &query, &hook.authorities, body);
    let posted = match tokio::time::timeout(hook.timeout, posting).await {
        Ok(posted) => posted,
        Err(_) => Err("context deadline exceeded".into()),
    };
    let answer = posted.map_err(|why| {
        let url = format!("https://{}{}?{query}", endpoint.authority, endpoint.path);
        format!("Post {url:?}: {why}")
    })?;
    read(&answer)
}

fn read(answer: &Answer) -> Result<Value, String> {
    if !(200..300).contains(&answer.code) {
        return Err(refused(answer));
    }
    let body = String::from_utf8_lossy(&answer.body);
    // Kubernetes reads answers as YAML where they are no JSON.
    let parsed = serde_json::from_slice(&answer.body).ok().or_else(|| kernel::yaml::value(&body).ok());
    match parsed.unwrap_or_default() {
        review @ Value::Object(_) => Ok(review),
        other => Err(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type struct {{ \
             APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
            kapi_schema::go::json_type(&other)
        )),
    }
}

/// What an HTTP code means, in the words of Kubernetes' client.
fn refused(answer: &Answer) -> String {
    let status: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    if status["kind"] == "Status"
        && let Some(message) = status["message"].as_str().filter(|message| !message.is_empty())
    {
        return message.to_owned();
    }
    let body = String::from_utf8_lossy(&answer.body);
    let said = if answer.is_text { body.trim() } else { "unknown" };
    match answer.code {
        400 => "the server rejected our request for an unknown reason".into(),
        401 => "the server has asked for the client to provide credentials".into(),
        403 => said.to_owned(),
        404 => "the server could not find the requested resource".into(),
        405 => "the server does not allow this method on the requested resource".into(),
        406 => "the server was unable to respond with a content type that the client supports".into(),
        409 => "the server reported a conflict".into(),
        415 => "the server was unable to process the request: unsupported media type".into(),
        422 => "the server rejected our request due to an error in our request".into(),
        429 => "the server has received too many requests and has asked us to try again later".into(),
        503 => "the server is currently unable to handle the request".into(),
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
                .into()
        }
        code if code >= 500 => format!("an error on the server ({said:?}) has prevented the request from succeeding"),
        code => format!("the server responded with the status code {code} but did not return more information"),
    }
}

/// Why a patch cannot be applied, as the library Kubernetes uses words it.
pub(super) fn explain_patch(document: &Value, patch: &[u8], why: &str) -> String {
    let operations: Vec<Value> = serde_json::from_slice(patch).unwrap_or_default();
    let fails = |count: &usize| {
        let part = operations.get(..*count).map(<[Value]>::to_vec).unwrap_or_default();
        kapi_merge::json_patch(document, Value::Array(part).to_string().as_bytes()).is_err()
    };
    let failing = (1..=operations.len()).find(fails).and_then(|count| operations.get(count - 1));
    let (op, path) = failing.map_or(("", ""), |failing| (text(failing, "/op"), text(failing, "/path")));
    let tail = if op == "test" { "test failed" } else { "missing value" };
    match op {
        "remove" => format!("error in remove for path: '{path}': {why}: {tail}"),
        _ => format!("{why}: {tail}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_are_no_review_are_told() {
        let answer = |code: u16, is_text: bool, body: &'static str| Answer { code, is_text, body: Bytes::from(body) };
        let garbage = "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type \
                       struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
                       \"json:\\\"kind,omitempty\\\"\" }";
        let rows = [
            (
                answer(500, false, "broken"),
                "an error on the server (\"unknown\") has prevented the request from succeeding",
            ),
            (
                answer(500, true, "broken\n"),
                "an error on the server (\"broken\") has prevented the request from succeeding",
            ),
            (answer(404, false, ""), "the server could not find the requested resource"),
            (answer(200, false, "not json"), garbage),
        ];
        for (answer, expected) in rows {
            assert_eq!(read(&answer), Err(expected.to_owned()));
        }
        assert!(read(&answer(200, false, "{}")).is_ok());
    }
}
