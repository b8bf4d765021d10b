//! Approval of kubelets' serving certificates.

use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use runtime::Key;
use serde_json::json;
use steward::inside::approval::{Approvers, Rules};

use crate::faults::{Fault, breaking};
use crate::server::against_all;

#[tokio::test]
async fn nodes_get_what_is_theirs() {
    against_all(async |server| {
        let admin = server.admin().await;
        let rules = Rules::of(&server.tenant(json!({}))).unwrap();
        let approvers = Approvers::default();
        // Neighbours whose API cannot be reached do not matter.
        for number in 0..3 {
            let broken = breaking(&admin, Fault::Before(0));
            approvers.watch(&Key::new("team", format!("broken-{number}")), &broken, "", &rules);
        }
        let key = Key::new("team", "green");
        approvers.watch(&key, &admin, "", &rules);
        approvers.watch(&key, &admin, "", &rules);
        assert_eq!(approvers.count(), 4);

        // Before the node is there, as when a kubelet is fast.
        let node = server.node("n1").await;
        ask(&node, "early", &["n1", "198.18.0.7"]).await;
        register(&admin).await;
        assert_eq!(decision(&admin, "early").await, "Approved");

        ask(&node, "again", &["n1", "198.18.0.7"]).await;
        assert_eq!(decision(&admin, "again").await, "Approved");
        ask(&node, "evil", &["n1", "kubernetes.default.svc"]).await;
        assert_eq!(decision(&admin, "evil").await, "Denied");

        approvers.stop(&key);
        assert_eq!(approvers.count(), 3);
    })
    .await;
}

#[tokio::test]
async fn what_waits_when_it_begins_is_decided() {
    against_all(async |server| {
        let admin = server.admin().await;
        register(&admin).await;
        ask(&server.node("n1").await, "first", &["198.18.0.7"]).await;
        let approvers = Approvers::default();
        let rules = Rules::of(&server.tenant(json!({}))).unwrap();
        let key = Key::new("team", "green");
        // The first client is of no use; with new credentials it goes on.
        approvers.watch(&key, &breaking(&admin, Fault::Before(0)), "old", &rules);
        approvers.watch(&key, &admin, "new", &rules);
        assert_eq!(decision(&admin, "first").await, "Approved");
    })
    .await;
}

#[test]
fn approval_can_be_left_to_others() {
    let tenant = |bootstrap| {
        let addons = json!({"workerBootstrap": bootstrap});
        Rules::of(&crate::tenant::tenant("v1.34.4", addons, json!({})))
    };
    assert!(tenant(json!({"provider": "talos", "csrApproval": {"autoApprove": false}})).is_none());
    let confined = tenant(json!({"provider": "talos", "allowedSubnets": ["198.18.0.0/24"]})).unwrap();
    assert_eq!(confined.allowed_subnets, ["198.18.0.0/24".parse().unwrap()]);
    assert!(tenant(json!({"provider": "talos", "allowedSubnets": ["everywhere"]})).is_none());
}

/// Asks for a serving certificate of node n1.
async fn ask(node: &Client, name: &str, hosts: &[&str]) {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts).unwrap();
    let mut subject = DistinguishedName::new();
    subject.push(DnType::OrganizationName, "system:nodes");
    subject.push(DnType::CommonName, "system:node:n1");
    params.distinguished_name = subject;
    let pem = params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap();
    let mut request: CertificateSigningRequest = serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "request": "",
            "signerName": "kubernetes.io/kubelet-serving",
            "usages": ["digital signature", "server auth"],
        },
    }))
    .unwrap();
    request.spec.request = ByteString(pem.into_bytes());
    let requests: Api<CertificateSigningRequest> = Api::all(node.clone());
    requests.create(&PostParams::default(), &request).await.unwrap();
}

async fn register(admin: &Client) {
    let nodes: Api<Node> = Api::all(admin.clone());
    let node: Node = serde_json::from_value(json!({"metadata": {"name": "n1"}})).unwrap();
    nodes.create(&PostParams::default(), &node).await.unwrap();
    let addresses = json!([
        {"type": "Hostname", "address": "n1"},
        {"type": "InternalIP", "address": "198.18.0.7"},
    ]);
    let status = Patch::Merge(json!({"status": {"addresses": addresses}}));
    nodes.patch_status("n1", &PatchParams::default(), &status).await.unwrap();
}

/// Waits for the decision about a request.
async fn decision(admin: &Client, name: &str) -> String {
    let decided = |request: Option<&CertificateSigningRequest>| {
        request.is_some_and(|request| request.status.as_ref().is_some_and(|status| status.conditions.is_some()))
    };
    let requests: Api<CertificateSigningRequest> = Api::all(admin.clone());
    let waiting = await_condition(requests, name, decided);
    let request = tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap().unwrap().unwrap();
    let conditions = request.status.unwrap().conditions.unwrap();
    assert_eq!(conditions.len(), 1);
    conditions[0].type_.clone()
}
