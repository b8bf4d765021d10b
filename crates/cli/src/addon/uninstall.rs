//! `addon uninstall`.

use std::io::IsTerminal;

use clap::Args;
use kube::api::{DeleteParams, Preconditions};

use super::Named;
use super::found::{Ground, find};
use super::wait::{Goal, follow};
use crate::cluster::{Patience, confirm};
use crate::failure::{Failure, Outcome};
use crate::output::full_name;
use crate::screen::{print, tell};
use crate::session::Session;

#[derive(Args)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    addon: Named,
    /// Do not ask for the name first
    #[arg(short, long, visible_alias = "force")]
    yes: bool,
    #[command(flatten)]
    patience: Patience,
}

impl Uninstall {
    pub(crate) async fn run(self, session: &Session, ground: Ground) -> Outcome {
        if !self.yes && !std::io::stdin().is_terminal() {
            return Err(Failure::usage(format!(
                "{} is not removed: there is nobody to ask here, add --yes if you are sure",
                self.addon.name
            )));
        }
        let found = find(session, ground, &self.addon).await?;
        found.check_own()?;
        let name = found.name();
        if !self.yes {
            let place = found.cluster().unwrap_or_else(|| "the management cluster".to_owned());
            let question = format!("Addon {name} of {place} will be removed, with all objects of its release.");
            confirm(&question, &[&name])?;
        }
        let exactly = Preconditions { uid: found.object.metadata.uid.clone(), resource_version: None };
        found.api(session).delete(&name, &DeleteParams::default().preconditions(exactly)).await?;
        if session.format.is_table() {
            print(&format!("{} is being removed\n", full_name(&found.object)))?;
        }
        if !self.patience.wait {
            return Ok(());
        }
        follow(session, &found, Goal::Gone, self.patience.timeout).await?;
        tell(&format!("{name} is gone"));
        Ok(())
    }
}
