//! `butler down`.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::data_dir::DataDir;
use crate::{Place, tell};

/// Longer than requests under way may take to finish.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) async fn run(place: &Place) -> Result<()> {
    let data = DataDir::of(place)?;
    let Some(running) = data.running()? else {
        tell(&format!("Butler does not run in {}.", data.path().display()));
        return Ok(());
    };
    // The lock is held, so the process lives and its number is its own.
    let Some(pid) = Pid::from_raw(running.pid) else {
        bail!("Butler is just starting in {}; try again in a moment", data.path().display());
    };
    kill_process(pid, Signal::TERM).with_context(|| format!("cannot stop process {}", running.pid))?;
    let deadline = Instant::now() + STOP_TIMEOUT;
    while data.running()?.is_some_and(|now| now.pid == running.pid) {
        if Instant::now() > deadline {
            bail!("process {} still runs after {STOP_TIMEOUT:?}; see {}", running.pid, data.log().display());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tell("Butler is down.");
    Ok(())
}
