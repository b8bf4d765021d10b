//! Repositories of the web.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use helm::source::{Access, Limits, Sources};

use super::server::{Answer, Asked, Server, answer, with};
use super::{chart, login, mirrored, packed, sha256, sources, strict, told, wanted};

/// `app` in versions 1.0.0, 1.1.0 and 2.0.0-rc.1, one with a whole address.
async fn honest(host: String, asked: Asked) -> Answer {
    let (one, two) = (chart("app", "1.0.0"), chart("app", "1.1.0"));
    let (first, second) = (sha256(&one), sha256(&two));
    let index = format!(
        "apiVersion: v1\nentries:\n  app:\n  - version: 2.0.0-rc.1\n    urls: [gone.tgz]\n  - version: 1.1.0\n    \
         urls: [\"http://{host}/charts/app-1.1.0.tgz\"]\n    digest: {second}\n  - version: 1.0.0\n    \
         urls: [app-1.0.0.tgz]\n    digest: {first}\n"
    );
    match asked.path.as_str() {
        "/charts/index.yaml" if asked.header("if-none-match") == Some("\"1\"") => answer(304, ""),
        "/charts/index.yaml" => with(answer(200, index), "etag", "\"1\""),
        "/charts/app-1.0.0.tgz" => answer(200, one),
        "/charts/app-1.1.0.tgz" => answer(200, two),
        _ => answer(404, "not here"),
    }
}

#[tokio::test]
async fn versions_and_ranges() {
    let (server, cache) = (Server::clear(honest).await, tempfile::tempdir().unwrap());
    let (sources, repository) = (sources(cache.path()), format!("http://{}/charts/", server.host));
    let shown = repository.trim_end_matches('/');
    let there = "there is no such version; there are 2.0.0-rc.1, 1.1.0, 1.0.0";
    for (name, version, expected) in [
        ("app", "", "app 1.1.0".to_owned()),
        ("app", "1.0.0", "app 1.0.0".to_owned()),
        ("app", "~1.0", "app 1.0.0".to_owned()),
        ("app", "3.0.0", format!("VersionNotFound!: chart app 3.0.0 of {shown}: {there}")),
        (
            "app",
            "nonsense",
            format!(
                "VersionInvalid!: chart app nonsense of {shown}: \"nonsense\" is neither a version nor a range of versions, as 1.2.3, ~1.2 or >=1.2 <2 are"
            ),
        ),
        ("apple", "", format!("ChartNotFound!: chart apple of {shown}: the repository has no such chart; it has app")),
        (
            "app",
            "2.0.0-rc.1",
            format!(
                "ChartNotFound!: chart app 2.0.0-rc.1 of {shown}: nothing is at {shown}/gone.tgz; check the address of the repository and the name of the chart"
            ),
        ),
    ] {
        assert_eq!(told(sources.fetch(&wanted(&repository, name, version), &Access::default()).await), expected);
    }
    // Six times the index was asked for: all but once it had not changed.
    let again = server.asked().iter().filter(|asked| asked.header("if-none-match").is_some()).count();
    assert_eq!(again, server.paths().iter().filter(|path| *path == "/charts/index.yaml").count() - 1);
}

#[tokio::test]
async fn what_was_fetched_is_there_without_the_repository() {
    let (server, cache) = (Server::clear(honest).await, tempfile::tempdir().unwrap());
    let repository = format!("http://{}/charts", server.host);
    let first = sources(cache.path()).fetch(&wanted(&repository, "app", "^1"), &Access::default()).await.unwrap();
    server.stop();
    let again = sources(cache.path());
    let offline = again.fetch(&wanted(&repository, "app", "^1"), &Access::default()).await.unwrap();
    assert_eq!((offline.version, &offline.digest), (first.version, &first.digest));
    assert_eq!(sha256(&chart("app", "1.1.0")), first.digest);
    let other = told(again.fetch(&wanted(&repository, "app", "1.0.0"), &Access::default()).await);
    assert!(other.starts_with("RepositoryUnreachable: chart app 1.0.0 of http://127.0.0.1:"), "{other}");
    // Whoever has other credentials has not been shown anything.
    let stranger = told(again.fetch(&wanted(&repository, "app", "^1"), &login("me", "secret")).await);
    assert!(stranger.starts_with("RepositoryUnreachable"), "{stranger}");
}

#[tokio::test]
async fn a_young_index_is_believed_and_damage_is_repaired() {
    let (server, cache) = (Server::clear(honest).await, tempfile::tempdir().unwrap());
    let sources = || Sources::new(cache.path().to_owned(), Vec::new());
    let app = wanted(&format!("http://{}/charts", server.host), "app", "1.0.0");
    for _ in 0..3 {
        sources().fetch(&app, &Access::default()).await.unwrap();
    }
    assert_eq!(server.paths(), ["/charts/index.yaml", "/charts/app-1.0.0.tgz"]);
    for blob in std::fs::read_dir(cache.path().join("blobs")).unwrap() {
        std::fs::write(blob.unwrap().path(), "damaged").unwrap();
    }
    assert_eq!(told(sources().fetch(&app, &Access::default()).await), "app 1.0.0");
    assert_eq!(server.paths().len(), 4);
}

#[tokio::test]
async fn those_who_want_the_same_share_one_download() {
    let (server, cache) = (Server::clear(honest).await, tempfile::tempdir().unwrap());
    let (sources, app) = (sources(cache.path()), wanted(&format!("http://{}/charts", server.host), "app", "1.0.0"));
    let access = Access::default();
    let all = futures::future::join_all((0..20).map(|_| sources.fetch(&app, &access))).await;
    assert!(all.iter().all(|fetched| fetched.as_ref().is_ok_and(|fetched| fetched.version == "1.0.0")));
    assert_eq!(server.paths(), ["/charts/index.yaml", "/charts/app-1.0.0.tgz"]);
}

#[tokio::test]
async fn lying_digests_are_found() {
    let lying = |_: String, asked: Asked| async move {
        match asked.path.as_str() {
            "/index.yaml" => {
                let digest = sha256(b"something else");
                answer(
                    200,
                    format!(
                        "entries: {{app: [{{version: 1.0.0, urls: [a.tgz], digest: {digest}}}], other: [{{version: 1.0.0, urls: [a.tgz]}}]}}"
                    ),
                )
            }
            _ => answer(200, chart("app", "1.0.0")),
        }
    };
    let (server, cache) = (Server::clear(lying).await, tempfile::tempdir().unwrap());
    let (sources, repository) = (sources(cache.path()), format!("http://{}", server.host));
    let (right, wrong) = (sha256(&chart("app", "1.0.0")), sha256(b"something else"));
    let complaint = |name: &str, found: &str, teller: &str, told: &str| {
        format!(
            "DigestMismatch!: chart {name} 1.0.0 of {repository}: its SHA-256 is {found}, but {teller} says {told}; nothing \
             was installed. Find out which is right before correcting the digest"
        )
    };
    let mut app = wanted(&repository, "app", "1.0.0");
    let outcome = told(sources.fetch(&app, &Access::default()).await);
    assert_eq!(outcome, complaint("app", &right, "the index of the repository", &wrong));
    // Known to be wrong from the index alone.
    app.digest = Some(right.clone());
    let outcome = told(sources.fetch(&app, &Access::default()).await);
    assert_eq!(outcome, complaint("app", &wrong, "what was asked for", &right));
    let mut other = wanted(&repository, "other", "1.0.0");
    other.digest = Some(wrong.clone());
    let outcome = told(sources.fetch(&other, &Access::default()).await);
    assert_eq!(outcome, complaint("other", &right, "what was asked for", &wrong));
    // The archive of another chart.
    other.digest = None;
    let outcome = told(sources.fetch(&other, &Access::default()).await);
    let expected = format!(
        "ChartInvalid!: chart other 1.0.0 of {repository}: the archive that is offered for it is of chart app 1.0.0"
    );
    assert_eq!(outcome, expected);
}

#[tokio::test]
async fn credentials_stay_with_their_repository() {
    let elsewhere = Server::clear(|_, _| async { answer(200, chart("app", "1.0.0")) }).await;
    let other = elsewhere.host.clone();
    let private = move |_: String, asked: Asked| {
        let other = other.clone();
        async move {
            if asked.header("authorization") != Some("Basic bWU6c2VjcmV0") {
                return answer(401, "");
            }
            match asked.path.as_str() {
                "/index.yaml" => answer(
                    200,
                    format!(
                        "entries: {{app: [{{version: 1.0.0, urls: [a.tgz]}}, {{version: 2.0.0, urls: [\"http://{other}/b.tgz\"]}}]}}"
                    ),
                ),
                _ => with(answer(302, ""), "location", &format!("http://{other}/redirected.tgz")),
            }
        }
    };
    let (server, cache) = (Server::clear(private).await, tempfile::tempdir().unwrap());
    let (sources, repository) = (sources(cache.path()), format!("http://{}", server.host));
    let app = wanted(&repository, "app", "1.0.0");
    assert_eq!(told(sources.fetch(&app, &login("me", "secret")).await), "app 1.0.0");
    let refused = told(sources.fetch(&wanted(&repository, "app", "2.0.0"), &login("me", "secret")).await);
    assert!(refused.contains("the archive that is offered for it is of chart app 1.0.0"), "{refused}");
    assert_eq!(elsewhere.paths(), ["/redirected.tgz", "/b.tgz"]);
    assert!(elsewhere.asked().iter().all(|asked| asked.header("authorization").is_none()));
    for (access, way_out) in [
        (Access::default(), "name a Secret with username and password, or with a docker config"),
        (login("me", "wrong"), "correct the credentials in the Secret of the repository"),
    ] {
        let expected = format!(
            "RepositoryAccessDenied!: chart app 1.0.0 of {repository}: {repository}/index.yaml refuses access (401); {way_out}"
        );
        assert_eq!(told(sources.fetch(&app, &access).await), expected);
    }
    let in_the_clear = told(sources.fetch(&wanted("http://charts.invalid", "app", ""), &login("me", "secret")).await);
    assert_eq!(
        in_the_clear,
        "RepositoryInvalid!: chart app of http://charts.invalid: credentials are not sent in the clear; use the repository's https:// address"
    );
}

#[tokio::test]
async fn too_much_too_slow_and_too_little() {
    let hostile = |host: String, asked: Asked| async move {
        match asked.path.as_str() {
            "/large/index.yaml" => answer(200, vec![b'x'; 5000]),
            "/slow/index.yaml" => std::future::pending().await,
            "/loop/index.yaml" => with(answer(302, ""), "location", &format!("http://{host}/loop/index.yaml")),
            "/local/index.yaml" => with(answer(302, ""), "location", "file:///etc/passwd"),
            "/busy/index.yaml" => answer(503, ""),
            "/html/index.yaml" => answer(200, "<html>welcome</html>"),
            "/bomb/index.yaml" => answer(200, "entries: {app: [{version: 1.0.0, urls: [a.tgz]}]}"),
            "/bomb/a.tgz" => answer(200, vec![0; 9000]),
            "/text/index.yaml" => answer(200, "entries: {app: [{version: 1.0.0, urls: [a.tgz]}]}"),
            "/text/a.tgz" => answer(200, "no archive"),
            _ => answer(404, ""),
        }
    };
    let (server, cache) = (Server::clear(hostile).await, tempfile::tempdir().unwrap());
    let limits = Limits { index: 4096, archive: 8192, redirects: 3, time: Duration::from_secs(1), ..strict() };
    let sources = Sources::with_limits(cache.path().to_owned(), Vec::new(), limits);
    for (path, expected) in [
        ("large", "ChartTooLarge!: ROOT: the index of the repository is larger than 4096 bytes"),
        ("slow", "RepositoryUnreachable: ROOT: ROOT_/index.yaml did not answer in full within 1 seconds"),
        ("loop", "RepositoryBroken: ROOT: ROOT_/index.yaml redirects more than 3 times"),
        ("local", "RepositoryBroken: ROOT: ROOT_/index.yaml redirects to file:///etc/passwd, which is not secured"),
        ("busy", "RepositoryUnreachable: ROOT: ROOT_/index.yaml answers 503 Service Unavailable"),
        ("html", "RepositoryBroken: ROOT: its index.yaml cannot be read: "),
        ("bomb", "ChartTooLarge!: ROOT: the archive is larger than 8192 bytes"),
        ("text", "ChartInvalid!: ROOT: cannot load the archive: "),
        ("none", "ChartNotFound!: ROOT: nothing is at ROOT_/index.yaml; check the address"),
    ] {
        let repository = format!("http://{}/{path}", server.host);
        let expected = expected.replace("ROOT_", &repository);
        let expected = expected.replace("ROOT", &format!("chart app 1.0.0 of {repository}"));
        let outcome = told(sources.fetch(&wanted(&repository, "app", "1.0.0"), &Access::default()).await);
        assert!(outcome.starts_with(&expected), "{path}: {outcome}");
    }
}

#[tokio::test]
async fn hostile_archives_are_refused() {
    let index =
        ["out", "bomb", "bare"].map(|name| format!("  {name}:\n  - {{version: 1.0.0, urls: [{name}.tgz]}}\n")).concat();
    let hostile = move |_: String, asked: Asked| {
        let index = format!("entries:\n{index}");
        async move {
            let zeros = vec![0; 6 << 20];
            match asked.path.as_str() {
                "/index.yaml" => answer(200, index),
                "/out.tgz" => answer(200, packed(&[("c/../../../etc/passwd".to_owned(), b"x")])),
                "/bomb.tgz" => answer(200, packed(&[("c/zeros".to_owned(), &zeros)])),
                _ => answer(200, packed(&[("c/templates/a.yaml".to_owned(), b"x")])),
            }
        }
    };
    let (server, cache) = (Server::clear(hostile).await, tempfile::tempdir().unwrap());
    let (sources, repository) = (sources(cache.path()), format!("http://{}", server.host));
    for (name, expected) in [
        ("out", "chart illegally contains content outside the base directory: c/../../../etc/passwd"),
        ("bomb", "decompressed chart file \"zeros\" is larger than the maximum file size 5242880"),
        ("bare", "Chart.yaml file is missing"),
    ] {
        let outcome = told(sources.fetch(&wanted(&repository, name, "1.0.0"), &Access::default()).await);
        assert_eq!(outcome, format!("ChartInvalid!: chart {name} 1.0.0 of {repository}: {expected}"));
    }
}

#[tokio::test]
async fn answers_that_break_off_or_never_end() {
    let cache = tempfile::tempdir().unwrap();
    let limits = Limits { time: Duration::from_secs(1), ..strict() };
    let sources = Sources::with_limits(cache.path().to_owned(), Vec::new(), limits);
    let bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 4000\r\n\r\nentries: {}";
    for (closes, words) in
        [(true, "/index.yaml broke off: "), (false, "/index.yaml did not answer in full within 1 seconds")]
    {
        let server = Server::raw(bytes, closes).await;
        let app = wanted(&format!("http://{}", server.host), "app", "1.0.0");
        let outcome = told(sources.fetch(&app, &Access::default()).await);
        assert!(outcome.starts_with("RepositoryUnreachable: ") && outcome.contains(words), "{outcome}");
    }
}

#[tokio::test]
async fn a_broken_index_does_not_replace_a_good_one() {
    let breaks = Arc::new(AtomicBool::new(false));
    let is_broken = Arc::clone(&breaks);
    let flaky = move |host: String, asked: Asked| {
        let is_broken = is_broken.load(Ordering::SeqCst);
        async move { if is_broken { answer(200, "<html>") } else { honest(host, asked).await } }
    };
    let (server, cache) = (Server::clear(flaky).await, tempfile::tempdir().unwrap());
    let (sources, app) = (sources(cache.path()), wanted(&format!("http://{}/charts", server.host), "app", "1.0.0"));
    assert_eq!(told(sources.fetch(&app, &Access::default()).await), "app 1.0.0");
    breaks.store(true, Ordering::SeqCst);
    let broken = told(sources.fetch(&app, &Access::default()).await);
    assert!(broken.starts_with("RepositoryBroken: "), "{broken}");
    breaks.store(false, Ordering::SeqCst);
    assert_eq!(told(sources.fetch(&app, &Access::default()).await), "app 1.0.0");
}

#[tokio::test]
async fn tls_trusts_the_ca_that_is_given_and_never_falls_back() {
    let server = Server::secured(|_, asked| async move {
        match asked.path.as_str() {
            "/index.yaml" => {
                answer(200, "entries: {app: [{version: 1.0.0, urls: [a.tgz]}, {version: 2.0.0, urls: [b.tgz]}]}")
            }
            "/b.tgz" => with(answer(302, ""), "location", "http://127.0.0.1:9/b.tgz"),
            _ => answer(200, chart("app", "1.0.0")),
        }
    })
    .await;
    let cache = tempfile::tempdir().unwrap();
    let (sources, repository) = (sources(cache.path()), format!("https://{}", server.host));
    let trusting = Access { ca: Some(server.ca.clone()), ..login("me", "secret") };
    assert_eq!(told(sources.fetch(&wanted(&repository, "app", "1.0.0"), &trusting).await), "app 1.0.0");
    assert!(server.asked().iter().all(|asked| asked.header("authorization").is_some()));
    let downgraded = told(sources.fetch(&wanted(&repository, "app", "2.0.0"), &trusting).await);
    assert!(downgraded.ends_with("redirects to http://127.0.0.1:9/b.tgz, which is not secured"), "{downgraded}");
    let other = Server::secured(|_, _| async { answer(404, "") }).await;
    let distrusting = Access { ca: Some(other.ca.clone()), ..Access::default() };
    let refused = told(sources.fetch(&wanted(&repository, "app", "1.0.0"), &distrusting).await);
    let words = "its certificate is from an authority that is not trusted; give its CA in a Secret";
    assert_eq!(
        refused,
        format!("RepositoryUnreachable: chart app 1.0.0 of {repository}: {repository}/index.yaml: {words}")
    );
    let garbage = Access { ca: Some(b"no PEM".to_vec()), ..Access::default() };
    let refused = told(sources.fetch(&wanted(&repository, "app", "1.0.0"), &garbage).await);
    assert!(refused.starts_with("RepositoryInvalid!") && refused.ends_with("it must be PEM"), "{refused}");
}

#[tokio::test]
async fn mirrors_stand_in_without_being_told_secrets() {
    let (server, cache) = (Server::clear(honest).await, tempfile::tempdir().unwrap());
    let sources =
        mirrored(cache.path(), "https://charts.example.com/stable", &format!("http://{}/charts", server.host));
    let app = wanted("https://charts.example.com/stable", "app", "1.0.0");
    assert_eq!(told(sources.fetch(&app, &login("me", "secret")).await), "app 1.0.0");
    assert!(server.asked().iter().all(|asked| asked.header("authorization").is_none()));
}

#[tokio::test]
async fn plain_files_are_fetched_and_checked() {
    let manifests = |_: String, asked: Asked| async move {
        if asked.path == "/v1/all.yaml" { answer(200, "kind: Namespace\n") } else { answer(404, "") }
    };
    let (server, cache) = (Server::clear(manifests).await, tempfile::tempdir().unwrap());
    let (sources, access) = (sources(cache.path()), Access::default());
    let url = format!("http://{}/v1/all.yaml", server.host);
    assert_eq!(sources.file(&url, None, &access).await.unwrap(), b"kind: Namespace\n");
    assert_eq!(sources.file(&url, Some(&sha256(b"kind: Namespace\n")), &access).await.unwrap(), b"kind: Namespace\n");
    let error = sources.file(&url, Some(&sha256(b"other")), &access).await.unwrap_err();
    assert_eq!((error.reason(), error.is_final()), ("DigestMismatch", true));
    let missing = sources.file(&format!("http://{}/v2/all.yaml", server.host), None, &access).await.unwrap_err();
    assert_eq!(missing.reason(), "ChartNotFound");
}
