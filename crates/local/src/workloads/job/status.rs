//! Counting pods that ended exactly once, and the conditions of a Job.
//!
//! A pod that ended is first noted by its UID in the status, then its finalizer is taken away, then it is counted. So it
//! is counted once whatever is interrupted, and however soon somebody deletes it.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobCondition, JobStatus, UncountedTerminatedPods};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::indexes;
use super::pod::{index, is_tracked};
use crate::workloads::pods::{is_finished, is_leaving, phase};
use crate::workloads::rounding::counted;

/// Pods that ended.
#[derive(Debug, Default)]
pub(super) struct Counts {
    counted: (usize, usize),
    /// UIDs of those that are noted and not counted yet: succeeded, failed.
    noted: (Vec<String>, Vec<String>),
    /// Those noted before, which may go now.
    pub(super) untrack: Vec<Arc<Pod>>,
    /// Those on their way out that have not ended.
    pub(super) leaving: usize,
    /// Parts of the work that are done, where it is divided.
    pub(super) completed: BTreeSet<u32>,
    divided: bool,
}

impl Counts {
    pub(super) fn succeeded(&self) -> usize {
        if self.divided { self.completed.len() } else { self.counted.0 + self.noted.0.len() }
    }

    pub(super) fn failed(&self) -> usize {
        self.counted.1 + self.noted.1.len()
    }

    /// Whether every pod that ended is counted.
    pub(super) fn is_settled(&self) -> bool {
        self.noted.0.is_empty() && self.noted.1.is_empty()
    }

    /// The counters as a status has them.
    pub(super) fn into_status(self) -> JobStatus {
        let list = |uids: Vec<String>| (!uids.is_empty()).then_some(uids);
        let succeeded = if self.divided { self.completed.len() } else { self.counted.0 };
        let completed = indexes::format(&self.completed);
        JobStatus {
            succeeded: counted(succeeded),
            failed: counted(self.counted.1),
            completed_indexes: (!completed.is_empty()).then_some(completed),
            uncounted_terminated_pods: Some(UncountedTerminatedPods {
                succeeded: list(self.noted.0),
                failed: list(self.noted.1),
            }),
            ..JobStatus::default()
        }
    }
}

/// Counts what ended since.
pub(super) fn count(job: &Job, pods: &[Arc<Pod>]) -> Counts {
    let before = job.status.clone().unwrap_or_default();
    let noted = before.uncounted_terminated_pods.unwrap_or_default();
    let number = |count: Option<i32>| usize::try_from(count.unwrap_or(0)).unwrap_or(0);
    let mut counts = Counts {
        counted: (number(before.succeeded), number(before.failed)),
        completed: indexes::parse(before.completed_indexes.as_deref().unwrap_or_default()),
        divided: job.spec.as_ref().and_then(|spec| spec.completion_mode.as_deref()) == Some("Indexed"),
        ..Counts::default()
    };
    let (succeeded, failed) = (noted.succeeded.unwrap_or_default(), noted.failed.unwrap_or_default());
    for (uids, counted, still) in [
        (&succeeded, &mut counts.counted.0, &mut counts.noted.0),
        (&failed, &mut counts.counted.1, &mut counts.noted.1),
    ] {
        for uid in uids {
            match pods.iter().find(|pod| pod.uid().as_ref() == Some(uid) && is_tracked(pod)) {
                Some(pod) => {
                    counts.untrack.push(Arc::clone(pod));
                    still.push(uid.clone());
                }
                None => *counted += 1,
            }
        }
    }
    for pod in pods {
        let Some(uid) = pod.uid() else { continue };
        counts.leaving += usize::from(is_leaving(pod) && !is_finished(pod));
        if !is_tracked(pod) || succeeded.contains(&uid) || failed.contains(&uid) {
            continue;
        }
        if phase(pod) == "Succeeded" {
            counts.completed.extend(index(pod).filter(|_| counts.divided));
            counts.noted.0.push(uid);
        } else if phase(pod) == "Failed" || is_leaving(pod) {
            counts.noted.1.push(uid);
        }
    }
    counts
}

/// Conditions on their way from one status to the next.
pub(super) struct Verdicts {
    list: Vec<JobCondition>,
    now: Timestamp,
}

impl Verdicts {
    pub(super) fn of(job: &Job, now: Timestamp) -> Self {
        let list = job.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
        Self { list, now }
    }

    pub(super) fn into_list(self) -> Option<Vec<JobCondition>> {
        (!self.list.is_empty()).then_some(self.list)
    }

    fn get(&self, name: &str) -> Option<&JobCondition> {
        self.list.iter().find(|known| known.type_ == name && known.status == "True")
    }

    /// Whether the user holds the job.
    pub(super) fn suspended(&mut self, suspended: bool) {
        match (suspended, self.get("Suspended").is_some()) {
            (true, false) => self.set("Suspended", "True", "JobSuspended", "Job suspended"),
            (false, true) => self.set("Suspended", "False", "JobResumed", "Job resumed"),
            _ => {}
        }
    }

    /// Whether the job is bound to fail, now or since before.
    pub(super) fn failing(&mut self, reason: Option<(&'static str, &'static str)>) -> bool {
        let decided = self.get("FailureTarget").is_some() || self.get("SuccessCriteriaMet").is_some();
        if let (Some((reason, message)), false) = (reason, decided) {
            self.set("FailureTarget", "True", reason, message);
        }
        self.get("FailureTarget").is_some()
    }

    /// Whether the job is bound to succeed, now or since before.
    pub(super) fn succeeding(&mut self, enough: bool) -> bool {
        if enough && self.get("SuccessCriteriaMet").is_none() {
            self.set("SuccessCriteriaMet", "True", "CompletionsReached", "Reached expected number of succeeded pods");
        }
        self.get("SuccessCriteriaMet").is_some()
    }

    /// Says that the job ended as it was bound to, when all its pods have.
    pub(super) fn end(&mut self, settled: bool) {
        for (target, end) in [("FailureTarget", "Failed"), ("SuccessCriteriaMet", "Complete")] {
            if let (true, Some(target)) = (settled, self.get(target).cloned()) {
                let (reason, message) = (target.reason.unwrap_or_default(), target.message.unwrap_or_default());
                self.set(end, "True", &reason, &message);
            }
        }
    }

    fn set(&mut self, name: &str, status: &str, reason: &str, message: &str) {
        let now = Some(Time(self.now));
        let condition = JobCondition {
            type_: name.into(),
            status: status.into(),
            reason: Some(reason.into()),
            message: Some(message.into()),
            last_probe_time: now.clone(),
            last_transition_time: now,
        };
        match self.list.iter_mut().find(|known| known.type_ == name) {
            Some(known) => *known = condition,
            None => self.list.push(condition),
        }
    }
}
