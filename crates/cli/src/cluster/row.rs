//! A cluster as a row of a table, out of the few fields that are shown.

use butler_api::butler::tenant_cluster::ClusterPhase;
use butler_api::names::conditions::WORKERS_READY;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Deserialize;

use super::age;
use crate::screen::Colour;
use crate::table::Cell;

/// The headings of a list.
pub(crate) const HEADINGS: &[&str] = &["NAME", "TEAM", "PHASE", "VERSION", "WORKERS", "ENDPOINT", "WAITING FOR", "AGE"];
/// The headings of a wide list.
pub(crate) const WIDE_HEADINGS: &[&str] = &[
    "NAME",
    "TEAM",
    "PHASE",
    "VERSION",
    "WORKERS",
    "ENDPOINT",
    "WAITING FOR",
    "AGE",
    "WANTED",
    "PROVIDER",
    "CONTROL PLANE",
];

/// As much of a TenantCluster as a list shows: thousands of them are read at once. Everything may be missing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Row {
    pub(crate) metadata: Metadata,
    spec: Spec,
    status: Option<Status>,
    /// It was just deleted.
    #[serde(skip)]
    pub(crate) gone: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) namespace: String,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    kubernetes_version: Option<String>,
    workers: Workers,
    paused: Option<bool>,
    provider_config_ref: Option<Named>,
    control_plane: ControlPlane,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Workers {
    replicas: Option<i64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ControlPlane {
    #[serde(rename = "type")]
    type_: Option<String>,
    replicas: Option<i32>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    phase: Option<String>,
    control_plane_endpoint: Option<String>,
    worker_nodes_ready: Option<i64>,
    worker_nodes_desired: Option<i64>,
    observed_state: Observed,
    resolved: Resolved,
    blockers: Vec<Blocker>,
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Observed {
    kubernetes_version: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Resolved {
    kubernetes_version: Option<String>,
    provider_config_ref: Option<Named>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Blocker {
    reason: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
}

/// The fields of a row.
pub(crate) fn cells(row: &Row, now: Timestamp, wide: bool) -> Vec<Cell> {
    let nothing = Status::default();
    let (spec, status) = (&row.spec, row.status.as_ref().unwrap_or(&nothing));
    let phase = match (&row.metadata.deletion_timestamp, status.phase.as_deref()) {
        _ if row.gone => "Deleted",
        (Some(_), _) => ClusterPhase::Deleting.as_str(),
        (None, Some(phase)) => phase,
        (None, None) => ClusterPhase::Pending.as_str(),
    };
    let wanted = spec.kubernetes_version.as_ref().or(status.resolved.kubernetes_version.as_ref());
    let version = status.observed_state.kubernetes_version.as_ref().or(wanted);
    let desired = status.worker_nodes_desired.or(spec.workers.replicas);
    let is_unknown = |known: &Condition| known.type_ == WORKERS_READY && known.status == "Unknown";
    let ready = match status.conditions.iter().any(is_unknown) {
        true => "-".to_owned(),
        false => status.worker_nodes_ready.unwrap_or(0).to_string(),
    };
    let workers = desired.map(|desired| format!("{ready}/{desired}"));
    let waiting = match status.blockers.first() {
        _ if spec.paused == Some(true) => "Paused",
        Some(blocker) => blocker.reason.as_str(),
        // That nobody answers is no trouble where nobody is to.
        None if ["Ready", "Updating"].contains(&phase) && spec.control_plane.replicas == Some(0) => "Asleep",
        None => "",
    };
    let text = |value: Option<&String>| Cell::from(value.map_or("", String::as_str));
    let mut cells = vec![
        Cell::from(&row.metadata.name),
        Cell::from(&row.metadata.namespace),
        Cell::coloured(phase, phase_colour(phase)),
        text(version),
        text(workers.as_ref()),
        text(status.control_plane_endpoint.as_ref()),
        Cell::coloured(waiting, (!waiting.is_empty()).then_some(Colour::Busy)),
        age(row.metadata.creation_timestamp.as_ref(), now).into(),
    ];
    if wide {
        let provider = status.resolved.provider_config_ref.as_ref().or(spec.provider_config_ref.as_ref());
        cells.push(text(wanted));
        cells.push(text(provider.map(|provider| &provider.name)));
        cells.push(text(spec.control_plane.type_.as_ref()));
    }
    cells
}

/// The colour of a phase.
pub(crate) fn phase_colour(phase: &str) -> Option<Colour> {
    match phase {
        "Ready" => Some(Colour::Good),
        "Failed" => Some(Colour::Bad),
        _ => Some(Colour::Busy),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::screen::Screen;
    use crate::table::Table;

    fn table(objects: &[Value], wide: bool) -> String {
        let mut table = Table::new(if wide { WIDE_HEADINGS } else { HEADINGS });
        for object in objects {
            let row: Row = serde_json::from_value(object.clone()).unwrap();
            table.push(cells(&row, "2026-01-02T00:00:00Z".parse().unwrap(), wide));
        }
        table.render(Screen { colour: false, live: false })
    }

    fn objects() -> [Value; 4] {
        [
            json!({
                "metadata": {"name": "my-cluster", "namespace": "team-a", "creationTimestamp": "2026-01-01T00:00:00Z"},
                "spec": {"kubernetesVersion": "v1.31.0", "controlPlane": {"type": "hosted"}, "workers": {"replicas": 5}},
                "status": {
                    "phase": "Updating", "controlPlaneEndpoint": "10.40.0.201:6443",
                    "workerNodesReady": 3, "workerNodesDesired": 3,
                    "observedState": {"kubernetesVersion": "v1.30.0"},
                    "resolved": {"providerConfigRef": {"name": "harvester-prod", "namespace": "butler-system"}},
                    "blockers": [{"reason": "ControlPlaneUpgrading", "message": "m"}],
                },
            }),
            json!({"metadata": {"name": "new", "namespace": "b"}, "spec": {"paused": true, "workers": {"replicas": 2}}}),
            json!({
                "metadata": {"name": "night", "namespace": "b"}, "spec": {"controlPlane": {"replicas": 0}},
                "status": {
                    "phase": "Ready", "workerNodesReady": 4, "workerNodesDesired": 4,
                    "conditions": [{"type": "WorkersReady", "status": "Unknown"}],
                },
            }),
            json!({
                "metadata": {"name": "old", "namespace": "b", "deletionTimestamp": "2026-01-01T23:00:00Z"},
                "spec": {}, "status": {"phase": "Ready"},
            }),
        ]
    }

    #[test]
    fn a_list_tells_what_each_cluster_waits_for() {
        assert_eq!(
            table(&objects(), false),
            "\
NAME         TEAM     PHASE      VERSION   WORKERS   ENDPOINT           WAITING FOR             AGE
my-cluster   team-a   Updating   v1.30.0   3/3       10.40.0.201:6443   ControlPlaneUpgrading   24h
new          b        Pending    <none>    0/2       <none>             Paused                  <unknown>
night        b        Ready      <none>    -/4       <none>             Asleep                  <unknown>
old          b        Deleting   <none>    <none>    <none>             <none>                  <unknown>
"
        );
    }

    #[test]
    fn a_wide_list_has_more_columns() {
        assert_eq!(
            table(&objects()[..1], true),
            "\
NAME         TEAM     PHASE      VERSION   WORKERS   ENDPOINT           WAITING FOR             AGE   WANTED    PROVIDER         CONTROL PLANE
my-cluster   team-a   Updating   v1.30.0   3/3       10.40.0.201:6443   ControlPlaneUpgrading   24h   v1.31.0   harvester-prod   hosted
"
        );
    }
}
