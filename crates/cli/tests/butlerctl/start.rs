//! Finding the API, and what works without one.

use std::fs;

use serde_json::Value;

use crate::plane::{Plane, bare, ended, failed};

#[tokio::test]
async fn the_butler_of_this_machine_is_found() {
    let plane = Plane::start().await;
    let none = "no API is known: start one with `butler up`, or name a kubeconfig with --kubeconfig";
    assert_eq!(ended(bare(plane.folder(), "cluster list")).await, failed(2, none));
    let local = plane.folder().join(".butler/local/kubeconfig");
    fs::create_dir_all(local.parent().unwrap()).unwrap();
    fs::copy(plane.folder().join("admin"), &local).unwrap();
    assert_eq!(ended(bare(plane.folder(), "cluster list")).await.code, 0);
    let version = ended(bare(plane.folder(), "version")).await.out;
    let lines: Vec<&str> = version.lines().collect();
    assert_eq!(lines[0], format!("butlerctl {}", env!("CARGO_PKG_VERSION")));
    assert!(
        lines[1].starts_with("Kubernetes v1.34") && lines[1].ends_with(&format!("(from {})", local.display())),
        "{version}"
    );
    let json: Value = serde_json::from_str(&ended(bare(plane.folder(), "version --client -o json")).await.out).unwrap();
    assert_eq!((&json["butlerctl"], &json["kubernetes"]), (&env!("CARGO_PKG_VERSION").into(), &Value::Null));

    let mut elsewhere = bare(plane.folder(), "cluster list");
    elsewhere.env("BUTLER_DATA_DIR", local.parent().unwrap()).env("HOME", "/nowhere");
    assert_eq!(ended(elsewhere).await.code, 0);
}

#[tokio::test]
async fn an_api_that_cannot_be_used_is_named() {
    let plane = Plane::empty().await;
    let foreign = plane.run("cluster list").await;
    assert_eq!((foreign.code, foreign.err.contains("Butler is not installed there")), (3, true), "{foreign:?}");
    let config = fs::read_to_string(plane.folder().join("admin")).unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut config: Value = serde_json::from_str(&config).unwrap();
    config["clusters"][0]["cluster"]["server"] = format!("https://127.0.0.1:{port}").into();
    let file = plane.folder().join("closed");
    fs::write(&file, config.to_string()).unwrap();
    let closed = ended(bare(plane.folder(), &format!("cluster list --kubeconfig {}", file.display()))).await;
    assert_eq!(closed.code, 7, "{closed:?}");
    let place = format!("API: https://127.0.0.1:{port} (from {})", file.display());
    assert!(closed.err.contains("Connection refused") && closed.err.contains(&place), "{closed:?}");
    let missing = ended(bare(plane.folder(), "cluster list --kubeconfig /no/such/file")).await;
    assert_eq!(missing, failed(3, "/no/such/file is not there"));
}

#[tokio::test]
async fn scripts_and_help_need_no_api() {
    let home = tempfile::tempdir().unwrap();
    for (shell, part) in
        [("bash", "complete -F _butlerctl"), ("zsh", "#compdef butlerctl"), ("fish", "complete -c butlerctl")]
    {
        let script = ended(bare(home.path(), &format!("completion {shell}"))).await;
        assert!(script.code == 0 && script.out.contains(part), "{shell}");
    }
    let help = ended(bare(home.path(), "--help")).await;
    assert!(help.out.contains("Exit codes:") && help.out.contains("-n, --team <TEAM>"), "{}", help.out);
    assert_eq!(ended(bare(home.path(), "cluster nonsense")).await.code, 2);
}
