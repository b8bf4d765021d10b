//! Files for kubeadm, in a cloud-config of cloud-init or Kairos, or in an Ignition document.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Taint;
use serde_json::Value;

use super::{Carried, Join, endpoint, pins, taint, text};
use crate::cluster_api::bootstrap::PKI;

/// All files that a document writes: where, and what.
pub(super) fn files(document: &Value) -> Vec<(String, String)> {
    let plain = |list: &Value| -> Vec<(String, String)> {
        let files = list.as_array().into_iter().flatten();
        files.filter_map(|file| Some((text(&file["path"])?, text(&file["content"])?))).collect()
    };
    let stages = document["stages"].as_object().into_iter().flatten();
    let staged = stages.flat_map(|(_, steps)| steps.as_array().into_iter().flatten());
    let encoded = document.pointer("/storage/files").and_then(Value::as_array).into_iter().flatten();
    let decoded = encoded.filter_map(|file| {
        let source = file.pointer("/contents/source")?.as_str()?.strip_prefix("data:;base64,")?;
        Some((text(&file["path"])?, String::from_utf8(STANDARD.decode(source).ok()?).ok()?))
    });
    plain(&document["write_files"])
        .into_iter()
        .chain(staged.flat_map(|step| plain(&step["files"])))
        .chain(decoded)
        .collect()
}

/// How to join by a JoinConfiguration among them, or to begin a cluster by an InitConfiguration.
pub(super) fn read(files: &[(String, String)]) -> Option<Join> {
    let texts = files.iter().filter(|(path, _)| !path.starts_with(PKI)).map(|(_, content)| content);
    let documents: Vec<Value> = texts.filter_map(|text| kernel::yaml::values(text).ok()).flatten().collect();
    let of_kind = |kind: &str| documents.iter().find(|document| document["kind"] == kind);
    let join = of_kind("JoinConfiguration").or_else(|| of_kind("InitConfiguration"))?;
    let keys = files.iter().filter_map(|(path, content)| Some((path.strip_prefix(PKI)?, content)));
    let keys: BTreeMap<_, _> =
        keys.map(|(name, content)| (name.trim_start_matches('/').to_owned(), content.clone())).collect();
    let carries = (!keys.is_empty()).then_some(Carried { files: keys });
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
        None if join["kind"] == "InitConfiguration" => {
            Join { endpoint: text(&of_kind("ClusterConfiguration")?["controlPlaneEndpoint"])?, ..Join::default() }
        }
        None => by_kubeconfig(join, &documents)?,
    };
    Some(Join { labels, taints, carries, ..way })
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
