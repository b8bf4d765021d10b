//! Registries.

use helm::source::Access;

use super::server::{Answer, Asked, Server, answer, with};
use super::{chart, login, sha256, sources, told, wanted};

const LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

fn manifest(media_type: &str, content: &[u8]) -> Answer {
    let layer = serde_json::json!({"mediaType": media_type, "digest": format!("sha256:{}", sha256(content)), "size": content.len()});
    let config =
        serde_json::json!({"mediaType": "application/vnd.cncf.helm.config.v1+json", "digest": "sha256:0", "size": 2});
    answer(200, serde_json::json!({"schemaVersion": 2, "config": config, "layers": [layer]}).to_string())
}

/// `org/app` in some versions, its tags in two pages; for those who have a token, which is for those who know the password.
async fn registry(host: String, asked: Asked) -> Answer {
    let one = chart("app", "1.0.0");
    if asked.path.starts_with("/token") {
        let scope = "/token?service=reg&scope=repository%3Aorg%2Fapp%3Apull";
        let is_known = asked.path == scope && asked.header("authorization") == Some("Basic bWU6c2VjcmV0");
        return if is_known { answer(200, r#"{"token": "t0k3n"}"#) } else { answer(401, "") };
    }
    if asked.header("authorization") != Some("Bearer t0k3n") {
        let challenge = format!(r#"Bearer realm="https://{host}/token",service="reg""#);
        return with(answer(401, ""), "www-authenticate", &challenge);
    }
    let blob = |content: &[u8]| format!("/v2/org/app/blobs/sha256:{}", sha256(content));
    match asked.path.as_str() {
        "/v2/org/app/tags/list" => with(
            answer(200, r#"{"tags": ["latest", "0.9.0", "1.0.0"]}"#),
            "link",
            "</v2/org/app/tags/list?last=1.0.0>; rel=\"next\"",
        ),
        "/v2/org/app/tags/list?last=1.0.0" => answer(200, r#"{"tags": ["1.1.0-rc.1", "1.2.0_b"]}"#),
        "/v2/org/app/manifests/1.0.0" => manifest(LAYER, &one),
        "/v2/org/app/manifests/1.2.0_b" => manifest(LAYER, &chart("app", "1.2.0+b")),
        "/v2/org/app/manifests/0.9.0" => manifest("application/vnd.oci.image.layer.v1.tar", &one),
        "/v2/org/app/manifests/6.6.6" => manifest(LAYER, b"promised"),
        path if path == blob(b"promised") => answer(200, "delivered"),
        path if path == blob(&one) => answer(200, one),
        path if path == blob(&chart("app", "1.2.0+b")) => answer(200, chart("app", "1.2.0+b")),
        _ => answer(404, ""),
    }
}

#[tokio::test]
async fn charts_of_a_registry() {
    let (server, cache) = (Server::secured(registry).await, tempfile::tempdir().unwrap());
    let (sources, repository) = (sources(cache.path()), format!("oci://{}/org", server.host));
    let access = Access { ca: Some(server.ca.clone()), ..login("me", "secret") };
    let there = "there is no such version; there are 1.2.0+b, 1.1.0-rc.1, 1.0.0, 0.9.0";
    for (version, expected) in [
        ("1.0.0", "app 1.0.0".to_owned()),
        ("~1.0", "app 1.0.0".to_owned()),
        ("", "app 1.2.0+b".to_owned()),
        ("1.2.0+b", "app 1.2.0+b".to_owned()),
        (
            "0.9.0",
            "ChartInvalid!: chart app 0.9.0 of ROOT: what the registry has under this name is no chart".to_owned(),
        ),
        ("7.0.0", format!("VersionNotFound!: chart app 7.0.0 of ROOT: {there}")),
        ("^7", format!("VersionNotFound!: chart app ^7 of ROOT: {there}")),
        (
            "6.6.6",
            format!(
                "DigestMismatch!: chart app 6.6.6 of ROOT: its SHA-256 is {}, but the registry says {}; nothing was installed. Find out which is right before correcting the digest",
                sha256(b"delivered"),
                sha256(b"promised")
            ),
        ),
    ] {
        let outcome = told(sources.fetch(&wanted(&repository, "app", version), &access).await);
        assert_eq!(outcome, expected.replace("ROOT", &repository), "{version}");
    }
    let none = told(sources.fetch(&wanted(&format!("oci://{}", server.host), "nothing", ""), &access).await);
    assert!(none.starts_with("RepositoryAccessDenied!"), "{none}");
}

#[tokio::test]
async fn credentials_are_in_a_docker_config_or_wrong() {
    let (server, cache) = (Server::secured(registry).await, tempfile::tempdir().unwrap());
    let (sources, app) = (sources(cache.path()), wanted(&format!("oci://{}/org", server.host), "app", "1.0.0"));
    let config = |host: &str| {
        let config = serde_json::json!({"auths": {host: {"auth": "bWU6c2VjcmV0"}}});
        Access { docker_config: Some(config.to_string().into()), ca: Some(server.ca.clone()), ..Access::default() }
    };
    assert_eq!(told(sources.fetch(&app, &config(&server.host)).await), "app 1.0.0");
    let token = format!("https://{}/token", server.host);
    for (access, way_out) in [
        (config("ghcr.io"), "name a Secret with username and password, or with a docker config"),
        (
            Access { ca: Some(server.ca.clone()), ..login("me", "wrong") },
            "correct the credentials in the Secret of the repository",
        ),
    ] {
        let outcome = told(sources.fetch(&app, &access).await);
        assert!(outcome.ends_with(&format!("{token} refuses access (401); {way_out}")), "{outcome}");
    }
}

#[tokio::test]
async fn blobs_elsewhere_are_fetched_without_the_token() {
    let elsewhere = Server::secured(|_, _| async { answer(200, chart("app", "1.0.0")) }).await;
    let other = elsewhere.host.clone();
    let redirecting = move |host: String, asked: Asked| {
        let other = other.clone();
        async move {
            if asked.path.contains("/blobs/") {
                return with(answer(307, ""), "location", &format!("https://{other}/bucket?signature=1"));
            }
            registry(host, asked).await
        }
    };
    let (server, cache) = (Server::secured(redirecting).await, tempfile::tempdir().unwrap());
    let app = wanted(&format!("oci://{}/org", server.host), "app", "1.0.0");
    let both = [server.ca.clone(), elsewhere.ca.clone()].concat();
    let access = Access { ca: Some(both), ..login("me", "secret") };
    assert_eq!(told(sources(cache.path()).fetch(&app, &access).await), "app 1.0.0");
    assert_eq!(elsewhere.paths(), ["/bucket?signature=1"]);
    assert!(elsewhere.asked().iter().all(|asked| asked.header("authorization").is_none()));
}

#[tokio::test]
async fn what_was_fetched_is_there_without_the_registry() {
    let (server, cache) = (Server::secured(registry).await, tempfile::tempdir().unwrap());
    let repository = format!("oci://{}/org", server.host);
    let access = Access { ca: Some(server.ca.clone()), ..login("me", "secret") };
    let app = wanted(&repository, "app", "1.0.0");
    for _ in 0..2 {
        assert_eq!(told(sources(cache.path()).fetch(&app, &access).await), "app 1.0.0");
    }
    // The second time the manifest was asked for, and nothing else.
    let blobs = server.paths().iter().filter(|path| path.contains("/blobs/")).count();
    assert_eq!(blobs, 1);
    server.stop();
    assert_eq!(told(sources(cache.path()).fetch(&app, &access).await), "app 1.0.0");
    let stranger = told(sources(cache.path()).fetch(&app, &Access::default()).await);
    assert!(stranger.starts_with("RepositoryUnreachable"), "{stranger}");
}
