//! `butler up`, `status` and `down` as a user meets them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may stop and may talk"
)]

// The tests use different halves of it.
#[allow(dead_code)]
mod common;

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use common::{Butler, client, run};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, PostParams, WatchParams};
use kube::runtime::{conditions, wait::await_condition};
use kube::{Api, ResourceExt};
use serde_json::Value;

fn said(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

fn status(data: &Path) -> (Option<i32>, Value) {
    let output = run(data, "status", &["-o", "json"]);
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// A command failed with one sentence for people, which holds all of these.
#[track_caller]
fn refused(output: &std::process::Output, parts: &[&str]) {
    let said = said(output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("butler: "), "{said}");
    for part in parts {
        assert!(said.contains(part), "{part:?} is not in {said:?}");
    }
}

/// Ends a Butler in the background, whatever becomes of the test.
struct Down<'a>(&'a Path);

impl Drop for Down<'_> {
    fn drop(&mut self) {
        let _ = run(self.0, "down", &[]);
    }
}

#[tokio::test]
async fn a_detached_butler_says_where_it_is_until_it_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let data = &folder.path().join("deep/data");
    assert_eq!(status(data), (Some(3), status(data).1));
    assert_eq!(status(data).1["running"], false);

    let up = run(data, "up", &["--detach", "--api-port", "0"]);
    let _down = Down(data);
    assert!(up.status.success(), "{}", said(&up));
    let (code, state) = status(data);
    assert_eq!((code, &state["running"]), (Some(0), &Value::Bool(true)));
    let server = state["server"].as_str().unwrap();
    assert!(said(&up).contains(server), "{} does not name {server}", said(&up));
    assert_eq!(state["kubeconfig"], data.join("kubeconfig").to_str().unwrap());
    assert!(said(&up).ends_with(&fleet::first_step(0, None, false)), "{} leads nowhere", said(&up));
    let text = run(data, "status", &[]);
    assert_eq!(text.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&text.stdout).contains(server));
    let version = client(data).await.apiserver_version().await.unwrap();
    assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "34"));

    let down = run(data, "down", &[]);
    assert!(down.status.success() && said(&down) == "Butler is down.", "{}", said(&down));
    assert_eq!(status(data).0, Some(3));
    let again = run(data, "down", &[]);
    assert!(again.status.success() && said(&again).contains("does not run"), "{}", said(&again));
}

#[tokio::test]
async fn one_butler_per_data_directory() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let butler = Butler::up(data);
    let pid = format!("process {}", butler.pid().as_raw_nonzero());
    let before = fs::read(data.join("kubeconfig")).unwrap();
    for arguments in [&["--api-port", "0"][..], &["--api-port", "0", "--detach"]] {
        let down = format!("`butler down --data-dir {}`", data.display());
        refused(&run(data, "up", arguments), &["runs in", "already", &pid, &down]);
    }
    assert_eq!(fs::read(data.join("kubeconfig")).unwrap(), before);
    client(data).await.apiserver_version().await.unwrap();
}

#[test]
fn a_butler_that_is_stopped_or_killed_makes_room_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let _down = Down(data);
    let mut port = "0".to_owned();
    for is_killed in [true, false, true, false, false, true] {
        let up = run(data, "up", &["--detach", "--api-port", &port]);
        assert!(up.status.success(), "{}", said(&up));
        if !is_killed {
            assert!(run(data, "down", &[]).status.success());
            continue;
        }
        let state = status(data).1;
        let pid = rustix::process::Pid::from_raw(state["pid"].as_i64().unwrap().try_into().unwrap()).unwrap();
        port = state["server"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
}

#[test]
fn a_real_butler_says_what_it_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let [data, cache] = ["data", "cache"].map(|name| folder.path().join(name));
    let up = || {
        common::command(&data, "up").args(["--real", "--api-port", "0"]).env("BUTLER_CACHE", &cache).output().unwrap()
    };
    if !rustix::process::geteuid().is_root() {
        return refused(&up(), &["--real", "root"]);
    }
    refused(&up(), &[cache.to_str().unwrap(), "etcd", "`make kubernetes` builds it"]);
    let etcd = cache.join("etcd/v3.6.16");
    fs::create_dir_all(&etcd).unwrap();
    fs::write(etcd.join("etcd"), "").unwrap();
    refused(&up(), &["kube-apiserver", cache.to_str().unwrap(), "`make kubernetes` builds it"]);
}

#[test]
fn a_port_in_use_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for arguments in [&["--api-port", &port][..], &["--api-port", &port, "--detach"]] {
        refused(&run(folder.path(), "up", arguments), &[&format!("127.0.0.1:{port}"), "--api-port", "in use"]);
    }
}

#[tokio::test]
async fn only_the_owner_reads_what_is_secret() {
    let folder = tempfile::tempdir().unwrap();
    let data = &folder.path().join("data");
    let _butler = Butler::up(data);
    assert_eq!(mode(data), 0o700);
    assert_eq!(mode(&data.join("kubeconfig")), 0o600);
    for file in fs::read_dir(data.join("pki")).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

/// Waits until all kinds are served.
async fn established(definitions: &Api<CustomResourceDefinition>) {
    for definition in butler_api::crds().into_iter().chain(capi::crds()) {
        let name = definition.name_any();
        await_condition(definitions.clone(), &name, conditions::is_crd_established()).await.unwrap();
    }
}

#[tokio::test]
async fn all_of_butlers_and_cluster_apis_kinds_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let _butler = Butler::up(folder.path());
    let definitions: Api<CustomResourceDefinition> = Api::all(client(folder.path()).await);
    let installed = definitions.list(&ListParams::default()).await.unwrap();
    established(&definitions).await;
    let names: BTreeSet<String> = installed.iter().map(ResourceExt::name_any).collect();
    let expected: BTreeSet<String> =
        butler_api::crds().iter().chain(&capi::crds()).map(ResourceExt::name_any).collect();
    assert_eq!(names, expected);
    for definition in &installed {
        let version = &definition.spec.versions[0].name;
        let path = format!("/apis/{}/{version}/{}", definition.spec.group, definition.spec.names.plural);
        let request = http::Request::get(&path).body(Vec::new()).unwrap();
        let list: Value = client(folder.path()).await.request(request).await.unwrap();
        // The catalogue of addons is written while people look already.
        if path.ends_with("/addondefinitions") {
            continue;
        }
        // Nothing but the store of control planes that name none.
        let names: Vec<&Value> =
            list["items"].as_array().unwrap().iter().map(|item| &item["metadata"]["name"]).collect();
        let expected: &[&str] = if path.ends_with("/datastores") { &["default"] } else { &[] };
        assert_eq!(names, expected, "{path}");
    }
}

#[tokio::test]
async fn a_restart_keeps_everything() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let butler = Butler::up(data);
    let maps: Api<ConfigMap> = Api::default_namespaced(client(data).await);
    let mut kept = ConfigMap::default();
    kept.metadata.name = Some("kept".into());
    let kept = maps.create(&PostParams::default(), &kept).await.unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client(data).await);
    established(&definitions).await;
    let before = definitions.list_metadata(&ListParams::default()).await.unwrap();
    let ca = fs::read(data.join("pki/ca.crt")).unwrap();
    rustix::process::kill_process(butler.pid(), rustix::process::Signal::TERM).unwrap();
    assert!(butler.ended().0);

    let _butler = Butler::up(data);
    let maps: Api<ConfigMap> = Api::default_namespaced(client(data).await);
    assert_eq!(maps.get("kept").await.unwrap(), kept);
    assert_eq!(fs::read(data.join("pki/ca.crt")).unwrap(), ca);
    let definitions: Api<CustomResourceDefinition> = Api::all(client(data).await);
    let after = definitions.list_metadata(&ListParams::default()).await.unwrap();
    let versions = |list: &kube::core::ObjectList<kube::core::PartialObjectMeta<CustomResourceDefinition>>| {
        list.iter().map(ResourceExt::resource_version).collect::<Vec<_>>()
    };
    assert_eq!(versions(&after), versions(&before), "unchanged definitions were written again");
}

#[test]
fn whoever_stops_a_start_is_not_told_of_a_failure() {
    for (mode, wait) in [("", 0), ("", 60), ("", 150), ("", 300), ("--detach", 60), ("--detach", 300)] {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let _down = Down(&data);
        let mut up = std::process::Command::new(env!("CARGO_BIN_EXE_butler"));
        up.args(["up", "--api-port", "0", "--data-dir"]).arg(&data).args((!mode.is_empty()).then_some(mode));
        let child = up.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        while !data.join("butler.lock").exists() {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let starting = status(&data);
        assert!(starting.1["pid"] != 0 && starting.1["server"] != "", "{starting:?}");
        // No condition is waited for: it is stopped wherever it happens to be.
        std::thread::sleep(std::time::Duration::from_millis(wait));
        let pid = rustix::process::Pid::from_raw(child.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let ended = child.wait_with_output().unwrap();
        let said = said(&ended);
        // Before it can say anything, the signal simply ends it.
        let is_told = said.ends_with("Butler is down.") || said.contains("butler: cut short: Butler ");
        assert!(is_told || (said.is_empty() && ended.status.code().is_none()), "{mode} {wait}: {said}");
        if said.contains("was not started") {
            assert_eq!(status(&data).0, Some(3));
        }
    }
}

#[tokio::test]
async fn a_signal_lets_watchers_go_and_ends_well() {
    let folder = tempfile::tempdir().unwrap();
    let butler = Butler::up(folder.path());
    let maps: Api<ConfigMap> = Api::default_namespaced(client(folder.path()).await);
    let mut watch = Box::pin(maps.watch(&WatchParams::default(), "0").await.unwrap());
    rustix::process::kill_process(butler.pid(), rustix::process::Signal::TERM).unwrap();
    while let Some(event) = watch.next().await {
        event.expect("a watch that is let go ends between two events");
    }
    let (well, said) = butler.ended();
    assert!(well && said.contains("Butler is down."), "{said}");
    assert_eq!(status(folder.path()).0, Some(3));
}

#[test]
fn a_damaged_store_is_named_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    Butler::up(folder.path()).kill();
    let store = folder.path().join("store.redb");
    let whole = fs::read(&store).unwrap();
    let overwritten = |from: usize, to: usize| [&whole[..from], &vec![0xaa; to - from], &whole[to..]].concat();
    for (name, damaged) in [
        ("another file", vec![b'x'; 64 * 1024]),
        ("the beginning is lost", overwritten(0, 4096)),
        ("the middle is lost", overwritten(20 * 4096, 28 * 4096)),
        ("the end is lost", whole[..whole.len() / 10 * 9].to_vec()),
        ("a third is left", whole[..whole.len() / 3].to_vec()),
        ("nothing is left", Vec::new()),
    ] {
        fs::write(&store, &damaged).unwrap();
        let output = run(folder.path(), "up", &["--api-port", "0"]);
        refused(&output, &[store.to_str().unwrap(), "damaged", "move it away", "snapshot", "--restore"]);
        assert!(fs::read(&store).unwrap() == damaged, "{name}: the damaged file was changed");
    }
    fs::write(&store, &whole).unwrap();
    Butler::up(folder.path()).kill();
}

#[test]
fn a_store_that_cannot_be_had_is_named_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    Butler::up(folder.path()).kill();
    let store = folder.path().join("store.redb");
    let whole = fs::read(&store).unwrap();

    let file = fs::File::open(&store).unwrap();
    file.lock().unwrap();
    refused(&run(folder.path(), "up", &["--api-port", "0"]), &[store.to_str().unwrap(), "in use by another process"]);
    drop(file);
    assert!(fs::read(&store).unwrap() == whole);

    fs::set_permissions(&store, fs::Permissions::from_mode(0o400)).unwrap();
    // Root may write anyway.
    if fs::OpenOptions::new().append(true).open(&store).is_err() {
        refused(&run(folder.path(), "up", &["--api-port", "0"]), &[store.to_str().unwrap(), "Permission denied"]);
    }
    assert!(fs::read(&store).unwrap() == whole);

    fs::remove_file(&store).unwrap();
    fs::create_dir(&store).unwrap();
    refused(&run(folder.path(), "up", &["--api-port", "0"]), &[store.to_str().unwrap(), "Is a directory"]);
    assert_eq!(fs::read_dir(&store).unwrap().count(), 0);
}

#[tokio::test]
async fn a_snapshot_of_a_running_butler_starts_another() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second, snapshot] = ["first", "second", "snapshot"].map(|name| folder.path().join(name));
    let file = snapshot.to_str().unwrap();
    refused(&run(&first, "snapshot", &[file]), &["does not run", "start it first"]);

    let butler = Butler::up(&first);
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&first).await);
    let named = |name: &str| ConfigMap {
        metadata: kube::core::ObjectMeta { name: Some(name.into()), ..Default::default() },
        ..ConfigMap::default()
    };
    let kept = maps.create(&PostParams::default(), &named("kept")).await.unwrap();
    let output = run(&first, "snapshot", &[file]);
    assert!(output.status.success() && said(&output).contains(file), "{}", said(&output));
    assert_eq!((mode(&snapshot), mode(&first.join("butler.sock"))), (0o600, 0o600));
    maps.create(&PostParams::default(), &named("later")).await.unwrap();
    let taken = fs::read(&snapshot).unwrap();
    refused(&run(&first, "snapshot", &[file]), &["no snapshot was made", file, "exists"]);
    assert!(fs::read(&snapshot).unwrap() == taken);

    let up = run(&second, "up", &["--restore", file, "--detach", "--api-port", "0"]);
    let _down = Down(&second);
    assert!(up.status.success(), "{}", said(&up));
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&second).await);
    assert_eq!(maps.get("kept").await.unwrap(), kept);
    assert!(maps.get_opt("later").await.unwrap().is_none());

    butler.kill();
    let store = fs::read(first.join("store.redb")).unwrap();
    refused(&run(&first, "up", &["--restore", file, "--api-port", "0"]), &["store.redb is a store already"]);
    assert!(fs::read(first.join("store.redb")).unwrap() == store);
    let other = folder.path().join("other");
    fs::write(&snapshot, "not a snapshot").unwrap();
    refused(&run(&other, "up", &["--restore", file, "--api-port", "0"]), &[file, "cannot be restored", "damaged"]);
    assert!(!other.join("store.redb").exists());
}

#[test]
fn damaged_keys_are_named_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    Butler::up(folder.path()).kill();
    for file in ["ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.key"] {
        let path = folder.path().join("pki").join(file);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, "not a key").unwrap();
        let output = run(folder.path(), "up", &["--api-port", "0"]);
        refused(&output, &["pki are damaged", "restore them from a backup"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "not a key");
        fs::remove_file(&path).unwrap();
        refused(&run(folder.path(), "up", &["--api-port", "0"]), &[file, "restore it from a backup"]);
        assert!(!path.exists(), "{file} was made anew");
        fs::write(&path, whole).unwrap();
    }
    Butler::up(folder.path()).kill();
}
