//! `butler status`.

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::data_dir::DataDir;
use crate::{Place, tell};

/// What `butler status` exits with when Butler does not run, as init scripts have it.
const NOT_RUNNING: u8 = 3;

#[derive(Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    place: Place,
    /// How to print
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Text,
    Json,
}

impl StatusArgs {
    /// Prints the state; exits with 0 when it runs, 3 when it does not.
    pub(crate) async fn run(self) -> ExitCode {
        match self.print() {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(NOT_RUNNING),
            Err(error) => {
                tell(&format!("butler: {error:#}"));
                ExitCode::FAILURE
            }
        }
    }

    fn print(&self) -> anyhow::Result<bool> {
        let data = DataDir::of(&self.place)?;
        let running = data.running()?;
        let known = running.as_ref().filter(|running| !running.is_starting());
        let mut out = std::io::stdout();
        match (self.output, &running) {
            (Output::Json, running) => {
                let value = json!({
                    "running": running.is_some(),
                    "starting": running.is_some() && known.is_none(),
                    "dataDir": data.path(),
                    "kubeconfig": known.map(|running| &running.kubeconfig),
                    "server": known.map(|running| &running.server),
                    "pid": known.map(|running| running.pid),
                    "since": known.map(|running| &running.since),
                });
                writeln!(out, "{value:#}")?;
            }
            (Output::Text, Some(running)) if running.is_starting() => {
                writeln!(out, "Butler is starting in {}.", data.path().display())?;
            }
            (Output::Text, Some(running)) => {
                writeln!(out, "Butler runs: {} (process {}, since {})", running.server, running.pid, running.since)?;
                writeln!(out, "  kubeconfig: {}", running.kubeconfig.display())?;
            }
            (Output::Text, None) => writeln!(out, "Butler does not run in {}.", data.path().display())?,
        }
        Ok(running.is_some())
    }
}
