//! What a server under load says of itself, and what a watch tells of the objects of one kind.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;

use crate::connection::{Connection, Dialler};
use crate::process::Process;
use crate::server::Server;

/// For how long nothing may be written until all counts as settled.
pub(crate) const QUIET: Duration = Duration::from_secs(5);
/// The same, longer than Steward waits until it tells how much is in the stores.
pub(crate) const LONG_QUIET: Duration = Duration::from_secs(65);
/// For how long what is at rest is observed.
const REST: Duration = Duration::from_secs(30);
const TIMEOUT: Duration = Duration::from_secs(900);

/// What a server says of itself at some moment.
pub(crate) struct State {
    pub(crate) at: Instant,
    /// Writes to the store so far, without the heartbeats of nodes, of which some may not be written yet when they are counted.
    pub(crate) writes: i64,
    /// Objects in the store, but for Events, which stay for an hour.
    pub(crate) objects: u64,
    pub(crate) memory: u64,
    pub(crate) cpu: Duration,
    pub(crate) files: usize,
}

/// Waits until nothing is written any more: for how long there still was, and the state then.
pub(crate) async fn settle(server: &Server, quiet: Duration) -> Result<(Duration, State)> {
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

/// Leaves a server alone for a while: the part of one core it uses. It is asked nothing meanwhile, as answering costs more.
pub(crate) async fn rest(server: &Server) -> Result<f64> {
    let process = server.processes.first().context("no process")?;
    let (before, begun) = (process.cpu()?, Instant::now());
    tokio::time::sleep(REST).await;
    Ok((process.cpu()? - before).as_secs_f64() / begun.elapsed().as_secs_f64())
}

impl State {
    pub(crate) async fn of(server: &Server) -> Result<Self> {
        let mut connection = server.dialler.connect().await?;
        let events: Value = serde_json::from_slice(&connection.get("/apis/events.k8s.io/v1/events?limit=1").await?)?;
        let rest = events.pointer("/metadata/remainingItemCount").and_then(Value::as_u64).unwrap_or(0);
        let events = rest + events["items"].as_array().map_or(0, Vec::len) as u64;
        let body = connection.get("/metrics").await?;
        let text = String::from_utf8_lossy(&body);
        let sum = |name: &str, labels: &[&str]| -> u64 {
            let lines = text.lines().filter(|line| line.starts_with(name));
            let lines = lines.filter(|line| labels.iter().all(|label| line.contains(label)));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
        };
        let node = sum("apiserver_request_total", &[r#"verb="patch""#, r#"resource="leases""#]);
        let heartbeats = node + sum("butler_local_heartbeat_seconds_count", &[]);
        let process: &Process = server.processes.first().context("no process")?;
        Ok(Self {
            at: Instant::now(),
            writes: sum("kapi_store_revision ", &[]).cast_signed() - heartbeats.cast_signed(),
            objects: sum("kapi_store_objects ", &[]).saturating_sub(events),
            memory: process.resident()?,
            cpu: process.cpu()?,
            files: process.open_files()?,
        })
    }
}

/// The objects of one kind as a watch tells of them.
pub(crate) struct Arrivals {
    // The stream ends with it.
    _connection: Connection,
    body: Incoming,
    pending: BytesMut,
    known: Known,
    judge: Judge,
}

/// Whether an object has become what is waited for.
type Judge = fn(&Value) -> Option<Reached>;

/// What an object may become.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    Ready,
    Asleep,
}

/// Names of objects.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) there: HashSet<String>,
    pub(crate) ready: HashSet<String>,
    pub(crate) asleep: HashSet<String>,
}

impl Arrivals {
    /// Follows a collection.
    pub(crate) async fn watch(dialler: &Dialler, collection: &str, judge: Judge) -> Result<Self> {
        let mut connection = dialler.connect().await?;
        let body = connection.open(&format!("{collection}?watch=true&timeoutSeconds=3600")).await?;
        Ok(Self { _connection: connection, body, pending: BytesMut::new(), known: Known::default(), judge })
    }

    pub(crate) async fn until(&mut self, reached: impl Fn(&Known) -> bool) -> Result<()> {
        let deadline = tokio::time::Instant::now() + TIMEOUT;
        while !reached(&self.known) {
            let line = tokio::time::timeout_at(deadline, self.line()).await;
            let line = line.with_context(|| {
                let Known { there, ready, .. } = &self.known;
                format!("{} of {} are Ready after {TIMEOUT:?}", ready.len(), there.len())
            })??;
            self.known.take(&serde_json::from_slice(&line)?, self.judge);
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
    fn take(&mut self, event: &Value, judge: Judge) {
        let Some(meta) = event.pointer("/object/metadata") else { return };
        let text = |field: &str| meta[field].as_str().unwrap_or_default();
        let name = format!("{}/{}", text("namespace"), text("name"));
        if event["type"] == "DELETED" {
            self.there.remove(&name);
            return;
        }
        match judge(&event["object"]) {
            Some(Reached::Ready) => drop(self.ready.insert(name.clone())),
            Some(Reached::Asleep) => drop(self.asleep.insert(name.clone())),
            None => {}
        }
        self.there.insert(name);
    }
}
