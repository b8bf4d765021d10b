//! `butlerctl cluster plan`: what a change would create, change and delete, before it is made.

pub(crate) mod diff;
mod objects;

use std::path::PathBuf;

use clap::Args;
use kernel::version::Version;
use kube::Resource;
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use serde_json::Value;

use self::objects::{Planned, summary};
use super::change::{self, check_upgrade, replicas};
use super::create::{default_team, place, read};
use super::{FIELD_MANAGER, count};
use crate::failure::{Failure, Outcome};
use crate::lookup::{self, Found};
use crate::output::print_value;
use crate::screen::{Colour, Screen, print, tell};
use crate::session::{Session, cluster_resource};

#[derive(Args)]
pub(crate) struct Plan {
    /// The cluster to change: NAME, or TEAM/NAME
    #[arg(required_unless_present = "file")]
    name: Option<String>,
    /// Apply this YAML file; - is standard input. A NAME beside it must be that of the file
    #[arg(short, long, value_name = "FILE", visible_alias = "filename")]
    file: Option<PathBuf>,
    /// Scale to this number of workers
    #[arg(long, value_name = "N", conflicts_with = "file", allow_negative_numbers = true, value_parser = count)]
    workers: Option<u32>,
    /// The pool to scale
    #[arg(long, value_name = "NAME", requires = "workers")]
    pool: Option<String>,
    /// Upgrade to this Kubernetes version
    #[arg(long, value_name = "VERSION", conflicts_with = "file")]
    version: Option<Version>,
    /// Destroy the cluster
    #[arg(long, conflicts_with_all = ["file", "workers", "version"])]
    destroy: bool,
}

impl Plan {
    pub(crate) async fn run(self, session: &Session) -> Outcome {
        let (before, after) = match (&self.file, &self.name) {
            (Some(file), name) => from_file(session, named(read(file)?, name.as_deref())?).await?,
            (None, Some(name)) => self.planned_by_flags(session, &lookup::find(session, name).await?).await?,
            (None, None) => return Err(Failure::usage("name a cluster, or a file with -f")),
        };
        let mut planned = objects::changes(before.as_ref(), after.as_ref());
        let below = objects::below(&session.client, before.as_ref(), after.as_ref()).await?;
        for unknown in &below.unknown {
            tell(unknown);
        }
        planned.extend(below.objects);
        if !session.format.is_table() {
            return print_value(&summary(&planned, &below.unknown), session.format);
        }
        print(&text(&planned, session.screen))
    }

    /// The cluster as it is, and as it would become.
    async fn planned_by_flags(&self, session: &Session, found: &Found) -> Outcome<(Option<Value>, Option<Value>)> {
        let before = serde_json::to_value(&found.object)?;
        if self.destroy {
            return Ok((Some(before), None));
        }
        let cluster = found.cluster()?;
        let mut change = self.workers.map(|workers| replicas(&cluster, self.pool.as_deref(), workers)).transpose()?;
        if let Some(version) = self.version {
            check_upgrade(&cluster, version)?;
            change = Some(change.unwrap_or_default().with_version(version));
        }
        let change = change.ok_or_else(|| {
            Failure::usage("what is to change? Say --workers, --version or --destroy, or name a file with -f")
        })?;
        let after = serde_json::to_value(change::patch(session, found, &change, true).await?)?;
        Ok((Some(before), Some(after)))
    }
}

/// A document that is about the cluster of this name; where it names no team, it is of the team before the name.
fn named(mut document: Value, name: Option<&str>) -> Outcome<Value> {
    let Some(name) = name else { return Ok(document) };
    let (team, name) = name.split_once('/').map_or((None, name), |(team, name)| (Some(team), name));
    let text = |field: &str| document.pointer(&format!("/metadata/{field}")).and_then(Value::as_str);
    let written = text("name").unwrap_or_default();
    if written != name {
        return Err(Failure::usage(format!("the file is about {written:?}, and not {name:?}: leave one of them out")));
    }
    if let Some(team) = place(&document, team)? {
        document["metadata"]["namespace"] = team.into();
    }
    Ok(document)
}

/// The cluster as it is, if it is there, and as applying the file would leave it.
async fn from_file(session: &Session, mut document: Value) -> Outcome<(Option<Value>, Option<Value>)> {
    let name = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    if name.is_empty() {
        return Err(Failure::usage("the file gives the cluster no name"));
    }
    let team = match place(&document, session.team.as_deref())? {
        Some(team) => team,
        None => default_team(session).await?,
    };
    document["metadata"]["namespace"] = team.clone().into();
    let clusters = session.cluster_objects(&team);
    let before = clusters.get_opt(&name).await?.map(serde_json::to_value).transpose()?;
    if let Some(before) = before {
        let after = replaced(session, &team, &name, &over(&before, &document)).await?;
        return Ok((Some(before), Some(after)));
    }
    let params = PatchParams { dry_run: true, ..PatchParams::apply(FIELD_MANAGER).force().validation_strict() };
    let after = clusters.patch(&name, &params, &Patch::Apply(&document)).await?;
    Ok((before, Some(serde_json::to_value(after)?)))
}

/// A cluster with the spec of a file, whoever wrote the one it has: what the file leaves out goes.
fn over(before: &Value, document: &Value) -> Value {
    let mut after = before.clone();
    after["spec"] = document.get("spec").cloned().unwrap_or_else(|| Value::Object(Default::default()));
    for field in ["labels", "annotations"] {
        let Some(Value::Object(written)) = document.pointer(&format!("/metadata/{field}")) else { continue };
        for (key, value) in written {
            after["metadata"][field][key] = value.clone();
        }
    }
    after
}

/// What the API would make of it.
async fn replaced(session: &Session, team: &str, name: &str, whole: &Value) -> Outcome<Value> {
    let path = DynamicObject::url_path(&cluster_resource(), Some(team));
    let query = format!("fieldManager={FIELD_MANAGER}&fieldValidation=Strict&dryRun=All");
    let request = http::Request::put(format!("{path}/{name}?{query}"))
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(serde_json::to_vec(whole)?)
        .map_err(|_| Failure::usage(format!("{name:?} is no name of a cluster")))?;
    Ok(session.client.request(request).await?)
}

/// The plan for people: every object, and every field of it that changes.
fn text(planned: &[Planned], screen: Screen) -> String {
    let mut text = String::new();
    for object in planned {
        text += &format!("{} {}\n", object.action.word(), object.name());
        for field in &object.fields {
            let line = field.to_string();
            let colour = match (&field.before, &field.after) {
                (None, _) => Colour::Good,
                (_, None) => Colour::Bad,
                _ => Colour::Busy,
            };
            text += &format!("  {}\n", screen.paint(colour, &line));
        }
    }
    let summary = summary(planned, &[]);
    text + &format!("{} to create, {} to change, {} to delete\n", summary.create, summary.change, summary.delete)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_beside_a_file_is_the_one_in_it() {
        let document = |namespace: Value| json!({"metadata": {"name": "a", "namespace": namespace}});
        for (namespace, name, expected) in [
            (json!("t"), None, Ok(json!("t"))),
            (json!("t"), Some("a"), Ok(json!("t"))),
            (json!("t"), Some("t/a"), Ok(json!("t"))),
            (json!(null), Some("t/a"), Ok(json!("t"))),
            (json!(null), Some("a"), Ok(json!(null))),
            (json!("t"), Some("b"), Err("the file is about \"a\", and not \"b\": leave one of them out".to_owned())),
            (json!("t"), Some("u/a"), Err("the file is for team t, but -n says u: leave one of them out".to_owned())),
        ] {
            let found = named(document(namespace), name).map(|document| document["metadata"]["namespace"].clone());
            assert_eq!(found.map_err(|failure| failure.message), expected, "{name:?}");
        }
    }

    #[test]
    fn what_a_file_leaves_out_goes_whoever_wrote_it() {
        let before = json!({"metadata": {"name": "a", "resourceVersion": "7", "labels": {"x": "y"}},
            "spec": {"workers": {"replicas": 1}, "workerPools": [{"name": "more"}]}, "status": {"phase": "Ready"}});
        let document = json!({"metadata": {"name": "a", "labels": {"z": "1"}}, "spec": {"workers": {"replicas": 2}}});
        let expected = json!({"metadata": {"name": "a", "resourceVersion": "7", "labels": {"x": "y", "z": "1"}},
            "spec": {"workers": {"replicas": 2}}, "status": {"phase": "Ready"}});
        assert_eq!(over(&before, &document), expected);
    }

    #[test]
    fn a_plan_reads_like_a_diff() {
        let cluster = |spec: Value| {
            json!({"apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
                   "metadata": {"name": "a", "namespace": "t", "resourceVersion": "1"}, "spec": spec, "status": {"phase": "Ready"}})
        };
        let before = cluster(json!({"kubernetesVersion": "v1.30.0", "workers": {"replicas": 3}, "paused": true}));
        let after = cluster(json!({"kubernetesVersion": "v1.30.0", "workers": {"replicas": 5, "labels": {"x": "y"}}}));
        let plain = Screen { colour: false, live: false };
        let told = |before: Option<&Value>, after: Option<&Value>| text(&objects::changes(before, after), plain);
        assert_eq!(
            told(Some(&before), Some(&after)),
            "\
change TenantCluster t/a
  - spec.paused: true
  + spec.workers.labels.x: \"y\"
  ~ spec.workers.replicas: 3 -> 5
0 to create, 1 to change, 0 to delete
"
        );
        assert_eq!(told(Some(&before), Some(&before)), "0 to create, 0 to change, 0 to delete\n");
        assert_eq!(told(Some(&before), None), "delete TenantCluster t/a\n0 to create, 0 to change, 1 to delete\n");
        let created = told(None, Some(&cluster(json!({"workers": {"replicas": 1}}))));
        assert_eq!(
            created,
            "create TenantCluster t/a\n  + spec.workers.replicas: 1\n1 to create, 0 to change, 0 to delete\n"
        );
        let json = serde_json::to_value(summary(&objects::changes(Some(&before), Some(&after)), &[])).unwrap();
        assert_eq!(json["objects"][0]["fields"][2], json!({"path": "spec.workers.replicas", "before": 3, "after": 5}));
        assert_eq!((&json["change"], &json["objects"][0]["action"]), (&json!(1), &json!("change")));
    }
}
