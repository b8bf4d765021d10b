//! Pods whose programs are the real ones, as processes. Needs root and what `make kubernetes` builds.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod common;

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Machine, NODE, Tenant, until};
use k8s_openapi::api::core::v1::{Namespace, Pod, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use local::Bridge;
use local::agent::{Agent, Binaries, Programs, Simulation};
use serde_json::{Value, json};

const KUBERNETES: &str = "v1.34.4";
const ETCD: &str = "v3.6.16";

/// Where the programs are, if they can be run.
fn binaries() -> Option<Binaries> {
    let cache = match std::env::var_os("BUTLER_CACHE") {
        Some(cache) => cache.into(),
        None => std::env::home_dir()?.join(".cache/butler"),
    };
    let binaries = Binaries { kubernetes: cache.join("kubernetes"), etcd: cache.join("etcd") };
    let found = binaries.kubernetes.join(KUBERNETES).join("kube-apiserver").is_file()
        && binaries.etcd.join(ETCD).join("etcd").is_file();
    if rustix::process::geteuid().is_root() && found {
        return Some(binaries);
    }
    // Not through the macro, whose output tests keep to themselves.
    let _ = writeln!(std::io::stdout(), "skipped: needs root, and kube-apiserver and etcd in {}", cache.display());
    None
}

/// A pod with etcd and kube-apiserver.
fn control_plane(tenant: &Tenant, name: &str) -> Value {
    let mut pod = tenant.pod(name, KUBERNETES, "pki", &["--authorization-mode=Node,RBAC"]);
    let server = &mut pod["spec"]["containers"][0];
    server["args"][1] = "--etcd-servers=http://127.0.0.1:2379".into();
    let ready = json!({"httpGet": {"scheme": "HTTPS", "path": "/readyz", "port": 6443}, "periodSeconds": 1, "failureThreshold": 3});
    server["readinessProbe"] = ready;
    let etcd = json!({
        "name": "etcd", "image": format!("registry.k8s.io/etcd:{ETCD}-0"),
        "command": ["etcd", "--data-dir=/data", "--listen-client-urls=http://127.0.0.1:2379",
                    "--advertise-client-urls=http://127.0.0.1:2379", "--listen-metrics-urls=http://0.0.0.0:2381"],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        "startupProbe": {"httpGet": {"path": "/readyz", "port": 2381}, "periodSeconds": 1, "failureThreshold": 60},
    });
    pod["spec"]["containers"][1] = etcd;
    pod["spec"]["volumes"].as_array_mut().unwrap().push(json!({"name": "data", "emptyDir": {}}));
    pod
}

fn agent(machine: &Machine, binaries: &Binaries) -> Agent {
    machine.agent(Programs::real(binaries.clone(), Simulation::default()))
}

/// Processes that run in a directory of pods.
fn processes(directory: &Path) -> Vec<String> {
    let wanted = directory.to_string_lossy().into_owned();
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = entries.filter_map(|entry| {
        let line = std::fs::read_to_string(entry.path().join("cmdline")).ok()?;
        let own = entry.file_name().to_string_lossy() == std::process::id().to_string();
        (!own && line.contains(&wanted)).then(|| line.replace('\0', " "))
    });
    lines.collect()
}

fn namespaces(bridge: &str) -> usize {
    let listed = Command::new("ip").args(["netns", "list"]).output().unwrap();
    String::from_utf8_lossy(&listed.stdout).lines().filter(|line| line.starts_with(bridge)).count()
}

async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), waiting).await.unwrap_or_else(|_| panic!("never {what}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_control_plane_runs_in_a_network_of_its_own() {
    let Some(binaries) = binaries() else { return };
    let machine = Machine::bridged("a").await;
    let bridge = machine.settings.bridge.clone().unwrap();
    let first = agent(&machine, &binaries);
    let _network = machine.network();
    let tenant = Tenant::new("registry");
    machine.make::<Secret>(tenant.secret("pki")).await;
    machine.make::<Pod>(control_plane(&tenant, "api")).await;
    let pod = machine.ready("api").await;
    let at = machine.endpoint(&pod);
    let inside = tenant.client(at).await;
    assert_eq!(inside.apiserver_version().await.unwrap().git_version, KUBERNETES);
    let namespace: Namespace = common::object(json!({"metadata": {"name": "x"}}));
    Api::all(inside).create(&Default::default(), &namespace).await.unwrap();
    assert_eq!(namespaces(&machine.bridge_name("a")), 1);

    // By a Service, from this machine.
    let ports = json!([{"name": "https", "port": 443, "targetPort": 6443}]);
    machine
        .make::<Service>(json!({"metadata": {"name": "api"}, "spec": {"type": "LoadBalancer", "ports": ports}}))
        .await;
    machine
        .make::<EndpointSlice>(json!({
            "metadata": {"name": "api", "labels": {"kubernetes.io/service-name": "api"}}, "addressType": "IPv4",
            "ports": [{"name": "https", "port": 6443}], "endpoints": [{"addresses": [at.ip().to_string()]}],
        }))
        .await;
    let address = |service: &Service| {
        let status = serde_json::to_value(&service.status).unwrap();
        status["loadBalancer"]["ingress"][0]["ip"].as_str().map(str::to_owned)
    };
    let service = until(&machine.api::<Service>(), "api", "has an address", |service| address(service).is_some()).await;
    let balanced = SocketAddr::new(address(&service).unwrap().parse().unwrap(), 443);
    let connects = || std::net::TcpStream::connect(balanced).is_ok();
    eventually("is listened for", connects).await;
    assert!(Api::<Namespace>::all(tenant.client(balanced).await).get_opt("x").await.unwrap().is_some());

    // Another agent goes on with the same address and data.
    drop(first);
    let directory = machine.settings.directory.clone();
    eventually("are gone", || processes(&directory).is_empty()).await;
    let second = agent(&machine, &binaries);
    let restarted = |pod: &Pod| {
        let containers = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
        common::is_ready(pod) && containers.into_iter().all(|container| container.restart_count > 0)
    };
    let again = until(&machine.api::<Pod>(), "api", "restarted", restarted).await;
    assert_eq!(machine.endpoint(&again), at);
    assert!(Api::<Namespace>::all(tenant.client(at).await).get_opt("x").await.unwrap().is_some());
    let (log, _) = Agent::logs(&directory, pod.metadata.uid.as_deref().unwrap(), "kube-apiserver");
    assert!(std::fs::read_to_string(log).unwrap().contains("Serving securely"));

    machine.delete("api").await;
    assert_eq!((processes(&directory), namespaces(&machine.bridge_name("a"))), (Vec::new(), 0));
    assert_eq!(std::fs::read_dir(directory.join("pods")).unwrap().count(), 0);
    drop(second);
    bridge.down().await.unwrap();
    assert!(!Path::new("/sys/class/net").join(machine.bridge_name("a")).exists());
}

/// What a killed process leaves behind. Run by the test below, in a process of its own.
#[tokio::test(flavor = "multi_thread")]
async fn runs_until_it_is_killed() {
    let (Ok(told), Some(binaries)) = (std::env::var("BUTLER_TEST_VICTIM"), binaries()) else { return };
    let machine = Machine::bridged("v").await;
    let _agent = agent(&machine, &binaries);
    let spec = json!({"nodeName": NODE, "volumes": [{"name": "data", "emptyDir": {}}], "containers": [{
        "name": "etcd", "image": format!("etcd:{ETCD}"), "args": ["--data-dir=/data"],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}], "securityContext": {"runAsUser": 65532, "runAsGroup": 65532},
    }], "securityContext": {"runAsUser": 65532, "fsGroup": 65532}});
    machine.make::<Pod>(json!({"metadata": {"name": "etcd"}, "spec": spec})).await;
    machine.ready("etcd").await;
    let bridge = machine.bridge_name("v");
    let pods = machine.settings.pods.told;
    std::fs::write(told, format!("{} {bridge} {pods}", machine.settings.directory.display())).unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outlives_a_killed_agent() {
    if binaries().is_none() {
        return;
    }
    let told = tempfile::tempdir().unwrap();
    let file: PathBuf = told.path().join("told");
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "runs_until_it_is_killed"])
        .env("BUTLER_TEST_VICTIM", &file)
        .env("TMPDIR", told.path())
        .spawn()
        .unwrap();
    eventually("starts", || std::fs::read_to_string(&file).is_ok_and(|text| text.split(' ').count() == 3)).await;
    let text = std::fs::read_to_string(&file).unwrap();
    let [directory, bridge, pods] = text.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let directory = Path::new(directory);
    assert_eq!(namespaces(bridge), 1);
    assert!(processes(directory).iter().any(|line| line.contains("etcd")));
    victim.kill().unwrap();
    victim.wait().unwrap();
    eventually("die", || processes(directory).is_empty()).await;
    // The next one on the same bridge cleans up.
    let next = Bridge::up(bridge, pods.parse().unwrap(), &[]).await.unwrap();
    assert_eq!(namespaces(bridge), 0);
    next.down().await.unwrap();
    assert!(!Path::new("/sys/class/net").join(bridge).exists());
}
