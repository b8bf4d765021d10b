//! `addon diff`: what is installed, and what is or would be asked for: version, values, and every object.

use butler_api::butler::AddonDefinition;
use clap::Args;
use fleet::addon::{labels_of, version_of};
use helm::action::{Actions, Options};
use helm::chart::Chart;
use helm::release::{Release, Status, restored};
use helm::values::Values;
use kube::Api;
use serde::Serialize;
use serde_json::json;

use super::Named;
use super::chart::{self, Origins};
use super::check::check;
use super::found::{Found, Ground, find};
use super::given::Given;
use super::objects::{Change, changes};
use super::reach::Installed;
use super::values::merged;
use crate::cluster::diff::{Field, fields};
use crate::failure::{Failure, Outcome};
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
    /// Compare version and values only
    #[arg(long)]
    values_only: bool,
    #[command(flatten)]
    given: Given,
}

/// All that would change.
#[derive(Serialize)]
struct Differences {
    fields: Vec<Field>,
    /// Nothing if they could not be rendered.
    #[serde(skip_serializing_if = "Option::is_none")]
    objects: Option<Vec<Change>>,
}

impl Diff {
    pub(crate) async fn run(self, session: &Session, ground: Ground) -> Outcome {
        let found = find(session, ground, &self.addon).await?;
        let given = self.given.over(found.values())?;
        if self.version.is_some() || !self.given.is_empty() {
            check(session, &found.asking(self.version.as_deref(), &given), self.version.as_deref()).await?;
        }
        let installed = Installed::reach(session, &found).await?;
        let history = installed.history().await?;
        let deployed = history.iter().rev().find(|release| release.info.status == Status::Deployed);
        let runs = deployed.and_then(version_of).unwrap_or_default().to_owned();
        let mut before = json!({"version": runs, "values": deployed.map(|release| release.config.clone())});
        helm::values::integers(&mut before);
        let asked = self.version.or_else(|| found.version()).unwrap_or(runs);
        let wanted = merged(session, &found, given).await?;
        let mut after = json!({"version": asked, "values": wanted});
        helm::values::integers(&mut after);
        let fields = fields(Some(&before), Some(&after));
        let objects = match (deployed, self.values_only) {
            (Some(deployed), false) => match objects(session, &found, &installed, deployed, &asked, &wanted).await {
                Ok(objects) => Some(objects),
                Err(failure) => {
                    tell(&format!("The objects cannot be compared: {failure}"));
                    None
                }
            },
            _ => None,
        };
        let differences = Differences { fields, objects };
        if !session.format.is_table() {
            return print_value(&differences, session.format);
        }
        let objects = differences.objects.iter().flatten();
        let lines = differences.fields.iter().map(|field| format!("{field}\n"));
        let text: String = lines.chain(objects.map(|change| change.diff.clone())).collect();
        if text.is_empty() {
            tell("Nothing would change.");
            return Ok(());
        }
        print(&text)
    }
}

/// What would change of the objects.
async fn objects(
    session: &Session,
    found: &Found,
    installed: &Installed,
    deployed: &Release,
    version: &str,
    values: &Values,
) -> Outcome<Vec<Change>> {
    let failed = |error: helm::action::ActionError| Failure::failed(error.to_string());
    let kept = restored(&deployed.chart).filter(|_| version_of(deployed) == Some(version));
    let chart = match kept {
        Some(chart) => chart,
        None => fetched(session, found, version).await?,
    };
    let options =
        Options { namespace: installed.namespace.clone(), labels: labels_of(&found.name()), ..Options::default() };
    let preview = installed.actions.preview(&installed.name, &chart, values, &options).await.map_err(failed)?;
    changes(&Actions::objects(deployed).map_err(failed)?, &Actions::objects(&preview).map_err(failed)?)
}

/// The chart of an addon in a version.
async fn fetched(session: &Session, found: &Found, version: &str) -> Outcome<Chart> {
    let ask = found.ask()?;
    let entry = match &ask.addon {
        Some(name) => Some(Api::<AddonDefinition>::all(session.client.clone()).get(name).await?),
        None => None,
    };
    let wanted = chart::named(&ask, entry.as_ref(), version);
    let wanted = wanted.ok_or_else(|| Failure::failed("it is made of plain manifests"))?;
    let fetched = Origins::read(session).await.fetch(&wanted).await;
    fetched.map(|fetched| (*fetched.chart).clone()).map_err(|error| Failure::failed(error.to_string()))
}
