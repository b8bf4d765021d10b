//! What the catalogue or a repository has against a wish is told at once: nobody has to wait for an addon that cannot come.

use std::time::Duration;

use butler_api::butler::AddonDefinition;
use butler_api::shared::Blocker;
use fleet::addon::{Ask, objections};
use helm::source::Fault;
use kube::Api;

use super::chart::{self, Origins};
use super::found::Found;
use crate::failure::{Code, Failure, Outcome};
use crate::session::Session;

/// A repository that takes longer is left to Butler.
const PATIENCE: Duration = Duration::from_secs(5);

/// Fails if what is asked for is not in the catalogue, or not so, or if its repository does not have the `version` that was
/// named.
pub(super) async fn check(session: &Session, asked: &Found, version: Option<&str>) -> Outcome {
    let ask = asked.ask()?;
    let Some(name) = &ask.addon else { return check_version(session, &ask, None, version).await };
    let catalogue: Api<AddonDefinition> = Api::all(session.client.clone());
    let definition = match catalogue.get_opt(name).await {
        // Whoever may not read the catalogue learns it from the addon's status.
        Err(error) if Failure::is_forbidden(&error) => return Ok(()),
        found => found?,
    };
    let Some(definition) = definition else {
        let program = asked.ground.program();
        let message = format!("the catalogue has no addon {name:?}; `{program} addon catalog` lists what it has");
        return Err(Failure::new(Code::NotFound, message));
    };
    let objections = objections(&ask, &definition, asked.owner().is_some());
    if objections.is_empty() {
        return check_version(session, &ask, Some(&definition), version).await;
    }
    Err(Failure::new(Code::Refused, objections.iter().map(told).collect::<Vec<_>>().join("\n")))
}

/// Fails if the repository that Butler asks says that it does not have this version. What it does not say here it may say to
/// Butler.
async fn check_version(
    session: &Session,
    ask: &Ask,
    entry: Option<&AddonDefinition>,
    version: Option<&str>,
) -> Outcome {
    let Some(wanted) = version.and_then(|version| chart::named(ask, entry, version)) else { return Ok(()) };
    let asked = async {
        let origins = Origins::read(session).await;
        if origins.are_all_known { origins.fetch(&wanted).await.err() } else { None }
    };
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Some(error)) if matches!(error.fault(), Fault::NoVersion { .. } | Fault::Version(_)) => {
            Err(Failure::new(Code::Refused, error.to_string()))
        }
        _ => Ok(()),
    }
}

fn told(objection: &Blocker) -> String {
    let mut text = objection.message.clone();
    for evidence in &objection.evidence {
        text += &format!("\n  - {evidence}");
    }
    text + &objection.remedy.iter().map(|remedy| format!("\n  {remedy}")).collect::<String>()
}
