//! Addons as a team meets them: charts of our own, installed on a tenant cluster.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

// The tests use different halves of these.
#[allow(dead_code)]
mod common;
#[allow(dead_code)]
#[path = "common/platform.rs"]
mod platform;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use butler_api::butler::TenantAddon;
use butler_api::butler::addon_install::AddonPhase;
use butler_api::butler::tenant_cluster::{ClusterPhase, TenantCluster};
use butler_api::shared::ConditionStatus;
use common::Butler;
use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Secret, Service};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, ResourceExt};
use platform::{PATIENCE, Platform};
use serde_json::{Value, json};

const CLUSTER: &str = "my-cluster";
/// The seeds' order; the addresses come with MetalLB.
const ORDER: [&str; 6] = ["cilium", "metallb", "metallb-addresses", "cert-manager", "longhorn", "traefik"];

/// A cluster with the seeds' addons.
fn spec(cert_manager: Value) -> Value {
    json!({
        "kubernetesVersion": "v1.34.2", "providerConfigRef": {"name": "local"}, "workers": {"replicas": 2},
        "addons": {
            "cni": {"provider": "cilium"},
            "loadBalancer": {"provider": "metallb", "addressPool": "10.40.1.0-10.40.1.50"},
            "certManager": cert_manager,
            "storage": {"provider": "longhorn"},
            "ingress": {"provider": "traefik"},
        },
    })
}

fn addons(platform: &Platform) -> Api<TenantAddon> {
    Api::namespaced(platform.client.clone(), "team-a")
}

async fn until<K>(api: &Api<K>, name: &str, what: &str, holds: impl Fn(&K) -> bool + Send + Sync) -> K
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + 'static,
{
    let condition = await_condition(api.clone(), name, |object: Option<&K>| object.is_some_and(&holds));
    match tokio::time::timeout(PATIENCE, Box::pin(condition)).await {
        Ok(found) => found.unwrap().unwrap(),
        Err(_) => panic!("{name} is never {what}: {:#?}", api.get_opt(name).await.unwrap()),
    }
}

/// Helm's records on a cluster, as release, revision and status.
async fn records(inside: &Client) -> Vec<(String, u32, String)> {
    let secrets: Api<Secret> = Api::all(inside.clone());
    let listed = secrets.list(&ListParams::default().labels("owner=helm")).await.unwrap();
    let label = |secret: &Secret, name: &str| secret.labels().get(name).cloned().unwrap_or_default();
    let mut all: Vec<_> = listed
        .iter()
        .map(|secret| (label(secret, "name"), label(secret, "version").parse().unwrap(), label(secret, "status")))
        .collect();
    all.sort();
    all
}

/// A real helm, if `scripts/tools` has brought it.
fn real_helm() -> Option<PathBuf> {
    let cache = std::env::var_os("BUTLER_CACHE").map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/butler"));
    cache.or_else(home).map(|cache| cache.join("tools/helm-3.17")).filter(|path| path.is_file())
}

fn is_failed(cluster: &TenantCluster, addon: &str) -> bool {
    let blockers = cluster.status.iter().flat_map(|status| &status.blockers);
    blockers.into_iter().any(|blocker| blocker.reason == "AddonFailed" && blocker.message.contains(addon))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_seeds_addons_are_installed_in_order_and_kept() {
    let data = tempfile::tempdir().unwrap();
    let _butler = Butler::up(data.path());
    let platform = Platform::on(data.path()).await;
    // No such number: the chart of cert-manager cannot be installed.
    platform.create(CLUSTER, spec(json!({"values": {"replicaCount": "many"}}))).await;
    let cluster = platform.until(CLUSTER, |cluster| is_failed(cluster, "my-cluster-cert-manager")).await;
    assert_eq!(cluster.status.unwrap().phase, Some(ClusterPhase::Installing));
    let addons = addons(&platform);
    let installed = |addon: &TenantAddon| addon.status.as_ref().and_then(|s| s.phase) == Some(AddonPhase::Installed);
    // Whoever does not need it goes on.
    for name in ["cilium", "metallb", "metallb-addresses", "longhorn", "traefik"] {
        until(&addons, &format!("{CLUSTER}-{name}"), "installed", installed).await;
    }
    let still = platform.clusters.get(CLUSTER).await.unwrap();
    assert_eq!(still.status.unwrap().phase, Some(ClusterPhase::Installing));
    platform.patch(CLUSTER, json!({"spec": {"addons": {"certManager": {"values": {"replicaCount": 2}}}}})).await;
    let cluster = platform.ready(CLUSTER, 2).await;
    let status = cluster.status.unwrap();
    let is_true = |type_: &str| status.conditions.iter().any(|c| c.type_ == type_ && c.status == ConditionStatus::True);
    assert!(is_true("AddonsReady"));
    assert!(status.observed_state.unwrap().addons.iter().all(|addon| addon.status.as_str() == "Healthy"));

    let inside = platform.inside(CLUSTER).await;
    let releases: Vec<String> = records(&inside).await.into_iter().map(|(name, ..)| name).collect();
    let mut expected = ORDER.map(str::to_owned);
    expected.sort();
    assert_eq!(releases, expected);
    let began = |name: &'static str| {
        let secrets: Api<Secret> = Api::all(inside.clone());
        async move {
            let labels = format!("owner=helm,name={name}");
            let first = secrets.list(&ListParams::default().labels(&labels)).await.unwrap().items.remove(0);
            first.resource_version().unwrap().parse::<u64>().unwrap()
        }
    };
    let (network, balancer, addresses) = (began(ORDER[0]).await, began(ORDER[1]).await, began(ORDER[2]).await);
    assert!(network < balancer && balancer < addresses, "{network} {balancer} {addresses}");
    if let Some(helm) = real_helm() {
        let kubeconfig = data.path().join("tenant");
        std::fs::write(&kubeconfig, platform.kubeconfig(CLUSTER).await).unwrap();
        let listed = Command::new(helm).args(["list", "-A", "-q", "--kubeconfig"]).arg(&kubeconfig).output().unwrap();
        let mut listed: Vec<String> = String::from_utf8(listed.stdout).unwrap().lines().map(str::to_owned).collect();
        listed.sort();
        assert_eq!(listed, expected);
    }

    // What others change or delete is as it was again.
    let deployments: Api<Deployment> = Api::namespaced(inside.clone(), "cert-manager");
    let scaled = Patch::Merge(json!({"spec": {"replicas": 0}}));
    deployments.patch("cert-manager", &PatchParams::default(), &scaled).await.unwrap();
    let replicas = |deployment: &Deployment| deployment.spec.as_ref().and_then(|spec| spec.replicas);
    until(&deployments, "cert-manager", "scaled back", |deployment| replicas(deployment) == Some(2)).await;
    let services: Api<Service> = Api::namespaced(inside.clone(), "traefik");
    let before = services.get("traefik").await.unwrap().uid();
    services.delete("traefik", &DeleteParams::default()).await.unwrap();
    until(&services, "traefik", "back", |service| service.uid() != before).await;
    platform.ready(CLUSTER, 2).await;

    // A part of the platform stays while the cluster asks for it.
    let cilium = format!("{CLUSTER}-cilium");
    addons.delete(&cilium, &DeleteParams::default()).await.unwrap();
    let held = until(&addons, &cilium, "held", |addon| {
        addon.status.as_ref().is_some_and(|s| s.blockers.iter().any(|blocker| blocker.reason == "PlatformAddon"))
    })
    .await;
    assert_eq!(held.status.unwrap().phase, Some(AddonPhase::Installed));

    // What is no longer asked for goes, and what another version is asked of is changed.
    let change = json!({"spec": {"addons": {"storage": {"provider": "none"}, "ingress": {"version": "34.2.0"}}}});
    platform.patch(CLUSTER, change).await;
    let absent = |addon: Option<&TenantAddon>| addon.is_none();
    let storage = format!("{CLUSTER}-longhorn");
    tokio::time::timeout(PATIENCE, await_condition(addons.clone(), &storage, absent)).await.unwrap().unwrap();
    until(&addons, &format!("{CLUSTER}-traefik"), "changed", |addon| {
        installed(addon) && addon.status.as_ref().and_then(|s| s.installed_version.as_deref()) == Some("34.2.0")
    })
    .await;

    platform.clusters.delete(CLUSTER, &DeleteParams::default()).await.unwrap();
    platform.gone(CLUSTER).await;
    platform.assert_no_trace(CLUSTER).await;
    assert!(addons.list(&ListParams::default()).await.unwrap().items.is_empty());
}

/// Whether AddonsReady holds, and why not.
fn addons_ready(cluster: &TenantCluster) -> (bool, String) {
    let conditions = cluster.status.iter().flat_map(|status| &status.conditions);
    let told = conditions.into_iter().find(|known| known.type_ == "AddonsReady").unwrap();
    (told.status == ConditionStatus::True, told.reason.clone().unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_workers_addons_do_not_run_and_with_them_they_do_before_the_cluster_is_ready() {
    let data = tempfile::tempdir().unwrap();
    let _butler = Butler::up(data.path());
    let platform = Platform::on(data.path()).await;
    let mut none = spec(json!({}));
    none["workers"]["replicas"] = json!(0);
    platform.create(CLUSTER, none).await;
    let cluster = platform.ready(CLUSTER, 0).await;
    assert_eq!(addons_ready(&cluster), (false, "NoWorkers".to_owned()), "{cluster:#?}");
    let since = cluster.resource_version().unwrap();
    let params = WatchParams::default().fields(&format!("metadata.name={CLUSTER}")).disable_bookmarks();
    let mut changes = platform.clusters.watch(&params, &since).await.unwrap().boxed();
    platform.patch(CLUSTER, json!({"spec": {"workers": {"replicas": 2}}})).await;
    let mut phases = Vec::new();
    while !matches!(phases.as_slice(), [.., ClusterPhase::Updating, ClusterPhase::Ready]) {
        let change = tokio::time::timeout(PATIENCE, changes.next()).await.unwrap();
        let Some(Ok(WatchEvent::Modified(cluster))) = change else { panic!("there are no more changes") };
        let phase = cluster.status.as_ref().and_then(|status| status.phase).unwrap();
        if phases.last() != Some(&phase) {
            phases.push(phase);
        }
        if phases.len() > 1 && phase == ClusterPhase::Ready {
            assert!(addons_ready(&cluster).0, "{cluster:#?}");
        }
    }
    assert_eq!(phases, [ClusterPhase::Ready, ClusterPhase::Updating, ClusterPhase::Ready]);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_it_installs_it_goes_on_where_it_was() {
    let data = tempfile::tempdir().unwrap();
    let mut butler = Butler::up(data.path());
    let mut platform = Platform::on(data.path()).await;
    platform.create(CLUSTER, spec(json!({}))).await;
    for cut in 0..4_u64 {
        let addons = addons(&platform);
        let name = format!("{CLUSTER}-{}", ORDER[usize::try_from(cut).unwrap() + 1]);
        // Somewhere in the middle of it.
        let busy = |addon: &TenantAddon| {
            addon.status.as_ref().and_then(|s| s.phase).is_some_and(|phase| phase != AddonPhase::Pending)
        };
        until(&addons, &name, "begun", busy).await;
        tokio::time::sleep(Duration::from_millis(cut * 40)).await;
        butler.kill();
        butler = Butler::up(data.path());
        // The address of the API is another with every start.
        platform = Platform::on(data.path()).await;
    }
    platform.ready(CLUSTER, 2).await;
    let mut expected = ORDER.map(|name| (name.to_owned(), 1, "deployed".to_owned()));
    expected.sort();
    assert_eq!(records(&platform.inside(CLUSTER).await).await, expected);
}
