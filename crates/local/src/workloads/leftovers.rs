//! What joining leaves behind: bootstrap tokens that have ended, and certificate requests that are settled.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::{Api, Client, Resource, ResourceExt};
use runtime::Clock;
use serde::de::DeserializeOwned;

const TOKENS: &str = "type=bootstrap.kubernetes.io/token";
/// A request that was approved or denied is of no more use soon after.
const SETTLED: SignedDuration = SignedDuration::from_hours(1);
/// A request that nobody decided about in this time is forgotten.
const PENDING: SignedDuration = SignedDuration::from_hours(24);
/// Nothing ends sooner after it was made than a bootstrap token that Cluster API makes.
const LOOK_AGAIN: Duration = Duration::from_secs(15 * 60);
/// Ends that are close together are one look.
const SOONEST: Duration = Duration::from_secs(30);

/// Removes what has ended, until dropped. It looks when the next one ends: nothing is kept meanwhile.
pub(super) async fn remove(client: Client, clock: Clock) {
    loop {
        let next = match look(&client, (clock)()).await {
            Ok(next) => next,
            Err(error) => {
                tracing::debug!(%error, "what joining left behind cannot be looked at");
                None
            }
        };
        let wait = next.and_then(|next| Duration::try_from(next.duration_since((clock)())).ok());
        tokio::time::sleep(wait.unwrap_or(LOOK_AGAIN).clamp(SOONEST, LOOK_AGAIN)).await;
    }
}

/// Removes what has ended; tells when the next one ends.
async fn look(client: &Client, now: Timestamp) -> Result<Option<Timestamp>, kube::Error> {
    let tokens: Api<Secret> = Api::namespaced(client.clone(), "kube-system");
    let requests: Api<CertificateSigningRequest> = Api::all(client.clone());
    let token = settle(&tokens, &ListParams::default().fields(TOKENS), token_ends, now).await?;
    let request = settle(&requests, &ListParams::default(), request_ends, now).await?;
    Ok(token.into_iter().chain(request).min())
}

async fn settle<K>(
    api: &Api<K>,
    which: &ListParams,
    ends: fn(&K) -> Option<Timestamp>,
    now: Timestamp,
) -> Result<Option<Timestamp>, kube::Error>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let all = api.list(which).await?.items;
    let (over, others): (Vec<_>, Vec<_>) = all.iter().partition(|object| ends(object).is_some_and(|end| end <= now));
    for object in over {
        let own = Preconditions { uid: object.uid(), resource_version: object.resource_version() };
        match api.delete(&object.name_any(), &DeleteParams::default().preconditions(own)).await {
            // Gone, or refreshed at the last moment.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
            outcome => drop(outcome?),
        }
    }
    Ok(others.into_iter().filter_map(ends).min())
}

/// When a token ends, if ever.
fn token_ends(token: &Secret) -> Option<Timestamp> {
    std::str::from_utf8(&token.data.as_ref()?.get("expiration")?.0).ok()?.parse().ok()
}

/// When a request is of no more use.
fn request_ends(request: &CertificateSigningRequest) -> Option<Timestamp> {
    let conditions = request.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let settled = conditions.filter_map(|condition| condition.last_update_time.as_ref()).map(|time| time.0).max();
    let made = request.metadata.creation_timestamp.as_ref()?.0;
    let (since, lasting) = settled.map_or((made, PENDING), |settled| (settled, SETTLED));
    since.saturating_add(lasting).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn tokens_end_when_they_say_and_requests_when_they_are_settled() {
        let token = |data: Value| -> Secret { serde_json::from_value(json!({"data": data})).unwrap() };
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        // 2026-01-01T00:15:00Z
        assert_eq!(
            token_ends(&token(json!({"expiration": "MjAyNi0wMS0wMVQwMDoxNTowMFo="}))),
            at("2026-01-01T00:15:00Z")
        );
        assert_eq!(token_ends(&token(json!({}))), None);
        for (conditions, expected) in [
            (json!([]), "2026-01-02T00:00:00Z"),
            (
                json!([{"type": "Approved", "status": "True", "lastUpdateTime": "2026-01-01T00:05:00Z"}]),
                "2026-01-01T01:05:00Z",
            ),
            (
                json!([{"type": "Denied", "status": "True", "lastUpdateTime": "2026-01-01T02:00:00Z"}]),
                "2026-01-01T03:00:00Z",
            ),
        ] {
            let request = json!({
                "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}, "status": {"conditions": conditions},
                "spec": {"request": "", "signerName": "x"},
            });
            assert_eq!(request_ends(&serde_json::from_value(request).unwrap()), at(expected), "{conditions}");
        }
    }
}
