//! What the catalogue has against a wish is told at once: nobody has to wait for an addon that cannot come.

use butler_api::butler::AddonDefinition;
use butler_api::shared::Blocker;
use fleet::addon::objections;
use kube::Api;

use super::found::Found;
use crate::failure::{Code, Failure, Outcome};
use crate::session::Session;

/// Fails if what is asked for is not in the catalogue, or not so.
pub(super) async fn check(session: &Session, asked: &Found) -> Outcome {
    let ask = asked.ask()?;
    let Some(name) = &ask.addon else { return Ok(()) };
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
    let objections = objections(&ask, &definition);
    if objections.is_empty() {
        return Ok(());
    }
    Err(Failure::new(Code::Refused, objections.iter().map(told).collect::<Vec<_>>().join("\n")))
}

fn told(objection: &Blocker) -> String {
    let mut text = objection.message.clone();
    for evidence in &objection.evidence {
        text += &format!("\n  - {evidence}");
    }
    text + &objection.remedy.iter().map(|remedy| format!("\n  {remedy}")).collect::<String>()
}
