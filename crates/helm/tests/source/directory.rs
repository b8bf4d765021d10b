//! Directories.

use std::fs;

use helm::source::Access;

use super::{chart, mirrored, sha256, sources, told, wanted};

#[tokio::test]
async fn directories_of_three_kinds() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for path in ["indexed/sub", "archives", "unpacked/app/templates"] {
        fs::create_dir_all(at(path)).unwrap();
    }
    let one = chart("app", "1.0.0");
    let index = format!(
        "entries:\n  app:\n  - {{version: 1.0.0, urls: [sub/a.tgz], digest: {}}}\n  - {{version: 2.0.0, urls: [../out.tgz]}}\n  \
         - {{version: 3.0.0, urls: [sub/a.tgz], digest: {}}}\n  - {{version: 4.0.0, urls: [\"file:///etc/passwd\"]}}\n",
        sha256(&one),
        sha256(b"other"),
    );
    fs::write(at("indexed/index.yaml"), index).unwrap();
    fs::write(at("indexed/sub/a.tgz"), &one).unwrap();
    fs::write(at("archives/app-1.0.0.tgz"), &one).unwrap();
    fs::write(at("archives/app-1.5.0.tgz"), chart("app", "1.5.0")).unwrap();
    fs::write(at("archives/app-extra-9.0.0.tgz"), chart("app-extra", "9.0.0")).unwrap();
    fs::write(at("unpacked/app/Chart.yaml"), "apiVersion: v2\nname: app\nversion: 1.7.0\n").unwrap();
    fs::write(at("unpacked/app/templates/a.yaml"), "kind: ConfigMap\n").unwrap();
    let cache = tempfile::tempdir().unwrap();
    let sources = sources(cache.path());
    for (path, version, expected) in [
        ("indexed", "1.0.0", "app 1.0.0"),
        ("indexed", "2.0.0", "its index points out of the directory: ../out.tgz"),
        ("indexed", "3.0.0", "DigestMismatch!"),
        ("indexed", "4.0.0", "its index points out of the directory: file:///etc/passwd"),
        ("indexed", "5.0.0", "there is no such version; there are 4.0.0, 3.0.0, 2.0.0, 1.0.0"),
        ("archives", "", "app 1.5.0"),
        ("archives", "~1.0", "app 1.0.0"),
        ("archives", "^2", "there is no such version; there are 1.5.0, 1.0.0"),
        ("archives/app-1.0.0.tgz", "", "app 1.0.0"),
        ("unpacked", "", "app 1.7.0"),
        ("unpacked/app", "^1", "app 1.7.0"),
        ("unpacked/app", "^2", "there is no such version; there are 1.7.0"),
        ("nowhere", "", "ChartNotFound!"),
    ] {
        let repository = format!("file://{}", at(path).display());
        let outcome = told(sources.fetch(&wanted(&repository, "app", version), &Access::default()).await);
        assert!(outcome.contains(expected), "{path} {version}: {outcome}");
    }
    let repository = format!("file://{}", at("unpacked/app").display());
    let other = told(sources.fetch(&wanted(&repository, "other", ""), &Access::default()).await);
    assert!(other.ends_with("the repository has no such chart; it has app"), "{other}");
    // The digest of an unpacked chart follows its files.
    let before = sources.fetch(&wanted(&repository, "app", ""), &Access::default()).await.unwrap().digest;
    fs::write(at("unpacked/app/templates/a.yaml"), "kind: Secret\n").unwrap();
    let after = sources.fetch(&wanted(&repository, "app", ""), &Access::default()).await.unwrap().digest;
    assert_ne!(before, after);
}

#[tokio::test]
async fn a_directory_is_a_mirror() {
    let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(folder.path().join("app-1.0.0.tgz"), chart("app", "1.0.0")).unwrap();
    let sources = mirrored(cache.path(), "oci://ghcr.io/org/charts", &format!("file://{}", folder.path().display()));
    let outcome = sources.fetch(&wanted("oci://ghcr.io/org/charts", "app", "1.0.0"), &Access::default()).await;
    assert_eq!(told(outcome), "app 1.0.0");
}
