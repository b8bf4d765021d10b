//! What addons cost: charts of the catalogue installed on many tenant clusters at once, in the order they need.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::json;

use crate::clusters::{self, GROUP, create, each, object, prepare};
use crate::observe::{Arrivals, LONG_QUIET, QUIET, State, rest, settle};
use crate::report::say;
use crate::server::Programs;

/// What each cluster gets; some of these wait for others.
const ADDONS: [&str; 5] = ["metallb", "cert-manager", "longhorn", "traefik", "flux"];

/// What was measured.
pub(crate) struct Cost {
    /// How many were installed.
    pub(crate) installs: usize,
    /// On how many clusters.
    pub(crate) clusters: usize,
    /// From the first TenantAddon until all were Installed, which means that their workloads run.
    pub(crate) wall: Duration,
    /// The time of all cores that the whole process used for it, its APIs and nodes included.
    pub(crate) cpu: Duration,
    /// Writes to the store for each.
    pub(crate) writes: f64,
    /// Memory of the whole process for each.
    pub(crate) memory: u64,
    /// Writes at rest.
    pub(crate) idle_writes: i64,
    /// The part of one core used at rest, with all of them watched.
    pub(crate) idle_cpu: f64,
}

/// Measures so many installs, five on each cluster.
pub(crate) async fn measure(programs: &Programs, installs: usize) -> Result<Cost> {
    let count = installs.div_ceil(ADDONS.len());
    let folder = tempfile::tempdir()?;
    let server = programs.start(folder.path()).await?;
    let dialler = &server.dialler;
    let mut known = Arrivals::watch(dialler, &format!("{GROUP}/tenantclusters"), clusters::is_ready).await?;
    let mut addons = Arrivals::watch(dialler, &format!("{GROUP}/tenantaddons"), clusters::is_installed).await?;
    prepare(dialler).await?;
    create(dialler, "c", count).await?;
    known.until(|known| known.ready.len() == count).await?;
    let (_, before) = settle(&server, QUIET).await?;
    say(&format!("addons: {count} clusters are Ready, {} MB", before.memory / 1_000_000));

    let begun = Instant::now();
    for addon in ADDONS {
        let wish = |number| {
            let cluster = format!("c-{number}");
            let spec = json!({"clusterRef": {"name": cluster}, "addon": addon});
            object("TenantAddon", &format!("{cluster}-{addon}"), &spec)
        };
        each(dialler, count, "tenantaddons", wish).await?;
    }
    let installs = count * ADDONS.len();
    addons.until(|known| known.ready.len() == installs).await?;
    let wall = begun.elapsed();
    let after = State::of(&server).await?;
    say(&format!("addons: {installs} installed after {wall:?}"));
    let (_, settled) = settle(&server, LONG_QUIET).await?;
    let idle_cpu = rest(&server).await?;
    let rested = State::of(&server).await?;
    if rested.objects < before.objects + installs as u64 {
        bail!("{installs} installs left only {} objects more", rested.objects.saturating_sub(before.objects));
    }
    server.stop()?;
    Ok(Cost {
        installs,
        clusters: count,
        wall,
        cpu: after.cpu.saturating_sub(before.cpu),
        writes: (settled.writes - before.writes) as f64 / installs as f64,
        memory: settled.memory.saturating_sub(before.memory) / installs as u64,
        idle_writes: rested.writes - settled.writes,
        idle_cpu,
    })
}
