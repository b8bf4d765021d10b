//! Tenant clusters as a user of `butler up` meets them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

// The tests use different halves of these.
#[allow(dead_code)]
mod common;
#[allow(dead_code)]
#[path = "common/platform.rs"]
mod platform;

use std::time::Duration;

use butler_api::butler::NetworkPool;
use butler_api::butler::tenant_cluster::{ClusterPhase, TenantCluster};
use common::Butler;
use k8s_openapi::api::core::v1::{Event, Node, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Config, ResourceExt};
use platform::{PATIENCE, Platform};
use serde_json::{Value, json};

/// Whether `whole` has everything that `part` has.
fn has(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| has(whole, part)))
        }
        _ => whole == part,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_made_scaled_upgraded_and_removed() {
    let data = tempfile::tempdir().unwrap();
    let _butler = Butler::up(data.path());
    let platform = Platform::on(data.path()).await;
    let spec = json!({
        "kubernetesVersion": "v1.30.0", "controlPlane": {"replicas": 1}, "providerConfigRef": {"name": "local"},
        "workers": {"replicas": 3, "machineTemplate": {"cpu": 4, "memory": "8Gi", "diskSize": "100Gi"}},
    });
    platform.create("my-cluster", spec).await;
    let cluster = platform.ready("my-cluster", 3).await;
    assert_eq!(
        cluster.status.as_ref().unwrap().observed_state.as_ref().unwrap().kubernetes_version.as_deref(),
        Some("v1.30.0")
    );
    assert_eq!(platform.nodes("my-cluster").await.len(), 3);

    // Through the scale subresource, and through the spec.
    let scale = json!({"spec": {"replicas": 5}});
    platform.clusters.patch_scale("my-cluster", &PatchParams::default(), &Patch::Merge(scale)).await.unwrap();
    platform.ready("my-cluster", 5).await;
    platform.patch("my-cluster", json!({"spec": {"workers": {"replicas": 2}}})).await;
    platform.ready("my-cluster", 2).await;

    // Whoever wants the one after the next need not wait for the next.
    for version in ["v1.31.0", "v1.32.0"] {
        platform.patch("my-cluster", json!({"spec": {"kubernetesVersion": version}})).await;
    }
    let updating = |cluster: &TenantCluster| {
        let status = cluster.status.as_ref().unwrap();
        let ready = status.conditions.iter().find(|known| known.type_ == "Ready").unwrap();
        status.phase == Some(ClusterPhase::Updating) && ready.reason.as_deref() == Some("Updating")
    };
    platform.until("my-cluster", updating).await;
    platform.ready("my-cluster", 2).await;
    let versions = platform.nodes("my-cluster").await;
    let fresh = versions.iter().filter(|node| {
        node.metadata.deletion_timestamp.is_none() && node.spec.as_ref().unwrap().unschedulable != Some(true)
    });
    for node in fresh {
        let version = node.status.as_ref().unwrap().node_info.as_ref().unwrap().kubelet_version.clone();
        assert_eq!(version, "v1.32.0");
    }
    // Two minors at once are refused, with the way to go.
    let skip = Patch::Merge(json!({"spec": {"kubernetesVersion": "v1.34.0"}}));
    let refused = platform.clusters.patch("my-cluster", &PatchParams::default(), &skip).await.unwrap_err();
    assert!(refused.to_string().contains("v1.33"), "{refused}");

    let uid = platform.clusters.get("my-cluster").await.unwrap().uid().unwrap();
    platform.clusters.delete("my-cluster", &DeleteParams::default()).await.unwrap();
    platform.gone("my-cluster").await;
    platform.assert_no_trace("my-cluster").await;
    let events: Api<Event> = Api::namespaced(platform.client.clone(), "team-a");
    let events = events.list(&ListParams::default()).await.unwrap();
    let receipt = events.iter().find(|event| event.reason.as_deref() == Some("Deleted")).unwrap();
    assert_eq!(receipt.involved_object.uid, Some(uid));
    let receipt: Value = serde_json::from_str(&receipt.annotations()["butler.butlerlabs.dev/receipt"]).unwrap();
    let removed = receipt["removed"].as_array().unwrap();
    assert!(removed.iter().any(|what| what == "Cluster my-cluster"), "{receipt}");
    assert!(receipt["ended"].is_string(), "{receipt}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operating_system_joins_by_what_it_boots() {
    let data = tempfile::tempdir().unwrap();
    let _butler = Butler::up(data.path());
    let platform = Platform::on(data.path()).await;
    let systems =
        [("talos", "talos"), ("flatcar", "ignition"), ("bottlerocket", "bottlerocket"), ("kairos", "cloud-config")];
    for (os, _) in systems {
        let pool = json!({"replicas": 1, "labels": {"example.com/os": os}, "machineTemplate": {"os": {"type": os}}});
        let reference = json!({"name": "local"});
        platform.create(os, json!({"workers": pool, "providerConfigRef": reference})).await;
    }
    for (os, format) in systems {
        let cluster = Box::pin(platform.ready(os, 1)).await;
        let nodes = platform.nodes(os).await;
        assert_eq!(nodes[0].labels().get("example.com/os").map(String::as_str), Some(os));
        let workers = format!("{os}-workers");
        let deployment = platform.internal(&cluster, "cluster.x-k8s.io/v1beta1", "MachineDeployment", &workers).await;
        let bootstrap = &deployment["spec"]["template"]["spec"]["bootstrap"];
        assert_eq!(*bootstrap, json!({"dataSecretName": format!("{workers}-bootstrap")}), "{os}");
        let namespace = cluster.status.as_ref().unwrap().tenant_namespace.clone().unwrap();
        let secrets: Api<Secret> = Api::namespaced(platform.client.clone(), &namespace);
        let data = secrets.get(&format!("{workers}-bootstrap")).await.unwrap().data.unwrap();
        assert_eq!(String::from_utf8(data["format"].0.clone()).unwrap(), format);
        let invitation = secrets.get(&format!("{workers}-join")).await.unwrap().data.unwrap();
        let text = |key: &str| String::from_utf8(invitation[key].0.clone()).unwrap();
        assert!(text("ca-hash").starts_with("sha256:") && text("endpoint").contains(':'), "{os}");
        assert_eq!(invitation.contains_key("talos-ca.crt"), os == "talos");

        // One more joins by the same data.
        platform.patch(os, json!({"spec": {"workers": {"replicas": 2}}})).await;
        Box::pin(platform.ready(os, 2)).await;
        platform.clusters.delete(os, &DeleteParams::default()).await.unwrap();
    }
    for (os, _) in systems {
        Box::pin(platform.gone(os)).await;
        Box::pin(platform.assert_no_trace(os)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_plane_on_machines_of_its_own_is_made_scaled_upgraded_and_removed() {
    let data = tempfile::tempdir().unwrap();
    let butler = Butler::up(data.path());
    let platform = Platform::on(data.path()).await;
    let spec = json!({
        "kubernetesVersion": "v1.33.0", "providerConfigRef": {"name": "local"}, "workers": {"replicas": 2},
        "controlPlane": {"type": "standalone", "replicas": 1},
    });
    platform.create("alone", spec).await;
    let cluster = Box::pin(platform.ready("alone", 2)).await;
    let carriers = async |platform: &Platform| {
        let nodes = platform.nodes("alone").await;
        let role = "node-role.kubernetes.io/control-plane";
        let carriers = nodes.iter().filter(|node| node.labels().contains_key(role));
        let mut versions: Vec<String> = carriers
            .map(|node| node.status.as_ref().unwrap().node_info.as_ref().unwrap().kubelet_version.clone())
            .collect();
        versions.sort();
        versions
    };
    assert_eq!(carriers(&platform).await, ["v1.33.0"]);
    assert_eq!(platform.nodes("alone").await.len(), 3);

    // Who may only look gets a kubeconfig that lets them look.
    let secrets: Api<Secret> = Api::namespaced(platform.client.clone(), &cluster.namespace().unwrap());
    let there = |secret: Option<&Secret>| secret.is_some();
    let published = await_condition(secrets, "alone-kubeconfig-viewer", there);
    let published = tokio::time::timeout(PATIENCE, published).await.unwrap().unwrap().unwrap();
    let viewer = Kubeconfig::from_yaml(std::str::from_utf8(&published.data.unwrap()["value"].0).unwrap()).unwrap();
    let viewer = Config::from_custom_kubeconfig(viewer, &KubeConfigOptions::default()).await.unwrap();
    let nodes: Api<Node> = Api::all(Client::try_from(viewer).unwrap());
    assert_eq!(nodes.list(&ListParams::default()).await.unwrap().items.len(), 3);
    let refused = nodes.delete("none", &DeleteParams::default()).await.unwrap_err();
    assert!(refused.to_string().contains("forbidden"), "{refused}");

    // What was written before a power cut is there after it.
    let before: Vec<_> = platform.nodes("alone").await.iter().map(|node| node.uid()).collect();
    butler.kill();
    let butler = Butler::up(data.path());
    let platform = Platform::on(data.path()).await;
    Box::pin(platform.ready("alone", 2)).await;
    let answered = async {
        loop {
            match platform.try_nodes("alone").await {
                Ok(nodes) => return nodes,
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    };
    let nodes = tokio::time::timeout(PATIENCE, Box::pin(answered)).await.unwrap();
    assert_eq!(nodes.iter().map(|node| node.uid()).collect::<Vec<_>>(), before);

    platform.patch("alone", json!({"spec": {"controlPlane": {"replicas": 3}}})).await;
    Box::pin(platform.ready("alone", 2)).await;
    assert_eq!(carriers(&platform).await, ["v1.33.0"; 3]);
    let kind = "controlplane.cluster.x-k8s.io/v1beta1";
    let plane = platform.internal(&cluster, kind, "KubeadmControlPlane", "alone").await;
    assert!(
        has(&plane["status"], &json!({"initialized": true, "ready": true, "replicas": 3, "readyReplicas": 3})),
        "{plane}"
    );

    platform.patch("alone", json!({"spec": {"kubernetesVersion": "v1.34.0"}})).await;
    Box::pin(platform.until("alone", |c| c.status.as_ref().unwrap().phase == Some(ClusterPhase::Updating))).await;
    Box::pin(platform.ready("alone", 2)).await;
    assert_eq!(carriers(&platform).await, ["v1.34.0"; 3]);
    assert_eq!(platform.inside("alone").await.apiserver_version().await.unwrap().git_version, "v1.34.0");
    let plane = platform.internal(&cluster, kind, "KubeadmControlPlane", "alone").await;
    assert_eq!((&plane["status"]["version"], &plane["status"]["updatedReplicas"]), (&json!("v1.34.0"), &json!(3)));

    platform.clusters.delete("alone", &DeleteParams::default()).await.unwrap();
    Box::pin(platform.gone("alone")).await;
    Box::pin(platform.assert_no_trace("alone")).await;
    butler.kill();
    let store = kapi_store::Store::open(&data.path().join("store.redb")).unwrap();
    let left = store.collections("etcd:machines:");
    let left: Vec<_> = left.iter().filter(|kept| !kept.is_empty()).map(|kept| kept.name()).collect();
    assert_eq!(left, Vec::<&std::sync::Arc<str>>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_seeds_cluster_on_harvester_becomes_the_objects_they_print() {
    let data = tempfile::tempdir().unwrap();
    let _butler = Butler::up(data.path());
    let platform = Platform::on(data.path()).await;
    let spec = json!({
        "kubernetesVersion": "v1.30.0",
        "controlPlane": {"replicas": 1},
        "workers": {"replicas": 3, "machineTemplate": {"cpu": 4, "memory": "8Gi", "diskSize": "100Gi"}},
        "providerConfigRef": {"name": "harvester-prod"},
        "networking": {"podCIDR": "10.244.0.0/16", "serviceCIDR": "10.96.0.0/12"},
    });
    platform.create("my-cluster", spec).await;
    // Nobody made the provider yet; who can do what is said.
    let waiting = platform
        .until("my-cluster", |cluster| cluster.status.as_ref().is_some_and(|status| !status.blockers.is_empty()))
        .await;
    let status = waiting.status.unwrap();
    assert_eq!((status.phase, status.blockers[0].reason.as_str()), (Some(ClusterPhase::Pending), "ProviderMissing"));
    assert!(status.blockers[0].remedy.as_ref().unwrap().contains("harvester-prod"));
    platform
        .provider(
            "harvester-prod",
            json!({
                "provider": "harvester", "credentialsRef": {"name": "harvester"},
                "harvester": {"networkName": "default/workloads", "imageName": "default/rocky-9"},
            }),
        )
        .await;
    platform
        .until("my-cluster", |c| {
            c.status.as_ref().unwrap().blockers.iter().any(|b| b.reason.starts_with("Credentials"))
        })
        .await;
    let kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts:\n- name: a\n  context: {cluster: a, user: a}\n\
                      clusters:\n- name: a\n  cluster: {server: 'https://192.0.2.1:6443'}\nusers:\n- name: a\n  user: {token: t}\n";
    let secret = json!({"metadata": {"name": "harvester"}, "stringData": {"kubeconfig": kubeconfig}});
    platform.ensure::<Secret>(&Api::namespaced(platform.client.clone(), "butler-system"), secret).await;
    let cluster = platform.ready("my-cluster", 3).await;

    let infrastructure = "infrastructure.cluster.x-k8s.io/v1alpha1";
    let (capi, plane) = ("cluster.x-k8s.io/v1beta1", "controlplane.cluster.x-k8s.io/v1alpha1");
    let printed = [
        (
            capi,
            "Cluster",
            "my-cluster",
            json!({
                "controlPlaneRef": {"apiVersion": plane, "kind": "StewardControlPlane", "name": "my-cluster"},
                "infrastructureRef": {"apiVersion": infrastructure, "kind": "HarvesterCluster", "name": "my-cluster"},
            }),
        ),
        (
            plane,
            "StewardControlPlane",
            "my-cluster",
            json!({"replicas": 1, "version": "v1.30.0", "dataStoreName": "default"}),
        ),
        (
            capi,
            "MachineDeployment",
            "my-cluster-workers",
            json!({
                "clusterName": "my-cluster", "replicas": 3, "template": {"spec": {
                    "clusterName": "my-cluster", "version": "v1.30.0",
                    "bootstrap": {"configRef": {
                        "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta1", "kind": "KubeadmConfigTemplate", "name": "my-cluster-workers",
                    }},
                    "infrastructureRef": {"apiVersion": infrastructure, "kind": "HarvesterMachineTemplate", "name": "my-cluster-workers"},
                }},
            }),
        ),
        (infrastructure, "HarvesterCluster", "my-cluster", json!({})),
        (infrastructure, "HarvesterMachineTemplate", "my-cluster-workers", json!({})),
        ("bootstrap.cluster.x-k8s.io/v1beta1", "KubeadmConfigTemplate", "my-cluster-workers", json!({})),
    ];
    for (group_version, kind, name, spec) in printed {
        let object = platform.internal(&cluster, group_version, kind, name).await;
        assert!(has(&object["spec"], &spec), "{object:#} lacks {spec:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_takes_addresses_from_a_pool_and_gives_them_back() {
    let data = tempfile::tempdir().unwrap();
    let _butler = Butler::up(data.path());
    let platform = Platform::on(data.path()).await;
    let pools: Api<NetworkPool> = Api::namespaced(platform.client.clone(), "butler-system");
    let pool = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "NetworkPool", "metadata": {"name": "lab"},
        "spec": {"cidr": "10.40.0.0/28"},
    });
    platform.ensure(&pools, pool).await;
    platform
        .provider("racks", json!({"provider": "local", "network": {"mode": "ipam", "poolRefs": [{"name": "lab"}]}}))
        .await;
    let spec = |size: i32| {
        json!({
            "providerConfigRef": {"name": "racks"}, "workers": {"replicas": 0}, "networking": {"lbPoolSize": size},
        })
    };
    platform.create("first", spec(8)).await;
    let first = platform.ready("first", 0).await;
    let range = first.status.unwrap().resolved.unwrap().load_balancer_addresses.unwrap();
    assert!(range.starts_with("10.40.0."), "{range}");
    // The pool is too small for another; who can do what is said.
    platform.create("second", spec(8)).await;
    let exhausted = |cluster: &TenantCluster| {
        cluster.status.as_ref().is_some_and(|status| status.blockers.iter().any(|b| b.reason == "PoolExhausted"))
    };
    platform.until("second", exhausted).await;
    platform.clusters.delete("first", &DeleteParams::default()).await.unwrap();
    platform.gone("first").await;
    platform.ready("second", 0).await;
    platform.clusters.delete("second", &DeleteParams::default()).await.unwrap();
    platform.gone("second").await;
    let empty = |pool: Option<&NetworkPool>| {
        pool.and_then(|pool| pool.status.as_ref()).is_some_and(|status| status.allocated_ips == Some(0))
    };
    tokio::time::timeout(PATIENCE, await_condition(pools, "lab", empty)).await.unwrap().unwrap();
}

/// Kills Butler at different moments of a cluster's making and going; each time the next one finishes the job.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_butler_finishes_the_job_when_it_comes_back() {
    // `CUTS=50` takes longer and cuts finer.
    let cuts: u64 = std::env::var("CUTS").map_or(4, |text| text.parse().unwrap());
    let data = tempfile::tempdir().unwrap();
    for cut in 0..cuts {
        let name = format!("c{cut}");
        let after = Duration::from_millis(100 + cut * 4000 / cuts);
        let butler = Butler::up(data.path());
        let platform = Platform::on(data.path()).await;
        platform.create(&name, json!({"providerConfigRef": {"name": "local"}, "workers": {"replicas": 2}})).await;
        tokio::time::sleep(after).await;
        butler.kill();
        let butler = Butler::up(data.path());
        let platform = Platform::on(data.path()).await;
        platform.ready(&name, 2).await;
        assert_eq!(platform.nodes(&name).await.len(), 2, "a machine was made twice");
        platform.clusters.delete(&name, &DeleteParams::default()).await.unwrap();
        tokio::time::sleep(after / 2).await;
        butler.kill();
        let butler = Butler::up(data.path());
        let platform = Platform::on(data.path()).await;
        platform.gone(&name).await;
        platform.assert_no_trace(&name).await;
        drop(butler);
    }
}
