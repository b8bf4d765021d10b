//! What hosted control planes cost: many of them in one process, made, left alone and deleted.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::connection::{Connection, Dialler};
use crate::process::Process;
use crate::report::say;
use crate::server::{Programs, Server};

const GROUP: &str = "/apis/steward.butlerlabs.dev/v1alpha1";
const NAMESPACES: usize = 20;
const CLIENTS: usize = 8;
/// For how long nothing may be written until all counts as settled.
const QUIET: Duration = Duration::from_secs(5);
/// The same, longer than Steward waits until it tells how much is in the stores.
const LONG_QUIET: Duration = Duration::from_secs(65);
/// For how long what is at rest is observed.
const REST: Duration = Duration::from_secs(30);
const TIMEOUT: Duration = Duration::from_secs(900);

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
    pub(crate) idle_writes: u64,
    /// The part of one core used at rest.
    pub(crate) idle_cpu: f64,
    /// From the first delete until all was gone.
    pub(crate) deletion: Duration,
    /// Objects more than before, of all APIs in the store.
    pub(crate) objects_left: i64,
    /// Open files, listeners and connections more than before.
    pub(crate) files_left: i64,
}

/// What a server says of itself at some moment.
struct State {
    at: Instant,
    /// Writes to the store so far, without heartbeats.
    writes: u64,
    objects: u64,
    memory: u64,
    cpu: Duration,
    files: usize,
}

/// Measures that many control planes.
pub(crate) async fn measure(programs: &Programs, count: usize) -> Result<Cost> {
    let folder = tempfile::tempdir()?;
    let server = programs.start(folder.path()).await?;
    let mut connection = server.dialler.connect().await?;
    let mut arrivals = Arrivals::watch(&server.dialler).await?;
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
    let (_, before) = settle(&server, QUIET).await?;
    say(&format!("tenants: {sleepers} asleep, {} MB", before.memory / 1_000_000));

    let begun = Instant::now();
    create(&server.dialler, "awake", count, 1).await?;
    arrivals.until(|known| known.ready.len() == count + 1).await?;
    let ready = begun.elapsed();
    say(&format!("tenants: {count} Ready after {ready:?}"));
    let (settling, settled) = settle(&server, LONG_QUIET).await?;
    say(&format!("tenants: at rest after {settling:?} more, {} MB", settled.memory / 1_000_000));
    tokio::time::sleep(REST).await;
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
        idle_cpu: (rested.cpu - settled.cpu).as_secs_f64() / (rested.at - settled.at).as_secs_f64(),
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

/// Waits until nothing is written any more: for how long there still was, and the state then.
async fn settle(server: &Server, quiet: Duration) -> Result<(Duration, State)> {
    let begun = Instant::now();
    let mut last = State::of(server).await?;
    while last.at.elapsed() < quiet {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = State::of(server).await?;
        if now.writes != last.writes {
            last = now;
        }
        if begun.elapsed() > TIMEOUT {
            bail!("something is written all the time");
        }
    }
    Ok((last.at - begun, State::of(server).await?))
}

impl State {
    async fn of(server: &Server) -> Result<Self> {
        let body = server.dialler.connect().await?.get("/metrics").await?;
        let text = String::from_utf8_lossy(&body);
        let sum = |name: &str, labels: &[&str]| -> u64 {
            let lines = text.lines().filter(|line| line.starts_with(name));
            let lines = lines.filter(|line| labels.iter().all(|label| line.contains(label)));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
        };
        let heartbeats = sum("apiserver_request_total", &[r#"verb="patch""#, r#"resource="leases""#]);
        let process: &Process = server.processes.first().context("no process")?;
        Ok(Self {
            at: Instant::now(),
            writes: sum("kapi_store_revision ", &[]).saturating_sub(heartbeats),
            objects: sum("kapi_store_objects ", &[]),
            memory: process.resident()?,
            cpu: process.cpu()?,
            files: process.open_files()?,
        })
    }
}

/// The control planes as a watch tells of them.
struct Arrivals {
    // The stream ends with it.
    _connection: Connection,
    body: Incoming,
    pending: BytesMut,
    known: Known,
}

/// Names of control planes.
#[derive(Default)]
struct Known {
    there: HashSet<String>,
    ready: HashSet<String>,
    asleep: HashSet<String>,
}

impl Arrivals {
    async fn watch(dialler: &Dialler) -> Result<Self> {
        let mut connection = dialler.connect().await?;
        let path = format!("{GROUP}/tenantcontrolplanes?watch=true&timeoutSeconds=3600");
        let body = connection.open(&path).await?;
        Ok(Self { _connection: connection, body, pending: BytesMut::new(), known: Known::default() })
    }

    async fn until(&mut self, reached: impl Fn(&Known) -> bool) -> Result<()> {
        let deadline = tokio::time::Instant::now() + TIMEOUT;
        while !reached(&self.known) {
            let line = tokio::time::timeout_at(deadline, self.line()).await;
            let line = line.with_context(|| {
                let Known { there, ready, .. } = &self.known;
                format!("{} of {} control planes are Ready after {TIMEOUT:?}", ready.len(), there.len())
            })??;
            self.known.take(&serde_json::from_slice(&line)?);
        }
        Ok(())
    }

    async fn line(&mut self) -> Result<Bytes> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.pending[searched..].iter().position(|byte| *byte == b'\n') {
                return Ok(self.pending.split_to(searched + end + 1).freeze());
            }
            searched = self.pending.len();
            let frame = self.body.frame().await.context("a watch ended early")??;
            if let Ok(data) = frame.into_data() {
                self.pending.extend_from_slice(&data);
            }
        }
    }
}

impl Known {
    fn take(&mut self, event: &Value) {
        let Some(name) = event.pointer("/object/metadata/name").and_then(Value::as_str) else { return };
        if event["type"] == "DELETED" {
            self.there.remove(name);
            return;
        }
        self.there.insert(name.to_owned());
        let conditions = event.pointer("/object/status/conditions").and_then(Value::as_array);
        let Some(ready) = conditions.into_iter().flatten().find(|known| known["type"] == "Ready") else { return };
        if ready["status"] == "True" {
            self.ready.insert(name.to_owned());
        }
        if ready["reason"] == "Sleeping" {
            self.asleep.insert(name.to_owned());
        }
    }
}
