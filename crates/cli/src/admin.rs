//! The command line of `butleradm`.

use clap::{CommandFactory, Parser, Subcommand};

use crate::addon;
use crate::command::{Global, Shell, print_completion};
use crate::failure::{EXIT_CODES, Outcome};
use crate::session::Session;

/// The platform itself: what operators do with the management cluster.
#[derive(Parser)]
#[command(name = "butleradm", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Butleradm {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Addons of the management cluster
    #[command(subcommand, visible_alias = "addons")]
    Addon(Box<addon::Command>),
    /// Print the completion script of a shell
    Completion {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
}

impl Butleradm {
    pub(crate) async fn run(self) -> Outcome {
        match self.command {
            Command::Completion { shell } => print_completion(shell, Self::command(), "butleradm"),
            Command::Addon(command) => {
                let session = Session::open(&self.global).await?;
                command.run(&session, addon::Ground::Management).await.map_err(|failure| session.explain(failure))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Butleradm::command().debug_assert();
    }
}
