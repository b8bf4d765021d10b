//! What the real kubeadm makes of it, where it is at hand.

use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use pki::SystemKeys;
use serde_json::{Value, json};
use steward::inside::tokens::sync;
use steward::inside::{apply, defaults, objects};
use tokio::process::Command;

use crate::server::against_all;
use crate::tenant::{both, tenant};

#[tokio::test]
async fn kubeadm_finds_the_cluster_and_reads_its_configuration() {
    let Some(kubeadm) = program() else { return };
    against_all(async |server| {
        let (client, tenant) = (server.admin().await, server.tenant(both()));
        apply(&client, &tenant).await.unwrap();
        let now = Timestamp::now();
        let until = now + SignedDuration::from_hours(1);
        let joining = sync(&client, &tenant, Some(until), now, &SystemKeys).await.unwrap().material.unwrap();

        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, server.target.kubeconfig("admin", "default").unwrap()).unwrap();
        let listed = run(&kubeadm, &["token", "list", "-o=json", "--kubeconfig", path(&kubeconfig)]).await;
        let listed: Value = serde_json::from_str(&listed).unwrap();
        assert_eq!(listed["token"], joining.token.expose());
        assert_eq!(listed["usages"], json!(["authentication", "signing"]));
        assert_eq!(listed["groups"], json!(["system:bootstrappers:kubeadm:default-node-token"]));
        assert_eq!(listed["expires"], joining.expires_at.to_string());

        // As far as it goes without touching this machine: cluster-info is found and its signature is verified, the
        // authority fits its hash, and the token may read the configuration.
        let command = joining.command();
        let mut arguments: Vec<&str> = command.expose().split(' ').skip(2).collect();
        arguments.splice(0..0, ["join", "phase", "preflight"]);
        arguments.extend(["--ignore-preflight-errors=all", "--v=5"]);
        let told = run(&kubeadm, &arguments).await;
        assert!(told.contains("Reading configuration from the \"kubeadm-config\" ConfigMap"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn kubeadm_accepts_the_configurations() {
    let Some(kubeadm) = program() else { return };
    let folder = tempfile::tempdir().unwrap();
    let tenant = tenant(conformance::real::VERSION, json!({"coreDNS": {}}), json!({}));
    let all = objects(&tenant).unwrap();
    let data = |name: &str, key: &str| {
        let found = all.iter().find(|object| object.name_any() == name).unwrap();
        found.data["data"][key].as_str().unwrap().to_owned()
    };
    let file = folder.path().join("configuration.yaml");
    let documents = [data("kubeadm-config", "ClusterConfiguration"), data("kubelet-config", "kubelet")];
    std::fs::write(&file, documents.join("---\n")).unwrap();
    let told = run(&kubeadm, &["config", "validate", "--config", path(&file)]).await;
    assert_eq!(told, "ok\n");
}

#[tokio::test]
async fn the_addons_are_those_of_kubeadm() {
    let Some(kubeadm) = program() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("configuration.yaml");
    let tenant = tenant(conformance::real::VERSION, both(), json!({}));
    let configuration = objects(&tenant).unwrap()[0].data["data"]["ClusterConfiguration"].as_str().unwrap().to_owned();
    std::fs::write(&file, configuration).unwrap();
    let mut theirs = Vec::new();
    for addon in ["coredns", "kube-proxy"] {
        let arguments = ["init", "phase", "addon", addon, "--print-manifest", "--config", path(&file)];
        theirs.extend(kernel::yaml::values(&run(&kubeadm, &arguments).await).unwrap());
    }
    let mut ours = Vec::new();
    for object in objects(&tenant).unwrap().iter().chain(&defaults(&tenant).unwrap()) {
        ours.push(json!(object));
    }
    assert_eq!(theirs.len(), 12);
    for wanted in theirs {
        let name = &wanted["metadata"]["name"];
        let found =
            ours.iter().filter(|object| object["kind"] == wanted["kind"] && object["metadata"]["name"] == *name);
        let merged = found.fold(json!({}), merge);
        assert_eq!(comparable(merged), comparable(wanted));
    }
}

/// What says the same in other words is made the same.
fn comparable(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.remove("resourceVersion");
    if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
        labels.retain(|name, _| !name.starts_with("app.kubernetes.io/") && !name.starts_with("steward."));
        if labels.is_empty() {
            metadata.remove("labels");
        }
    }
    let data = object.get_mut("data").and_then(Value::as_object_mut);
    for (key, text) in data.into_iter().flatten() {
        *text = match key.as_str() {
            "Corefile" => text.as_str().unwrap().split_whitespace().collect(),
            _ => kernel::yaml::value(text.as_str().unwrap()).unwrap(),
        };
    }
    without_nothing(object)
}

/// Leaves out null, empty and zero values and false, which mean what is left out, and spells selectors in one way.
fn without_nothing(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            if let Some(expression) = fields.get("matchExpressions").and_then(|all| all.get(0)) {
                return json!({"matchLabels": {expression["key"].as_str().unwrap(): expression["values"][0]}});
            }
            let fields = fields.into_iter().map(|(name, value)| (name, without_nothing(value)));
            // Every subject and role has but one group it can be of.
            fields.filter(|(name, value)| !is_nothing(value) && name != "apiGroup").collect()
        }
        Value::Array(items) => items.into_iter().map(without_nothing).collect(),
        other => other,
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => ["", "0", "0s"].contains(&text.as_str()),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

fn merge(into: Value, from: &Value) -> Value {
    match (into, from) {
        (Value::Object(mut into), Value::Object(from)) => {
            for (name, value) in from {
                let present = into.remove(name).unwrap_or_default();
                into.insert(name.clone(), merge(present, value));
            }
            Value::Object(into)
        }
        (_, from) => from.clone(),
    }
}

fn program() -> Option<PathBuf> {
    let program = conformance::real::cache().join("kubernetes").join(conformance::real::VERSION).join("kubeadm");
    if program.is_file() {
        return Some(program);
    }
    println!("not tested with kubeadm: {} is not there (scripts/kubernetes brings it)", program.display());
    None
}

async fn run(program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).kill_on_drop(true).output().await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "kubeadm {arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}
