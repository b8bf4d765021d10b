//! Bootstrap tokens.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use pki::SystemKeys;
use serde_json::json;
use steward::inside::apply;
use steward::inside::tokens::{Joining, sync};

use crate::faults::at_every_request;
use crate::server::{Server, against_all};

const HOUR: SignedDuration = SignedDuration::from_hours(1);

#[tokio::test]
async fn a_token_is_there_while_machines_join() {
    against_all(async |server| {
        let (client, tenant) = (server.admin().await, server.tenant(json!({})));
        apply(&client, &tenant).await.unwrap();
        let now = Timestamp::now();
        let until = now + HOUR * 5;
        let join = async |now: Timestamp| sync(&client, &tenant, Some(until), now, &SystemKeys).await.unwrap();

        let first = join(now).await;
        assert_eq!(whoami(&server, &first).await, ["system:authenticated", BOOTSTRAPPERS, "system:bootstrappers"]);
        let token = token_of(&first);
        let id = token.split_once('.').unwrap().0.to_owned();
        assert_eq!(held(&client).await, BTreeSet::from([format!("bootstrap-token-{id}")]));
        assert_eq!(signatures(&client).await, [format!("jws-kubeconfig-{id}")]);

        // It is left alone until it is due, then it lives longer.
        assert_eq!(token_of(&join(now + SignedDuration::from_mins(39)).await), token);
        assert_eq!(expiry(&join(now + SignedDuration::from_mins(39)).await), expiry(&first));
        let renewed = join(first.look_again.unwrap()).await;
        assert_eq!(token_of(&renewed), token);
        assert_eq!(expiry(&renewed), expiry(&first) + SignedDuration::from_mins(40));

        // Applying again does not take the signature away.
        apply(&client, &tenant).await.unwrap();
        assert_eq!(signatures(&client).await.len(), 1);

        let over = sync(&client, &tenant, Some(until), until, &SystemKeys).await.unwrap();
        assert!(over.material.is_none() && over.look_again.is_none());
        assert_eq!(held(&client).await, BTreeSet::new());
        assert_eq!(signatures(&client).await, [""; 0]);
        let info = config_maps(&client).get("cluster-info").await.unwrap().data.unwrap();
        assert_eq!(info.into_keys().collect::<Vec<_>>(), ["kubeconfig"]);
    })
    .await;
}

#[tokio::test]
async fn tokens_can_be_taken_up_after_any_request() {
    against_all(async |server| {
        let (client, tenant) = (server.admin().await, server.tenant(json!({})));
        apply(&client, &tenant).await.unwrap();
        let now = Timestamp::now();
        let others: Secret = serde_json::from_value(json!({
            "metadata": {"name": "bootstrap-token-others"},
            "type": "bootstrap.kubernetes.io/token",
            "stringData": {"token-id": "others", "token-secret": "0123456789abcdef"},
        }))
        .unwrap();
        secrets(&client).create(&PostParams::default(), &others).await.unwrap();
        let requests =
            at_every_request(&client, async |client| sync(&client, &tenant, Some(now + HOUR), now, &SystemKeys).await)
                .await;
        assert_eq!(requests, 2, "the token that is there is found and signed with");
        assert_eq!(held(&client).await.len(), 2, "one of ours, one of others");
        assert_eq!(signatures(&client).await.len(), 1);
        at_every_request(&client, async |client| sync(&client, &tenant, None, now, &SystemKeys).await).await;
        assert_eq!(held(&client).await, BTreeSet::from(["bootstrap-token-others".to_owned()]));
        assert_eq!(signatures(&client).await, [""; 0]);
    })
    .await;
}

const BOOTSTRAPPERS: &str = "system:bootstrappers:kubeadm:default-node-token";

/// The groups of whoever holds the token.
async fn whoami(server: &Server, joining: &Joining) -> Vec<String> {
    let reviews: Api<SelfSubjectReview> = Api::all(server.token(&token_of(joining)).await);
    let review = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await.unwrap();
    let mut groups = review.status.unwrap().user_info.unwrap().groups.unwrap();
    groups.sort_by_key(|group| (group != "system:authenticated", group != BOOTSTRAPPERS));
    groups
}

fn token_of(joining: &Joining) -> String {
    joining.material.as_ref().unwrap().token.expose().to_owned()
}

fn expiry(joining: &Joining) -> Timestamp {
    joining.material.as_ref().unwrap().expires_at
}

fn secrets(client: &Client) -> Api<Secret> {
    Api::namespaced(client.clone(), "kube-system")
}

fn config_maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), "kube-public")
}

/// Names of all bootstrap tokens there are.
async fn held(client: &Client) -> BTreeSet<String> {
    let tokens = ListParams::default().fields("type=bootstrap.kubernetes.io/token");
    secrets(client).list(&tokens).await.unwrap().items.iter().map(|secret| secret.name_any()).collect()
}

async fn signatures(client: &Client) -> Vec<String> {
    let info = config_maps(client).get("cluster-info").await.unwrap();
    info.data.unwrap_or_default().into_keys().filter(|key| key.starts_with("jws-")).collect()
}
