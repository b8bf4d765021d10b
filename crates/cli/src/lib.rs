//! The command lines of Butler: `butlerctl`, for teams and their clusters, and `butleradm`, for the platform itself.
//!
//! ```text
//!   command ── what can be typed ──> session (connect: which API; lookup: which cluster)
//!      └──> cluster/, addon/, provider, version: one file per command: ask, decide in a pure function, print (output, table, screen)
//! ```
//!
//! What holds here:
//! - Everything is done through the Kubernetes API, with the user's own rights. No state is kept, no other service is needed.
//! - Results go to standard output, everything else to standard error; colours and redrawing only on a terminal.
//! - A failure is a sentence that says what to do, and an exit code that says what kind it is ([`run`]).
//! - Secrets are printed by `cluster kubeconfig` alone.

mod addon;
mod admin;
mod cluster;
mod command;
mod connect;
mod failure;
mod lookup;
mod output;
mod provider;
mod screen;
mod session;
mod table;
mod version;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

/// Runs `butlerctl` with the arguments of this process. What it exits with is in docs/butlerctl.md.
pub async fn run() -> ExitCode {
    let butlerctl = command::Butlerctl::parse();
    start_logging(butlerctl.global.verbose);
    ended("butlerctl", butlerctl.run().await)
}

/// Runs `butleradm` with the arguments of this process.
pub async fn run_admin() -> ExitCode {
    let butleradm = admin::Butleradm::parse();
    start_logging(butleradm.global.verbose);
    ended("butleradm", butleradm.run().await)
}

fn ended(program: &str, outcome: failure::Outcome) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.message.is_empty() {
                screen::tell(&format!("{program}: {failure}"));
            }
            ExitCode::from(failure.code as u8)
        }
    }
}

fn start_logging(verbose: u8) {
    let filter = match verbose {
        0 => return,
        1 => "cli=info,kube=info",
        _ => "cli=debug,kube=debug,kube_client=debug",
    };
    let logs = tracing_subscriber::fmt().with_env_filter(EnvFilter::new(filter)).with_writer(std::io::stderr);
    logs.with_ansi(std::io::stderr().is_terminal()).without_time().with_target(false).init();
}
