//! `addon status`.

use butler_api::butler::addon_install::AddonInstallStatus;
use butler_api::shared::Blocker;
use clap::Args;
use jiff::Timestamp;

use super::Named;
use super::found::{Found, Ground, find};
use super::list::phase;
use crate::cluster::age;
use crate::failure::Outcome;
use crate::output::print_object;
use crate::screen::{plain, print};
use crate::session::Session;
use crate::table::Table;

#[derive(Args)]
pub(crate) struct Status {
    #[command(flatten)]
    addon: Named,
}

impl Status {
    pub(crate) async fn run(self, session: &Session, ground: Ground) -> Outcome {
        let found = find(session, ground, &self.addon).await?;
        if !session.format.is_table() {
            return print_object(&found.object, session.format);
        }
        let status = found.status()?;
        let mut table = Table::new(&["NAME", "ADDON", "PHASE", "INSTALLED", "REVISION", "AGE"]);
        let release = status.helm_release.clone().unwrap_or_default();
        table.push(vec![
            found.name().into(),
            found.addon().into(),
            phase(status.phase),
            status.installed_version.clone().unwrap_or_default().into(),
            release.revision.map(|revision| revision.to_string()).unwrap_or_default().into(),
            age(found.object.metadata.creation_timestamp.as_ref(), Timestamp::now()).into(),
        ]);
        print(&(table.render(session.screen) + &details(&found, &status)))
    }
}

fn details(found: &Found, status: &AddonInstallStatus) -> String {
    let mut text = format!("\n{}\n", plain(status.message.as_deref().unwrap_or("nothing is known of it yet")));
    for condition in &status.conditions {
        let told = [&condition.message, &condition.reason].into_iter().flatten().find(|told| !told.is_empty());
        let told = told.map(|told| format!(" ({})", plain(told))).unwrap_or_default();
        text += &format!("  {}: {}{told}\n", condition.type_, condition.status);
    }
    if let Some(drift) = &status.drift {
        for object in &drift.objects {
            text += &format!("  differs: {object}\n");
        }
        if let Some(repaired) = &drift.last_repaired {
            text += &format!("  last repaired: {}\n", repaired.0);
        }
    }
    text += &status.blockers.iter().map(waits).collect::<String>();
    if let Some(cluster) = found.cluster() {
        let team = found.namespace().unwrap_or_default();
        text += &format!(
            "\nIts objects are on cluster {cluster}; `butlerctl cluster kubeconfig {cluster} -n {team}` leads there.\n"
        );
    }
    text
}

fn waits(blocker: &Blocker) -> String {
    let mut text = format!("\nIt waits: {}: {}\n", blocker.reason, plain(&blocker.message));
    for evidence in &blocker.evidence {
        text += &format!("  - {}\n", plain(evidence));
    }
    if let (Some(owner), Some(remedy)) = (blocker.owner, &blocker.remedy) {
        text += &format!("  {owner}: {}\n", plain(remedy));
    }
    text
}
