//! The chain from symptom to cause, as a pure function of what was read.

use butler_api::butler::TenantCluster;
use butler_api::butler::tenant_cluster::{ClusterPhase, TenantClusterStatus};
use butler_api::names::conditions::{ADDONS_READY, READY};
use butler_api::shared::{Blocker, BlockerOwner, Condition, ConditionStatus};
use fleet::addon::{NO_WORKERS, PAUSED};
use fleet::cluster::ASLEEP;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use serde::Serialize;

use super::below::{self, Below};
use super::said::Said;
use crate::cluster::{counted, holds_changes, rest, sleeps, waker};

/// Why a cluster is as it is.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Answer {
    pub(crate) team: String,
    pub(crate) cluster: String,
    pub(crate) phase: ClusterPhase,
    /// Nothing stands in its way.
    pub(crate) healthy: bool,
    /// It has come as far as it is to, and does not serve all the same.
    #[serde(skip)]
    pub(crate) unready: bool,
    /// The symptom first, the cause last.
    pub(crate) chain: Vec<Link>,
    /// What could not be read, and so is not part of the answer.
    pub(crate) unread: Vec<String>,
}

/// One link of the chain.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub(crate) struct Link {
    pub(crate) stage: Stage,
    /// What is meant, and how it is.
    pub(crate) subject: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) evidence: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<BlockerOwner>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Time>,
}

/// How deep a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Stage {
    /// What one sees.
    Symptom,
    /// Which aspect is not as it should be.
    Condition,
    /// What is waited for.
    Blocker,
    /// Which object below is the reason.
    Object,
}

/// Who that is, in words.
pub(crate) fn people(owner: BlockerOwner) -> &'static str {
    match owner {
        BlockerOwner::Butler => "nobody has to: Butler is at work",
        BlockerOwner::User => "you",
        BlockerOwner::TeamAdmin => "an administrator of the team",
        BlockerOwner::PlatformAdmin => "an operator of the platform",
        BlockerOwner::Infrastructure => "whoever runs the infrastructure",
    }
}

/// The chain of a cluster.
pub(crate) fn answer(cluster: &TenantCluster, below: &Below) -> Answer {
    let status = cluster.status.clone().unwrap_or_default();
    let asleep = sleeps(cluster);
    let unready = unready(cluster, &status);
    let mut chain = vec![symptom(cluster, &status, unready)];
    chain.extend(aspects(cluster, &status, unready.is_some(), &below::beside(below, cluster)));
    chain.extend(unseen(cluster, &status));
    let paused = paused(cluster);
    let mut said = Vec::from_iter(paused.as_ref().map(|_| PAUSED).into_iter().chain(asleep.then_some(ASLEEP)));
    chain.extend(paused);
    let unsaid = status.blockers.iter().filter(|blocker| !said.contains(&blocker.reason.as_str()));
    chain.extend(unsaid.map(|blocker| of_blocker(Stage::Blocker, "it", blocker)));
    said.extend(is_idle(&status).then_some(NO_WORKERS));
    chain.extend(below::links(below, asleep, &Said { reasons: &said, cluster, status: &status }));
    let waits = asleep && holds_changes(cluster);
    let is_ready = phase(cluster, &status) == ClusterPhase::Ready && unready.is_none();
    let healthy = chain.len() == 1 && is_ready && !waits;
    if healthy && let Some(first) = chain.first_mut() {
        first.message.get_or_insert_with(|| "nothing stands in its way".to_owned());
    }
    Answer {
        team: cluster.namespace().unwrap_or_default(),
        cluster: cluster.name_any(),
        phase: phase(cluster, &status),
        healthy,
        unready: unready.is_some(),
        chain,
        unread: below.unread.clone(),
    }
}

impl Link {
    pub(crate) fn new(stage: Stage, subject: impl Into<String>) -> Self {
        let subject = subject.into();
        Self { stage, subject, message: None, evidence: Vec::new(), owner: None, remedy: None, since: None }
    }
}

/// The condition Ready, where it is False and the phase does not tell.
fn unready<'a>(cluster: &TenantCluster, status: &'a TenantClusterStatus) -> Option<&'a Condition> {
    let is_untold = matches!(phase(cluster, status), ClusterPhase::Ready | ClusterPhase::Updating) && !sleeps(cluster);
    let fails = |known: &&Condition| known.type_ == READY && known.status != ConditionStatus::True;
    status.conditions.iter().find(fails).filter(|_| is_untold)
}

fn symptom(cluster: &TenantCluster, status: &TenantClusterStatus, unready: Option<&Condition>) -> Link {
    let phase = phase(cluster, status);
    let deleting = phase == ClusterPhase::Deleting;
    let (team, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let mut link = Link::new(Stage::Symptom, format!("{team}/{name} is {phase}"));
    if let Some(unready) = unready {
        let Link { subject, message, .. } = of_condition(Stage::Condition, unready);
        let others = status.conditions.iter().filter(|known| known.type_ != READY).map(|known| known.message.as_ref());
        let said = others.chain(status.blockers.iter().map(|blocker| Some(&blocker.message)));
        link.subject = format!("{}, but its condition {subject}", link.subject);
        link.message = message.filter(|message| said.flatten().all(|said| said != message));
    }
    link.since =
        if deleting { cluster.metadata.deletion_timestamp.clone() } else { status.last_transition_time.clone() };
    let ready = status.worker_nodes_ready.unwrap_or(0);
    let asleep = sleeps(cluster);
    if asleep {
        let waits = if holds_changes(cluster) { ", and what is left to do waits until it is woken" } else { "" };
        link.message = Some(format!("it is {}: spec.controlPlane.replicas is 0{waits}", rest(cluster)));
        link.owner = Some(BlockerOwner::User);
        link.remedy = Some(format!("{}, to wake it", waker(cluster)));
    }
    if let Some(wanted) = status.worker_nodes_desired.filter(|wanted| *wanted != ready && !asleep) {
        link.evidence.push(match ready > wanted {
            true => format!("{} ready, {wanted} wanted", counted(ready, "worker")),
            false => format!("{ready} of {wanted} workers are ready"),
        });
    }
    let runs = status.observed_state.as_ref().and_then(|state| state.kubernetes_version.as_ref());
    if let (Some(runs), Some(wanted)) = (runs, &cluster.spec.kubernetes_version)
        && runs != wanted
    {
        link.evidence.push(format!("it runs {runs}, {wanted} is wanted"));
    }
    link.evidence.extend(status.remaining.iter().map(|left| format!("still to do: {left}")));
    if deleting {
        link.evidence.extend(cluster.finalizers().iter().map(|holder| format!("held by the finalizer {holder}")));
    }
    if phase == ClusterPhase::Failed {
        link.owner = Some(BlockerOwner::User);
        link.remedy = Some(format!("butlerctl cluster retry {name} -n {team}, once the cause is gone"));
    }
    link
}

/// No controller has looked at it, or not at its newest change.
fn unseen(cluster: &TenantCluster, status: &TenantClusterStatus) -> Option<Link> {
    let what = match status.observed_generation {
        None if status.phase.is_none() => "it",
        Some(seen) if Some(seen) < cluster.metadata.generation => "its newest change",
        _ => return None,
    };
    let mut link = Link::new(Stage::Blocker, format!("no controller has looked at {what} yet"));
    link.owner = Some(BlockerOwner::PlatformAdmin);
    link.remedy = Some("see that Butler's controllers run".to_owned());
    Some(link)
}

fn paused(cluster: &TenantCluster) -> Option<Link> {
    cluster.spec.paused.filter(|paused| *paused)?;
    let mut link = Link::new(Stage::Blocker, "it is paused");
    link.message = Some("Butler changes nothing about it, deletion included".to_owned());
    link.owner = Some(BlockerOwner::User);
    let (name, team) = (cluster.name_any(), cluster.namespace().unwrap_or_default());
    link.remedy = Some(format!("butlerctl cluster resume {name} -n {team}"));
    Some(link)
}

/// The aspects that are not as they should be, those together that are so for the same reason. What a blocker says is not
/// said twice.
fn aspects(
    cluster: &TenantCluster,
    status: &TenantClusterStatus,
    is_unready_told: bool,
    beside: &[String],
) -> Vec<Link> {
    let mut groups: Vec<(Vec<&str>, &Condition)> = Vec::new();
    let alike = |a: &Condition, b: &Condition| (&a.status, &a.reason, &a.message) == (&b.status, &b.reason, &b.message);
    let asleep = sleeps(cluster);
    let is_unsaid = |condition: &&Condition| {
        let is_sleep = asleep && condition.reason.as_deref() == Some(ASLEEP);
        let is_symptom = is_unready_told && condition.type_ == READY;
        !is_sleep && !is_symptom
    };
    for condition in failing(&status.conditions).filter(is_unsaid) {
        match groups.iter_mut().find(|(_, first)| alike(first, condition)) {
            Some((types, _)) => types.push(&condition.type_),
            None => groups.push((vec![&condition.type_], condition)),
        }
    }
    let link = |(types, first): (Vec<&str>, &Condition)| {
        let mut link = of_condition(Stage::Condition, first);
        if let [others @ .., last] = types.as_slice()
            && !others.is_empty()
        {
            let reason = first.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            link.subject = format!("{} and {last} are {}{reason}", others.join(", "), first.status);
        }
        link.message = link.message.filter(|message| status.blockers.iter().all(|blocker| blocker.message != *message));
        if says_idle(first) {
            let beside = beside.iter().map(|name| format!(", {name}")).collect::<String>();
            link.message = link.message.map(|message| message + &beside);
            link.owner = Some(BlockerOwner::User);
            let (name, team) = (cluster.name_any(), cluster.namespace().unwrap_or_default());
            link.remedy = Some(format!("butlerctl cluster scale {name} -n {team} --workers N, for them to run"));
        }
        link
    };
    groups.into_iter().map(link).collect()
}

/// Nothing runs where there are no workers, and the cluster says so itself.
fn is_idle(status: &TenantClusterStatus) -> bool {
    status.conditions.iter().any(says_idle)
}

fn says_idle(condition: &Condition) -> bool {
    condition.type_ == ADDONS_READY && condition.reason.as_deref() == Some(NO_WORKERS)
}

/// Conditions that do not hold; Ready, which sums them up, only when it stands alone.
pub(crate) fn failing(conditions: &[Condition]) -> impl Iterator<Item = &Condition> {
    let fails = |condition: &&Condition| condition.status != ConditionStatus::True && !is_bad_when_true(condition);
    let others = conditions.iter().any(|condition| fails(&condition) && condition.type_ != READY);
    let holds_badly =
        |condition: &Condition| condition.status == ConditionStatus::True && condition.type_ == "Degraded";
    conditions
        .iter()
        .filter(move |condition| (fails(condition) && (condition.type_ != READY || !others)) || holds_badly(condition))
}

/// Conditions whose False is good news.
fn is_bad_when_true(condition: &Condition) -> bool {
    ["Degraded", "Progressing", "Paused"].contains(&condition.type_.as_str())
}

pub(crate) fn of_condition(stage: Stage, condition: &Condition) -> Link {
    let reason = condition.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let mut link = Link::new(stage, format!("{} is {}{reason}", condition.type_, condition.status));
    link.message = condition.message.clone();
    link.since = condition.last_transition_time.clone();
    link
}

pub(crate) fn of_blocker(stage: Stage, who: &str, blocker: &Blocker) -> Link {
    Link {
        stage,
        subject: format!("{who} waits for {}", blocker.reason),
        message: Some(blocker.message.clone()),
        evidence: blocker.evidence.clone(),
        owner: blocker.owner,
        remedy: blocker.remedy.clone(),
        since: blocker.since.clone(),
    }
}

fn phase(cluster: &TenantCluster, status: &TenantClusterStatus) -> ClusterPhase {
    match cluster.metadata.deletion_timestamp {
        Some(_) => ClusterPhase::Deleting,
        None => status.phase.unwrap_or(ClusterPhase::Pending),
    }
}
