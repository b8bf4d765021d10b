//! `addon status`.

use butler_api::butler::addon_install::AddonInstallStatus;
use butler_api::shared::{Blocker, BlockerOwner};
use clap::Args;
use jiff::Timestamp;

use super::Named;
use super::found::{Found, Ground, find};
use super::list::phase;
use crate::cluster::{age, people};
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
    let mut said: Vec<&str> = status.blockers.iter().map(|blocker| blocker.message.as_str()).collect();
    let message = status.message.as_deref().unwrap_or("nothing is known of it yet");
    let mut text = String::from("\n");
    // What it waits for is said below.
    if !said.contains(&message) {
        text += &format!("{}\n", plain(message));
        said.push(message);
    }
    for condition in &status.conditions {
        let message = condition.message.as_deref().filter(|told| !told.is_empty() && !said.contains(told));
        said.extend(message);
        let reason = condition.reason.as_deref().filter(|reason| !reason.is_empty());
        let told = message.or(reason).map(|told| format!(" ({})", plain(told))).unwrap_or_default();
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
    let is_there = status.helm_release.as_ref().is_some_and(|release| release.revision.is_some());
    if let Some(cluster) = found.cluster().filter(|_| is_there) {
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
    if let Some(remedy) = &blocker.remedy {
        let who = blocker.owner.filter(|owner| *owner != BlockerOwner::Butler);
        let who = who.map(|owner| format!("{}: ", people(owner))).unwrap_or_default();
        text += &format!("  {who}{}\n", plain(remedy));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn everything_is_said_once() {
        let told = |status: Value| {
            let object = serde_json::from_value(json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantAddon",
                "metadata": {"name": "c-l", "namespace": "t"}, "spec": {"clusterRef": {"name": "c"}, "addon": "l"},
                "status": status,
            }));
            let found = Found { ground: Ground::Tenants, object: object.unwrap() };
            details(&found, &found.status().unwrap())
        };
        let sentence = "l is not offered in version 9";
        let fails =
            |type_: &str| json!({"type": type_, "status": "False", "reason": "VersionUnknown", "message": sentence});
        let refused = told(json!({
            "phase": "Failed", "message": sentence, "conditions": [fails("Installed"), fails("Ready")],
            "blockers": [{"reason": "VersionUnknown", "message": sentence, "owner": "User", "remedy": "set spec.version to 1"}],
        }));
        let expected = "
  Installed: False (VersionUnknown)
  Ready: False (VersionUnknown)

It waits: VersionUnknown: l is not offered in version 9
  you: set spec.version to 1
";
        assert_eq!(refused, expected);
        let runs = "1.0.0 is installed, and its workloads run";
        let installed = told(json!({
            "phase": "Installed", "message": runs, "helmRelease": {"name": "l", "revision": 1},
            "conditions": [{"type": "Healthy", "status": "True", "reason": "AsWanted", "message": "its workloads run"}],
        }));
        let expected = "
1.0.0 is installed, and its workloads run
  Healthy: True (its workloads run)

Its objects are on cluster c; `butlerctl cluster kubeconfig c -n t` leads there.
";
        assert_eq!(installed, expected);
    }
}
