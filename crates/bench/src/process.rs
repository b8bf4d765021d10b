//! Server processes: starting, stopping, and what they use of memory, cores and files.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};

/// A server process; killed when dropped.
pub(crate) struct Process(Child);

impl Process {
    /// Starts a program in a folder, with a log file of its name there.
    pub(crate) fn start(program: &Path, folder: &Path, arguments: &[String]) -> Result<Self> {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let log = std::fs::File::create(folder.join(format!("{name}.log")))?;
        let child = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Self(child))
    }

    /// An error once it has ended.
    pub(crate) fn check(&mut self) -> Result<()> {
        match self.0.try_wait()? {
            None => Ok(()),
            Some(status) => anyhow::bail!("a server ended with {status}"),
        }
    }

    /// Asks it to stop and waits until it has.
    pub(crate) fn stop(mut self) -> Result<()> {
        kill_process(Pid::from_child(&self.0), Signal::TERM)?;
        self.0.wait()?;
        Ok(())
    }

    /// Its resident memory.
    pub(crate) fn resident(&self) -> Result<u64> {
        resident(&self.0.id().to_string())
    }

    /// The time it has used of all cores so far.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id()))?;
        // The name in parentheses may hold anything; user and system time are the 12th and 13th field after it.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
        let ticks = fields.skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
        Ok(Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second()))
    }

    /// How many files, listeners and connections it has open.
    pub(crate) fn open_files(&self) -> Result<usize> {
        Ok(std::fs::read_dir(format!("/proc/{}/fd", self.0.id()))?.count())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails only when it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Resident memory of a process (`self` is this one), in bytes.
pub(crate) fn resident(process: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS in the process status")?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024)
}
