//! What tenant clusters cost: many of them in one process, made, given an addon each, left alone and deleted.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::connection::Dialler;
use crate::observe::{Arrivals, LONG_QUIET, QUIET, Reached, State, rest, settle};
use crate::report::{percentile, say};
use crate::server::Programs;

pub(crate) const GROUP: &str = "/apis/butler.butlerlabs.dev/v1alpha1";
const TEAMS: usize = 20;
const CLIENTS: usize = 8;
const WORKERS: usize = 3;
const LISTS: usize = 5;

/// What was measured.
pub(crate) struct Cost {
    /// From the create of the first one to Ready, alone.
    pub(crate) first: Duration,
    /// From the first create to the last Ready.
    pub(crate) ready: Duration,
    /// Writes to the store for each until it was Ready.
    pub(crate) writes: f64,
    /// Memory of the whole process for each, its own API and nodes included.
    pub(crate) memory: u64,
    /// From the last Ready until nothing was written any more.
    pub(crate) settling: Duration,
    /// Writes at rest, but for the heartbeat of the node, which is one however many run on it.
    pub(crate) idle_writes: i64,
    /// The part of one core used at rest.
    pub(crate) idle_cpu: f64,
    /// `butlerctl cluster list` of all of them.
    pub(crate) listing: Duration,
    /// From the first TenantAddon, one for each cluster, until the last was Installed.
    pub(crate) installs: Duration,
    /// From the first delete until all was gone.
    pub(crate) deletion: Duration,
    /// Objects more than before, of all APIs in the store.
    pub(crate) objects_left: i64,
}

/// Measures that many clusters of three workers.
pub(crate) async fn measure(programs: &Programs, butlerctl: &Path, count: usize) -> Result<Cost> {
    let folder = tempfile::tempdir()?;
    let server = programs.start(folder.path()).await?;
    let dialler = &server.dialler;
    let mut clusters = Arrivals::watch(dialler, &format!("{GROUP}/tenantclusters"), is_ready).await?;
    let mut addons = Arrivals::watch(dialler, &format!("{GROUP}/tenantaddons"), is_installed).await?;
    prepare(dialler).await?;
    let (_, empty) = settle(&server, QUIET).await?;
    let begun = Instant::now();
    create(dialler, "first", 1).await?;
    clusters.until(|known| known.ready.len() == 1).await?;
    let first = begun.elapsed();
    let (_, before) = settle(&server, QUIET).await?;
    say(&format!("clusters: the first was Ready after {first:?}, {} MB", before.memory / 1_000_000));

    let begun = Instant::now();
    create(dialler, "c", count).await?;
    clusters.until(|known| known.ready.len() == count + 1).await?;
    let ready = begun.elapsed();
    say(&format!("clusters: {count} Ready after {ready:?}"));
    let (settling, settled) = settle(&server, LONG_QUIET).await?;
    say(&format!("clusters: at rest after {settling:?} more, {} MB", settled.memory / 1_000_000));
    let idle_cpu = rest(&server).await?;
    let rested = State::of(&server).await?;
    let listing = list(butlerctl, &folder.path().join("data/kubeconfig"), count + 1)?;

    let begun = Instant::now();
    install(dialler, count).await?;
    addons.until(|known| known.ready.len() == count).await?;
    let installs = begun.elapsed();
    say(&format!("clusters: {count} addons installed after {installs:?}"));

    let deleting = Instant::now();
    let mut connection = dialler.connect().await?;
    for number in 0..TEAMS {
        connection.delete(&path("tenantclusters", number)).await?;
    }
    clusters.until(|known| known.there.is_empty()).await?;
    let deletion = deleting.elapsed();
    say(&format!("clusters: deleted after {deletion:?}"));
    let (_, after) = settle(&server, QUIET).await?;
    server.stop()?;
    Ok(Cost {
        first,
        ready,
        writes: (settled.writes - before.writes) as f64 / count as f64,
        memory: settled.memory.saturating_sub(before.memory) / count as u64,
        settling,
        idle_writes: rested.writes - settled.writes,
        idle_cpu,
        listing,
        installs,
        deletion,
        objects_left: after.objects as i64 - empty.objects as i64,
    })
}

fn team(number: usize) -> String {
    format!("team-{}", number % TEAMS)
}

fn path(kind: &str, number: usize) -> String {
    format!("{GROUP}/namespaces/{}/{kind}", team(number))
}

/// Teams, their namespaces, and an infrastructure whose machines take no time.
pub(crate) async fn prepare(dialler: &Dialler) -> Result<()> {
    let mut connection = dialler.connect().await?;
    let namespaces = (0..TEAMS).map(team).chain(["butler-system".to_owned()]);
    for name in namespaces {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        connection.create("/api/v1/namespaces", body.to_string().into()).await?;
    }
    for number in 0..TEAMS {
        let body = object("Team", &team(number), &json!({}));
        connection.create(&format!("{GROUP}/teams"), body).await?;
    }
    let body = object("ProviderConfig", "local", &json!({"provider": "local"}));
    connection.create(&format!("{GROUP}/namespaces/butler-system/providerconfigs"), body).await
}

/// Creates that many clusters with names of one kind.
pub(crate) async fn create(dialler: &Dialler, kind: &str, count: usize) -> Result<()> {
    let spec = json!({
        "kubernetesVersion": "v1.34.4",
        "providerConfigRef": {"name": "local"},
        "workers": {"replicas": WORKERS},
        // What addons cost is measured for itself.
        "addons": {"cni": {"provider": "none"}, "loadBalancer": {"provider": "none"}},
    });
    each(dialler, count, "tenantclusters", |number| object("TenantCluster", &format!("{kind}-{number}"), &spec)).await
}

async fn install(dialler: &Dialler, count: usize) -> Result<()> {
    let addon = |number| {
        let cluster = format!("c-{number}");
        let spec = json!({"clusterRef": {"name": cluster}, "addon": "cert-manager"});
        object("TenantAddon", &format!("{cluster}-certificates"), &spec)
    };
    each(dialler, count, "tenantaddons", addon).await
}

/// Creates that many objects of a kind, spread over the teams.
pub(crate) async fn each(
    dialler: &Dialler,
    count: usize,
    kind: &str,
    body: impl Fn(usize) -> bytes::Bytes + Copy,
) -> Result<()> {
    let clients = (0..CLIENTS).map(|client| async move {
        let mut connection = dialler.connect().await?;
        for number in (client..count).step_by(CLIENTS) {
            connection.create(&path(kind, number), body(number)).await?;
        }
        anyhow::Ok(())
    });
    futures::future::try_join_all(clients).await.map(drop)
}

pub(crate) fn object(kind: &str, name: &str, spec: &Value) -> bytes::Bytes {
    let api_version = "butler.butlerlabs.dev/v1alpha1";
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}).to_string().into()
}

pub(crate) fn is_ready(cluster: &Value) -> Option<Reached> {
    (cluster.pointer("/status/phase")? == "Ready").then_some(Reached::Ready)
}

pub(crate) fn is_installed(addon: &Value) -> Option<Reached> {
    (addon.pointer("/status/phase")? == "Installed").then_some(Reached::Ready)
}

/// The median of a few runs of `butlerctl cluster list`, each of which must show all clusters.
fn list(butlerctl: &Path, kubeconfig: &Path, count: usize) -> Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..LISTS {
        let begun = Instant::now();
        let mut command = Command::new(butlerctl);
        command.args(["cluster", "list", "-A", "--kubeconfig"]).arg(kubeconfig).stdin(Stdio::null());
        let output = command.output()?;
        times.push(begun.elapsed());
        // Below a line of headings.
        let shown =
            output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count().saturating_sub(1);
        if shown != count {
            bail!("butlerctl lists {shown} clusters, not {count}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    Ok(percentile(&mut times, 0.5))
}
