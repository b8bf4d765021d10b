//! Volumes: a claim gets a folder of this machine, or a volume somebody made for it.

mod plan;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};
use runtime::{Failure, Key, Next, Queue, Reconcile};
use serde_json::json;

use super::Controller;
use super::pods::is_finished;
use super::world::{MANAGER, World};
use plan::{ClaimStep, VolumeStep};
use runtime::events::News;

const BY: &str = "persistentvolume-controller";
/// When what is there from the start is tried again.
const AGAIN: Duration = Duration::from_secs(10);
const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";
const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";

/// Makes the class that is there from the start. Whoever deletes it does not want it, at least until the next start.
pub(super) async fn ensure_class(client: &Client) {
    let classes: Api<StorageClass> = Api::all(client.clone());
    let params = PostParams { field_manager: Some(MANAGER.into()), ..PostParams::default() };
    loop {
        match classes.create(&params, &plan::class()).await {
            Err(kube::Error::Api(status)) if status.code == 409 => return,
            Err(error) => tracing::warn!(%error, "the class of local volumes cannot be made yet"),
            Ok(_) => return,
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// The controller of claims and volumes.
pub(super) struct Volumes {
    world: Arc<World>,
}

impl Volumes {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world) }
    }

    async fn claim(&self, claim: &PersistentVolumeClaim) -> Result<(), Failure> {
        let world = &*self.world;
        let name = claim.spec.as_ref().and_then(|spec| spec.volume_name.clone()).filter(|name| !name.is_empty());
        let volume = name.and_then(|name| world.volumes.get(&Key::cluster(name)));
        let step = plan::claim(
            claim,
            volume.as_deref(),
            &world.classes.all(),
            &world.volumes.all(),
            &world.settings.volumes_dir,
        );
        match step {
            ClaimStep::Rest => {}
            ClaimStep::Protect if self.is_used(claim) => {}
            ClaimStep::Protect => {
                runtime::remove_finalizer(&self.claims(claim), claim, CLAIM_PROTECTION).await?;
            }
            ClaimStep::UseClass(class) => {
                world.claims.patch(claim, json!({"spec": {"storageClassName": class}})).await?;
            }
            ClaimStep::Provision(volume) => {
                world.volumes.create(&volume).await?;
                let message = format!("Successfully provisioned volume {}", volume.name_any());
                world.events.tell(claim, News::normal(BY, "ProvisioningSucceeded", message));
            }
            ClaimStep::Reserve(volume, reference) => {
                world.volumes.patch(&volume, json!({"spec": {"claimRef": reference}})).await?;
            }
            ClaimStep::Bind(volume) => {
                let marks = json!({plan::BOUND: "yes", plan::BOUND_BY_CONTROLLER: "yes"});
                let change = json!({"metadata": {"annotations": marks}, "spec": {"volumeName": volume}});
                world.claims.patch(claim, change).await?;
            }
            ClaimStep::Report(status) => {
                world.claims.report(&PersistentVolumeClaim { status: Some(*status), ..claim.clone() }).await?;
            }
        }
        Ok(())
    }

    async fn volume(&self, volume: &PersistentVolume) -> Result<(), Failure> {
        let world = &*self.world;
        let reference = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
        let key = reference.map(|reference| {
            Key::new(reference.namespace.clone().unwrap_or_default(), reference.name.clone().unwrap_or_default())
        });
        let claim = key.and_then(|key| world.claims.get(&key));
        match plan::volume(volume, claim.as_deref()) {
            VolumeStep::Rest => {}
            VolumeStep::Report(phase) => {
                let mut changed = volume.clone();
                changed.status.get_or_insert_default().phase = Some(phase.to_owned());
                world.volumes.report(&changed).await?;
            }
            VolumeStep::Delete => world.volumes.delete(volume, None).await?,
            VolumeStep::Release => {
                let volumes = kube::Api::all(world.client.clone());
                runtime::remove_finalizer(&volumes, volume, VOLUME_PROTECTION).await?;
            }
        }
        Ok(())
    }

    fn claims(&self, claim: &PersistentVolumeClaim) -> kube::Api<PersistentVolumeClaim> {
        kube::Api::namespaced(self.world.client.clone(), &claim.namespace().unwrap_or_default())
    }

    /// Whether a pod that has not ended uses a claim.
    fn is_used(&self, claim: &PersistentVolumeClaim) -> bool {
        let pods = self.world.pods.in_namespace(&claim.namespace().unwrap_or_default());
        let name = claim.name_any();
        pods.iter().any(|pod| !is_finished(pod) && claims_of(pod).any(|used| used == name))
    }
}

fn claims_of(pod: &Pod) -> impl Iterator<Item = &str> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter_map(|volume| Some(volume.persistent_volume_claim.as_ref()?.claim_name.as_str()))
}

impl Controller for Volumes {
    const NAME: &'static str = "volumes";
    // Two claims at a time might take the same volume.
    const WORKERS: usize = 1;

    fn subscribe(&self, queue: &Queue) {
        self.world.claims.queue_each(queue);
        self.world.volumes.queue_each(queue);
        self.world.claims.queue_mapped(queue, |claim| {
            claim.spec.as_ref().and_then(|spec| spec.volume_name.as_ref()).map(Key::cluster)
        });
        let claims = self.world.claims.clone();
        self.world.volumes.queue_mapped(queue, move |volume| {
            let reference = volume.spec.as_ref().and_then(|spec| spec.claim_ref.clone());
            let known =
                reference.map(|claim| Key::new(claim.namespace.unwrap_or_default(), claim.name.unwrap_or_default()));
            let waiting =
                claims.all().into_iter().filter(|claim| plan::phase(claim) != "Bound").map(|claim| Key::of(&*claim));
            known.into_iter().chain(waiting).collect::<Vec<_>>()
        });
        let claims = self.world.claims.clone();
        self.world.classes.queue_mapped(queue, move |_: &StorageClass| {
            let waiting = claims.all().into_iter().filter(|claim| plan::phase(claim) != "Bound");
            waiting.map(|claim| Key::of(&*claim)).collect::<Vec<_>>()
        });
        let claims = self.world.claims.clone();
        self.world.pods.queue_mapped(queue, move |pod| {
            let namespace = pod.namespace().unwrap_or_default();
            let keys: Vec<Key> = claims_of(pod).map(|name| Key::new(&namespace, name)).collect();
            // Only those that wait for their last pod.
            keys.into_iter()
                .filter(|key| claims.get(key).is_some_and(|claim| claim.metadata.deletion_timestamp.is_some()))
                .collect::<Vec<_>>()
        });
    }
}

impl Reconcile for Volumes {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        match key.namespace.as_str() {
            "" => {
                if let Some(volume) = self.world.volumes.get(key) {
                    self.volume(&volume).await?;
                }
            }
            _ => {
                if let Some(claim) = self.world.claims.get(key) {
                    self.claim(&claim).await?;
                }
            }
        }
        Ok(Next::Rest)
    }
}
