//! Which Jobs to make, and which to forget.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{CronJob, CronJobStatus, Job};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::core::ObjectMeta;
use kube::{Resource, ResourceExt};

use super::schedule::Schedule;
use crate::workloads::template::owned_by;

const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// What to do, what to say, and when to look again.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) create: Option<Box<Job>>,
    /// Jobs that give way to a new one, and old ones beyond the limits.
    pub(super) delete: Vec<Arc<Job>>,
    pub(super) status: CronJobStatus,
    pub(super) look_again: Option<Timestamp>,
}

/// The condition by which a Job ended.
fn ended(job: &Job) -> Option<(&str, Option<Timestamp>)> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    let end =
        conditions.iter().find(|one| matches!(one.type_.as_str(), "Complete" | "Failed") && one.status == "True")?;
    Some((end.type_.as_str(), end.last_transition_time.as_ref().map(|time| time.0)))
}

pub(super) fn plan(cron: &CronJob, schedule: &Schedule, jobs: &[Arc<Job>], now: Timestamp) -> Plan {
    let Some(spec) = &cron.spec else { return Plan::default() };
    let (done, active): (Vec<_>, Vec<_>) = jobs.iter().partition(|job| ended(job).is_some());
    let mut delete = Vec::new();
    for (end, limit) in [
        ("Complete", spec.successful_jobs_history_limit.unwrap_or(3)),
        ("Failed", spec.failed_jobs_history_limit.unwrap_or(1)),
    ] {
        let mut of_end: Vec<_> = done.iter().filter(|job| ended(job).is_some_and(|(known, _)| known == end)).collect();
        of_end.sort_by_key(|job| (job.metadata.creation_timestamp.clone(), job.name_any()));
        let excess = of_end.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        delete.extend(of_end.into_iter().take(excess).map(|job| Arc::clone(job)));
    }
    let mut status = CronJobStatus {
        active: (!active.is_empty()).then(|| active.iter().map(|job| reference(job)).collect()),
        last_successful_time: last_success(cron, &done),
        ..cron.status.clone().unwrap_or_default()
    };
    let suspended = spec.suspend.unwrap_or(false);
    if suspended || cron.metadata.deletion_timestamp.is_some() {
        return Plan { delete, status, ..Plan::default() };
    }
    let due = due(cron, schedule, now);
    let look_again = schedule.next(now);
    let Some(due) = due else { return Plan { delete, status, look_again, ..Plan::default() } };
    let policy = spec.concurrency_policy.as_deref().unwrap_or("Allow");
    if policy == "Forbid" && !active.is_empty() {
        // It has another chance when the one that runs ends.
        return Plan { delete, status, look_again, ..Plan::default() };
    }
    if policy == "Replace" {
        delete.extend(active.into_iter().cloned());
    }
    status.last_schedule_time = Some(Time(due));
    Plan { create: Some(Box::new(job(cron, due))), delete, status, look_again }
}

/// The latest time that was due and is neither dealt with nor too long ago.
fn due(cron: &CronJob, schedule: &Schedule, now: Timestamp) -> Option<Timestamp> {
    let last = cron.status.as_ref().and_then(|status| status.last_schedule_time.as_ref());
    let mut from = last.or(cron.metadata.creation_timestamp.as_ref())?.0;
    let patience = cron.spec.as_ref().and_then(|spec| spec.starting_deadline_seconds);
    if let Some(seconds) = patience {
        from = from.max(now.checked_sub(SignedDuration::from_secs(seconds)).ok()?);
    }
    let mut due = None;
    let mut next = schedule.next(from)?;
    // After a long absence only the latest counts; the search for it is not to take long.
    for _ in 0..MISSED {
        if next > now {
            return due;
        }
        due = Some(next);
        next = schedule.next(next)?;
    }
    let recent = now.checked_sub(SignedDuration::from_hours(1)).ok()?;
    let mut late = schedule.next(recent.max(next)).filter(|at| *at <= now).or(due);
    while let Some(at) = late.and_then(|at| schedule.next(at)).filter(|at| *at <= now) {
        late = Some(at);
    }
    late
}

/// How many missed times are looked at one by one.
const MISSED: usize = 100;

fn last_success(cron: &CronJob, done: &[&Arc<Job>]) -> Option<Time> {
    let ends = done.iter().filter(|job| ended(job).is_some_and(|(end, _)| end == "Complete"));
    let latest = ends.filter_map(|job| job.status.as_ref()?.completion_time.clone()).map(|time| time.0).max();
    let before = cron.status.as_ref().and_then(|status| status.last_successful_time.clone()).map(|time| time.0);
    latest.max(before).map(Time)
}

fn reference(job: &Job) -> ObjectReference {
    ObjectReference { resource_version: job.resource_version(), ..job.object_ref(&()) }
}

/// The Job of a time: its name tells the minute, so that it is made once.
fn job(cron: &CronJob, due: Timestamp) -> Job {
    let template = cron.spec.as_ref().map(|spec| spec.job_template.clone()).unwrap_or_default();
    let given = template.metadata.unwrap_or_default();
    let mut annotations = given.annotations.unwrap_or_default();
    annotations.insert(SCHEDULED.into(), due.to_string());
    Job {
        metadata: ObjectMeta {
            name: Some(format!("{}-{}", cron.name_any(), due.as_second() / 60)),
            namespace: cron.namespace(),
            labels: given.labels,
            annotations: Some(annotations),
            owner_references: Some(owned_by(cron)),
            ..ObjectMeta::default()
        },
        spec: template.spec,
        status: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn at(text: &str) -> Timestamp {
        format!("2026-03-01T{text}:00Z").parse().unwrap()
    }

    fn cron(spec: Value, last: Option<&str>) -> CronJob {
        let mut all = json!({"schedule": "0 * * * *", "jobTemplate": {}});
        spec.as_object().unwrap().iter().for_each(|(name, value)| all[name] = value.clone());
        let last = last.map_or(Value::Null, |last| json!({"lastScheduleTime": at(last).to_string()}));
        let meta = json!({"name": "c", "uid": "c", "creationTimestamp": at("10:30").to_string()});
        serde_json::from_value(json!({"metadata": meta, "spec": all, "status": last})).unwrap()
    }

    fn a_job(name: &str, end: Option<&str>) -> Arc<Job> {
        let conditions = end.map_or(json!([]), |end| json!([{"type": end, "status": "True"}]));
        Arc::new(
            serde_json::from_value(json!({"metadata": {"name": name}, "status": {"conditions": conditions}})).unwrap(),
        )
    }

    fn steps(cron: &CronJob, jobs: &[Arc<Job>], now: &str) -> (Option<String>, Vec<String>, Option<Timestamp>) {
        let schedule = Schedule::parse(&cron.spec.as_ref().unwrap().schedule).unwrap();
        let plan = plan(cron, &schedule, jobs, at(now));
        let deleted = plan.delete.iter().map(|job| job.name_any()).collect();
        (plan.create.map(|job| job.name_any()), deleted, plan.look_again)
    }

    #[test]
    fn a_job_is_made_when_it_is_time() {
        let named = |text: &str| Some(format!("c-{}", at(text).as_second() / 60));
        for (why, spec, last, jobs, now, create, delete) in [
            ("not yet", json!({}), None, vec![], "10:45", None, vec![]),
            ("now", json!({}), None, vec![], "11:00", named("11:00"), vec![]),
            ("done already", json!({}), Some("11:00"), vec![], "11:30", None, vec![]),
            ("the latest of those missed", json!({}), Some("11:00"), vec![], "15:20", named("15:00"), vec![]),
            ("too late", json!({"startingDeadlineSeconds": 600}), Some("11:00"), vec![], "15:20", None, vec![]),
            ("suspended", json!({"suspend": true}), None, vec![], "11:00", None, vec![]),
            ("one runs", json!({}), None, vec![a_job("x", None)], "11:00", named("11:00"), vec![]),
            (
                "not beside another",
                json!({"concurrencyPolicy": "Forbid"}),
                None,
                vec![a_job("x", None)],
                "11:00",
                None,
                vec![],
            ),
            (
                "in place of another",
                json!({"concurrencyPolicy": "Replace"}),
                None,
                vec![a_job("x", None)],
                "11:00",
                named("11:00"),
                vec!["x"],
            ),
            (
                "old ones go",
                json!({"successfulJobsHistoryLimit": 1}),
                Some("11:00"),
                vec![a_job("a", Some("Complete")), a_job("b", Some("Complete")), a_job("c", Some("Failed"))],
                "11:30",
                None,
                vec!["a"],
            ),
        ] {
            let (made, gone, _) = steps(&cron(spec, last), &jobs, now);
            assert_eq!((made, gone), (create, delete.into_iter().map(String::from).collect()), "{why}");
        }
        assert_eq!(steps(&cron(json!({}), None), &[], "10:45").2, Some(at("11:00")));
        // A very long absence.
        let every_minute = cron(json!({"schedule": "* * * * *"}), None);
        assert_eq!(steps(&every_minute, &[], "23:59").0, named("23:59"));
    }
}
