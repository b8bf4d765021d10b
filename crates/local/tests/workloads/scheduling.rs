//! The scheduler as users meet it.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::world::World;

fn pod(name: &str, cpu: &str) -> Value {
    let container = json!({"name": "c", "image": "app", "resources": {"requests": {"cpu": cpu}}});
    json!({"metadata": {"name": name, "labels": {"app": "x"}}, "spec": {"containers": [container]}})
}

fn refusal(pod: &Pod) -> Option<String> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let scheduled = conditions.iter().find(|condition| condition.type_ == "PodScheduled")?;
    scheduled.message.clone().filter(|_| scheduled.reason.as_deref() == Some("Unschedulable"))
}

fn is_running(pod: &Pod) -> bool {
    pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Running"))
}

#[tokio::test]
async fn a_pod_that_fits_nowhere_says_why_and_waits() {
    let world = World::with_nodes(1).await;
    world.create::<Pod>(pod("first", "700m")).await;
    world.until::<Pod>("first", "running", is_running).await;
    world.create::<Pod>(pod("second", "700m")).await;
    let refused = world.until::<Pod>("second", "refused", |pod| refusal(pod).is_some()).await;
    assert_eq!(refusal(&refused).unwrap(), "0/1 nodes are available: 1 Insufficient cpu.");
    // Room is made by another that ends.
    world.delete::<Pod>("first").await;
    world.until::<Pod>("second", "running", is_running).await;
    world.create::<Pod>(pod("third", "700m")).await;
    world.until::<Pod>("third", "refused", |pod| refusal(pod).is_some()).await;
    // Room is made by a node that comes.
    world.add_node("node-2", json!({})).await;
    let third = world.until::<Pod>("third", "running", is_running).await;
    assert_eq!(third.spec.unwrap().node_name.as_deref(), Some("node-2"));
}

#[tokio::test]
async fn many_pods_never_overfill_a_node() {
    let world = World::with_nodes(3).await;
    for index in 0..20 {
        world.create::<Pod>(pod(&format!("p{index}"), "300m")).await;
    }
    let pods = world
        .until_all::<Pod>("app=x", "decided", |pods| pods.iter().all(|pod| is_running(pod) || refusal(pod).is_some()));
    let pods = pods.await;
    for node in ["node-1", "node-2", "node-3"] {
        let here = pods.iter().filter(|pod| pod.spec.as_ref().unwrap().node_name.as_deref() == Some(node)).count();
        assert_eq!(here, 3, "{node}");
    }
    let refused = pods.iter().find(|pod| refusal(pod).is_some()).unwrap();
    assert_eq!(refusal(refused).unwrap(), "0/3 nodes are available: 3 Insufficient cpu.", "{}", refused.name_any());
}
