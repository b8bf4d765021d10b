//! Tokens of pods' accounts.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};

use super::volumes::{TokenWish, token_wishes};

/// The tokens of a pod, and when the first of them has to be renewed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tokens {
    pub(crate) by_wish: BTreeMap<TokenWish, String>,
    pub(crate) renew_at: Option<Timestamp>,
}

impl Tokens {
    /// Asks for all the tokens a pod's volumes want.
    pub(crate) async fn request(client: &Client, pod: &Pod, now: Timestamp) -> Result<Self, kube::Error> {
        let mut out = Self::default();
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
        let account = pod.spec.as_ref().and_then(|spec| spec.service_account_name.as_deref()).unwrap_or("default");
        for wish in token_wishes(pod) {
            let request = TokenRequest {
                spec: TokenRequestSpec {
                    audiences: wish.audience.iter().cloned().collect(),
                    expiration_seconds: Some(wish.expiration_seconds),
                    bound_object_ref: Some(BoundObjectReference {
                        api_version: Some("v1".into()),
                        kind: Some("Pod".into()),
                        name: pod.metadata.name.clone(),
                        uid: pod.uid(),
                    }),
                },
                ..TokenRequest::default()
            };
            let given = accounts.create_token_request(account, &PostParams::default(), &request).await?;
            let Some(status) = given.status else { continue };
            let due = renewal(now, status.expiration_timestamp.0);
            out.renew_at = Some(out.renew_at.map_or(due, |known| known.min(due)));
            out.by_wish.insert(wish, status.token);
        }
        Ok(out)
    }

    /// How long until the tokens have to be renewed.
    pub(crate) fn due_in(&self, now: Timestamp) -> Option<Duration> {
        self.renew_at.map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default())
    }
}

/// When a token is renewed: after four fifths of its life, as a kubelet does.
fn renewal(now: Timestamp, expires: Timestamp) -> Timestamp {
    let life = expires.duration_since(now);
    now.checked_add(life * 4 / 5).unwrap_or(expires)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_renewed_in_time() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(renewal(at(1000), at(4600)), at(1000 + 2880));
        let tokens = Tokens { renew_at: Some(at(50)), ..Tokens::default() };
        assert_eq!(tokens.due_in(at(20)), Some(Duration::from_secs(30)));
        assert_eq!(tokens.due_in(at(60)), Some(Duration::ZERO));
        assert_eq!(Tokens::default().due_in(at(0)), None);
    }
}
