//! kube-controller-manager and kube-scheduler make the API a cluster: workloads get pods, pods get a node, garbage goes.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, ensure};
use serde_json::{Value, json};

use super::api::Api;
use super::component;
use super::daemon::Daemon;
use super::kubelet;
use crate::pki::Client as ClientCertificate;
use crate::real::free_ports;
use crate::target::{Login, Target};

mod cluster;
mod delegation;
mod garbage;
mod workloads;

/// Where the suite's objects are.
const NAMESPACE: &str = "shop";

const MANAGER: &str = "kube-controller-manager";
const SCHEDULER: &str = "kube-scheduler";

/// The programs, or in one sentence what is missing.
pub fn find() -> Result<(), String> {
    component(MANAGER)?;
    component(SCHEDULER).map(drop)
}

/// What the programs may speak. Protobuf is what they speak without being told.
pub const MEDIA: [&str; 2] = ["application/json", PROTOBUF];

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The flag that makes a program speak something else than it would.
fn content_type(media: &str) -> Option<String> {
    (media != PROTOBUF).then(|| format!("--kube-api-content-type={media}"))
}

/// Runs both programs and lets them do their work.
pub async fn run(media: &str, target: &Arc<Target>) -> anyhow::Result<()> {
    let folder = tempfile::Builder::new().prefix("controllers-").tempdir()?;
    let [_, _, port] = free_ports()?;
    let daemons = [start_manager(target, folder.path(), media, port)?, start_scheduler(target, folder.path(), media)?];
    let result = work(target, port).await;
    result.map_err(|error| {
        let logs: Vec<String> = daemons.iter().map(Daemon::last_lines).collect();
        anyhow!("{error:#}\n{}", logs.join("\n"))
    })
}

async fn work(target: &Arc<Target>, manager_port: u16) -> anyhow::Result<()> {
    let api = &mut Api::new(target);
    leaders(api).await.context("leader election")?;
    delegation::manager_asks_the_api(target, manager_port).await.context("delegated authentication")?;
    api.create("/api/v1/namespaces", &json!({"metadata": {"name": NAMESPACE}})).await?;
    kubelet::register(api).await?;
    cluster::namespace_is_furnished(api, &target.ca).await.context("a new namespace")?;
    cluster::node_is_freed_of_taints(api).await.context("a new node")?;
    workloads::deployment(api).await.context("Deployment")?;
    workloads::service(api).await.context("Service")?;
    workloads::rollout(api).await.context("rollout")?;
    workloads::job(api).await.context("Job")?;
    workloads::daemon_and_stateful_sets(api).await.context("DaemonSet and StatefulSet")?;
    cluster::volume_is_bound(api).await.context("PersistentVolumeClaim")?;
    cluster::quota_is_counted(api).await.context("ResourceQuota")?;
    cluster::roles_are_aggregated(api).await.context("aggregated ClusterRole")?;
    cluster::requests_are_signed(api).await.context("CertificateSigningRequest")?;
    garbage::background(api).await.context("background deletion")?;
    garbage::foreground(api).await.context("foreground deletion")?;
    garbage::orphan(api).await.context("orphaning deletion")?;
    garbage::namespace(api).await.context("namespace deletion")
}

/// Both hold their Lease.
async fn leaders(api: &mut Api) -> anyhow::Result<()> {
    for name in [MANAGER, SCHEDULER] {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{name}");
        let lease = api.until(&path, |lease| lease["spec"]["holderIdentity"].is_string()).await?;
        ensure!(lease["spec"]["leaseDurationSeconds"] == 15, "{lease}");
    }
    Ok(())
}

fn start_manager(target: &Target, folder: &Path, media: &str, port: u16) -> anyhow::Result<Daemon> {
    let ca = target.client_ca.as_ref().context("the CA is not at hand")?;
    fs::write(folder.join("ca.crt"), &ca.pem.certificate)?;
    fs::write(folder.join("ca.key"), &ca.pem.key)?;
    let serving = ca.server(&["127.0.0.1"])?;
    fs::write(folder.join("manager.crt"), &serving.certificate)?;
    fs::write(folder.join("manager.key"), &serving.key)?;
    fs::write(folder.join("manager.conf"), kubeconfig(target, "system:kube-controller-manager")?)?;
    let secure_port = format!("--secure-port={port}");
    let mut arguments = vec![
        "--kubeconfig=manager.conf",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--leader-elect=true",
        "--bind-address=127.0.0.1",
        &secure_port,
        "--tls-cert-file=manager.crt",
        "--tls-private-key-file=manager.key",
        "--authentication-kubeconfig=manager.conf",
        "--authentication-tolerate-lookup-failure=false",
        "--authorization-kubeconfig=manager.conf",
        "--use-service-account-credentials=true",
        "--root-ca-file=ca.crt",
        "--cluster-signing-cert-file=ca.crt",
        "--cluster-signing-key-file=ca.key",
        // No kubelet renews the node's Lease.
        "--node-monitor-grace-period=1h",
        "-v=2",
    ];
    let content_type = content_type(media);
    arguments.extend(content_type.as_deref());
    Daemon::start(MANAGER, &component(MANAGER).map_err(anyhow::Error::msg)?, folder, &arguments)
}

fn start_scheduler(target: &Target, folder: &Path, media: &str) -> anyhow::Result<Daemon> {
    fs::write(folder.join("scheduler.conf"), kubeconfig(target, "system:kube-scheduler")?)?;
    let mut arguments = vec!["--kubeconfig=scheduler.conf", "--leader-elect=true", "--secure-port=0", "-v=2"];
    let content_type = content_type(media);
    arguments.extend(content_type.as_deref());
    Daemon::start(SCHEDULER, &component(SCHEDULER).map_err(anyhow::Error::msg)?, folder, &arguments)
}

/// A kubeconfig of a component's own user, who may do only what its role allows.
fn kubeconfig(target: &Target, user: &str) -> anyhow::Result<String> {
    let ca = target.client_ca.as_ref().context("the CA is not at hand")?;
    let pem = ca.client(ClientCertificate { user, group: user, expired: false, server_usage: false })?;
    let mut target = target.clone();
    target.users.insert(user.to_owned(), Login::Certificate(pem));
    target.kubeconfig(user, "default")
}

/// A collection in the suite's namespace.
fn collection(group_version: &str, plural: &str) -> String {
    format!("/{group_version}/namespaces/{NAMESPACE}/{plural}")
}

/// Pods with a label `app`.
fn pods_of(app: &str) -> String {
    format!("{}?labelSelector=app%3D{app}", collection("api/v1", "pods"))
}

/// The template of pods that go at once when deleted, since no kubelet is there to end them.
fn pod_template(app: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": app}},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [{
                "name": "web", "image": "registry.example.com/web:1",
                "ports": [{"name": "http", "containerPort": 8080}],
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
            }],
        },
    })
}

fn deployment(app: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": app, "labels": {"app": app}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": app}}, "template": pod_template(app)},
    })
}

/// Whether a list has so many pods, all on the node.
fn all_on_the_node(pods: &Value, wanted: usize) -> bool {
    let pods = pods["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    pods.len() == wanted && pods.iter().all(|pod| pod["spec"]["nodeName"] == kubelet::NODE)
}
