//! `addon uninstall`.

use std::io::IsTerminal;

use butler_api::butler::AddonDefinition;
use clap::Args;
use fleet::names::UNWANTED;
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::{Api, ResourceExt};

use super::Named;
use super::found::{Found, Ground, beside, find};
use super::reach;
use super::wait::{Goal, follow};
use crate::cluster::{Patience, check_awake, confirm};
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
        let found = find(session, ground, &self.addon).await?;
        found.check_own()?;
        let name = found.name();
        if ground == Ground::Management && is_held(session, &found).await? {
            let message = format!("{name} is a part of the platform, and stays until somebody says that it may go:");
            let annotate = format!("kubectl annotate managementaddon {name} {UNWANTED}=true");
            return Err(Failure::new(Code::Refused, format!("{message}\n  {annotate}")));
        }
        let dependents = dependents(session, &found).await?;
        if !dependents.is_empty() {
            let message = format!("{name} stays: {} on it; remove what does first", depend(&dependents));
            return Err(Failure::new(Code::Refused, message));
        }
        if !self.yes {
            let place = found.cluster().map(|cluster| format!("cluster {cluster}"));
            let place = place.unwrap_or_else(|| "the management cluster".to_owned());
            let question = format!("Addon {name} of {place} will be removed, with all objects of its release.");
            if !std::io::stdin().is_terminal() {
                let unsure = format!("{name} is not removed: there is nobody to ask here, add --yes if you are sure");
                return Err(Failure::usage(format!("{question}\n{unsure}")));
            }
            confirm(&question, &[&name])?;
        }
        let exactly = Preconditions { uid: found.object.metadata.uid.clone(), resource_version: None };
        found.api(session).delete(&name, &DeleteParams::default().preconditions(exactly)).await?;
        if session.format.is_table() {
            print(&format!("{} is being removed\n", full_name(&found.object)))?;
        }
        if !self.patience.wait {
            // Only a hint: the addon goes also for somebody who may not read its cluster, and without any.
            if let Ok(Some(cluster)) = reach::tenant(session, &found).await
                && let Err(asleep) = check_awake(&cluster)
            {
                tell(&format!("It is removed once its cluster is awake: {asleep}."));
            }
            return Ok(());
        }
        follow(session, &found, Goal::Gone, self.patience.timeout).await?;
        tell(&format!("{name} is gone"));
        Ok(())
    }
}

/// Those on the same cluster that depend on it, are there, and are not to go themselves.
async fn dependents(session: &Session, found: &Found) -> Outcome<Vec<String>> {
    let catalogue = match Api::<AddonDefinition>::all(session.client.clone()).list(&ListParams::default()).await {
        // Whoever may not read the catalogue learns it from the addon's status.
        Err(error) if Failure::is_forbidden(&error) => Vec::new(),
        listed => listed?.items,
    };
    let mut dependents = Vec::new();
    for other in beside(session, found).await? {
        if depends(&other, found, &catalogue)? {
            dependents.push(other.name());
        }
    }
    Ok(dependents)
}

fn depends(other: &Found, found: &Found, catalogue: &[AddonDefinition]) -> Outcome<bool> {
    let release = other.status()?.helm_release.unwrap_or_default();
    // One that never came to anything needs nothing.
    if other.object.metadata.deletion_timestamp.is_some() || release.revision.is_none() {
        return Ok(false);
    }
    let ask = other.ask()?;
    let entry = catalogue.iter().find(|entry| Some(entry.name_any()) == ask.addon);
    let by_entry = entry.is_some_and(|entry| entry.spec.depends_on.contains(&found.addon()));
    Ok(by_entry || ask.depends_on.contains(&found.name()))
}

fn depend(dependents: &[String]) -> String {
    let verb = if dependents.len() == 1 { "depends" } else { "depend" };
    format!("{} {verb}", dependents.join(", "))
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_others_need_is_known_before_it_goes() {
        let addon = |name: &str, addon: &str, more: Value, metadata: Value| {
            let mut object = json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantAddon", "metadata": {"name": name},
                "spec": {"clusterRef": {"name": "c"}, "addon": addon},
                "status": {"helmRelease": {"name": addon, "revision": 1}},
            });
            let merge = |at: &mut Value, more: Value| {
                at.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            };
            merge(&mut object, more);
            merge(&mut object["metadata"], metadata);
            Found { ground: Ground::Tenants, object: serde_json::from_value(object).unwrap() }
        };
        let plain = |name: &str| addon(&format!("c-{name}"), name, json!({}), json!({}));
        let entry: AddonDefinition = serde_json::from_value(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "AddonDefinition", "metadata": {"name": "web"},
            "spec": {"displayName": "Web", "description": "w", "dependsOn": ["base"],
                "chart": {"repository": "https://x", "name": "web", "defaultVersion": "1.0.0"}},
        }))
        .unwrap();
        let named = json!({"spec": {"clusterRef": {"name": "c"}, "addon": "own", "dependsOn": [{"name": "c-base"}]}});
        for (other, expected) in [
            (plain("web"), true),
            (plain("other"), false),
            (addon("c-own", "own", named, json!({})), true),
            (addon("c-web", "web", json!({"status": {"phase": "Pending"}}), json!({})), false),
            (addon("c-web", "web", json!({}), json!({"deletionTimestamp": "2026-01-01T00:00:00Z"})), false),
        ] {
            let told = format!("{:?}", other.object);
            assert_eq!(depends(&other, &plain("base"), std::slice::from_ref(&entry)).unwrap(), expected, "{told}");
        }
    }
}
