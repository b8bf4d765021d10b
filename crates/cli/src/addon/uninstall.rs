//! `addon uninstall`.

use std::io::IsTerminal;

use butler_api::butler::AddonDefinition;
use clap::Args;
use fleet::names::UNWANTED;
use kube::api::{DeleteParams, Preconditions};
use kube::{Api, ResourceExt};

use super::Named;
use super::found::{Found, Ground, find};
use super::wait::{Goal, follow};
use crate::cluster::{Patience, confirm};
use crate::failure::{Code, Failure, Outcome};
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
        if ground == Ground::Management && is_held(session, &found).await? {
            let message = format!("{name} is a part of the platform, and stays until somebody says that it may go:");
            let annotate = format!("kubectl annotate managementaddon {name} {UNWANTED}=true");
            return Err(Failure::new(Code::Refused, format!("{message}\n  {annotate}")));
        }
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

/// Whether an addon is a part of the platform that nobody has said may go.
async fn is_held(session: &Session, found: &Found) -> Outcome<bool> {
    let entry = match Api::<AddonDefinition>::all(session.client.clone()).get_opt(&found.addon()).await {
        // Whoever may not read the catalogue learns it from the addon's status.
        Err(error) if Failure::is_forbidden(&error) => return Ok(false),
        found => found?,
    };
    Ok(entry.is_some_and(|entry| entry.spec.platform) && !found.object.annotations().contains_key(UNWANTED))
}
