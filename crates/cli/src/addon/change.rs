//! `addon install`, `addon upgrade`, `addon rollback`: what is asked for is written down, and Butler does the rest.

use butler_api::butler::addon_install::AddonPhase;
use clap::Args;
use fleet::addon::version_of;
use helm::release::{Release, Status};
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use serde_json::{Map, Value, json};

use super::Named;
use super::check::check;
use super::found::{Found, Ground, find};
use super::given::Given;
use super::reach::history;
use super::wait::{Goal, follow};
use crate::cluster::{FIELD_MANAGER, Patience};
use crate::failure::{Code, Failure, Outcome};
use crate::lookup;
use crate::output::{full_name, print_object};
use crate::screen::{print, tell};
use crate::session::Session;

#[derive(Args)]
pub(crate) struct Install {
    /// The addon: its name in the catalogue; with --repository, the name of the chart
    addon: String,
    /// The cluster it goes to: NAME, or TEAM/NAME
    #[arg(short, long, value_name = "CLUSTER")]
    cluster: Option<String>,
    /// The name of the addon's object [default: CLUSTER-ADDON]
    #[arg(long)]
    name: Option<String>,
    /// The version, if not the catalogue's
    #[arg(long)]
    version: Option<String>,
    /// A repository (https://, http:// or oci://) of a chart that is not in the catalogue
    #[arg(long, value_name = "URL")]
    repository: Option<String>,
    /// The namespace on the cluster, for a chart that is not in the catalogue
    #[arg(long, requires = "repository")]
    namespace_on_cluster: Option<String>,
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    patience: Patience,
}

#[derive(Args)]
pub(crate) struct Upgrade {
    #[command(flatten)]
    addon: Named,
    /// The version to go to
    #[arg(long)]
    version: Option<String>,
    /// Forget the values that were set before
    #[arg(long)]
    reset_values: bool,
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    patience: Patience,
}

#[derive(Args)]
pub(crate) struct Rollback {
    #[command(flatten)]
    addon: Named,
    /// The revision to go back to [default: the last that was another; after an upgrade that failed, what still runs]
    #[arg(long, value_name = "N")]
    revision: Option<u32>,
    #[command(flatten)]
    patience: Patience,
}

impl Install {
    pub(crate) async fn run(self, session: &Session, ground: Ground) -> Outcome {
        let values = self.given.over(Map::new())?;
        let kind = ground.kind();
        let (namespace, name, mut spec) = match (ground, &self.cluster) {
            (Ground::Management, None) => (None, self.addon.clone(), json!({})),
            (Ground::Management, Some(_)) => {
                return Err(Failure::usage("butleradm installs on the management cluster: leave --cluster out"));
            }
            (Ground::Tenants, None) => return Err(Failure::usage("which cluster is meant? Name it with --cluster")),
            (Ground::Tenants, Some(cluster)) => {
                let cluster = lookup::find(session, cluster).await?;
                let name = format!("{}-{}", cluster.name, self.addon);
                (Some(cluster.namespace), name, json!({"clusterRef": {"name": cluster.name}}))
            }
        };
        match &self.repository {
            None => spec["addon"] = json!(self.addon),
            Some(_) if ground == Ground::Management => {
                return Err(Failure::usage("the management cluster takes addons of the catalogue only"));
            }
            Some(repository) => {
                spec["helm"] = json!({"repository": repository, "chart": self.addon});
                if let Some(namespace) = &self.namespace_on_cluster {
                    spec["helm"]["namespace"] = json!(namespace);
                }
            }
        }
        if let Some(version) = &self.version {
            spec["version"] = json!(version);
        }
        if !values.is_empty() {
            spec["values"] = Value::Object(values);
        }
        let mut object = DynamicObject::new(self.name.as_deref().unwrap_or(&name), &kind).data(json!({"spec": spec}));
        object.metadata.namespace = namespace.clone();
        let asked = Found { ground, object };
        check(session, &asked, self.version.as_deref()).await?;
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let object = ground.api(session, namespace.as_deref()).create(&params, &asked.object).await?;
        done(session, Found { ground, object }, "asked for", &self.patience).await
    }
}

impl Upgrade {
    pub(crate) async fn run(self, session: &Session, ground: Ground) -> Outcome {
        let found = find(session, ground, &self.addon).await?;
        found.check_own()?;
        if self.version.is_none() && self.given.is_empty() && !self.reset_values {
            return Err(Failure::usage("nothing to change: name a --version, or values with --set or --values"));
        }
        let base = if self.reset_values { Map::new() } else { found.values() };
        let values = self.given.over(base)?;
        write(session, found, self.version.as_deref(), values, "changed", &self.patience).await
    }
}

impl Rollback {
    pub(crate) async fn run(self, session: &Session, ground: Ground) -> Outcome {
        let found = find(session, ground, &self.addon).await?;
        found.check_own()?;
        let history = history(session, &found).await?;
        let status = found.status()?;
        // What nobody names a version for is asked for in the catalogue's, which may be another by now.
        let asked = Asked {
            version: found.version().or(status.last_attempted_version),
            values: found.values(),
            has_failed: status.phase == Some(AddonPhase::Failed),
        };
        let release = target(&history, self.revision, &asked).ok_or_else(|| {
            let known: Vec<String> = history.iter().map(|release| release.revision.to_string()).collect();
            let missing = if self.revision.is_some() { "no such revision" } else { "nothing to go back to" };
            let message = format!("{} has {missing}; its revisions: {}", found.name(), known.join(", "));
            Failure::new(Code::NotFound, message)
        })?;
        let version = version_of(release);
        let given = given(release);
        let is_there = self.revision.is_none() && release.info.status == Status::Deployed;
        let why =
            if is_there { "; it is still there, because what was asked for since did not come to run" } else { "" };
        tell(&format!("Going back to revision {}: {}{why}", release.revision, version.unwrap_or_default()));
        write(session, found, version, given, "goes back", &self.patience).await
    }
}

/// What an addon asks for now, and how that went.
struct Asked {
    version: Option<String>,
    values: Map<String, Value>,
    has_failed: bool,
}

impl Asked {
    /// Whether going back to a revision would change what is asked for.
    fn is_other_than(&self, release: &Release) -> bool {
        let mut values = self.values.clone();
        values.values_mut().for_each(helm::values::integers);
        self.version.as_deref() != version_of(release) || values != given(release)
    }
}

/// The values that a revision was asked for with. Where nobody wrote them down, all are taken, the catalogue's defaults of
/// then included.
fn given(release: &Release) -> Map<String, Value> {
    let mut given = release.given.clone().unwrap_or_else(|| release.config.clone());
    given.values_mut().for_each(helm::values::integers);
    given
}

/// The revision to go back to. Where none is named: what is there, if something else is asked for that failed or is only
/// begun; else the last complete one that was another.
fn target<'a>(history: &'a [Release], named: Option<u32>, asked: &Asked) -> Option<&'a Release> {
    if let Some(named) = named {
        return history.iter().find(|release| release.revision == named);
    }
    let there = history.iter().rposition(|release| release.info.status == Status::Deployed);
    let there = there.and_then(|at| Some((history.get(at)?, history.get(..at)?)));
    let content = |release: &Release| (version_of(release).map(str::to_owned), release.config.clone());
    let is_begun = |deployed: &Release| match history.last() {
        // What is gone back from is there until that is done.
        Some(newest) if newest.info.status == Status::PendingRollback => content(newest) == content(deployed),
        newest => newest.is_some_and(|newest| newest.info.status.is_pending()),
    };
    match there {
        Some((deployed, _)) if (asked.has_failed || is_begun(deployed)) && asked.is_other_than(deployed) => {
            Some(deployed)
        }
        Some((deployed, earlier)) => {
            let is_other = |release: &&Release| content(release) != content(deployed);
            earlier.iter().rev().filter(|release| release.info.status.is_complete()).find(is_other)
        }
        None => history.iter().rev().find(|release| release.info.status.is_complete()),
    }
}

/// Writes another version and other values.
async fn write(
    session: &Session,
    found: Found,
    version: Option<&str>,
    values: Map<String, Value>,
    word: &str,
    patience: &Patience,
) -> Outcome {
    check(session, &found.asking(version, &values), version).await?;
    // Merging would keep values that are to go.
    let mut operations = vec![json!({"op": "add", "path": "/spec/values", "value": values})];
    operations.extend(version.map(|version| json!({"op": "add", "path": "/spec/version", "value": version})));
    let operations = serde_json::from_value(Value::Array(operations))?;
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    let object = found.api(session).patch(&found.name(), &params, &Patch::Json::<()>(operations)).await?;
    done(session, Found { object, ..found }, word, patience).await
}

async fn done(session: &Session, found: Found, word: &str, patience: &Patience) -> Outcome {
    if session.format.is_table() {
        print(&format!("{} {word}\n", full_name(&found.object)))?;
    } else {
        print_object(&found.object, session.format)?;
    }
    if !patience.wait {
        return Ok(());
    }
    follow(session, &found, Goal::Installed, patience.timeout).await?;
    tell(&format!("{} is installed", found.name()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_goes_back_to_what_ran_before() {
        use Status::{Deployed, Failed, PendingInstall, PendingRollback, PendingUpgrade, Superseded};
        let release = |revision: usize, (status, version): &(Status, &str)| -> Release {
            serde_json::from_value(json!({
                "name": "l", "namespace": "l", "version": revision + 1, "info": {"status": status.name()},
                "chart": {"metadata": {"version": version}}, "config": {}, "manifest": "",
            }))
            .unwrap()
        };
        let two = &[(Superseded, "1"), (Deployed, "2")][..];
        let taken_back = &[(Superseded, "1"), (Superseded, "2"), (Failed, "3"), (Deployed, "2")][..];
        for (history, named, asked, has_failed, expected) in [
            (&[(Deployed, "1")][..], None, "1", false, None),
            (two, None, "2", false, Some(1)),
            (two, Some(2), "2", false, Some(2)),
            (two, Some(3), "2", false, None),
            // What was asked for could not even be rendered, or was taken back.
            (two, None, "3", true, Some(2)),
            (taken_back, None, "3", true, Some(4)),
            // And once that is what is asked for, also if it fails for another reason: what was another before.
            (two, None, "2", true, Some(1)),
            (taken_back, None, "2", true, Some(1)),
            (taken_back, None, "2", false, Some(1)),
            (&[(Superseded, "1"), (Deployed, "2"), (Failed, "3")], None, "2", false, Some(1)),
            (&[(Superseded, "1"), (Deployed, "2"), (PendingUpgrade, "3")], None, "3", false, Some(2)),
            (&[(Superseded, "1"), (Deployed, "2"), (PendingUpgrade, "3")], None, "2", false, Some(1)),
            // Butler is going back already: from what came to be there, or from what did not.
            (&[(Superseded, "1"), (Deployed, "2"), (PendingRollback, "1")], None, "2", false, Some(1)),
            (&[(Superseded, "1"), (Deployed, "2"), (PendingRollback, "1")], None, "v2", false, Some(1)),
            (&[(Superseded, "1"), (Deployed, "2"), (Failed, "3"), (PendingRollback, "2")], None, "3", false, Some(2)),
            (&[(Superseded, "1"), (Failed, "2")], None, "2", true, Some(1)),
            (&[(PendingInstall, "1")], None, "1", false, None),
        ] {
            let releases: Vec<Release> = history.iter().enumerate().map(|(at, one)| release(at, one)).collect();
            let wish = Asked { version: Some(asked.to_owned()), values: Map::new(), has_failed };
            let found = target(&releases, named, &wish).map(|release| release.revision);
            assert_eq!(found, expected, "{history:?} {named:?} {asked} {has_failed}");
        }
    }

    #[test]
    fn what_is_asked_for_is_known_by_version_and_values() {
        let values = |json: Value| json.as_object().unwrap().clone();
        for (version, asked, given, config, expected) in [
            (Some("1"), json!({"a": 1}), json!({"a": 1.0}), json!({"a": 1, "b": 2}), false),
            (Some("1"), json!({"a": 1}), Value::Null, json!({"a": 1}), false),
            (Some("1"), json!({"a": 1}), json!({"a": 2}), json!({"a": 2}), true),
            (Some("2"), json!({}), json!({}), json!({}), true),
            (None, json!({}), json!({}), json!({}), true),
        ] {
            let mut release: Release = serde_json::from_value(json!({
                "name": "l", "namespace": "l", "version": 1, "info": {"status": "deployed"},
                "chart": {"metadata": {"version": "1"}}, "config": config, "manifest": "",
            }))
            .unwrap();
            release.given = given.as_object().cloned();
            let wish = Asked { version: version.map(str::to_owned), values: values(asked), has_failed: true };
            assert_eq!(wish.is_other_than(&release), expected, "{version:?} {given} {config}");
        }
    }
}
