//! CronJobs: a Job whenever it is time.

mod plan;
mod schedule;

use std::sync::Arc;

use k8s_openapi::api::batch::v1::{CronJob, Job};
use kube::ResourceExt;
use runtime::{Failure, Key, Next, Queue, Reconcile, Retry};

use super::Controller;
use super::rounding::until;
use super::world::World;
use runtime::events::News;
use schedule::Schedule;

const BY: &str = "cronjob-controller";

/// The controller of CronJobs.
pub(super) struct CronJobs {
    world: Arc<World>,
}

impl CronJobs {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world) }
    }

    /// The schedule, unless it cannot be followed here.
    fn schedule(&self, cron: &CronJob) -> Option<Schedule> {
        let spec = cron.spec.as_ref()?;
        if let Some(zone) = spec.time_zone.as_deref().filter(|zone| !matches!(*zone, "UTC" | "Etc/UTC")) {
            let message = format!("only UTC is known here, not {zone:?}");
            self.world.events.tell(cron, News::warning(BY, "UnknownTimeZone", message));
            return None;
        }
        let schedule = Schedule::parse(&spec.schedule);
        if schedule.is_none() {
            let message = format!("unparseable schedule: {:?}", spec.schedule);
            self.world.events.tell(cron, News::warning(BY, "UnparseableSchedule", message));
        }
        schedule
    }
}

impl Controller for CronJobs {
    const NAME: &'static str = "cron-jobs";

    fn subscribe(&self, queue: &Queue) {
        self.world.cron_jobs.queue_each(queue);
        self.world.jobs.queue_controller::<CronJob>(queue);
    }
}

impl Reconcile for CronJobs {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let world = &*self.world;
        let Some(cron) = world.cron_jobs.get(key) else { return Ok(Next::Rest) };
        let Some(schedule) = self.schedule(&cron) else { return Ok(Next::Rest) };
        let jobs = world.jobs.owned_by(&cron.uid().unwrap_or_default());
        let now = world.now();
        let plan = plan::plan(&cron, &schedule, &jobs, now);
        for job in plan.delete.iter().filter(|job| job.metadata.deletion_timestamp.is_none()) {
            world.jobs.delete(job, None).await?;
            let message = format!("Deleted job {}", job.name_any());
            world.events.tell(&*cron, News::normal(BY, "SuccessfulDelete", message));
        }
        if let Some(job) = &plan.create {
            match world.jobs.create(job).await {
                Ok(_) => {
                    let message = format!("Created job {}", job.name_any());
                    world.events.tell(&*cron, News::normal(BY, "SuccessfulCreate", message));
                }
                // Made before, and the status was not written any more.
                Err(failure) if failure.retry == Retry::Soon && known(&world.jobs.get(&Key::of(&**job)), job) => {}
                Err(failure) => return Err(failure),
            }
        }
        if cron.status.as_ref() != Some(&plan.status) {
            world.cron_jobs.report(&CronJob { status: Some(plan.status), ..(*cron).clone() }).await?;
        }
        Ok(plan.look_again.map_or(Next::Rest, |at| Next::After(until(at, now))))
    }
}

/// Whether a Job of this name is of the same CronJob.
fn known(job: &Option<Arc<Job>>, wanted: &Job) -> bool {
    job.as_ref().is_some_and(|job| super::claim::controller(&**job) == super::claim::controller(wanted))
}
