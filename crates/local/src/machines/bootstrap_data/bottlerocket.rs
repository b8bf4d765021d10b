//! Bottlerocket's settings.

use super::{Join, endpoint, pins, taint_of};

/// How a worker of Bottlerocket joins.
pub(super) fn read(data: &str) -> Option<Join> {
    let document: toml::Table = data.parse().ok()?;
    let kubernetes = document.get("settings")?.get("kubernetes")?;
    let text = |name: &str| kubernetes.get(name).and_then(toml::Value::as_str);
    let entries = |name: &str| kubernetes.get(name).and_then(toml::Value::as_table).into_iter().flatten();
    let labels = entries("node-labels").filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
    let taints = entries("node-taints").flat_map(|(key, values)| {
        let values = values.as_array().into_iter().flatten().filter_map(toml::Value::as_str);
        values.map(|value| taint_of(key, value)).collect::<Vec<_>>()
    });
    Some(Join {
        endpoint: endpoint(text("api-server")?),
        token: text("bootstrap-token")?.to_owned(),
        pins: pins(text("cluster-certificate")?),
        labels: labels.collect(),
        taints: taints.collect(),
        carries: None,
    })
}
