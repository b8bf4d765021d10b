//! `butlerctl addon`, and `butleradm addon` for the management cluster: the same commands on another kind of object.

mod catalog;
mod change;
mod chart;
mod check;
mod diff;
mod found;
mod given;
mod list;
mod objects;
mod reach;
mod status;
mod uninstall;
mod values;
mod wait;

use clap::{Args, Subcommand};

use crate::failure::Outcome;
use crate::session::Session;
pub(crate) use found::Ground;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List addons that are asked for
    #[command(visible_alias = "ls")]
    List(list::List),
    /// List what can be installed
    #[command(visible_alias = "catalogue")]
    Catalog(catalog::Catalog),
    /// Install an addon of the catalogue, or any Helm chart
    Install(change::Install),
    /// Change an addon to another version or other values
    Upgrade(change::Upgrade),
    /// Go back to what an addon was before
    Rollback(change::Rollback),
    /// Remove an addon
    #[command(visible_alias = "delete")]
    Uninstall(uninstall::Uninstall),
    /// Print the values of an addon
    Values(values::PrintValues),
    /// Show what a change of version or values would change
    Diff(diff::Diff),
    /// Show how an addon fares, and what it waits for
    Status(status::Status),
}

/// Which addon is meant.
#[derive(Args, Clone, Debug)]
pub(crate) struct Named {
    /// The addon: the name of its object, or with --cluster its name in the catalogue
    pub(crate) name: String,
    /// The cluster it is on: NAME, or TEAM/NAME
    #[arg(short, long, value_name = "CLUSTER")]
    pub(crate) cluster: Option<String>,
}

impl Command {
    pub(crate) async fn run(self, session: &Session, ground: Ground) -> Outcome {
        match self {
            Self::List(list) => list.run(session, ground).await,
            Self::Catalog(catalog) => catalog.run(session).await,
            Self::Install(install) => install.run(session, ground).await,
            Self::Upgrade(upgrade) => upgrade.run(session, ground).await,
            Self::Rollback(rollback) => rollback.run(session, ground).await,
            Self::Uninstall(uninstall) => uninstall.run(session, ground).await,
            Self::Values(values) => values.run(session, ground).await,
            Self::Diff(diff) => diff.run(session, ground).await,
            Self::Status(status) => status.run(session, ground).await,
        }
    }
}
