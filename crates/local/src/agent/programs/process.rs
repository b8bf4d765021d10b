//! Real programs as processes, each in a network and a file system of its own.

mod command;
mod spawner;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, ChildStdout};

use crate::agent::log;
use crate::agent::probe::{Asking, Tally};
use crate::agent::program::{Control, Exit, Launch, NotStarted, Place, Program, Running};
use command::command_line;
use spawner::Spawner;

/// Where programs are found, as `<folder>/<version>/<name>`.
#[derive(Clone, Debug)]
pub struct Binaries {
    /// Those of Kubernetes.
    pub kubernetes: PathBuf,
    /// etcd.
    pub etcd: PathBuf,
}

/// Runs the programs of a folder.
pub(super) struct Processes {
    folder: PathBuf,
    spawner: OnceLock<Spawner>,
}

impl Processes {
    pub(super) fn of(folder: PathBuf) -> Self {
        Self { folder, spawner: OnceLock::new() }
    }

    async fn run(&self, launch: Launch, control: Control) -> Result<Running, NotStarted> {
        let waiting = |reason, message| NotStarted::Waiting { reason, message };
        let image = launch.image();
        let binary =
            binary(&self.folder, image.program, image.version).map_err(|text| waiting("ErrImagePull", text))?;
        if let Some(missing) = command::missing() {
            return Err(waiting("CreateContainerError", missing));
        }
        let failed =
            |error: std::io::Error| waiting("RunContainerError", format!("cannot start {}: {error}", binary.display()));
        let log = launch.log_file();
        log::rotate(&log).map_err(failed)?;
        let command = command_line(&launch, &binary).map_err(failed)?;
        let spawner = self.spawner.get_or_init(Spawner::start);
        let mut child = spawner.spawn(command).await.map_err(failed)?;
        let output = child.stdout.take();
        control.report(false, false);
        Ok(supervise(launch, control, child, output, log).boxed())
    }
}

impl Program for Processes {
    fn start(&self, launch: Launch, control: Control) -> BoxFuture<'_, Result<Running, NotStarted>> {
        self.run(launch, control).boxed()
    }

    fn place(&self) -> Place {
        Place::Namespace
    }
}

/// Why real programs cannot be run on this machine, if so.
pub fn missing_for_processes() -> Option<String> {
    command::missing()
}

/// The binary of a program and version.
fn binary(folder: &Path, program: &str, version: &str) -> Result<PathBuf, String> {
    // Tags of etcd's images are such as `3.6.4-0`.
    let plain = version.trim_start_matches('v').split('-').next().unwrap_or_default();
    let found = folder.join(format!("v{plain}")).join(program);
    if found.is_file() {
        return Ok(found);
    }
    let at = found.display();
    Err(format!("there is no {at}; `make kubernetes` builds it, or name a version that is there"))
}

/// Runs a process to its end.
async fn supervise(
    launch: Launch,
    control: Control,
    mut child: Child,
    output: Option<ChildStdout>,
    log: PathBuf,
) -> Exit {
    let keeping = async {
        if let Some(output) = output {
            log::keep(output, &log).await;
        }
        std::future::pending::<()>().await;
    };
    let process = child.id();
    tokio::pin!(keeping);
    let (grace, unhealthy) = tokio::select! {
        status = child.wait() => return exit(&launch, status, &log),
        () = &mut keeping => return Exit::done(),
        () = unwell(&launch, &control, process) => (own_grace(&launch), true),
        grace = control.stopping() => (grace, false),
    };
    if unhealthy {
        let message = format!("Container {} failed liveness probe, will be restarted", control.container);
        control.warn("Unhealthy", message);
    }
    if let Some(program) = program(process) {
        let _ = kill_process(program, Signal::TERM);
    }
    let status = tokio::select! {
        status = child.wait() => status,
        () = &mut keeping => return Exit::done(),
        () = tokio::time::sleep(grace) => {
            let _ = child.start_kill();
            child.wait().await
        }
    };
    exit(&launch, status, &log)
}

fn exit(launch: &Launch, status: std::io::Result<std::process::ExitStatus>, log: &Path) -> Exit {
    use std::os::unix::process::ExitStatusExt;
    let code = status.ok().map_or(255, |status| status.code().or(status.signal().map(|n| 128 + n)).unwrap_or(255));
    let told = launch.container.termination_message_policy.as_deref() == Some("FallbackToLogsOnError");
    Exit { code, message: (code != 0 && told).then(|| log::last_line(log)).flatten() }
}

fn own_grace(launch: &Launch) -> Duration {
    let grace = launch.pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds).unwrap_or(30);
    Duration::from_secs(grace.max(0).unsigned_abs())
}

/// Resolves when the process has to be started again. Until then its state is reported.
async fn unwell(launch: &Launch, control: &Control, process: Option<u32>) {
    let container = &launch.container;
    let address = launch.addresses.bound;
    let asking = |probe| Asking {
        probe,
        container,
        address,
        process: program(process).map(|pid| pid.as_raw_nonzero().get().unsigned_abs()),
    };
    if let Some(probe) = &container.startup_probe {
        let mut tally = Tally::default();
        asking(probe).delay().await;
        let mut well = asking(probe).ask().await;
        loop {
            match tally.count(probe, well) {
                Some(true) => break,
                Some(false) => return,
                None => well = asking(probe).ask_next(&tally).await,
            }
        }
    }
    control.report(true, container.readiness_probe.is_none());
    let readiness = async {
        let Some(probe) = &container.readiness_probe else { return std::future::pending().await };
        let mut tally = Tally::default();
        asking(probe).delay().await;
        let mut well = asking(probe).ask().await;
        loop {
            if let Some(ready) = tally.count(probe, well) {
                control.report(true, ready);
            }
            well = asking(probe).ask_next(&tally).await;
        }
    };
    let liveness = async {
        let Some(probe) = &container.liveness_probe else { return std::future::pending().await };
        let mut tally = Tally::default();
        asking(probe).delay().await;
        let mut well = asking(probe).ask().await;
        while tally.count(probe, well) != Some(false) {
            well = asking(probe).ask_next(&tally).await;
        }
    };
    tokio::select! {
        () = readiness => {}
        () = liveness => {}
    }
}

/// The program itself, below the shell that is the first process of its namespace and below what made that.
fn program(outermost: Option<u32>) -> Option<Pid> {
    let child = |parent: u32| -> Option<u32> {
        let text = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    let found = child(child(outermost?)?)?;
    Pid::from_raw(i32::try_from(found).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_are_found_by_version() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("v3.6.4")).unwrap();
        std::fs::write(root.path().join("v3.6.4/etcd"), "").unwrap();
        for version in ["v3.6.4", "3.6.4", "3.6.4-0"] {
            assert_eq!(binary(root.path(), "etcd", version).unwrap(), root.path().join("v3.6.4/etcd"));
        }
        let refused = binary(root.path(), "etcd", "3.7.0").unwrap_err();
        assert!(refused.starts_with(&format!("there is no {}/v3.7.0/etcd", root.path().display())), "{refused}");
    }
}
