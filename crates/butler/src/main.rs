//! The composition root: `butler up` runs everything on one machine, `butler run` one component on real Kubernetes.

mod addresses;
mod data_dir;
mod demo;
mod down;
mod embedded_store;
mod install;
mod machine;
mod management;
mod plane;
mod real;
mod shared_etcd;
mod snapshot;
mod status;
mod up;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};

/// A third less time than glibc's under a thousand clusters, and what was freed is given back.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Kubernetes clusters as a service, on one machine or on any Kubernetes.
#[derive(Parser)]
#[command(name = "butler", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start Butler on this machine with a Kubernetes API of its own
    Up(up::Up),
    /// Stop the Butler that `butler up` started
    Down(Place),
    /// Say whether Butler runs, where, and since when
    Status(status::StatusArgs),
    /// Copy all objects of the running Butler to a file, while it goes on
    Snapshot(snapshot::SnapshotArgs),
    /// Print the completion script of a shell
    Completion {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Which Butler is meant.
#[derive(Args, Clone)]
struct Place {
    /// Where all state is kept [default: ~/.butler/local]
    #[arg(long, env = "BUTLER_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        Command::Up(up) => up.run().await,
        Command::Down(place) => down::run(&place).await,
        Command::Status(args) => return args.run().await,
        Command::Snapshot(args) => args.run().await,
        Command::Completion { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "butler", &mut std::io::stdout());
            Ok(())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("butler: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Writes a line for people; standard output stays for what programs read.
fn tell(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{line}");
}
