//! What is fetched for somebody who is not trusted with the platform's network.

use helm::source::{Access, Reach};

use super::server::{Asked, Server, answer, with};
use super::{chart, mirrored, sources, told, wanted};

fn publicly(allowed: &[&str]) -> Access {
    let allowed = allowed.iter().map(|&prefix| prefix.to_owned()).collect();
    Access { reach: Reach::Public { allowed }, ..Access::default() }
}

/// An index whose archives are elsewhere: at an address, or by a redirection.
async fn leading_to(target: String) -> Server {
    Server::clear(move |_: String, asked: Asked| {
        let target = target.clone();
        async move {
            match asked.path.as_str() {
                "/m/index.yaml" => answer(
                    200,
                    format!(
                        "entries: {{own: [{{version: 1.0.0, urls: [own.tgz]}}], moved: [{{version: 1.0.0, urls: \
                         [moved.tgz]}}], named: [{{version: 1.0.0, urls: [\"{target}\"]}}]}}"
                    ),
                ),
                "/m/own.tgz" => answer(200, chart("own", "1.0.0")),
                _ => with(answer(302, ""), "location", &target),
            }
        }
    })
    .await
}

#[tokio::test]
async fn what_is_not_public_is_not_asked() {
    let (server, cache) = (leading_to(String::new()).await, tempfile::tempdir().unwrap());
    let (sources, port) = (sources(cache.path()), server.host.rsplit_once(':').unwrap().1.to_owned());
    // Names are looked up, and what they lead to counts.
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
        let repository = format!("http://{host}:{port}/m");
        let outcome = told(sources.fetch(&wanted(&repository, "own", ""), &publicly(&[])).await);
        assert!(outcome.starts_with("RepositoryForbidden!: chart own of http://"), "{outcome}");
        assert!(outcome.ends_with("is at a loopback address of the platform's network"), "{outcome}");
        // Nobody is allowed that.
        let outcome = told(sources.fetch(&wanted(&repository, "own", ""), &publicly(&[&repository])).await);
        assert!(outcome.starts_with("RepositoryForbidden!"), "{outcome}");
    }
    let file = sources.file(&format!("http://{}/m/own.tgz", server.host), None, &publicly(&[])).await;
    assert_eq!(file.unwrap_err().reason(), "RepositoryForbidden");
    assert!(server.paths().is_empty());
    // What others were shown is not shown either.
    let repository = format!("http://{}/m", server.host);
    let whole = sources.fetch(&wanted(&repository, "own", ""), &Access::default()).await;
    assert_eq!(told(whole), "own 1.0.0");
    let outcome = told(sources.fetch(&wanted(&repository, "own", ""), &publicly(&[])).await);
    assert!(outcome.starts_with("RepositoryForbidden!"), "{outcome}");
}

#[tokio::test]
async fn nor_by_way_of_redirections_and_indexes() {
    let inner = Server::clear(|_, _| async { answer(200, chart("moved", "1.0.0")) }).await;
    let server = leading_to(format!("http://{}/secret.tgz", inner.host)).await;
    let cache = tempfile::tempdir().unwrap();
    let sources = mirrored(cache.path(), "https://charts.example", &format!("http://{}/m", server.host));
    let access = publicly(&[]);
    let of_mirror = |name: &str| wanted("https://charts.example", name, "");
    assert_eq!(told(sources.fetch(&of_mirror("own"), &access).await), "own 1.0.0");
    for name in ["moved", "named"] {
        let outcome = told(sources.fetch(&of_mirror(name), &access).await);
        assert!(outcome.starts_with("RepositoryForbidden!"), "{name}: {outcome}");
    }
    assert!(inner.paths().is_empty());
    let elsewhere = publicly(&["https://other.example"]);
    let outcome = told(sources.fetch(&of_mirror("own"), &elsewhere).await);
    assert!(outcome.ends_with("only repositories below https://other.example are allowed"), "{outcome}");
    let disk = told(sources.fetch(&wanted("file:///etc", "own", ""), &access).await);
    assert!(disk.starts_with("RepositoryForbidden!"), "{disk}");
    // Whoever runs the platform goes everywhere.
    let moved = sources.fetch(&of_mirror("moved"), &Access::default()).await;
    assert_eq!(told(moved), "moved 1.0.0");
}
