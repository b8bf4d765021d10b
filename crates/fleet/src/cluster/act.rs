//! Doing what the plan says. Every step can be repeated and interrupted anywhere.

use std::time::Duration;

use butler_api::butler::tenant_cluster::TenantCluster;
use butler_api::butler::{IPAllocation, TenantAddon};
use butler_api::controlplane::StewardControlPlane;
use butler_api::names::VIEWER_CONF;
use butler_api::names::finalizers::TENANT_CLUSTER;
use butler_api::shared::{Blocker, BlockerOwner};
use capi::bootstrap::KubeadmConfigTemplate;
use capi::core::{Cluster, Machine, MachineDeployment, MachineHealthCheck};
use capi::names::labels::CLUSTER_NAME;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Event, Namespace, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{DynamicObject, NamespaceResourceScope};
use kube::{Api, Client, Resource, ResourceExt};
use runtime::{Failure, Key, Retry, Watched, add_finalizer, remove_finalizer};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::deletion::CONTENTS_REMOVING;
use super::observed::Observed;
use super::plan::{Kind, Step};
use super::pools::digest_of;
use super::render::Object;
use super::report::Done;
use super::{ClusterController, Invitation, contents, deletion, publish, receipt, viewer};
use crate::blockers::{blocker, waiting};
use crate::names;
use crate::names::MANAGER;

/// Four lists and some deletions take no longer where somebody answers.
const CLEARED_WITHIN: Duration = Duration::from_secs(10);

impl ClusterController {
    /// Does one step. Says whether anything was written.
    pub(super) async fn act(&self, observed: &Observed, step: &Step, done: &mut Done) -> Result<bool, Failure> {
        let cluster = &observed.cluster;
        let api: Api<TenantCluster> = self.applier.api(&cluster.namespace().unwrap_or_default());
        match step {
            Step::Hold => {
                let written = add_finalizer(&api, &**cluster, TENANT_CLUSTER).await?;
                Ok(written.map(|object| self.clusters.wrote(object)).is_some())
            }
            Step::Release => remove_finalizer(&api, &**cluster, TENANT_CLUSTER).await.map(|()| false),
            Step::Record => {
                let receipt = serde_json::to_string(&receipt::record(observed)).unwrap_or_default();
                self.record(observed, &receipt).await.map(|()| true)
            }
            Step::Receipt => {
                let event = receipt::event(cluster, observed.now);
                let events: Api<Event> = self.applier.api(&cluster.namespace().unwrap_or_default());
                match events.create(&PostParams::default(), &event).await {
                    Ok(_) => Ok(false),
                    // Told already; or the namespace itself is going, and nobody is left to read it.
                    Err(kube::Error::Api(status)) if [403, 409].contains(&status.code) => Ok(false),
                    Err(error) => Err(error.into()),
                }
            }
            Step::Pause(paused) => {
                let clusters: Api<Cluster> = self.applier.api(&observed.internals());
                let body = json!({"spec": {"paused": paused}});
                let params = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
                self.capi.wrote(clusters.patch(&observed.name(), &params, &Patch::Merge(&body)).await?);
                Ok(true)
            }
            Step::Wake(version) => {
                let planes: Api<StewardControlPlane> = self.applier.api(&observed.internals());
                let body = json!({"spec": {"replicas": 1, "version": version.to_string()}});
                let params = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
                self.control_planes.wrote(planes.patch(&observed.name(), &params, &Patch::Merge(&body)).await?);
                Ok(true)
            }
            Step::Invite { pool, is_talos } => self.invite(observed, pool, *is_talos).await,
            Step::LetView => self.let_view(observed).await,
            Step::ClearContents => self.clear(observed, done).await,
            Step::Apply(object) => self.apply(observed, object).await,
            Step::Delete(kind, name) => self.delete(observed, *kind, name).await.map(|()| false),
        }
    }

    /// Writes down what there is to be removed.
    async fn record(&self, observed: &Observed, receipt: &str) -> Result<(), Failure> {
        let cluster = &observed.cluster;
        let api: Api<TenantCluster> = self.applier.api(&cluster.namespace().unwrap_or_default());
        let body = json!({"metadata": {"uid": cluster.uid(), "annotations": {names::RECEIPT: receipt}}});
        let written = api.patch(&observed.name(), &PatchParams::default(), &Patch::Merge(&body)).await?;
        self.clusters.wrote(written);
        Ok(())
    }

    /// A client of the cluster itself.
    async fn inside(&self, kubeconfig: &ByteString) -> Result<Client, Failure> {
        contents::client(&self.ways, &kubeconfig.0, Some(contents::PATIENCE)).await
    }

    async fn clear(&self, observed: &Observed, done: &mut Done) -> Result<bool, Failure> {
        let Some(kubeconfig) = &observed.kubeconfig else { return Ok(false) };
        // Few at a time, and none for long: a cluster that does not answer must not keep the others waiting.
        let Ok(_turn) = self.clearing.try_acquire() else {
            done.blockers.push(awaits_turn(observed));
            return Ok(false);
        };
        let cleared = async { contents::clear(&self.inside(kubeconfig).await?).await };
        let unreachable = |failure| Failure { reason: "TenantUnreachable", ..failure };
        let left = answered(cleared).await.map_err(unreachable)?;
        done.contents_removed = left.is_empty();
        if let Some(receipt) = receipt::with_contents(&observed.cluster, &left) {
            self.record(observed, &receipt).await?;
        }
        if !left.is_empty() {
            done.blockers.push(deletion::removing(observed, left));
        }
        Ok(done.contents_removed)
    }

    /// Lets those in who only look: the cluster knows what they may see first, and then they get the way there.
    async fn let_view(&self, observed: &Observed) -> Result<bool, Failure> {
        let Some(kubeconfig) = &observed.kubeconfig else { return Ok(false) };
        let admitted = async { viewer::admit(&self.inside(kubeconfig).await?).await };
        answered(admitted).await?;
        let unmade = |error: pki::PkiError| {
            Failure::new(Retry::Backoff, "NoKeys", "the kubeconfig of viewers cannot be made").caused_by(error)
        };
        let Some(text) = viewer::kubeconfig(observed).map_err(unmade)? else { return Ok(false) };
        let team = observed.team.as_ref().map(|team| team.name_any());
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(butler_api::names::viewer_kubeconfig(&observed.name())),
                namespace: Some(observed.internals()),
                labels: Some(names::labels_of(&observed.cluster, team.as_deref())),
                ..ObjectMeta::default()
            },
            type_: Some("Opaque".to_owned()),
            data: Some([(VIEWER_CONF.to_owned(), ByteString(text.into_bytes()))].into()),
            ..Secret::default()
        };
        self.write(&self.secrets, secret).await
    }

    /// Lets the machines of a pool join: the cluster knows their token first, and then they do.
    async fn invite(&self, observed: &Observed, pool: &str, is_talos: bool) -> Result<bool, Failure> {
        let Some(kubeconfig) = &observed.kubeconfig else { return Ok(false) };
        let renewed = Invitation::renewed(observed, pool, is_talos).map_err(|error| {
            Failure::new(Retry::Backoff, "NoRandomness", "no bootstrap token can be made").caused_by(error)
        })?;
        let Some(invitation) = renewed else { return Ok(false) };
        let token = invitation.token();
        let written = async {
            let secrets: Api<Secret> = Api::namespaced(self.inside(kubeconfig).await?, "kube-system");
            let params = PatchParams::apply(MANAGER).force();
            secrets.patch(&token.name_any(), &params, &Patch::Apply(&token)).await.map_err(Failure::from)
        };
        answered(written).await?;
        let team = observed.team.as_ref().map(|team| team.name_any());
        let mut labels = names::labels_of(&observed.cluster, team.as_deref());
        labels.insert(CLUSTER_NAME.to_owned(), observed.name());
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(names::join(pool)),
                namespace: Some(observed.internals()),
                labels: Some(labels),
                annotations: Some([(names::TEMPLATE.to_owned(), String::new())].into()),
                ..ObjectMeta::default()
            },
            type_: Some("Opaque".to_owned()),
            data: Some(invitation.data()),
            ..Secret::default()
        };
        self.write(&self.secrets, secret).await
    }

    async fn apply(&self, observed: &Observed, object: &Object) -> Result<bool, Failure> {
        match object.clone() {
            Object::Namespace(object) => {
                let api: Api<Namespace> = Api::all(self.applier.client().clone());
                let written = self.applier.apply_in(&api, observed.namespace.as_deref(), *object).await?;
                Ok(written.map(|object| self.namespaces.wrote(object)).is_some())
            }
            Object::Secret(object) if self.is_taken(observed, &object).await? => Ok(false),
            Object::Secret(object) => self.write(&self.secrets, *object).await,
            Object::Cluster(object) => self.write(&self.capi, *object).await,
            Object::ControlPlane(object) => self.write(&self.control_planes, *object).await,
            Object::Standalone(object) => self.write(&self.standalone, *object).await,
            Object::Deployment(object) => self.write(&self.deployments, *object).await,
            Object::HealthCheck(object) => self.write(&self.checks, *object).await,
            Object::Allocation(object) => self.write(&self.allocations, *object).await,
            Object::Addon(object) => self.write(&self.addons, *object).await,
            Object::ConfigTemplate(object) => {
                let known = self.config_templates.get(&Key::of(&*object));
                if known.is_some_and(|known| digest_of(&*known) == digest_of(&*object)) {
                    return Ok(false);
                }
                self.write(&self.config_templates, *object).await
            }
            Object::MachineTemplate(object) => {
                let known = observed.machine_templates.get(&object.name_any());
                if known.is_some_and(|known| digest_of(&**known) == digest_of(&*object)) {
                    return Ok(false);
                }
                self.write_kind(observed, *object).await
            }
            Object::Infrastructure(object) => self.write_kind(observed, *object).await,
        }
    }

    /// Whether a Secret of somebody else stands where this one should be. A copy may be late to know of it, so the API is asked.
    async fn is_taken(&self, observed: &Observed, secret: &Secret) -> Result<bool, Failure> {
        let cluster = &observed.cluster;
        if secret.namespace() != cluster.namespace() || self.secrets.get(&Key::of(secret)).is_some() {
            return Ok(false);
        }
        let api: Api<Secret> = self.applier.api(&secret.namespace().unwrap_or_default());
        let there = api.get_opt(&secret.name_any()).await?;
        Ok(there.is_some_and(|there| !publish::is_owned(&there, cluster.metadata.uid.as_ref())))
    }

    async fn write<K>(&self, watched: &Watched<K>, object: K) -> Result<bool, Failure>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + runtime::Object + std::fmt::Debug,
    {
        let known = watched.get(&Key::of(&object));
        let written = self.applier.apply(known.as_deref(), object).await?;
        Ok(written.map(|object| watched.wrote(object)).is_some())
    }

    async fn write_kind(&self, observed: &Observed, object: DynamicObject) -> Result<bool, Failure> {
        let Some(kinds) = self.infrastructure(observed) else { return Ok(false) };
        let is_cluster = object.types.as_ref().is_some_and(|types| types.kind == kinds.kinds.cluster.kind);
        let (kind, watched) = if is_cluster {
            (&kinds.kinds.cluster, &kinds.clusters)
        } else {
            (&kinds.kinds.template, &kinds.templates)
        };
        let known = watched.get(&Key::of(&object));
        let written = self.applier.apply_kind(kind, known.as_deref(), object).await.map_err(|failure| {
            if !is_answered(&failure, &[404]) || observed.namespace.is_none() {
                return failure;
            }
            let message =
                format!("{} {} is not served: its Cluster API provider is not installed", kind.api_version, kind.kind);
            Failure { retry: Retry::Backoff, reason: "KindMissing", message, ..failure }
        })?;
        Ok(written.map(|object| watched.wrote(object)).is_some())
    }

    async fn delete(&self, observed: &Observed, kind: Kind, name: &str) -> Result<(), Failure> {
        let internals = observed.internals();
        let key = Key::new(&internals, name);
        match kind {
            Kind::Addon => {
                let namespace = observed.cluster.namespace().unwrap_or_default();
                let api: Api<TenantAddon> = self.applier.api(&namespace);
                let Some(addon) = self.addons.get(&Key::new(namespace, name)) else { return Ok(()) };
                if addon.annotations().get(names::UNWANTED).is_none() {
                    // Said before it is deleted: a part of the platform would be held otherwise.
                    let body = json!({"metadata": {"uid": addon.uid(), "annotations": {names::UNWANTED: "true"}}});
                    match api.patch(name, &PatchParams::default(), &Patch::Merge(&body)).await {
                        Ok(written) => self.addons.wrote(written),
                        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
                        Err(error) => return Err(error.into()),
                    }
                }
                self.remove(&api, Some(&*addon)).await
            }
            Kind::HealthCheck => {
                let api: Api<MachineHealthCheck> = self.applier.api(&internals);
                self.remove(&api, self.checks.get(&key).as_deref()).await
            }
            Kind::Deployment => {
                let api: Api<MachineDeployment> = self.applier.api(&internals);
                self.remove(&api, self.deployments.get(&key).as_deref()).await
            }
            Kind::Machine => {
                let api: Api<Machine> = self.applier.api(&internals);
                self.remove(&api, self.machines.get(&key).as_deref()).await
            }
            Kind::Cluster => {
                let api: Api<Cluster> = self.applier.api(&internals);
                self.remove(&api, self.capi.get(&key).as_deref()).await
            }
            Kind::ConfigTemplate => {
                let api: Api<KubeadmConfigTemplate> = self.applier.api(&internals);
                self.remove(&api, self.config_templates.get(&key).as_deref()).await
            }
            Kind::Secret => {
                let api: Api<Secret> = self.applier.api(&internals);
                self.remove(&api, self.secrets.get(&key).as_deref()).await
            }
            Kind::Allocation => {
                let Some(known) = observed.allocations.iter().find(|known| known.name_any() == name) else {
                    return Ok(());
                };
                let api: Api<IPAllocation> = self.applier.api(&known.namespace().unwrap_or_default());
                if known.annotations().get(names::UNWANTED).is_none() {
                    // Said before it is deleted: what a cluster uses would be held otherwise.
                    let body = json!({"metadata": {"uid": known.uid(), "annotations": {names::UNWANTED: "true"}}});
                    match api.patch(name, &PatchParams::default(), &Patch::Merge(&body)).await {
                        Ok(written) => self.allocations.wrote(written),
                        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
                        Err(error) => return Err(error.into()),
                    }
                }
                self.remove(&api, Some(&**known)).await
            }
            Kind::Namespace => {
                let api: Api<Namespace> = Api::all(self.applier.client().clone());
                self.remove(&api, observed.namespace.as_deref()).await
            }
            Kind::MachineTemplate => {
                let Some(kinds) = self.infrastructure(observed) else { return Ok(()) };
                let client = self.applier.client().clone();
                let api: Api<DynamicObject> = Api::namespaced_with(client, &internals, &kinds.kinds.template);
                match api.delete(name, &DeleteParams::background()).await {
                    Ok(_) => Ok(()),
                    Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
                    Err(error) => Err(error.into()),
                }
            }
        }
    }

    async fn remove<K>(&self, api: &Api<K>, object: Option<&K>) -> Result<(), Failure>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Clone + std::fmt::Debug,
    {
        match object {
            Some(object) => self.applier.delete(api, object).await,
            None => Ok(()),
        }
    }
}

/// What a cluster's own API is asked for, if it answers in time.
async fn answered<T>(asked: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    match tokio::time::timeout(CLEARED_WITHIN, asked).await {
        Ok(outcome) => outcome.map_err(|failure| Failure { retry: Retry::Backoff, ..failure }),
        Err(_) => Err(Failure::new(Retry::Backoff, "TenantUnreachable", "the cluster's own API does not answer")),
    }
}

/// What was told last is waited for until it is its turn again.
fn awaits_turn(observed: &Observed) -> Blocker {
    let told = observed.status().blockers.into_iter().find(|known| known.reason == CONTENTS_REMOVING);
    told.unwrap_or_else(|| {
        waiting(CONTENTS_REMOVING, "what was made inside is removed when those before it are done", Vec::new())
    })
}

/// A step that failed, as what the cluster waits for.
pub(super) fn failed(failure: &Failure) -> Blocker {
    let (owner, remedy) = match failure.retry {
        Retry::Terminal => (BlockerOwner::PlatformAdmin, "remove the cause, then run `butlerctl cluster retry`"),
        Retry::Soon | Retry::Backoff => (BlockerOwner::Butler, "wait: it is tried again"),
    };
    blocker(failure.reason, failure.chain(), owner, remedy)
}

/// Whether the API will never take this, whatever happens around it.
pub(super) fn is_refused(failure: &Failure) -> bool {
    is_answered(failure, &[400, 422])
}

fn is_answered(failure: &Failure, codes: &[u16]) -> bool {
    let source = failure.source.as_deref().and_then(|source| source.downcast_ref::<kube::Error>());
    matches!(source, Some(kube::Error::Api(status)) if codes.contains(&status.code))
}
