//! ProviderConfigs.

use butler_api::butler::{NetworkPool, ProviderConfig, TenantCluster};
use fleet::provider_config::ProviderConfigController;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::json;

use crate::world::{World, butler, create, delete, until, until_gone};

fn waits_for(reason: &str) -> impl Fn(&ProviderConfig) -> bool {
    move |provider| {
        let status = provider.status.as_ref();
        status.is_some_and(|status| status.blockers.first().is_some_and(|blocker| blocker.reason == reason))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_follows_its_secret_pools_and_clusters() {
    let mut world = World::new().await;
    world.namespace("team-a", json!({})).await;
    let providers: Api<ProviderConfig> = world.within("butler-system");
    world.start(ProviderConfigController::run);
    let spec = json!({
        "provider": "harvester", "credentialsRef": {"name": "harvester"},
        "network": {"mode": "ipam", "poolRefs": [{"name": "rack"}], "loadBalancer": {"defaultPoolSize": 6}},
    });
    create(&providers, butler("ProviderConfig", "here", spec)).await;
    until(&providers, "here", "without credentials", waits_for("CredentialsMissing")).await;
    let secrets: Api<Secret> = world.within("butler-system");
    create(&secrets, json!({"metadata": {"name": "harvester"}, "stringData": {"kubeconfig": "x"}})).await;
    until(&providers, "here", "without pool", waits_for("PoolMissing")).await;
    let pools: Api<NetworkPool> = world.within("butler-system");
    create(&pools, butler("NetworkPool", "rack", json!({"cidr": "10.40.0.0/28"}))).await;
    let is_ready =
        |provider: &ProviderConfig| provider.status.as_ref().is_some_and(|status| status.ready == Some(true));
    let ready = until(&providers, "here", "ready", is_ready).await.status.unwrap();
    let capacity = ready.capacity.unwrap();
    assert_eq!((capacity.available_ips, capacity.estimated_tenants), (Some(14), Some(2)));
    assert_eq!(ready.validated, None);

    world.cluster("team-a", "one", json!({"providerConfigRef": {"name": "here"}})).await;
    delete(&providers, "here").await;
    let kept = until(&providers, "here", "in use", waits_for("InUse")).await.status.unwrap();
    assert_eq!(kept.blockers[0].evidence, ["TenantCluster team-a/one"]);
    let clusters: Api<TenantCluster> = world.within("team-a");
    delete(&clusters, "one").await;
    until_gone(&providers, "here").await;
}
