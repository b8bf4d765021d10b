//! What one more empty logical API costs, in this process.

use std::time::{Duration, Instant};

use anyhow::Result;
use kapi::{Controllers, Options, Plane};
use kapi_store::Store;

use crate::SETTLE;
use crate::process::resident;

const APIS: u32 = 100;

/// Memory and time of one more API, as means over a hundred; and the slowest one's time.
pub(crate) struct Cost {
    pub(crate) memory: u64,
    pub(crate) time: Duration,
    pub(crate) slowest: Duration,
}

/// Opens a hundred on one durable store.
pub(crate) async fn measure() -> Result<Cost> {
    let folder = tempfile::tempdir()?;
    let plane = Plane::new(Store::open(&folder.path().join("store"))?);
    plane.run_controllers(Controllers::default());
    // The first pays for what all share.
    let mut held = vec![plane.api("first", Options::default()).await?];
    tokio::time::sleep(SETTLE).await;
    let before = resident("self")?;
    let started = Instant::now();
    let mut slowest = Duration::ZERO;
    for number in 0..APIS {
        let begun = Instant::now();
        held.push(plane.api(&format!("api-{number}"), Options::default()).await?);
        slowest = slowest.max(begun.elapsed());
    }
    let time = started.elapsed() / APIS;
    tokio::time::sleep(SETTLE).await;
    let memory = resident("self")?.saturating_sub(before) / u64::from(APIS);
    drop(held);
    Ok(Cost { memory, time, slowest })
}
