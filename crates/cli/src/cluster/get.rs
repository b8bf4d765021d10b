//! `butlerctl cluster get`.

use butler_api::butler::TenantCluster;
use butler_api::butler::tenant_cluster::{ClusterPhase, PoolStatus, TenantClusterStatus, Workers};
use butler_api::shared::{Condition, MachineTemplate};
use clap::Args;
use jiff::Timestamp;
use kube::ResourceExt;
use kube::runtime::{WatchStreamExt, watcher};

use super::row::{HEADINGS, Row, WIDE_HEADINGS, cells, phase_colour};
use super::wait::next;
use super::{Named, age, are_workers_unknown, counted, rest, sleeps};
use crate::failure::{Failure, Outcome};
use crate::lookup::{self, Found};
use crate::output::{Format, print_object};
use crate::screen::{Screen, plain, print};
use crate::session::Session;
use crate::table::{Cell, Table, line};

#[derive(Args)]
pub(crate) struct Get {
    #[command(flatten)]
    cluster: Named,
    /// Go on and print what changes
    #[arg(short, long)]
    watch: bool,
}

impl Get {
    pub(crate) async fn run(self, session: &Session) -> Outcome {
        let found = lookup::find(session, &self.cluster.name).await?;
        if self.watch {
            return follow(session, &found).await;
        }
        match session.format {
            Format::Table | Format::Wide => {
                let wide = session.format == Format::Wide;
                print(&described(&found.cluster()?, Timestamp::now(), wide, session.screen))
            }
            format => print_object(&found.object, format),
        }
    }
}

/// Prints the cluster at every change until it is gone.
async fn follow(session: &Session, found: &Found) -> Outcome {
    let states = watcher::watch_object(session.cluster_objects(&found.namespace), &found.name).default_backoff();
    let mut states = std::pin::pin!(states);
    let wide = session.format == Format::Wide;
    let mut widths: Option<Vec<usize>> = None;
    while let Some(Some(object)) = next(&mut states).await? {
        if !session.format.is_table() {
            if session.format == Format::Yaml {
                print("---\n")?;
            }
            print_object(&object, session.format)?;
            continue;
        }
        let row: Row = serde_json::from_value(serde_json::to_value(&object)?)?;
        let cells = cells(&row, Timestamp::now(), wide);
        match &widths {
            Some(widths) => print(&line(&cells, widths, session.screen))?,
            None => {
                let mut table = Table::new(if wide { WIDE_HEADINGS } else { HEADINGS });
                table.push(cells);
                print(&table.render(session.screen))?;
                widths = Some(table.widths());
            }
        }
    }
    Err(Failure::new(crate::failure::Code::NotFound, format!("{} is gone", found.name)))
}

/// Whether the version that is wished for is none that it goes to.
fn is_held(status: &TenantClusterStatus) -> bool {
    status.blockers.iter().any(|blocker| ["VersionUnknown", "VersionRefused"].contains(&blocker.reason.as_str()))
}

/// All that people usually want to know of a cluster.
fn described(cluster: &TenantCluster, now: Timestamp, wide: bool, screen: Screen) -> String {
    let status = cluster.status.clone().unwrap_or_default();
    let resolved = status.resolved.clone().unwrap_or_default();
    let deleting = cluster.metadata.deletion_timestamp.is_some();
    let phase = if deleting { ClusterPhase::Deleting } else { status.phase.unwrap_or(ClusterPhase::Pending) };
    let since = status.last_transition_time.as_ref().map(|time| format!(" for {}", age(Some(time), now)));
    let (is_paused, asleep) = (cluster.spec.paused == Some(true), sleeps(cluster));
    let held = match (is_paused, asleep) {
        (true, _) => ", paused".to_owned(),
        (false, true) => format!(", {}: spec.controlPlane.replicas is 0, 1 or more wakes it", rest(cluster)),
        (false, false) => String::new(),
    };
    let painted = phase_colour(phase.as_str()).map(|colour| screen.paint(colour, phase.as_str()));
    let wanted = cluster.spec.kubernetes_version.clone().or(resolved.kubernetes_version);
    let runs = status.observed_state.as_ref().and_then(|state| state.kubernetes_version.clone());
    let version = match (runs, wanted) {
        (Some(runs), Some(wanted)) if runs != wanted && is_held(&status) => format!("{runs}, as {wanted} cannot be"),
        (Some(runs), Some(wanted)) if runs != wanted && is_paused => format!("{runs}, and {wanted} once it is resumed"),
        (Some(runs), Some(wanted)) if runs != wanted && asleep => format!("{runs}, and {wanted} once it is woken"),
        (Some(runs), Some(wanted)) if runs != wanted => format!("{runs}, on its way to {wanted}"),
        (runs, wanted) => runs.or(wanted).unwrap_or_default(),
    };
    let provider = resolved.provider_config_ref.map(|reference| reference.name);
    let provider =
        provider.or_else(|| cluster.spec.provider_config_ref.as_ref().map(|reference| reference.name.clone()));
    let ready = status.worker_nodes_ready.unwrap_or(0);
    let is_unknown = are_workers_unknown(&status);
    let workers = status.worker_nodes_desired.map(|wanted| match ready > wanted {
        _ if is_unknown => format!("{wanted} wanted, and nobody can say how many are ready"),
        true => format!("{ready} ready, {wanted} wanted"),
        false => format!("{ready} of {wanted} ready"),
    });
    let mut lines = vec![
        ("Name", cluster.name_any()),
        ("Team", cluster.namespace().unwrap_or_default()),
        ("Phase", format!("{}{}{held}", painted.unwrap_or_default(), since.unwrap_or_default())),
        ("Version", version),
        ("Endpoint", status.control_plane_endpoint.clone().unwrap_or_default()),
        ("Workers", workers.unwrap_or_default()),
        ("Provider", provider.unwrap_or_default()),
    ];
    lines.extend(defaults(cluster).map(|taken| ("Defaults", taken)));
    lines.push(("Age", age(cluster.metadata.creation_timestamp.as_ref(), now)));
    if wide {
        let control_plane = &cluster.spec.control_plane;
        let replicas = counted(control_plane.replicas(), "replica");
        lines.push(("Control plane", format!("{}, {replicas}", control_plane.type_)));
        lines.push(("Pod network", cluster.spec.networking.pod_cidr.clone()));
        lines.push(("Service network", cluster.spec.networking.service_cidr.clone()));
        let addresses = resolved.load_balancer_addresses.or(cluster.spec.load_balancer_addresses());
        lines.push(("Load balancers", addresses.unwrap_or_default()));
        lines.push(("Internals", status.tenant_namespace.clone().unwrap_or_default()));
    }
    let mut text = String::new();
    for (name, value) in lines {
        let value = if value.is_empty() { "<none>" } else { &value };
        text += &format!("{:<17}{value}\n", format!("{name}:"));
    }
    for blocker in &status.blockers {
        text += &format!("{:<17}{}: {}\n", "Waits for:", plain(&blocker.reason), plain(&blocker.message));
    }
    for left in &status.remaining {
        text += &format!("{:<17}{}\n", "Left to do:", plain(left));
    }
    if wide {
        text += &pools(&status.worker_pools, is_unknown, screen);
    }
    text + &conditions(&status.conditions, now, screen)
}

/// What was taken when the cluster was made for what its spec leaves out, and stays.
fn defaults(cluster: &TenantCluster) -> Option<String> {
    let (spec, taken) = (&cluster.spec, cluster.status.as_ref()?.resolved.as_ref()?);
    let leaves_out = |gap: fn(&Workers) -> bool| spec.pools().any(|(_, workers)| gap(workers));
    let version = taken.kubernetes_version.clone().filter(|_| spec.kubernetes_version.is_none());
    let provider = taken.provider_config_ref.as_ref().filter(|_| spec.provider_config_ref.is_none());
    let workers = taken.worker_count.filter(|_| leaves_out(|workers| workers.replicas.is_none()));
    let machine = taken.machine_template.as_ref().filter(|_| {
        leaves_out(|workers| {
            let own = workers.machine_template.as_ref();
            own.is_none_or(|own| own.cpu.is_none() || own.memory.is_none() || own.disk_size.is_none())
        })
    });
    let size = |machine: &MachineTemplate| {
        let (cpu, memory, disk) = (machine.cpu.as_ref()?, machine.memory.as_ref()?, machine.disk_size.as_ref()?);
        Some(format!("machines of {cpu} CPUs, {memory} memory, {disk} disk"))
    };
    let all = [
        version,
        provider.map(|reference| format!("provider {}", reference.name)),
        workers.map(|count| counted(count, "worker")),
        machine.and_then(size),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn conditions(conditions: &[Condition], now: Timestamp, screen: Screen) -> String {
    if conditions.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["CONDITION", "STATUS", "SINCE", "REASON", "MESSAGE"]);
    for condition in conditions {
        table.push(vec![
            Cell::from(&condition.type_),
            condition.status.as_str().into(),
            age(condition.last_transition_time.as_ref(), now).into(),
            condition.reason.as_deref().unwrap_or_default().into(),
            condition.message.as_deref().unwrap_or_default().into(),
        ]);
    }
    format!("\n{}", table.render(screen))
}

fn pools(pools: &[PoolStatus], is_unknown: bool, screen: Screen) -> String {
    if pools.is_empty() {
        return String::new();
    }
    let number = |number: Option<i32>| Cell::from(number.map(|number| number.to_string()).unwrap_or_default());
    let mut table = Table::new(&["POOL", "WANTED", "THERE", "READY", "UPDATED", "VERSION"]);
    for pool in pools {
        table.push(vec![
            Cell::from(&pool.name),
            number(pool.desired_replicas),
            number(pool.replicas),
            if is_unknown { "-".into() } else { number(pool.ready_replicas) },
            number(pool.updated_replicas),
            pool.kubernetes_version.as_deref().unwrap_or_default().into(),
        ]);
    }
    format!("\n{}", table.render(screen))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_are_told_where_the_spec_leaves_something_out() {
        let resolved = json!({"kubernetesVersion": "v1.34.4", "providerConfigRef": {"name": "local", "namespace": "n"},
            "workerCount": 2, "machineTemplate": {"cpu": 4, "memory": "8Gi", "diskSize": "100Gi"}});
        let size = json!({"cpu": 8, "memory": "8Gi", "diskSize": "100Gi"});
        for (spec, expected) in [
            (json!({}), Some("v1.34.4; provider local; 2 workers; machines of 4 CPUs, 8Gi memory, 100Gi disk")),
            (
                json!({"kubernetesVersion": "v1.33.0", "workers": {"replicas": 3, "machineTemplate": {"cpu": 8}}}),
                Some("provider local; machines of 4 CPUs, 8Gi memory, 100Gi disk"),
            ),
            (
                json!({"kubernetesVersion": "v1.33.0", "providerConfigRef": {"name": "x"},
                    "workers": {"replicas": 3, "machineTemplate": size}}),
                None,
            ),
        ] {
            let cluster: TenantCluster = serde_json::from_value(json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster", "metadata": {"name": "c"},
                "spec": spec, "status": {"resolved": resolved},
            }))
            .unwrap();
            assert_eq!(defaults(&cluster).as_deref(), expected, "{spec}");
        }
    }

    #[test]
    fn what_holds_a_cluster_is_told_with_its_phase() {
        let told = |spec: serde_json::Value, reason: &str| {
            let workers = if reason == "Asleep" { "Unknown" } else { "True" };
            let cluster: TenantCluster = serde_json::from_value(json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster", "metadata": {"name": "c"},
                "spec": spec, "status": {
                    "phase": "Ready", "workerNodesReady": 5, "workerNodesDesired": 3,
                    "observedState": {"kubernetesVersion": "v1.34.2"},
                    "conditions": [
                        {"type": "Ready", "status": "False", "reason": reason},
                        {"type": "WorkersReady", "status": workers},
                    ],
                },
            }))
            .unwrap();
            let text = described(&cluster, Timestamp::UNIX_EPOCH, false, Screen { colour: false, live: false });
            let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
            [line("Phase:"), line("Version:"), line("Workers:")]
        };
        let workers = "5 ready, 3 wanted";
        assert_eq!(
            told(json!({"paused": true, "kubernetesVersion": "v1.35.0"}), "x"),
            ["Ready, paused", "v1.34.2, and v1.35.0 once it is resumed", workers]
        );
        let phase = "Ready, asleep: spec.controlPlane.replicas is 0, 1 or more wakes it";
        assert_eq!(
            told(json!({"controlPlane": {"replicas": 0}, "kubernetesVersion": "v1.35.0"}), "Asleep"),
            [phase, "v1.34.2, and v1.35.0 once it is woken", "3 wanted, and nobody can say how many are ready",]
        );
        assert_eq!(told(json!({"kubernetesVersion": "v1.35.0"}), "x")[1], "v1.34.2, on its way to v1.35.0");
    }
}
