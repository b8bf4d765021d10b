//! StewardControlPlane: how Cluster API asks for a hosted control plane.

mod plan;
mod spec;

use std::sync::Arc;

use butler_api::controlplane::StewardControlPlane;
use butler_api::names::finalizers::STEWARD_CONTROL_PLANE;
use butler_api::steward::TenantControlPlane;
use capi::core::Cluster;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use kube::{Api, Resource, ResourceExt};
use runtime::{
    Applier, Failure, Key, Metrics, Next, Queue, Reconcile, Watched, Watches, add_finalizer, remove_finalizer,
};
use serde_json::json;

pub use plan::{Observed, Plan, Step, plan, report};
pub use spec::tenant_spec;

use crate::credentials::Root;
use crate::{Settings, names};

const WORKERS: usize = 8;
const ROUNDS: usize = 8;

/// The controller of StewardControlPlanes.
pub struct CapiController {
    applier: Applier,
    settings: Settings,
    asked: Watched<StewardControlPlane>,
    clusters: Watched<Cluster>,
    tenants: Watched<TenantControlPlane>,
    secrets: Watched<Secret>,
}

impl CapiController {
    /// Runs until dropped. `capi` watches Cluster API's own kinds: where they are not installed, this waits for them.
    pub async fn run(watches: Watches, capi: Watches, settings: Settings, metrics: Metrics) {
        let queue = Queue::default();
        let controller = Arc::new(Self {
            applier: Applier::new(watches.client().clone(), names::MANAGER),
            settings,
            asked: watches.of(),
            tenants: watches.of(),
            secrets: watches.of(),
            clusters: capi.of(),
        });
        watches.synced().await;
        capi.synced().await;
        controller.asked.queue_each(&queue);
        controller.tenants.queue_controller::<StewardControlPlane>(&queue);
        let (asked, tenants) = (controller.asked.clone(), controller.tenants.clone());
        controller.clusters.queue_mapped(&queue, move |cluster| {
            let owned = |asked: &Arc<StewardControlPlane>| owner_of(asked).as_ref() == cluster.metadata.name.as_ref();
            let here = asked.in_namespace(&cluster.namespace().unwrap_or_default());
            here.iter().filter(|asked| owned(asked)).map(|asked| Key::of(&**asked)).collect::<Vec<_>>()
        });
        // The kubeconfig and the authority are the TenantControlPlane's.
        controller.secrets.queue_mapped(&queue, move |secret| {
            let tenant = Key::of_controller::<TenantControlPlane>(secret)?;
            Key::of_controller::<StewardControlPlane>(&*tenants.get(&tenant)?)
        });
        runtime::run("steward-control-plane", controller, queue, WORKERS, metrics).await;
    }

    fn observe(&self, key: &Key) -> Option<Observed> {
        let asked = self.asked.get(key)?;
        let uid = asked.uid()?;
        let cluster = owner_of(&asked).and_then(|name| self.clusters.get(&Key::new(&key.namespace, name)));
        let tenant = self.tenants.get(key).filter(|tenant| is_owned(&**tenant, &uid));
        let data = |secret: String, entry: &str| {
            let secret = self.secrets.get(&Key::new(&key.namespace, secret))?;
            let belongs = tenant.as_ref().and_then(|tenant| tenant.uid()).is_some_and(|uid| is_owned(&*secret, &uid));
            secret.data.as_ref()?.get(entry).filter(|_| belongs).cloned()
        };
        let root = Root::ClusterCa.secret_name(&key.name);
        let authority = data(root.clone(), "tls.crt").zip(data(root, "tls.key"));
        let kubeconfig = data(format!("{}-admin-kubeconfig", key.name), "admin.conf");
        let now = self.settings.now();
        Some(Observed { asked, cluster, kubeconfig, authority: authority.map(|(c, k)| [c, k]), tenant, now })
    }

    /// Does one step. Says whether anything was written.
    async fn act(&self, observed: &Observed, step: &Step) -> Result<bool, Failure> {
        let asked = &observed.asked;
        let namespace = asked.namespace().unwrap_or_default();
        let api: Api<StewardControlPlane> = self.applier.api(&namespace);
        match step {
            Step::Hold => {
                let written = add_finalizer(&api, &**asked, STEWARD_CONTROL_PLANE).await?;
                Ok(written.map(|object| self.asked.wrote(object)).is_some())
            }
            Step::Release => remove_finalizer(&api, &**asked, STEWARD_CONTROL_PLANE).await.map(|()| false),
            Step::Tenant(tenant) => {
                let written = self.applier.apply(observed.tenant.as_deref(), (**tenant).clone()).await?;
                Ok(written.map(|object| self.tenants.wrote(object)).is_some())
            }
            Step::DropTenant => {
                if let Some(tenant) = &observed.tenant {
                    self.applier.delete(&self.applier.api(&namespace), &**tenant).await?;
                }
                Ok(false)
            }
            Step::Endpoint(endpoint) => {
                let body = json!({"spec": {"controlPlaneEndpoint": endpoint}});
                let params = PatchParams { field_manager: Some(names::MANAGER.to_owned()), ..PatchParams::default() };
                if let Some(cluster) = &observed.cluster {
                    let clusters: Api<Cluster> = self.applier.api(&namespace);
                    self.clusters.wrote(clusters.patch(&cluster.name_any(), &params, &Patch::Merge(&body)).await?);
                }
                self.asked.wrote(api.patch(&asked.name_any(), &params, &Patch::Merge(&body)).await?);
                Ok(true)
            }
            Step::Secret(secret) => {
                let known = self.secrets.get(&Key::of(&**secret));
                let written = self.applier.apply(known.as_deref(), (**secret).clone()).await?;
                Ok(written.map(|object| self.secrets.wrote(object)).is_some())
            }
        }
    }
}

impl Reconcile for CapiController {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        for _ in 0..ROUNDS {
            let Some(observed) = self.observe(key) else { return Ok(Next::Rest) };
            let plan = plan(&observed);
            let mut wrote = false;
            for step in &plan.steps {
                wrote |= self.act(&observed, step).await?;
            }
            if plan.steps.contains(&Step::Release) {
                return Ok(Next::Rest);
            }
            let status = report(&observed, &plan);
            let api: Api<StewardControlPlane> = self.applier.api(&key.namespace);
            let before = observed.asked.status.as_ref();
            if let Some(written) = self.applier.report(&api, &*observed.asked, before, &status).await? {
                self.asked.wrote(written);
                wrote = true;
            }
            if !wrote {
                return Ok(Next::Rest);
            }
        }
        Ok(Next::Rest)
    }
}

/// The name of the Cluster that owns an object.
fn owner_of(object: &StewardControlPlane) -> Option<String> {
    let cluster = |owner: &&k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference| {
        owner.kind == "Cluster" && owner.api_version.starts_with("cluster.x-k8s.io/")
    };
    object.owner_references().iter().find(cluster).map(|owner| owner.name.clone())
}

fn is_owned<K: Resource>(object: &K, uid: &str) -> bool {
    object.owner_references().iter().any(|owner| owner.controller == Some(true) && owner.uid == uid)
}
