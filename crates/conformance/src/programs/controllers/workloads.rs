//! Workloads get pods, pods get the node, services get endpoints.

use anyhow::ensure;
use serde_json::{Value, json};

use super::{NAMESPACE, all_on_the_node, collection, pod_template, pods_of};
use crate::programs::api::{Api, count, has_condition};
use crate::programs::kubelet;

pub(super) async fn deployment_pods(api: &mut Api, app: &str, replicas: u32) -> anyhow::Result<Vec<Value>> {
    let pods = api.until(&pods_of(app), |pods| all_on_the_node(pods, replicas as usize)).await?;
    Ok(pods["items"].as_array().cloned().unwrap_or_default())
}

/// A ReplicaSet, its pods with their priority, their node, and the status when they run.
pub(super) async fn deployment(api: &mut Api) -> anyhow::Result<()> {
    let class = json!({"metadata": {"name": "important"}, "value": 1000});
    api.create("/apis/scheduling.k8s.io/v1/priorityclasses", &class).await?;
    let mut object = super::deployment("web", 2);
    object["spec"]["template"]["spec"]["priorityClassName"] = json!("important");
    api.create(&collection("apis/apps/v1", "deployments"), &object).await?;
    let pods = deployment_pods(api, "web", 2).await?;
    for pod in &pods {
        ensure!(pod["spec"]["priority"] == 1000, "{pod}");
        ensure!(pod["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet", "{pod}");
        ensure!(has_condition(pod, "PodScheduled"), "{pod}");
    }
    kubelet::run_pods(api, NAMESPACE, &pods).await?;
    let path = collection("apis/apps/v1", "deployments/web");
    let ready = |object: &Value| object["status"]["availableReplicas"] == 2 && has_condition(object, "Available");
    api.until(&path, ready).await?;
    Ok(())
}

/// Running pods become endpoints.
pub(super) async fn service(api: &mut Api) -> anyhow::Result<()> {
    let service = json!({
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
    });
    api.create(&collection("api/v1", "services"), &service).await?;
    let slices =
        collection("apis/discovery.k8s.io/v1", "endpointslices?labelSelector=kubernetes.io/service-name%3Dweb");
    let filled = |list: &Value| {
        let slice = &list["items"][0];
        let endpoints = slice["endpoints"].as_array().map(Vec::as_slice).unwrap_or_default();
        slice["ports"][0]["port"] == 8080
            && endpoints.len() == 2
            && endpoints.iter().all(|e| e["conditions"]["ready"] == true && e["nodeName"] == kubelet::NODE)
    };
    api.until(&slices, filled).await?;
    let two = |object: &Value| object["subsets"][0]["addresses"].as_array().is_some_and(|all| all.len() == 2);
    api.until(&collection("api/v1", "endpoints/web"), two).await?;
    Ok(())
}

/// A changed template makes a second ReplicaSet; scaling goes through the subresource.
pub(super) async fn rollout(api: &mut Api) -> anyhow::Result<()> {
    let path = collection("apis/apps/v1", "deployments/web");
    let template = json!({"metadata": {"annotations": {"changed": "yes"}}});
    api.patch(&path, &json!({"spec": {"template": template}})).await?;
    let sets = collection("apis/apps/v1", "replicasets?labelSelector=app%3Dweb");
    api.until(&sets, |sets| count(sets) == 2).await?;
    api.until(&path, |object| object["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2").await?;
    api.patch(&format!("{path}/scale"), &json!({"spec": {"replicas": 0}})).await?;
    api.until(&pods_of("web"), |pods| count(pods) == 0).await?;
    Ok(())
}

/// A pod is made, and when it is done so is the Job; the tracking finalizer is taken off.
pub(super) async fn job(api: &mut Api) -> anyhow::Result<()> {
    let mut template = pod_template("once");
    template["spec"]["restartPolicy"] = json!("Never");
    let job = json!({"metadata": {"name": "once"}, "spec": {"template": template}});
    api.create(&collection("apis/batch/v1", "jobs"), &job).await?;
    let pods = deployment_pods(api, "once", 1).await?;
    ensure!(pods[0]["metadata"]["finalizers"] == json!(["batch.kubernetes.io/job-tracking"]), "{}", pods[0]);
    kubelet::finish_pod(api, NAMESPACE, &pods[0]).await?;
    let done = |job: &Value| has_condition(job, "Complete") && job["status"]["succeeded"] == 1;
    api.until(&collection("apis/batch/v1", "jobs/once"), done).await?;
    api.until(&pods_of("once"), |pods| pods["items"][0]["metadata"]["finalizers"].is_null()).await?;
    Ok(())
}

/// One pod for the node, and pods with names of their own.
pub(super) async fn daemon_and_stateful_sets(api: &mut Api) -> anyhow::Result<()> {
    for (plural, app, extra) in [
        ("daemonsets", "agent", json!({})),
        ("statefulsets", "db", json!({"serviceName": "db", "replicas": 2, "podManagementPolicy": "Parallel"})),
    ] {
        let mut spec = json!({"selector": {"matchLabels": {"app": app}}, "template": pod_template(app)});
        if let (Some(spec), Value::Object(extra)) = (spec.as_object_mut(), extra) {
            spec.extend(extra);
        }
        let object = json!({"metadata": {"name": app}, "spec": spec});
        api.create(&collection("apis/apps/v1", plural), &object).await?;
    }
    deployment_pods(api, "agent", 1).await?;
    let pods = deployment_pods(api, "db", 2).await?;
    let names: Vec<&str> = pods.iter().filter_map(|pod| pod["metadata"]["name"].as_str()).collect();
    ensure!(names == ["db-0", "db-1"], "{names:?}");
    let revisions = collection("apis/apps/v1", "controllerrevisions");
    api.until(&revisions, |revisions| count(revisions) == 2).await?;
    Ok(())
}
