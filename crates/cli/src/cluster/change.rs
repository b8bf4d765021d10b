//! Commands that change one thing about a cluster: scale, upgrade, retry, pause, resume.

use std::cmp::Ordering;

use butler_api::butler::TenantCluster;
use butler_api::butler::tenant_cluster::ClusterPhase;
use butler_api::names::{DEFAULT_WORKER_POOL, annotations};
use clap::Args;
use jiff::Timestamp;
use kernel::version::{NEWEST, OLDEST, UpgradeError, Version};
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::destroy::until_gone;
use super::wait::{Goal, Patience, follow};
use super::{FIELD_MANAGER, Named, count};
use crate::failure::{Code, Failure, Outcome};
use crate::lookup::{self, Found};
use crate::output::{full_name, print_object};
use crate::screen::{print, tell};
use crate::session::Session;

#[derive(Args)]
pub(crate) struct Scale {
    #[command(flatten)]
    cluster: Named,
    /// The wanted number of workers
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    workers: u32,
    /// The pool of workers
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    #[command(flatten)]
    patience: Patience,
}

#[derive(Args)]
pub(crate) struct Upgrade {
    #[command(flatten)]
    cluster: Named,
    /// The wanted Kubernetes version, as vX.Y.Z; down to the one that runs, this takes an upgrade back
    #[arg(long, value_name = "VERSION", visible_alias = "k8s-version")]
    version: Version,
    #[command(flatten)]
    patience: Patience,
}

#[derive(Args)]
pub(crate) struct Retry {
    #[command(flatten)]
    cluster: Named,
    #[command(flatten)]
    patience: Patience,
}

#[derive(Args)]
pub(crate) struct Pause {
    #[command(flatten)]
    cluster: Named,
}

#[derive(Args)]
pub(crate) struct Resume {
    #[command(flatten)]
    cluster: Named,
    #[command(flatten)]
    patience: Patience,
}

impl Scale {
    pub(crate) async fn run(self, session: &Session) -> Outcome {
        let found = lookup::find(session, &self.cluster.name).await?;
        let change = replicas(&found.cluster()?, self.pool.as_deref(), self.workers)?;
        apply(session, &found, &change, "scaled", &self.patience).await
    }
}

impl Upgrade {
    pub(crate) async fn run(self, session: &Session) -> Outcome {
        let found = lookup::find(session, &self.cluster.name).await?;
        let done = match check_upgrade(&found.cluster()?, self.version)? {
            Move::Forward => "upgraded".to_owned(),
            Move::Back => format!("back to {}", self.version),
            Move::Nowhere => {
                tell(&format!("{} is to run {} already", found.name, self.version));
                "upgraded".to_owned()
            }
        };
        apply(session, &found, &Change::default().with_version(self.version), &done, &self.patience).await
    }
}

impl Retry {
    pub(crate) async fn run(self, session: &Session) -> Outcome {
        let found = lookup::find(session, &self.cluster.name).await?;
        let phase = found.cluster()?.status.and_then(|status| status.phase).unwrap_or(ClusterPhase::Pending);
        if phase != ClusterPhase::Failed {
            return Err(Failure::new(
                Code::Refused,
                format!("{} is {phase}, not Failed: Butler tries by itself", found.name),
            ));
        }
        let value = Timestamp::now().to_string();
        let change = Change::Merge(json!({"metadata": {"annotations": {annotations::RETRY: value}}}));
        apply(session, &found, &change, "is tried again", &self.patience).await
    }
}

impl Pause {
    pub(crate) async fn run(self, session: &Session) -> Outcome {
        let found = lookup::find(session, &self.cluster.name).await?;
        let change = Change::Merge(json!({"spec": {"paused": true}}));
        report(session, &patch(session, &found, &change, false).await?, "paused")?;
        if is_leaving(&found) {
            tell(&format!("Its deletion stands still before `butlerctl cluster resume {}`.", found.arguments()));
        }
        Ok(())
    }
}

impl Resume {
    pub(crate) async fn run(self, session: &Session) -> Outcome {
        let found = lookup::find(session, &self.cluster.name).await?;
        let change = Change::Merge(json!({"spec": {"paused": null}}));
        if !is_leaving(&found) {
            return apply(session, &found, &change, "resumed", &self.patience).await;
        }
        report(session, &patch(session, &found, &change, false).await?, "resumed")?;
        if self.patience.wait { until_gone(session, &found, &self.patience).await } else { Ok(()) }
    }
}

/// A change of one cluster.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// These fields.
    Merge(Value),
    /// These operations.
    Json(Vec<Value>),
}

/// Another number of workers in a pool.
pub(crate) fn replicas(cluster: &TenantCluster, pool: Option<&str>, workers: u32) -> Outcome<Change> {
    let pools = &cluster.spec.worker_pools;
    let names = || cluster.spec.pools().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
    match pool {
        None if cluster.spec.workers.is_empty() && !pools.is_empty() => {
            Err(Failure::usage(format!("which pool is meant? Name it with --pool, one of {}", names())))
        }
        None | Some(DEFAULT_WORKER_POOL) => Ok(Change::Merge(json!({"spec": {"workers": {"replicas": workers}}}))),
        Some(pool) => {
            let index = pools.iter().position(|known| known.name == pool).ok_or_else(|| {
                Failure::new(Code::NotFound, format!("there is no pool {pool:?}, choose one of {}", names()))
            })?;
            // Between reading and writing the list may change: the name must still be there.
            Ok(Change::Json(vec![
                json!({"op": "test", "path": format!("/spec/workerPools/{index}/name"), "value": pool}),
                json!({"op": "add", "path": format!("/spec/workerPools/{index}/replicas"), "value": workers}),
            ]))
        }
    }
}

impl Default for Change {
    fn default() -> Self {
        Self::Merge(json!({}))
    }
}

impl Change {
    /// Another Kubernetes version besides.
    pub(crate) fn with_version(self, version: Version) -> Self {
        match self {
            Self::Merge(mut fields) => {
                fields["spec"]["kubernetesVersion"] = version.to_string().into();
                Self::Merge(fields)
            }
            Self::Json(mut operations) => {
                let operation = json!({"op": "add", "path": "/spec/kubernetesVersion", "value": version.to_string()});
                operations.push(operation);
                Self::Json(operations)
            }
        }
    }
}

/// Where a version moves to from the one that was wished for last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    Forward,
    Back,
    Nowhere,
}

/// Refuses versions of which Butler makes no clusters.
pub(crate) fn check_known(version: Version) -> Outcome {
    match version.is_supported() {
        true => Ok(()),
        false => Err(Failure::new(
            Code::Refused,
            format!("{version} is none that Butler knows: choose a version of {OLDEST} to {NEWEST}"),
        )),
    }
}

/// Where the version of the cluster would move; refuses what Kubernetes cannot do, and tells the way there.
pub(crate) fn check_upgrade(cluster: &TenantCluster, to: Version) -> Outcome<Move> {
    check_known(to)?;
    let status = cluster.status.as_ref();
    let read = |text: Option<&String>| text.and_then(|text| text.parse::<Version>().ok());
    let resolved = status.and_then(|status| status.resolved.as_ref()?.kubernetes_version.as_ref());
    let runs = read(status.and_then(|status| status.observed_state.as_ref()?.kubernetes_version.as_ref()));
    let answered = read(status.and_then(|status| status.answered_version.as_ref())).max(runs);
    let wanted = read(cluster.spec.kubernetes_version.as_ref().or(resolved)).or(runs);
    let Some(wanted) = wanted else { return Ok(Move::Forward) };
    let refused = |message: String| Failure::new(Code::Refused, message);
    let moves = match to.cmp(&wanted) {
        Ordering::Less => Move::Back,
        Ordering::Equal => Move::Nowhere,
        Ordering::Greater => Move::Forward,
    };
    // Until something has answered, any version may be chosen.
    let Some(answered) = answered else { return Ok(moves) };
    if to < answered {
        return Err(refused(UpgradeError::Downgrade { from: answered, to }.to_string()));
    }
    if to <= wanted {
        return Ok(moves);
    }
    let from = wanted.max(answered);
    from.upgrade_to(to).map_err(|error| match error {
        UpgradeError::SkippedMinor { .. } => refused(format!("{error}\n  the way: {}", way(from, to))),
        error => refused(error.to_string()),
    })?;
    Ok(moves)
}

/// `v1.30.2 -> v1.31 -> v1.32 -> v1.33.0`.
fn way(from: Version, to: Version) -> String {
    let steps = from.path_to(to).filter(|line| *line != to.line()).map(|line| line.to_string());
    std::iter::once(from.to_string()).chain(steps).chain([to.to_string()]).collect::<Vec<_>>().join(" -> ")
}

fn is_leaving(found: &Found) -> bool {
    found.object.metadata.deletion_timestamp.is_some()
}

/// Refuses what would never be done.
fn stays(found: &Found) -> Outcome {
    let message = || format!("{} is being deleted: it can only be paused and resumed", found.name);
    if is_leaving(found) { Err(Failure::new(Code::Refused, message())) } else { Ok(()) }
}

/// Makes a change, tells it, and waits for it where asked to.
async fn apply(session: &Session, found: &Found, change: &Change, done: &str, patience: &Patience) -> Outcome {
    stays(found)?;
    let object = patch(session, found, change, false).await?;
    report(session, &object, done)?;
    if !patience.wait {
        if object.data.pointer("/spec/paused") == Some(&Value::Bool(true)) {
            tell(&format!("It is paused: nothing happens before `butlerctl cluster resume {}`.", found.arguments()));
        }
        return Ok(());
    }
    let uid = object.metadata.uid.as_deref();
    follow(session, &found.namespace, &found.name, uid, &Goal::Ready, patience.timeout).await?;
    tell(&format!("{} is Ready", found.name));
    Ok(())
}

/// Sends a change; a dry run gives what would become of the cluster.
pub(crate) async fn patch(session: &Session, found: &Found, change: &Change, dry_run: bool) -> Outcome<DynamicObject> {
    let params = PatchParams { dry_run, field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    let clusters = session.cluster_objects(&found.namespace);
    let patched = match change {
        Change::Merge(fields) => clusters.patch(&found.name, &params, &Patch::Merge(fields)).await,
        Change::Json(operations) => {
            let operations = serde_json::from_value(operations.clone().into())?;
            clusters.patch(&found.name, &params, &Patch::Json::<()>(operations)).await
        }
    };
    Ok(patched?)
}

fn report(session: &Session, object: &DynamicObject, done: &str) -> Outcome {
    if session.format.is_table() {
        return print(&format!("{} {done}\n", full_name(object)));
    }
    print_object(object, session.format)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(spec: Value, status: Value) -> TenantCluster {
        serde_json::from_value(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
            "metadata": {"name": "a"}, "spec": spec, "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn upgrades_go_one_minor_at_a_time() {
        let running = |wanted: Option<&str>, runs: Option<&str>| {
            cluster(json!({"kubernetesVersion": wanted}), json!({"observedState": {"kubernetesVersion": runs}}))
        };
        for (wanted, runs, to, expected) in [
            (Some("v1.30.0"), Some("v1.30.0"), "v1.31.0", Ok(Move::Forward)),
            (Some("v1.30.0"), None, "v1.30.4", Ok(Move::Forward)),
            (Some("v1.31.0"), Some("v1.30.0"), "v1.31.0", Ok(Move::Nowhere)),
            (None, Some("v1.30.0"), "v1.31.0", Ok(Move::Forward)),
            (None, None, "v1.36.0", Ok(Move::Forward)),
            (None, None, "v1.37.0", Err("v1.37.0 is none that Butler knows: choose a version of v1.30 to v1.36")),
            (Some("v1.31.999"), Some("v1.30.2"), "v1.30.2", Ok(Move::Back)),
            (Some("v1.31.999"), Some("v1.30.2"), "v1.31.0", Ok(Move::Back)),
            (Some("v1.34.0"), None, "v1.30.0", Ok(Move::Back)),
            // Minors between are passed, whether what was wished for first comes or not.
            (Some("v1.31.999"), Some("v1.30.2"), "v1.32.0", Ok(Move::Forward)),
            // Below what runs, from before that was refused.
            (Some("v1.30.0"), Some("v1.32.4"), "v1.32.4", Ok(Move::Forward)),
            (
                Some("v1.31.999"),
                Some("v1.30.2"),
                "v1.30.1",
                Err("v1.30.2 cannot go back to v1.30.1: Kubernetes has no way down, choose v1.30.2 or newer"),
            ),
            (
                Some("v1.30.2"),
                Some("v1.30.2"),
                "v1.33.0",
                Err("v1.30.2 cannot go to v1.33.0 at once: upgrade to v1.31 first, then go on\n  \
                     the way: v1.30.2 -> v1.31 -> v1.32 -> v1.33.0"),
            ),
            (
                Some("v1.31.0"),
                Some("v1.31.0"),
                "v1.30.9",
                Err("v1.31.0 cannot go back to v1.30.9: Kubernetes has no way down, choose v1.31.0 or newer"),
            ),
        ] {
            let checked = check_upgrade(&running(wanted, runs), to.parse().unwrap()).map_err(|failure| failure.message);
            assert_eq!(checked.as_ref().copied().map_err(String::as_str), expected, "{wanted:?} {runs:?} {to}");
        }
    }

    #[test]
    fn a_pool_is_scaled_where_it_stands() {
        let two = cluster(
            json!({"workers": {"replicas": 3}, "workerPools": [{"name": "cpu"}, {"name": "gpu", "replicas": 2}]}),
            json!({}),
        );
        let only_pools = cluster(json!({"workerPools": [{"name": "gpu"}]}), json!({}));
        let main = Ok(Change::Merge(json!({"spec": {"workers": {"replicas": 5}}})));
        for (cluster, pool, expected) in [
            (&two, None, main.clone()),
            (&two, Some("workers"), main),
            (
                &two,
                Some("gpu"),
                Ok(Change::Json(vec![
                    json!({"op": "test", "path": "/spec/workerPools/1/name", "value": "gpu"}),
                    json!({"op": "add", "path": "/spec/workerPools/1/replicas", "value": 5}),
                ])),
            ),
            (&two, Some("tpu"), Err("there is no pool \"tpu\", choose one of workers, cpu, gpu".to_owned())),
            (&only_pools, None, Err("which pool is meant? Name it with --pool, one of gpu".to_owned())),
        ] {
            assert_eq!(replicas(cluster, pool, 5).map_err(|failure| failure.message), expected, "{pool:?}");
        }
    }

    #[test]
    fn one_change_may_be_several() {
        let version = "v1.31.0".parse().unwrap();
        let both = Change::Merge(json!({"spec": {"workers": {"replicas": 5}}})).with_version(version);
        let fields = json!({"spec": {"workers": {"replicas": 5}, "kubernetesVersion": "v1.31.0"}});
        assert_eq!(both, Change::Merge(fields));
        let operation = json!({"op": "add", "path": "/spec/kubernetesVersion", "value": "v1.31.0"});
        assert_eq!(Change::Json(Vec::new()).with_version(version), Change::Json(vec![operation]));
    }
}
