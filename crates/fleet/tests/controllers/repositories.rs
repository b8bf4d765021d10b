//! Where addons come from: private repositories, and manifests of the web.

use std::path::Path;

use butler_api::butler::addon_install::AddonPhase;
use butler_api::butler::{AddonDefinition, ManagementAddon};
use butler_api::shared::ConditionStatus;
use helm::source::sha256;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use serde_json::{Value, json};

use crate::addon::{colour, define, is, reason, start};
use crate::server::{Answer, Asked, Server, answer};
use crate::world::{World, butler, create, patch, until};

/// `me:secret`
const LOGIN: &str = "Basic bWU6c2VjcmV0";

/// A file of a folder, for those who may enter.
fn shown(folder: &Path, asked: &Asked) -> Answer {
    if asked.header("authorization") != Some(LOGIN) {
        return answer(401, "who are you?");
    }
    match std::fs::read(folder.join(asked.path.trim_start_matches('/'))) {
        Ok(content) => answer(200, content),
        Err(_) => answer(404, "not here"),
    }
}

async fn secret(secrets: &Api<Secret>, name: &str, content: Value) {
    create(secrets, json!({"metadata": {"name": name}, "stringData": content})).await;
}

#[tokio::test]
async fn a_private_repository_is_entered_with_secrets() {
    let mut world = World::new().await;
    let files = tempfile::tempdir().unwrap();
    let folder = files.path().join("charts");
    charts::write_repository(&folder).unwrap();
    let server = Server::secured(move |_, asked| {
        let answer = shown(&folder, &asked);
        async move { answer }
    })
    .await;
    let chart = json!({"chart": {
        "repository": format!("https://{}", server.host), "name": "cert-manager", "defaultVersion": "v1.16.1",
        "credentialsRef": {"name": "login"}, "caRef": {"name": "authority"},
    }});
    define(&world, "certificates", chart, json!({})).await;
    start(&mut world, &files.path().join("cache"));
    let (addons, secrets) = (world.all::<ManagementAddon>(), world.within::<Secret>("butler-system"));
    create(&addons, butler("ManagementAddon", "certificates", json!({"addon": "certificates"}))).await;
    let because = |wanted: &'static str| move |addon: &ManagementAddon| reason(addon) == wanted;
    until(&addons, "certificates", "without its Secrets", because("SecretMissing")).await;
    // Each mistake is told, and what is corrected is tried at once.
    secret(&secrets, "login", json!({"username": "me", "password": "wrong"})).await;
    secret(&secrets, "authority", json!({"ca.crt": "nonsense"})).await;
    until(&addons, "certificates", "without an authority", because("RepositoryInvalid")).await;
    patch(&secrets, "authority", json!({"stringData": {"ca.crt": String::from_utf8(server.ca.clone()).unwrap()}}))
        .await;
    until(&addons, "certificates", "not let in", because("RepositoryAccessDenied")).await;
    patch(&secrets, "login", json!({"stringData": {"password": "secret"}})).await;
    until(&addons, "certificates", "on the cluster", |addon| {
        let conditions = addon.status.iter().flat_map(|status| &status.conditions);
        conditions.into_iter().any(|known| known.type_ == "Installed" && known.status == ConditionStatus::True)
    })
    .await;
}

#[tokio::test]
async fn manifests_are_fetched_in_their_version_and_compared_with_their_digest() {
    let mut world = World::new().await;
    let files = tempfile::tempdir().unwrap();
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\ndata: {colour: '${colour}'}\n";
    let server = Server::clear(move |_, asked| async move {
        if asked.path == "/v1.0/plain.yaml" { answer(200, text) } else { answer(404, "not here") }
    })
    .await;
    let url = format!("http://{}/${{version}}/plain.yaml", server.host);
    let manifests = |digest: &str| json!({"manifests": {"version": "v1.0", "url": url, "digest": digest}});
    define(&world, "plain", manifests(&sha256(b"something else")), json!({})).await;
    start(&mut world, &files.path().join("cache"));
    let (addons, definitions) = (world.all::<ManagementAddon>(), world.all::<AddonDefinition>());
    create(&addons, butler("ManagementAddon", "plain", json!({"addon": "plain", "values": {"colour": "pink"}}))).await;
    let failed = until(&addons, "plain", "refused", is(AddonPhase::Failed)).await;
    assert_eq!(reason(&failed), "DigestMismatch");
    patch(&definitions, "plain", json!({"spec": manifests(&sha256(text.as_bytes()))})).await;
    until(&addons, "plain", "installed", is(AddonPhase::Installed)).await;
    let map = world.within::<ConfigMap>("default").get("plain").await.unwrap();
    assert_eq!(colour(&map), Some("pink"));
    patch(&addons, "plain", json!({"spec": {"version": "v2.0"}})).await;
    let failed = until(&addons, "plain", "missed", is(AddonPhase::Failed)).await;
    assert_eq!(reason(&failed), "ChartNotFound");
    assert_eq!(server.paths().last().map(String::as_str), Some("/v2.0/plain.yaml"));
}
