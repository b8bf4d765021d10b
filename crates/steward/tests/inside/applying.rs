//! Putting things into a tenant.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use steward::inside::{Tenant, apply, defaults, digest, objects};

use crate::faults::at_every_request;
use crate::server::against_all;
use crate::tenant::both;

/// Kinds of what konnectivity may have left: in either mode.
const KONNECTIVITY: usize = 4;

#[tokio::test]
async fn everything_is_there_and_stays_as_it_is() {
    against_all(async |server| {
        let (client, tenant) = (server.admin().await, server.tenant(both()));
        let applied = apply(&client, &tenant).await.unwrap();
        assert_eq!(applied.digest, digest(&tenant).unwrap());
        assert_eq!(applied.kept, [""; 0]);
        let addons: Vec<_> = applied.addons.iter().map(|a| (a.name.as_str(), a.version.as_deref())).collect();
        assert_eq!(addons, [("coreDNS", Some("v1.12.1")), ("kubeProxy", Some("v1.34.4")), ("konnectivity", None)]);
        let before = versions(&client, &tenant).await;
        assert!(before.iter().all(Option::is_some));
        assert_eq!(apply(&client, &tenant).await.unwrap(), applied);
        assert_eq!(versions(&client, &tenant).await, before, "nothing is written twice");
        let replicas = deployments(&client).get("coredns").await.unwrap().spec.unwrap().replicas;
        assert_eq!(replicas, Some(2));
    })
    .await;
}

#[tokio::test]
async fn it_can_be_taken_up_after_any_request() {
    against_all(async |server| {
        let (client, tenant) = (server.admin().await, server.tenant(both()));
        let bare = server.tenant(json!({}));
        let on = at_every_request(&client, async |client| apply(&client, &tenant).await).await;
        let written = objects(&tenant).unwrap().len() + defaults(&tenant).unwrap().len();
        assert_eq!(on, written + KONNECTIVITY, "one request each");
        assert!(versions(&client, &tenant).await.iter().all(Option::is_some));
        let off = at_every_request(&client, async |client| apply(&client, &bare).await).await;
        assert_eq!(
            off,
            objects(&bare).unwrap().len() + 12 + KONNECTIVITY,
            "one request each, and one for each that may be left"
        );
        let left = versions(&client, &tenant).await.into_iter().flatten().count();
        assert_eq!(left, objects(&bare).unwrap().len());
    })
    .await;
}

#[tokio::test]
async fn what_administrators_may_tune_is_theirs() {
    against_all(async |server| {
        let (client, tenant) = (server.admin().await, server.tenant(both()));
        apply(&client, &tenant).await.unwrap();
        merge(&config_maps(&client), "coredns", json!({"data": {"Corefile": ".:53 {\n}\n"}})).await;
        merge(&deployments(&client), "coredns", json!({"spec": {"replicas": 5}})).await;
        // This is not.
        merge(&config_maps(&client), "kubelet-config", json!({"data": {"kubelet": "{}"}})).await;
        let applied = apply(&client, &tenant).await.unwrap();
        assert_eq!(applied.kept, ["ConfigMap kube-system/coredns", "Deployment kube-system/coredns"]);
        let corefile = config_maps(&client).get("coredns").await.unwrap().data.unwrap().remove("Corefile").unwrap();
        assert_eq!(corefile, ".:53 {\n}\n");
        assert_eq!(deployments(&client).get("coredns").await.unwrap().spec.unwrap().replicas, Some(5));
        let kubelet =
            config_maps(&client).get("kubelet-config").await.unwrap().data.unwrap().remove("kubelet").unwrap();
        assert!(kubelet.contains("KubeletConfiguration"), "{kubelet}");
    })
    .await;
}

#[tokio::test]
async fn addons_of_others_survive() {
    against_all(async |server| {
        let client = server.admin().await;
        let labels = json!({"k8s-app": "kube-dns"});
        let own: Deployment = serde_json::from_value(json!({
            "metadata": {"name": "coredns", "labels": labels},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "coredns", "image": "example.com/coredns:own"}]},
                },
            },
        }))
        .unwrap();
        deployments(&client).create(&PostParams::default(), &own).await.unwrap();
        let roles: Api<ClusterRole> = Api::all(client.clone());
        let role: ClusterRole = serde_json::from_value(json!({"metadata": {"name": "system:coredns"}})).unwrap();
        roles.create(&PostParams::default(), &role).await.unwrap();
        let addons = apply(&client, &server.tenant(json!({"kubeProxy": {}}))).await.unwrap().addons;
        assert_eq!(addons.iter().map(|addon| addon.enabled).collect::<Vec<_>>(), [false, true, false]);
        apply(&client, &server.tenant(json!({}))).await.unwrap();
        assert!(deployments(&client).get_opt("coredns").await.unwrap().is_some());
        assert!(roles.get_opt("system:coredns").await.unwrap().is_some());
        let proxies: Api<DaemonSet> = Api::namespaced(client.clone(), "kube-system");
        assert!(proxies.get_opt("kube-proxy").await.unwrap().is_none());
        let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
        assert!(bindings.get_opt("kubeadm:node-proxier").await.unwrap().is_none());
        let services: Api<Service> = Api::namespaced(client, "kube-system");
        assert!(services.get_opt("kube-dns").await.unwrap().is_none());
    })
    .await;
}

fn config_maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), "kube-system")
}

fn deployments(client: &Client) -> Api<Deployment> {
    Api::namespaced(client.clone(), "kube-system")
}

async fn merge<K>(api: &Api<K>, name: &str, patch: Value)
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let params = PatchParams { field_manager: Some("kubectl-edit".to_owned()), ..PatchParams::default() };
    api.patch(name, &params, &Patch::Merge(patch)).await.unwrap();
}

/// The resourceVersion of everything that should be in a tenant; none of what is not.
async fn versions(client: &Client, tenant: &Tenant) -> Vec<Option<String>> {
    let mut versions = Vec::new();
    for object in objects(tenant).unwrap() {
        let kind = GroupVersionKind::try_from(object.types.clone().unwrap()).unwrap();
        let resource = ApiResource::from_gvk(&kind);
        let api: Api<DynamicObject> = match object.namespace() {
            Some(namespace) => Api::namespaced_with(client.clone(), &namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        let found = api.get_opt(&object.name_any()).await.unwrap();
        versions.push(found.map(|object| object.resource_version().unwrap()));
    }
    versions
}

#[tokio::test]
async fn agents_of_konnectivity_run_in_one_mode() {
    against_all(async |server| {
        let client = server.admin().await;
        let sets: Api<DaemonSet> = Api::namespaced(client.clone(), "kube-system");
        for (addons, expected) in [
            (json!({"konnectivity": {}}), (true, false)),
            (json!({"konnectivity": {"agent": {"mode": "Deployment"}}}), (false, true)),
            (json!({}), (false, false)),
        ] {
            apply(&client, &server.tenant(addons)).await.unwrap();
            let set = sets.get_opt("konnectivity-agent").await.unwrap().is_some();
            let deployment = deployments(&client).get_opt("konnectivity-agent").await.unwrap().is_some();
            assert_eq!((set, deployment), expected);
        }
    })
    .await;
}
