//! Containers that only seem to run.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Container, Pod};

use crate::agent::plan::{Policy, policy};
use crate::agent::program::{Control, Exit, Launch, NotStarted, Program, Running};

/// How simulated containers behave.
#[derive(Clone, Default)]
pub struct Simulation {
    /// How long a container takes to be ready.
    pub ready_after: Duration,
    /// How long containers take that run to an end: those of jobs, and those that initialise.
    pub work_for: Duration,
    /// What goes wrong, asked at every start.
    pub fault: Option<Faults>,
}

/// Says what goes wrong with a container that is about to start.
pub type Faults = Arc<dyn Fn(&Pod, &Container) -> Option<Fault> + Send + Sync>;

/// What goes wrong with a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It ends with this code after a while.
    Exit(i32, Duration),
    /// It never is ready.
    NeverReady,
    /// It cannot be started, for this reason, such as `ErrImagePull`.
    Refused(&'static str, String),
}

impl Program for Simulation {
    fn start(&self, launch: Launch, control: Control) -> BoxFuture<'_, Result<Running, NotStarted>> {
        let fault = self.fault.as_ref().and_then(|fault| fault(&launch.pod, &launch.container));
        if let Some(Fault::Refused(reason, message)) = fault {
            return futures::future::ready(Err(NotStarted::Waiting { reason, message })).boxed();
        }
        let ends = policy(&launch.pod) != Policy::Always || is_initial(&launch);
        let (ready_after, work_for) = (self.ready_after, self.work_for);
        // No delay means that it is ready by the time it is told of.
        if ready_after.is_zero() && fault.is_none() {
            control.report(true, true);
        }
        let running = async move {
            let life = async {
                match fault {
                    Some(Fault::Exit(code, after)) => {
                        tokio::time::sleep(after).await;
                        return Exit { code, message: None };
                    }
                    Some(_) => control.report(true, false),
                    None => {
                        tokio::time::sleep(ready_after).await;
                        control.report(true, true);
                    }
                }
                if ends {
                    tokio::time::sleep(work_for).await;
                    return Exit::done();
                }
                std::future::pending().await
            };
            tokio::select! {
                exit = life => exit,
                _ = control.stopping() => Exit::done(),
            }
        };
        futures::future::ready(Ok(running.boxed())).boxed()
    }
}

fn is_initial(launch: &Launch) -> bool {
    let initial = launch.pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
    launch.container.restart_policy.is_none() && initial.into_iter().any(|c| c.name == launch.container.name)
}
