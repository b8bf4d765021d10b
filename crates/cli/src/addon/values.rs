//! `addon values`.

use butler_api::butler::AddonDefinition;
use clap::Args;
use helm::values::Values;
use kube::Api;

use super::Named;
use super::found::{Found, Ground, find};
use crate::failure::Outcome;
use crate::output::print_value;
use crate::session::Session;

#[derive(Args)]
pub(crate) struct PrintValues {
    #[command(flatten)]
    addon: Named,
    /// Those of the catalogue below them too
    #[arg(short, long)]
    all: bool,
}

impl PrintValues {
    pub(crate) async fn run(self, session: &Session, ground: Ground) -> Outcome {
        let found = find(session, ground, &self.addon).await?;
        let values = if self.all { merged(session, &found, found.values()).await? } else { found.values() };
        print_value(&values, session.format)
    }
}

/// Values over those of the catalogue.
pub(super) async fn merged(session: &Session, found: &Found, values: Values) -> Outcome<Values> {
    let definitions: Api<AddonDefinition> = Api::all(session.client.clone());
    let definition = definitions.get_opt(&found.addon()).await?;
    let defaults = definition.and_then(|definition| definition.spec.defaults?.values);
    let mut merged = defaults.unwrap_or_default().0;
    helm::values::merge(&mut merged, values);
    Ok(merged)
}
