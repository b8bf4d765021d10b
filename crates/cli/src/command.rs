//! The command line of `butlerctl`.

use std::path::PathBuf;

use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::failure::{EXIT_CODES, Outcome};
use crate::output::Format;
use crate::session::Session;
use crate::{addon, cluster, provider, version};

/// Kubernetes clusters for your team: ask for them, watch them come, change them, remove them.
#[derive(Parser)]
#[command(name = "butlerctl", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Butlerctl {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Global {
    /// The team that is meant [default: BUTLER_TEAM, then the namespace of the context, then whatever you may see]
    #[arg(short = 'n', long, visible_alias = "namespace", global = true, value_name = "TEAM")]
    pub(crate) team: Option<String>,
    /// How to print
    #[arg(short, long, global = true, value_enum)]
    pub(crate) output: Option<Format>,
    /// The kubeconfig to use [default: KUBECONFIG, then that of `butler up`, then ~/.kube/config]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig to use
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// No colours; setting NO_COLOR does the same
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
    /// Say what is done on the way; twice says more
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Clusters of teams
    #[command(subcommand, visible_alias = "clusters")]
    Cluster(cluster::Command),
    /// Addons of clusters
    #[command(subcommand, visible_alias = "addons")]
    Addon(addon::Command),
    /// Infrastructures that clusters are made on
    #[command(subcommand, visible_alias = "providers")]
    Provider(provider::Command),
    /// The versions of this program and of the API
    Version(version::Version),
    /// Print the completion script of a shell
    Completion {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
}

/// Shells that have completion scripts.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Butlerctl {
    pub(crate) async fn run(self) -> Outcome {
        let global = &self.global;
        match self.command {
            Command::Completion { shell } => print_completion(shell, Butlerctl::command(), "butlerctl"),
            Command::Version(version) => version.run(global).await,
            // Some of it works without any API.
            Command::Cluster(cluster::Command::Create(create)) if create.is_offline() => create.run_offline(global),
            Command::Cluster(command) => {
                let session = Session::open(global).await?;
                command.run(&session, global).await.map_err(|failure| session.explain(failure))
            }
            Command::Addon(command) => {
                let session = Session::open(global).await?;
                command.run(&session, addon::Ground::Tenants).await.map_err(|failure| session.explain(failure))
            }
            Command::Provider(command) => {
                let session = Session::open(global).await?;
                command.run(&session).await.map_err(|failure| session.explain(failure))
            }
        }
    }
}

pub(crate) fn print_completion(shell: Shell, mut command: clap::Command, name: &str) -> Outcome {
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    crate::screen::print(&String::from_utf8_lossy(&script))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Butlerctl::command().debug_assert();
    }
}
