//! The next step of a Job.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{Job, JobCondition, JobSpec, JobStatus};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use super::backoff::retry_at;
use super::pod::{index, is_tracked};
use super::status::{Counts, Verdicts, count};
use crate::workloads::pods::{is_active, is_ready};
use crate::workloads::rounding::counted;

/// So many pods are made in one pass: others have their turn in between.
const BURST: usize = 500;

/// What to do, what to say, and when to look again.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// A new pod for each, for the part of the work it names.
    pub(super) create: Vec<Option<u32>>,
    pub(super) delete: Vec<Arc<Pod>>,
    /// Pods that are counted and may go.
    pub(super) untrack: Vec<Arc<Pod>>,
    pub(super) status: JobStatus,
    /// It ended long enough ago to be removed.
    pub(super) expired: bool,
    pub(super) look_again: Option<Timestamp>,
}

/// The condition that says that a job ended, with its name.
pub(super) fn end(status: &JobStatus) -> Option<(&'static str, &JobCondition)> {
    let conditions = status.conditions.as_deref().unwrap_or_default();
    ["Complete", "Failed"].into_iter().find_map(|name| {
        let found = conditions.iter().find(|condition| condition.type_ == name && condition.status == "True");
        found.map(|condition| (name, condition))
    })
}

pub(super) fn is_finished(job: &Job) -> bool {
    job.status.as_ref().is_some_and(|status| end(status).is_some())
}

pub(super) fn plan(job: &Job, pods: &[Arc<Pod>], now: Timestamp) -> Plan {
    let spec = job.spec.clone().unwrap_or_default();
    if is_finished(job) {
        return after_the_end(job, &spec, pods, now);
    }
    let counts = count(job, pods);
    let mut verdicts = Verdicts::of(job, now);
    let suspended = spec.suspend.unwrap_or(false);
    verdicts.suspended(suspended);
    let start = match suspended {
        true => None,
        false => job.status.as_ref().and_then(|status| status.start_time.clone()).map(|time| time.0).or(Some(now)),
    };
    let deadline = deadline(&spec, start);
    let reason = failure(&spec, pods, &counts, deadline.is_some_and(|deadline| deadline <= now));
    let active: Vec<&Arc<Pod>> = pods.iter().filter(|pod| is_active(pod)).collect();
    let fails = verdicts.failing(reason);
    let succeeds = !fails && verdicts.succeeding(is_enough(&spec, &counts, active.len()));
    let mut plan = Plan { look_again: deadline, ..Plan::default() };
    if fails || succeeds || suspended {
        plan.delete = active.iter().map(|pod| Arc::clone(pod)).collect();
    } else {
        manage(&spec, &counts, &active, pods, now, &mut plan);
    }
    // A pod that is taken back before it ended is no failure.
    let taken_back = plan.delete.iter().filter(|pod| !fails && is_tracked(pod)).cloned();
    plan.untrack = counts.untrack.iter().cloned().chain(taken_back).collect();
    let settled = counts.is_settled() && active.is_empty() && counts.leaving == 0;
    let completed = (succeeds && settled).then_some(now);
    verdicts.end(settled);
    plan.status = JobStatus {
        start_time: start.map(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time),
        completion_time: completed.map(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time),
        active: counted(active.len()),
        ready: Some(counted(active.iter().filter(|pod| is_ready(pod)).count()).unwrap_or(0)),
        terminating: Some(counted(counts.leaving).unwrap_or(0)),
        conditions: verdicts.into_list(),
        ..counts.into_status()
    };
    plan
}

/// What is left to do for a job that ended.
fn after_the_end(job: &Job, spec: &JobSpec, pods: &[Arc<Pod>], now: Timestamp) -> Plan {
    let status = job.status.clone().unwrap_or_default();
    let ended = end(&status).and_then(|(_, condition)| condition.last_transition_time.as_ref()).map(|time| time.0);
    let lifetime = spec.ttl_seconds_after_finished.map(|seconds| SignedDuration::from_secs(seconds.into()));
    let expires = ended.zip(lifetime).and_then(|(ended, lifetime)| ended.checked_add(lifetime).ok());
    let untrack = pods.iter().filter(|pod| is_tracked(pod)).cloned().collect();
    let expired = expires.is_some_and(|at| at <= now);
    Plan { untrack, status, expired, look_again: expires, ..Plan::default() }
}

fn deadline(spec: &JobSpec, start: Option<Timestamp>) -> Option<Timestamp> {
    let seconds = spec.active_deadline_seconds?;
    start?.checked_add(SignedDuration::from_secs(seconds)).ok()
}

/// Why a job cannot succeed any more.
fn failure(spec: &JobSpec, pods: &[Arc<Pod>], counts: &Counts, late: bool) -> Option<(&'static str, &'static str)> {
    let limit = spec.backoff_limit.unwrap_or(6);
    let restarts = || {
        let statuses = pods.iter().filter(|pod| is_active(pod)).flat_map(|pod| {
            let status = pod.status.as_ref();
            status.into_iter().flat_map(|status| status.container_statuses.iter().flatten())
        });
        statuses.map(|status| status.restart_count).sum::<i32>()
    };
    let restarting = spec.template.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()) == Some("OnFailure");
    let failed = i32::try_from(counts.failed()).unwrap_or(i32::MAX);
    if failed > limit || (restarting && restarts() > limit) {
        return Some(("BackoffLimitExceeded", "Job has reached the specified backoff limit"));
    }
    late.then_some(("DeadlineExceeded", "Job was active longer than specified deadline"))
}

/// Whether enough pods succeeded; without a number, one and the end of all others.
fn is_enough(spec: &JobSpec, counts: &Counts, active: usize) -> bool {
    match spec.completions.and_then(|wanted| usize::try_from(wanted).ok()) {
        Some(wanted) => counts.succeeded() >= wanted,
        None => counts.succeeded() > 0 && active == 0,
    }
}

/// Makes what is missing and deletes what is too much.
fn manage(spec: &JobSpec, counts: &Counts, active: &[&Arc<Pod>], pods: &[Arc<Pod>], now: Timestamp, plan: &mut Plan) {
    let parallelism = usize::try_from(spec.parallelism.unwrap_or(1)).unwrap_or(0);
    let wanted = match spec.completions.and_then(|wanted| usize::try_from(wanted).ok()) {
        Some(completions) => completions.saturating_sub(counts.succeeded()).min(parallelism),
        // Whoever ended knew that there is no work left.
        None if counts.succeeded() > 0 => active.len().min(parallelism),
        None => parallelism,
    };
    if active.len() > wanted {
        let mut surplus: Vec<_> = active.to_vec();
        surplus.sort_by_key(|pod| {
            (is_ready(pod), std::cmp::Reverse(pod.metadata.creation_timestamp.clone()), pod.name_any())
        });
        plan.delete = surplus.into_iter().take(active.len() - wanted).cloned().collect();
        return;
    }
    let replaces_late = spec.pod_replacement_policy.as_deref() == Some("Failed");
    let held = if replaces_late { counts.leaving } else { 0 };
    let missing = (wanted - active.len()).saturating_sub(held).min(BURST);
    if missing == 0 {
        return;
    }
    if let Some(at) = retry_at(pods).filter(|at| *at > now) {
        plan.look_again = plan.look_again.map_or(Some(at), |known| Some(known.min(at)));
        return;
    }
    plan.create = match spec.completion_mode.as_deref() {
        Some("Indexed") => {
            let taken: BTreeSet<u32> = active.iter().filter_map(|pod| index(pod)).collect();
            let all = 0..u32::try_from(spec.completions.unwrap_or(0)).unwrap_or(0);
            let free = all.filter(|index| !taken.contains(index) && !counts.completed.contains(index));
            free.take(missing).map(Some).collect()
        }
        _ => vec![None; missing],
    };
}
