//! Talos' machine config.

use serde_json::Value;

use super::{Join, endpoint, pins, taint_of, text};

/// How a worker of Talos joins.
pub(super) fn read(document: &Value) -> Option<Join> {
    let (machine, cluster) = (document.get("machine")?, document.get("cluster")?);
    let pairs = |field: &str| {
        let entries = machine[field].as_object().into_iter().flatten();
        entries.filter_map(|(key, value)| Some((key.clone(), text(value)?))).collect::<Vec<_>>()
    };
    Some(Join {
        endpoint: endpoint(cluster.pointer("/controlPlane/endpoint")?.as_str()?),
        token: text(&cluster["token"])?,
        pins: pins(cluster.pointer("/ca/crt")?.as_str()?),
        labels: pairs("nodeLabels").into_iter().collect(),
        taints: pairs("nodeTaints").iter().map(|(key, value)| taint_of(key, value)).collect(),
        carries: None,
    })
}
