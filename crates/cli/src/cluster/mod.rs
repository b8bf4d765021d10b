//! `butlerctl cluster`: one file per command.

mod change;
pub(crate) mod create;
mod destroy;
mod events;
mod export;
mod get;
pub(crate) mod kubeconfig;
mod list;
mod nodes;
mod pages;
mod plan;
mod progress;
mod receipt;
mod row;
mod user_file;
mod wait;
mod why;

use butler_api::butler::TenantCluster;
use butler_api::butler::tenant_cluster::TenantClusterStatus;
use butler_api::names::conditions::{CONTROL_PLANE_READY, READY, WORKERS_READY};
use butler_api::shared::{Condition, ConditionStatus};
use clap::{Args, Subcommand};
use fleet::cluster::ASLEEP;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use crate::command::Global;
use crate::failure::{Failure, Outcome};
use crate::lookup;
use crate::session::Session;
pub(crate) use destroy::confirm;
pub(crate) use plan::diff;
pub(crate) use wait::{Patience, next};
pub(crate) use why::people;

/// Who wrote what, in the eyes of the API.
pub(crate) const FIELD_MANAGER: &str = "butlerctl";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Ask for a cluster
    Create(Box<create::Create>),
    /// List clusters
    #[command(visible_alias = "ls")]
    List(list::List),
    /// Show one cluster
    Get(get::Get),
    /// Change the number of workers
    Scale(change::Scale),
    /// Move to another Kubernetes version
    Upgrade(change::Upgrade),
    /// Remove a cluster and all that belongs to it
    #[command(visible_alias = "delete")]
    Destroy(destroy::Destroy),
    /// Print the kubeconfig of a cluster, or merge it into yours
    Kubeconfig(kubeconfig::Kubeconfig),
    /// Try a Failed cluster once more
    Retry(change::Retry),
    /// Say why a cluster is not as it should be, and who can do what about it
    Why(why::Why),
    /// Show what a change would do before it is made
    Plan(plan::Plan),
    /// List what happened to a cluster
    Events(events::Events),
    /// List the nodes of a cluster
    Nodes(nodes::Nodes),
    /// Wait until a cluster is Ready, deleted, or as you say
    Wait(wait::Wait),
    /// Let Butler change nothing about a cluster until it is resumed
    Pause(change::Pause),
    /// Let Butler look after a paused cluster again
    Resume(change::Resume),
    /// Print a cluster as a YAML that can be applied again
    Export(export::Export),
}

/// Reads how many there are to be. How many there may be is the API's to say.
fn count(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Ok(..0) => Err("it must be 0 or more".to_owned()),
        Ok(number) => u32::try_from(number).map_err(|_| format!("it must be at most {}", u32::MAX)),
        Err(_) => Err("it is no whole number".to_owned()),
    }
}

/// Which cluster is meant.
#[derive(Args, Clone, Debug)]
pub(crate) struct Named {
    /// The cluster: NAME, or TEAM/NAME
    pub(crate) name: String,
}

impl Command {
    pub(crate) async fn run(self, session: &Session, global: &Global) -> Outcome {
        match self {
            Self::Create(create) => create.run(session).await,
            Self::List(list) => list.run(session).await,
            Self::Get(get) => get.run(session).await,
            Self::Scale(scale) => scale.run(session).await,
            Self::Upgrade(upgrade) => upgrade.run(session).await,
            Self::Destroy(destroy) => destroy.run(session).await,
            Self::Kubeconfig(kubeconfig) => kubeconfig.run(session, global).await,
            Self::Retry(retry) => retry.run(session).await,
            Self::Why(why) => why.run(session).await,
            Self::Plan(plan) => plan.run(session).await,
            Self::Events(events) => events.run(session).await,
            Self::Nodes(nodes) => nodes.run(session).await,
            Self::Wait(wait) => wait.run(session).await,
            Self::Pause(pause) => pause.run(session).await,
            Self::Resume(resume) => resume.run(session).await,
            Self::Export(export) => export.run(session).await,
        }
    }
}

/// Whether nobody answers because the team wants it so.
fn sleeps(cluster: &TenantCluster) -> bool {
    let conditions = cluster.status.iter().flat_map(|status| &status.conditions);
    let is_told = |known: &Condition| known.type_ == READY && known.reason.as_deref() == Some(ASLEEP);
    cluster.spec.control_plane.replicas == Some(0) && conditions.into_iter().any(is_told)
}

/// Fails if nobody answers because the team wants it so.
pub(crate) fn check_awake(found: &lookup::Found) -> Outcome {
    let cluster = found.cluster()?;
    if !sleeps(&cluster) {
        return Ok(());
    }
    let (name, rest, waker) = (&found.name, rest(&cluster), waker(&cluster));
    Err(Failure::failed(format!("{name} is {rest}: spec.controlPlane.replicas is 0; `{waker}` wakes it")))
}

/// How a cluster is in which nobody is to answer, in words.
fn rest(cluster: &TenantCluster) -> &'static str {
    if still_answers(cluster) { "being put to sleep" } else { "asleep" }
}

/// Whether something is left to do in a cluster that sleeps; one that goes to sleep has that left itself.
fn holds_changes(cluster: &TenantCluster) -> bool {
    !still_answers(cluster) && cluster.status.as_ref().is_some_and(|status| !status.remaining.is_empty())
}

fn still_answers(cluster: &TenantCluster) -> bool {
    let conditions = cluster.status.iter().flat_map(|status| &status.conditions);
    let answers = |known: &Condition| known.type_ == CONTROL_PLANE_READY && known.status == ConditionStatus::True;
    conditions.into_iter().any(answers)
}

/// Whether nobody can say how many workers are ready.
fn are_workers_unknown(status: &TenantClusterStatus) -> bool {
    let is_unknown = |known: &Condition| known.type_ == WORKERS_READY && known.status == ConditionStatus::Unknown;
    status.conditions.iter().any(is_unknown)
}

/// The command that wakes a cluster.
fn waker(cluster: &TenantCluster) -> String {
    let (name, team) = (cluster.name_any(), cluster.namespace().unwrap_or_default());
    let spec = r#"{"spec":{"controlPlane":{"replicas":1}}}"#;
    format!("kubectl -n {team} patch tenantcluster {name} --type merge -p '{spec}'")
}

/// So many of something, in words.
fn counted(count: i32, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// How long ago something was, as kubectl writes it.
pub(crate) fn age(then: Option<&Time>, now: Timestamp) -> String {
    let seconds = then.map(|then| now.as_second().saturating_sub(then.0.as_second()));
    seconds.map_or_else(|| "<unknown>".to_owned(), kernel::duration::human)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "worker")), ["0 workers", "1 worker", "2 workers"]);
    }
}
