//! `addon install`, `addon upgrade`, `addon rollback`: what is asked for is written down, and Butler does the rest.

use clap::Args;
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
    /// The revision to go back to [default: the one before]
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
        let newest = history.last().map(|release| release.revision);
        let complete = |status: &str| ["deployed", "superseded"].contains(&status);
        let release = match self.revision {
            Some(revision) => history.iter().find(|release| release.revision == revision),
            None => history
                .iter()
                .rev()
                .find(|release| Some(release.revision) != newest && complete(release.info.status.name())),
        };
        let Some(release) = release else {
            let known: Vec<String> = history.iter().map(|release| release.revision.to_string()).collect();
            let message = format!("{} has no such revision; there are {}", found.name(), known.join(", "));
            return Err(Failure::new(Code::NotFound, message));
        };
        let version = fleet::addon::version_of(release);
        // Where nobody wrote down what the user gave, all is taken, the catalogue's defaults of then included.
        let mut given = release.given.clone().unwrap_or_else(|| release.config.clone());
        given.values_mut().for_each(helm::values::integers);
        tell(&format!("Going back to revision {}: {}", release.revision, version.unwrap_or_default()));
        write(session, found, version, given, "goes back", &self.patience).await
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
