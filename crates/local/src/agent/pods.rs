//! Brings the pods of a node closer to what they should be.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, ResourceExt};
use parking_lot::Mutex;
use runtime::events::News;
use runtime::{Failure, Key, Next, Reconcile, Watched};
use serde_json::json;

use super::board::Board;
use super::files;
use super::plan::{Policy, Step, phase, plan, policy};
use super::program::{Context, Place, Programs};
use super::record::Trouble;
use super::sandbox::{Sandboxes, Unprepared, is_on_host};
use super::status::{telling, told};
use super::{BY, Settings};
use crate::addresses::Pool;

/// Runs the pods that are bound to a node.
pub(crate) struct Pods {
    pub(crate) pods: Watched<Pod>,
    pub(crate) client: kube::Client,
    pub(crate) sandboxes: Sandboxes,
    pub(crate) board: Arc<Board>,
    pub(crate) pool: Arc<Mutex<Pool>>,
    pub(crate) programs: Programs,
    pub(crate) settings: Settings,
}

/// How long to wait where only time can help.
const PATIENCE: Duration = Duration::from_secs(5);

impl Reconcile for Pods {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let pod = self.pods.get(key).filter(|pod| is_bound(pod, &self.settings.node));
        let uid = pod.as_ref().and_then(|pod| pod.uid());
        if self.board.known(key).is_some_and(|known| Some(known) != uid) && !self.dismiss(key).await {
            // Its end queues the key again.
            return Ok(Next::Rest);
        }
        let Some(pod) = pod else { return Ok(Next::Rest) };
        if is_over(&pod) && pod.metadata.deletion_timestamp.is_none() && self.board.known(key).is_none() {
            return Ok(Next::Rest);
        }
        self.board.adopt(&pod);
        let address = self.address(key, &pod);
        let now = (self.board.clock)();
        let Some(planned) = self.board.with(key, |record| plan(&pod, record, now)) else { return Ok(Next::Rest) };
        let (mut wake, is_at_rest) = (planned.wake, planned.steps.is_empty());
        for step in planned.steps {
            match step {
                Step::Start(name) => wake = earlier(wake, self.start(key, &pod, address, &name).await),
                Step::Stop => self.board.stop(key, grace(&pod)),
                Step::Finish => {
                    self.finish(key, &pod).await?;
                    return Ok(Next::Rest);
                }
            }
        }
        wake = earlier(wake, self.renew(key, &pod).await);
        self.report(key, &pod).await?;
        self.retire(key, &pod).await;
        if is_at_rest && self.settings.bridge.is_none() && self.place(&pod) != Place::Namespace {
            self.board.put_away(key);
        }
        Ok(wake.map_or(Next::Rest, Next::After))
    }
}

impl Pods {
    /// Removes the files of pods that are gone. What else they had went with the process before this.
    pub(crate) fn remove_strays(&self) {
        let bound: HashSet<String> = self.pods.all().iter().filter_map(|pod| pod.uid()).collect();
        let pods = self.sandboxes.pods();
        if let Err(error) = files::remove_strays(&pods, |uid| bound.contains(uid)) {
            tracing::warn!(%error, directory = %pods.display(), "cannot remove files of pods that are gone");
        }
    }

    /// Stops what is left of a pod that is gone from the API. Tells whether nothing is left.
    async fn dismiss(&self, key: &Key) -> bool {
        if self.board.with(key, |record| record.is_running()) == Some(true) {
            self.board.stop(key, Duration::ZERO);
            return false;
        }
        self.take_down(key).await;
        let uid = self.board.known(key).unwrap_or_default();
        if let Some(address) = self.board.forget(key).and_then(|record| record.address) {
            self.pool.lock().release(address, &uid);
        }
        true
    }

    /// Takes down what the containers of a pod shared.
    async fn take_down(&self, key: &Key) {
        let Some(context) = self.board.context(key) else { return };
        let uid = context.pod.uid().unwrap_or_default();
        self.sandboxes.take_down(&uid, Some(context.addresses.pod), self.place(&context.pod)).await;
        self.board.set_context(key, None);
    }

    /// Gives back what a pod that ended for good does not need any more.
    async fn retire(&self, key: &Key, pod: &Pod) {
        let over = self.board.with(key, |record| phase(pod, record).is_terminal() && !record.is_running());
        if over == Some(true) {
            self.take_down(key).await;
            let address = self.board.with(key, |record| record.address).flatten();
            address.map(|address| self.pool.lock().release(address, &pod.uid().unwrap_or_default()));
        }
    }

    /// What the containers of a pod need at most.
    fn place(&self, pod: &Pod) -> Place {
        let all = pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten().chain(&spec.containers));
        let places = all.map(|container| self.programs.of(container.image.as_deref().unwrap_or_default()).place());
        places.max().unwrap_or(Place::Nowhere)
    }

    /// The pod's address: the one it has, or a free one.
    fn address(&self, key: &Key, pod: &Pod) -> Option<IpAddr> {
        if is_on_host(pod) {
            self.board.with(key, |record| record.address = Some(self.settings.address));
            return Some(self.settings.address);
        }
        if let Some(known) = self.board.with(key, |record| record.address).flatten() {
            return Some(known);
        }
        let uid = pod.uid().unwrap_or_default();
        let mut pool = self.pool.lock();
        let stored = stored_address(pod).filter(|address| pool.hold(*address, &uid));
        let address = stored.or_else(|| pool.take(&uid));
        self.board.with(key, |record| record.address = address);
        address
    }

    /// Starts a container, or writes down why it cannot be. Gives back when to try again, if only time can tell.
    async fn start(&self, key: &Key, pod: &Arc<Pod>, address: Option<IpAddr>, name: &str) -> Option<Duration> {
        let container = declared(pod, name)?;
        let Some(address) = address else {
            let message = format!("all addresses of {} are in use; delete some pods", self.settings.pods.told);
            self.unprepared(key, pod, "FailedCreatePodSandBox", message);
            return Some(PATIENCE);
        };
        let context = match self.context(key, pod, address).await {
            Ok(context) => context,
            Err(problem) => {
                self.unprepared(key, pod, problem.reason, problem.message);
                return problem.passes.then_some(PATIENCE);
            }
        };
        match context.launch(container) {
            Ok(launch) => {
                if container.lifecycle.as_ref().is_some_and(|lifecycle| lifecycle.pre_stop.is_some()) {
                    let note = format!("the preStop hook of container {name} is not run on this node");
                    self.board.events.tell(&**pod, News::warning(BY, "PreStopIgnored", note));
                }
                let program = self.programs.of(container.image.as_deref().unwrap_or_default());
                self.board.start(program, launch).await;
                self.board.with(key, |record| {
                    let retry_at = record.container(name)?.retry_at?;
                    Duration::try_from(retry_at.duration_since((self.board.clock)())).ok()
                })?
            }
            Err(message) => {
                let trouble = Trouble { reason: "CreateContainerConfigError".into(), message: message.clone() };
                let news = self.board.with(key, |record| record.container(name).is_some_and(|c| c.refuse(trouble)));
                if news == Some(true) {
                    self.board.events.tell(&**pod, News::warning(BY, "Failed", format!("Error: {message}")));
                }
                None
            }
        }
    }

    /// As a kubelet: containers go on being created, and an event tells why it takes so long.
    fn unprepared(&self, key: &Key, pod: &Pod, reason: &'static str, message: String) {
        let known = self.board.with(key, |record| record.unprepared.replace(message.clone())).flatten();
        if known.as_ref() != Some(&message) {
            self.board.events.tell(pod, News::warning(BY, reason, message));
        }
    }

    /// What the containers share, made once.
    async fn context(&self, key: &Key, pod: &Arc<Pod>, address: IpAddr) -> Result<Arc<Context>, Unprepared> {
        if let Some(known) = self.board.context(key) {
            return Ok(known);
        }
        let context = Arc::new(self.sandboxes.make(pod, address, self.place(pod)).await?);
        self.board.set_context(key, Some(Arc::clone(&context)));
        Ok(context)
    }

    /// Keeps the files of processes as the objects are that they were made from. Gives back when to look again.
    async fn renew(&self, key: &Key, pod: &Pod) -> Option<Duration> {
        let place = self.place(pod);
        let known = self.board.context(key).filter(|_| place == Place::Namespace)?;
        let current = match self.sandboxes.renew(&known, place).await {
            Ok(None) => known,
            Ok(Some(changed)) => {
                let changed = Arc::new(changed);
                self.board.set_context(key, Some(Arc::clone(&changed)));
                changed
            }
            // What is there stays as it is, as with a kubelet.
            Err(_) => return Some(PATIENCE),
        };
        current.tokens.due_in((self.board.clock)())
    }

    /// Writes the status, if it changed.
    async fn report(&self, key: &Key, pod: &Pod) -> Result<(), Failure> {
        let now = (self.board.clock)();
        let host = self.settings.address;
        let status = self.board.with(key, |record| telling(pod, record, host, &self.board.backoff, now));
        let Some(status) = status.filter(|status| *status != told(pod)) else { return Ok(()) };
        // Of this very pod: a status is never written to a namesake that came after it.
        let body = json!({"metadata": {"uid": pod.uid()}, "status": status});
        let patch = Patch::Strategic(&body);
        match self.api(key).patch_status(&key.name, &PatchParams::default(), &patch).await {
            Ok(written) => self.pods.wrote(written),
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Lets a pod go whose containers are over.
    async fn finish(&self, key: &Key, pod: &Pod) -> Result<(), Failure> {
        // Somebody counts how it ended, or holds it back.
        if policy(pod) != Policy::Always || !pod.finalizers().is_empty() {
            self.report(key, pod).await?;
        }
        self.take_down(key).await;
        let preconditions = Preconditions { uid: pod.uid(), resource_version: None };
        let params = DeleteParams::default().grace_period(0).preconditions(preconditions);
        match self.api(key).delete(&key.name, &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn api(&self, key: &Key) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &key.namespace)
    }
}

/// Whether a pod is to run on this node.
pub(crate) fn is_bound(pod: &Pod, node: &str) -> bool {
    pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()) == Some(node)
}

/// The address in a pod's status.
pub(crate) fn stored_address(pod: &Pod) -> Option<IpAddr> {
    pod.status.as_ref()?.pod_ip.as_ref()?.parse().ok()
}

/// Whether a pod has ended for good.
pub(crate) fn is_over(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// The time containers have to stop.
fn grace(pod: &Pod) -> Duration {
    let asked = pod.metadata.deletion_grace_period_seconds;
    let own = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
    Duration::from_secs(asked.or(own).unwrap_or(30).max(0).unsigned_abs())
}

fn declared<'a>(pod: &'a Pod, name: &str) -> Option<&'a Container> {
    let spec = pod.spec.as_ref()?;
    spec.init_containers.iter().flatten().chain(&spec.containers).find(|container| container.name == name)
}

fn earlier(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
