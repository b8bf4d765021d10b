//! Files for kubeadm, in a cloud-config of cloud-init or Kairos, or in an Ignition document.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Taint;
use serde_json::Value;

use super::{Join, endpoint, pins, taint, text};

/// The contents of all files that a document writes.
pub(super) fn files(document: &Value) -> Vec<String> {
    let plain = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().filter_map(|file| text(&file["content"])).collect()
    };
    let stages = document["stages"].as_object().into_iter().flatten();
    let staged = stages.flat_map(|(_, steps)| steps.as_array().into_iter().flatten());
    let encoded = document.pointer("/storage/files").and_then(Value::as_array).into_iter().flatten();
    let decoded = encoded.filter_map(|file| {
        let source = file.pointer("/contents/source")?.as_str()?.strip_prefix("data:;base64,")?;
        String::from_utf8(STANDARD.decode(source).ok()?).ok()
    });
    plain(&document["write_files"])
        .into_iter()
        .chain(staged.flat_map(|step| plain(&step["files"])))
        .chain(decoded)
        .collect()
}

/// How to join by a JoinConfiguration among them.
pub(super) fn read(files: &[String]) -> Option<Join> {
    let documents: Vec<Value> = files.iter().filter_map(|file| kernel::yaml::values(file).ok()).flatten().collect();
    let join = documents.iter().find(|document| document["kind"] == "JoinConfiguration")?;
    let registration = &join["nodeRegistration"];
    let arguments = &registration["kubeletExtraArgs"];
    let argument = |name: &str| match arguments {
        Value::Object(map) => map.get(name).and_then(text),
        Value::Array(list) => {
            list.iter().find(|argument| argument["name"] == name).and_then(|found| text(&found["value"]))
        }
        _ => None,
    };
    let mut taints: Vec<Taint> = serde_json::from_value(registration["taints"].clone()).unwrap_or_default();
    taints.extend(argument("register-with-taints").iter().flat_map(|list| list.split(',')).filter_map(taint));
    let labels = argument("node-labels").map(|list| labels(&list)).unwrap_or_default();
    let way = match join.pointer("/discovery/bootstrapToken") {
        Some(discovery) => Join {
            endpoint: text(&discovery["apiServerEndpoint"])?,
            token: text(&discovery["token"])?,
            pins: discovery["caCertHashes"].as_array().into_iter().flatten().filter_map(text).collect(),
            ..Join::default()
        },
        None => by_kubeconfig(join, &documents)?,
    };
    Some(Join { labels, taints, ..way })
}

/// Where a kubeconfig leads, which kubeadm was told to find the cluster by.
fn by_kubeconfig(join: &Value, documents: &[Value]) -> Option<Join> {
    let token = text(join.pointer("/discovery/tlsBootstrapToken")?)?;
    let kubeconfig = documents.iter().find(|document| document["kind"] == "Config")?;
    let cluster = kubeconfig.pointer("/clusters/0/cluster")?;
    Some(Join {
        endpoint: endpoint(cluster["server"].as_str()?),
        token,
        pins: pins(cluster["certificate-authority-data"].as_str()?),
        ..Join::default()
    })
}

fn labels(list: &str) -> BTreeMap<String, String> {
    let pairs = list.split(',').filter_map(|pair| pair.trim().split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
