//! Jobs: pods that end.

mod backoff;
mod indexes;
mod plan;
mod pod;
mod status;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, ResourceExt};
use runtime::{Failure, Key, Next, Queue, Reconcile};

use super::rounding::until;
use super::world::World;
use super::{Controller, claim};
use plan::Plan;
use runtime::events::News;

const BY: &str = "job-controller";

/// The controller of Jobs.
pub(super) struct Jobs {
    world: Arc<World>,
}

impl Jobs {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world) }
    }

    /// Lets go of pods whose job is no more: nobody counts them.
    async fn release_orphans(&self, key: &Key) -> Result<(), Failure> {
        for pod in self.world.pods.in_namespace(&key.namespace) {
            if Key::of_controller::<Job>(&*pod).as_ref() == Some(key) {
                self.untrack(&pod).await?;
            }
        }
        Ok(())
    }

    async fn untrack(&self, pod: &Pod) -> Result<(), Failure> {
        let pods: Api<Pod> = Api::namespaced(self.world.client.clone(), &pod.namespace().unwrap_or_default());
        runtime::remove_finalizer(&pods, pod, pod::TRACKING).await
    }

    async fn act(&self, job: &Job, plan: &Plan) -> Result<(), Failure> {
        let world = &*self.world;
        for pod in &plan.untrack {
            self.untrack(pod).await?;
        }
        for pod in &plan.delete {
            world.pods.delete(pod, None).await?;
            let message = format!("Deleted pod: {}", pod.name_any());
            world.events.tell(job, News::normal(BY, "SuccessfulDelete", message));
        }
        let wanted: Vec<Pod> = plan.create.iter().map(|index| pod::pod(job, *index)).collect();
        let created = world.pods.create_all(&wanted, |pod| {
            let message = format!("Created pod: {}", pod.name_any());
            world.events.tell(job, News::normal(BY, "SuccessfulCreate", message));
        });
        created.await
    }

    fn tell_end(&self, job: &Job, plan: &Plan) {
        let ended = plan::end(&plan.status);
        if plan::is_finished(job) {
            return;
        }
        match ended {
            Some(("Complete", _)) => self.world.events.tell(job, News::normal(BY, "Completed", "Job completed")),
            Some((_, condition)) => {
                let reason = match condition.reason.as_deref() {
                    Some("DeadlineExceeded") => "DeadlineExceeded",
                    _ => "BackoffLimitExceeded",
                };
                let message = condition.message.clone().unwrap_or_default();
                self.world.events.tell(job, News::warning(BY, reason, message));
            }
            None => {}
        }
    }
}

impl Controller for Jobs {
    const NAME: &'static str = "jobs";

    fn subscribe(&self, queue: &Queue) {
        self.world.jobs.queue_each(queue);
        self.world.pods.queue_controller::<Job>(queue);
    }
}

impl Reconcile for Jobs {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let world = &*self.world;
        let Some(job) = world.jobs.get(key).filter(|job| job.metadata.deletion_timestamp.is_none()) else {
            self.release_orphans(key).await?;
            return Ok(Next::Rest);
        };
        let Some(selector) = job.spec.as_ref().and_then(|spec| claim::selector(spec.selector.as_ref()?)) else {
            return Ok(Next::Rest);
        };
        let now = world.now();
        let pods = claim::claim(&world.pods, &*job, &selector).await?;
        let plan = plan::plan(&job, &pods, now);
        if plan.expired {
            world.jobs.delete(&job, None).await?;
            return Ok(Next::Rest);
        }
        // What is counted is written down before its pod may go.
        if job.status.as_ref() != Some(&plan.status) {
            world.jobs.report(&Job { status: Some(plan.status.clone()), ..(*job).clone() }).await?;
            self.tell_end(&job, &plan);
        }
        self.act(&job, &plan).await?;
        Ok(plan.look_again.map_or(Next::Rest, |at| Next::After(until(at, now))))
    }
}
