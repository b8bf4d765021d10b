//! `addon diff`: version and values that are installed, and those that are or would be asked for.

use clap::Args;
use serde_json::{Value, json};

use super::Named;
use super::found::{Ground, find};
use super::given::Given;
use super::reach::history;
use super::values::merged;
use crate::cluster::diff::fields;
use crate::failure::Outcome;
use crate::output::print_value;
use crate::screen::{print, tell};
use crate::session::Session;

#[derive(Args)]
pub(crate) struct Diff {
    #[command(flatten)]
    addon: Named,
    /// The version that would be asked for
    #[arg(long)]
    version: Option<String>,
    #[command(flatten)]
    given: Given,
}

impl Diff {
    pub(crate) async fn run(self, session: &Session, ground: Ground) -> Outcome {
        let found = find(session, ground, &self.addon).await?;
        let installed = history(session, &found).await?;
        let deployed = installed.iter().rev().find(|release| release.info.status.name() == "deployed");
        let version = |release: &helm::release::Release| release.chart.pointer("/metadata/version").cloned();
        let runs = deployed.and_then(version).unwrap_or_default();
        let before = json!({"version": runs, "values": deployed.map(|release| release.config.clone())});
        let asked = self.version.or_else(|| found.version()).map_or(runs, Value::String);
        let wanted = merged(session, &found, self.given.over(found.values())?).await?;
        let after = json!({"version": asked, "values": wanted});
        let differing = fields(Some(&before), Some(&after));
        if !session.format.is_table() {
            return print_value(&differing, session.format);
        }
        if differing.is_empty() {
            tell("Nothing would change.");
            return Ok(());
        }
        print(&differing.iter().map(|field| format!("{field}\n")).collect::<String>())
    }
}
