//! Jobs and CronJobs.

mod cron;
mod cron_job;
mod failure_policy;
mod job;
mod job_spec;
mod job_status;

use super::Behaviour;

pub(super) use job_spec::validate_domain_path;

pub(super) fn behaviour(kind: &str) -> Option<Behaviour> {
    Some(match kind {
        "Job" => job::behaviour(),
        "CronJob" => cron_job::behaviour(),
        _ => return None,
    })
}
