//! Deleting what others belong to, in all three ways, and deleting a namespace with everything in it.

use anyhow::ensure;
use serde_json::{Value, json};

use super::workloads::deployment_pods;
use super::{NAMESPACE, collection, deployment, pods_of};
use crate::programs::api::{Api, count};

async fn make(api: &mut Api, app: &str) -> anyhow::Result<String> {
    let all = collection("apis/apps/v1", "deployments");
    api.create(&all, &deployment(app, 2)).await?;
    deployment_pods(api, app, 2).await?;
    Ok(format!("{all}/{app}"))
}

fn replica_sets(app: &str) -> String {
    collection("apis/apps/v1", &format!("replicasets?labelSelector=app%3D{app}"))
}

/// The owner goes at once, the owned follow.
pub(super) async fn background(api: &mut Api) -> anyhow::Result<()> {
    let path = make(api, "behind").await?;
    api.delete(&path, "Background").await?;
    ensure!(api.find(&path).await?.is_none(), "the Deployment waits for its ReplicaSet");
    for owned in [replica_sets("behind"), pods_of("behind")] {
        api.until(&owned, |list| count(list) == 0).await?;
    }
    Ok(())
}

/// The owner goes last.
pub(super) async fn foreground(api: &mut Api) -> anyhow::Result<()> {
    let path = make(api, "ahead").await?;
    let deleted = api.delete(&path, "Foreground").await?;
    ensure!(deleted["metadata"]["finalizers"] == json!(["foregroundDeletion"]), "{deleted}");
    api.until_gone(&path).await?;
    for owned in [replica_sets("ahead"), pods_of("ahead")] {
        ensure!(count(&api.get(&owned).await?) == 0, "{owned} outlived the Deployment");
    }
    Ok(())
}

/// The owned stay and belong to nobody.
pub(super) async fn orphan(api: &mut Api) -> anyhow::Result<()> {
    let path = make(api, "alone").await?;
    api.delete(&path, "Orphan").await?;
    api.until_gone(&path).await?;
    let sets = api.items(&replica_sets("alone")).await?;
    ensure!(sets.len() == 1 && sets[0]["metadata"]["ownerReferences"].is_null(), "{sets:?}");
    ensure!(api.items(&pods_of("alone")).await?.len() == 2, "the ReplicaSet lost its pods");
    Ok(())
}

/// Everything in a namespace goes, objects of a custom kind and those with finalizers included.
pub(super) async fn namespace(api: &mut Api) -> anyhow::Result<()> {
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let kind = json!({
        "metadata": {"name": "bells.garbage.example.com"},
        "spec": {
            "group": "garbage.example.com", "scope": "Namespaced",
            "names": {"plural": "bells", "singular": "bell", "kind": "Bell"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    });
    let kinds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    api.create(kinds, &kind).await?;
    let bells = collection("apis/garbage.example.com/v1", "bells");
    api.until(&bells, |list| list["items"].is_array()).await?;
    let held = json!({"apiVersion": "garbage.example.com/v1", "kind": "Bell",
        "metadata": {"name": "held", "finalizers": ["example.com/held"]}});
    api.create(&bells, &held).await?;
    let path = format!("/api/v1/namespaces/{NAMESPACE}");
    let deleted = api.delete(&path, "Background").await?;
    ensure!(deleted["status"]["phase"] == "Terminating", "{deleted}");
    let held = format!("{bells}/held");
    api.until(&held, |bell| bell["metadata"]["deletionTimestamp"].is_string()).await?;
    let says_why = |namespace: &Value| {
        let conditions = namespace["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
        conditions.iter().any(|c| c["type"] == "NamespaceFinalizersRemaining" && c["status"] == "True")
    };
    api.until(&path, says_why).await?;
    api.patch(&held, &json!({"metadata": {"finalizers": null}})).await?;
    api.until_gone(&path).await?;
    for everything in ["/api/v1/pods", "/apis/apps/v1/replicasets", "/apis/garbage.example.com/v1/bells"] {
        let left = api.items(everything).await?;
        ensure!(left.iter().all(|o| o["metadata"]["namespace"] != NAMESPACE), "{everything}: {left:?}");
    }
    Ok(())
}
