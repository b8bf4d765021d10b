//! What hosted control planes cost: many of them in one process, made, left alone and deleted.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use crate::connection::Dialler;
use crate::observe::{Arrivals, LONG_QUIET, QUIET, Reached, State, rest, settle};
use crate::report::say;
use crate::server::Programs;

const GROUP: &str = "/apis/steward.butlerlabs.dev/v1alpha1";
const NAMESPACES: usize = 20;
const CLIENTS: usize = 8;
/// What was measured.
pub(crate) struct Cost {
    /// From the create of the first one to Ready, alone.
    pub(crate) first: Duration,
    /// From the first create to the last Ready.
    pub(crate) ready: Duration,
    /// Writes to the store for each until it was Ready.
    pub(crate) writes: f64,
    /// Memory of the whole process for each.
    pub(crate) memory: u64,
    /// Memory for each while it sleeps: its objects and its controller, without an API that answers.
    pub(crate) asleep: u64,
    /// From the last Ready until nothing was written any more.
    pub(crate) settling: Duration,
    /// Writes at rest, but for the heartbeat of the node, which is one however many run on it.
    pub(crate) idle_writes: i64,
    /// The part of one core used at rest.
    pub(crate) idle_cpu: f64,
    /// From the first delete until all was gone.
    pub(crate) deletion: Duration,
    /// Objects more than before, of all APIs in the store.
    pub(crate) objects_left: i64,
    /// Open files, listeners and connections more than before.
    pub(crate) files_left: i64,
}

/// Measures that many control planes.
pub(crate) async fn measure(programs: &Programs, count: usize) -> Result<Cost> {
    let folder = tempfile::tempdir()?;
    let server = programs.start(folder.path()).await?;
    let mut connection = server.dialler.connect().await?;
    let mut arrivals = Arrivals::watch(&server.dialler, &format!("{GROUP}/tenantcontrolplanes"), judge).await?;
    for number in 0..NAMESPACES {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace(number)}});
        connection.create("/api/v1/namespaces", body.to_string().into()).await?;
    }
    let (_, empty) = settle(&server, QUIET).await?;
    // All that the first one causes once is not counted among what each costs.
    let begun = Instant::now();
    create(&server.dialler, "first", 1, 1).await?;
    arrivals.until(|known| known.ready.len() == 1).await?;
    let first = begun.elapsed();
    let (_, alone) = settle(&server, QUIET).await?;
    say(&format!("tenants: the first was Ready after {first:?}, {} MB", alone.memory / 1_000_000));

    let sleepers = count.div_ceil(4);
    create(&server.dialler, "asleep", sleepers, 0).await?;
    arrivals.until(|known| known.asleep.len() == sleepers).await?;
    let (_, before) = settle(&server, LONG_QUIET).await?;
    say(&format!("tenants: {sleepers} asleep, {} MB", before.memory / 1_000_000));

    let begun = Instant::now();
    create(&server.dialler, "awake", count, 1).await?;
    arrivals.until(|known| known.ready.len() == count + 1).await?;
    let ready = begun.elapsed();
    say(&format!("tenants: {count} Ready after {ready:?}"));
    let (settling, settled) = settle(&server, LONG_QUIET).await?;
    say(&format!("tenants: at rest after {settling:?} more, {} MB", settled.memory / 1_000_000));
    let idle_cpu = rest(&server).await?;
    let rested = State::of(&server).await?;

    let deleting = Instant::now();
    // The first connection has been idle for so long that the server may have closed it.
    let mut connection = server.dialler.connect().await?;
    for number in 0..NAMESPACES {
        connection.delete(&path(number)).await?;
    }
    arrivals.until(|known| known.there.is_empty()).await?;
    let deletion = deleting.elapsed();
    say(&format!("tenants: deleted after {deletion:?}"));
    let (_, after) = settle(&server, QUIET).await?;
    server.stop()?;

    let each = count as u64;
    Ok(Cost {
        first,
        ready,
        writes: (settled.writes - before.writes) as f64 / count as f64,
        memory: settled.memory.saturating_sub(before.memory) / each,
        asleep: before.memory.saturating_sub(alone.memory) / sleepers as u64,
        settling,
        idle_writes: rested.writes - settled.writes,
        idle_cpu,
        deletion,
        objects_left: after.objects as i64 - empty.objects as i64,
        files_left: after.files as i64 - empty.files as i64,
    })
}

fn namespace(number: usize) -> String {
    format!("tenants-{}", number % NAMESPACES)
}

fn path(number: usize) -> String {
    format!("{GROUP}/namespaces/{}/tenantcontrolplanes", namespace(number))
}

/// Creates that many control planes with names of one kind.
async fn create(dialler: &Dialler, kind: &str, count: usize, replicas: u32) -> Result<()> {
    let clients = (0..CLIENTS).map(|client| async move {
        let mut connection = dialler.connect().await?;
        for number in (client..count).step_by(CLIENTS) {
            let body = json!({
                "apiVersion": "steward.butlerlabs.dev/v1alpha1",
                "kind": "TenantControlPlane",
                "metadata": {"name": format!("{kind}-{number}")},
                "spec": {"controlPlane": {"deployment": {"replicas": replicas}}, "kubernetes": {"version": "v1.34.4"}},
            });
            connection.create(&path(number), body.to_string().into()).await?;
        }
        anyhow::Ok(())
    });
    futures::future::try_join_all(clients).await.map(drop)
}

fn judge(object: &Value) -> Option<Reached> {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions.into_iter().flatten().find(|known| known["type"] == "Ready")?;
    match (ready["status"].as_str(), ready["reason"].as_str()) {
        (Some("True"), _) => Some(Reached::Ready),
        (_, Some("Asleep")) => Some(Reached::Asleep),
        _ => None,
    }
}
