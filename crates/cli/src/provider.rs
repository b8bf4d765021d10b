//! `butlerctl provider`: infrastructures that clusters are made on.

use butler_api::butler::ProviderConfig;
use butler_api::butler::provider_config::ScopeType;
use butler_api::names::SYSTEM_NAMESPACE;
use clap::Subcommand;
use jiff::Timestamp;
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject};
use kube::{Api, ResourceExt};

use crate::cluster::age;
use crate::failure::{Failure, Outcome};
use crate::output::{Format, print_objects};
use crate::screen::{Colour, print, tell};
use crate::session::Session;
use crate::table::{Cell, Table};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the infrastructures; with -n those that the team may use
    #[command(visible_alias = "ls")]
    List,
}

impl Command {
    pub(crate) async fn run(self, session: &Session) -> Outcome {
        match self {
            Self::List => list(session).await,
        }
    }
}

async fn list(session: &Session) -> Outcome {
    let objects = read(session).await?;
    if !session.format.is_table() {
        return print_objects(&objects, session.format);
    }
    if objects.is_empty() {
        tell("There is no infrastructure yet; an operator of the platform makes one with a ProviderConfig.");
        return Ok(());
    }
    let wide = session.format == Format::Wide;
    let mut table = Table::new(if wide {
        &["NAME", "PROVIDER", "FOR", "READY", "WAITING FOR", "AGE", "NAMESPACE", "FREE ADDRESSES", "VERSION"]
    } else {
        &["NAME", "PROVIDER", "FOR", "READY", "WAITING FOR", "AGE"]
    });
    let now = Timestamp::now();
    for object in objects {
        let config: ProviderConfig = serde_json::from_value(serde_json::to_value(object)?)?;
        table.push(row(&config, now, wide));
    }
    print(&table.render(session.screen))
}

/// All that may be seen, or those of the platform when that is not all, or those that members of a team may look at; of
/// these what the team that is named may use.
async fn read(session: &Session) -> Outcome<Vec<DynamicObject>> {
    let kind = ApiResource::erase::<ProviderConfig>(&());
    let all: Api<DynamicObject> = Api::all_with(session.client.clone(), &kind);
    let platform: Api<DynamicObject> = Api::namespaced_with(session.client.clone(), SYSTEM_NAMESPACE, &kind);
    let is_forbidden = |answer: &Result<_, kube::Error>| answer.as_ref().is_err_and(Failure::is_forbidden);
    let mut answer = all.list(&ListParams::default()).await;
    if is_forbidden(&answer) {
        answer = platform.list(&ListParams::default()).await;
    }
    let mut objects = match answer {
        Err(error) if Failure::is_forbidden(&error) => {
            let names = session.granted("providerconfigs").await?;
            // Whoever is in no team is told what may not be done.
            if names.is_empty() {
                return Err(error.into());
            }
            let found = futures::future::try_join_all(names.iter().map(|name| platform.get_opt(name))).await?;
            found.into_iter().flatten().collect()
        }
        answer => answer?.items,
    };
    if let Some(team) = &session.team {
        let owner = |object: &DynamicObject| object.data.pointer("/spec/scope/teamRef/name").cloned();
        objects.retain(|object| owner(object).is_none_or(|owner| owner == team.as_str()));
    }
    Ok(objects)
}

fn row(config: &ProviderConfig, now: Timestamp, wide: bool) -> Vec<Cell> {
    let status = config.status.clone().unwrap_or_default();
    let scope = match (config.spec.scope.type_, &config.spec.scope.team_ref) {
        (ScopeType::Team, Some(team)) => format!("team {}", team.name),
        (ScopeType::Team, None) => "team".to_owned(),
        (ScopeType::Platform, _) => "all".to_owned(),
    };
    let (ready, colour) = match status.ready {
        Some(true) => ("yes", Some(Colour::Good)),
        Some(false) => ("no", Some(Colour::Bad)),
        None => ("unknown", None),
    };
    let waiting = status.blockers.first().map(|blocker| blocker.reason.clone()).unwrap_or_default();
    let mut cells = vec![
        config.name_any().into(),
        config.spec.provider.as_str().into(),
        scope.into(),
        Cell::coloured(ready, colour),
        waiting.into(),
        age(config.metadata.creation_timestamp.as_ref(), now).into(),
    ];
    if wide {
        let free = status.capacity.and_then(|capacity| capacity.available_ips).map(|free| free.to_string());
        cells.push(config.namespace().unwrap_or_default().into());
        cells.push(free.unwrap_or_default().into());
        cells.push(status.provider_version.unwrap_or_default().into());
    }
    cells
}
