//! Team: a namespace, who may do what in it, and how much of its limits is used.

mod namespace;
mod plan;
mod quota;
mod report;
mod roles;

use std::collections::BTreeSet;
use std::sync::Arc;

use butler_api::butler::tenant_cluster::Resolved;
use butler_api::butler::{ButlerConfig, ProviderConfig, Team, TenantCluster, TenantClusterSpec};
use butler_api::names::finalizers::TEAM;
use butler_api::names::{BUTLER_CONFIG, SYSTEM_NAMESPACE, annotations, labels};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{Patch, PatchParams};
use kube::{Api, Resource, ResourceExt};
use runtime::{
    APPLIED, Applier, Clock, Failure, Key, Metrics, Next, Queue, Reconcile, Watched, Watches, add_finalizer,
    remove_finalizer,
};
use serde_json::json;

pub use plan::{Observed, Plan, Step, plan};
pub use quota::{Usage, usage};
pub use report::report;
pub use roles::role_name;

use crate::cluster::{Sources, may_use, provider_ref, resolve, team_name};
use crate::names::MANAGER;
use crate::time::now;

const WORKERS: usize = 4;
/// Enough for the namespace, what is in it, and the status.
const ROUNDS: usize = 6;

/// The controller of Teams.
pub struct TeamController {
    applier: Applier,
    clock: Clock,
    teams: Watched<Team>,
    platform: Watched<ButlerConfig>,
    providers: Watched<ProviderConfig>,
    clusters: Watched<TenantCluster>,
    namespaces: Watched<Namespace>,
    roles: Watched<Role>,
    bindings: Watched<RoleBinding>,
    cluster_roles: Watched<ClusterRole>,
    cluster_bindings: Watched<ClusterRoleBinding>,
}

impl TeamController {
    /// Runs until dropped.
    pub async fn run(watches: Watches, clock: Clock, metrics: Metrics) {
        let queue = Queue::default();
        let controller = Arc::new(Self {
            applier: Applier::new(watches.client().clone(), MANAGER),
            clock,
            teams: watches.of(),
            platform: watches.of(),
            providers: watches.of(),
            clusters: watches.of(),
            namespaces: watches.of(),
            roles: watches.of(),
            bindings: watches.of(),
            cluster_roles: watches.of(),
            cluster_bindings: watches.of(),
        });
        watches.synced().await;
        controller.listen(&queue);
        runtime::run("team", controller, queue, WORKERS, metrics).await;
    }

    fn listen(&self, queue: &Queue) {
        self.teams.queue_each(queue);
        let teams = self.teams.clone();
        self.platform.queue_mapped(queue, move |_| teams.all().iter().map(|team| Key::of(&**team)).collect::<Vec<_>>());
        // A team has the name of its namespace.
        let teams = self.teams.clone();
        self.namespaces.queue_mapped(queue, move |namespace| {
            Some(Key::cluster(namespace.name_any())).filter(|key| teams.get(key).is_some())
        });
        self.roles.queue_mapped(queue, |role| team_of(role).map(Key::cluster));
        self.bindings.queue_mapped(queue, |binding| team_of(binding).map(Key::cluster));
        self.cluster_roles.queue_mapped(queue, |role| seen_by(role).map(Key::cluster));
        self.cluster_bindings.queue_mapped(queue, |binding| seen_by(binding).map(Key::cluster));
        // Who may use an infrastructure may look at it.
        let (teams, waiting) = (self.teams.clone(), queue.clone());
        self.providers.on_change(move |before, after| {
            let scope = |provider: &Arc<ProviderConfig>| provider.spec.scope.clone();
            if before.map(scope) != after.map(scope) {
                teams.all().iter().for_each(|team| waiting.add(Key::of(&**team)));
            }
        });
        let waiting = queue.clone();
        self.clusters.on_change(move |before, after| {
            if before.map(what_counts) != after.map(what_counts) {
                let keys = |cluster: &Arc<TenantCluster>| [team_name(cluster), cluster.namespace().unwrap_or_default()];
                before.into_iter().chain(after).flat_map(keys).for_each(|name| waiting.add(Key::cluster(name)));
            }
        });
    }

    fn observe(&self, key: &Key) -> Option<Observed> {
        let team = self.teams.get(key)?;
        let platform = self.platform.get(&Key::cluster(BUTLER_CONFIG));
        let all = self.clusters.all();
        let is_there = |cluster: &&Arc<TenantCluster>| {
            team_name(cluster) == key.name || cluster.namespace().as_ref() == Some(&key.name)
        };
        let clusters: Vec<_> = all.iter().filter(is_there).cloned().collect();
        let providers = self.providers.in_namespace(SYSTEM_NAMESPACE);
        let sources = Sources { team: Some(&team), platform: platform.as_deref(), providers: Some(&providers) };
        let complete = |cluster: &Arc<TenantCluster>| {
            let reference = provider_ref(cluster, sources);
            let provider = reference.and_then(|named| self.providers.get(&Key::new(named.namespace, named.name)));
            // What cannot be filled in yet counts for what is said.
            let spec = resolve(cluster, sources, provider.as_deref()).map(|wanted| wanted.spec);
            (Key::of(&**cluster), spec.unwrap_or_else(|_| cluster.spec.clone()))
        };
        Some(Observed {
            clusters: clusters.iter().map(complete).collect(),
            namespace: self.namespaces.get(key),
            roles: own(&self.roles, &key.name),
            bindings: own(&self.bindings, &key.name),
            providers: self.usable(&key.name),
            platform,
            team,
            now: now(&self.clock),
        })
    }

    /// The infrastructures of the platform that a team may use.
    fn usable(&self, team: &str) -> BTreeSet<String> {
        let all = self.providers.in_namespace(SYSTEM_NAMESPACE);
        all.iter().filter(|provider| may_use(team, provider)).map(|provider| provider.name_any()).collect()
    }

    /// Does one step. Says whether a copy knows of it already.
    async fn act(&self, observed: &Observed, step: &Step) -> Result<bool, Failure> {
        let team = &observed.team;
        let teams: Api<Team> = Api::all(self.applier.client().clone());
        let namespaces: Api<Namespace> = Api::all(self.applier.client().clone());
        match step {
            Step::Hold => {
                let written = add_finalizer(&teams, &**team, TEAM).await?;
                Ok(written.map(|team| self.teams.wrote(team)).is_some())
            }
            Step::Release => remove_finalizer(&teams, &**team, TEAM).await.map(|()| false),
            Step::Namespace(wanted) => {
                // A copy may be late to know of a namespace that is somebody else's, so the API is asked.
                if observed.namespace.is_none()
                    && let Some(there) = namespaces.get_opt(&wanted.name_any()).await?
                {
                    self.namespaces.wrote(there);
                    return Ok(true);
                }
                let known = observed.namespace.as_deref();
                let written = self.applier.apply_in(&namespaces, known, (**wanted).clone()).await?;
                Ok(written.map(|namespace| self.namespaces.wrote(namespace)).is_some())
            }
            Step::DropNamespace(namespace) => self.applier.delete(&namespaces, &**namespace).await.map(|()| false),
            Step::Disown(namespace) => {
                let body = json!({"metadata": {
                    "uid": namespace.uid(),
                    "labels": {labels::TEAM: null},
                    "annotations": {annotations::ADOPTED: null, APPLIED: null},
                }});
                let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
                let written = namespaces.patch(&namespace.name_any(), &params, &Patch::Merge(&body)).await?;
                self.namespaces.wrote(written);
                Ok(true)
            }
            Step::Role(wanted) => {
                let known = observed.roles.iter().find(|role| role.name_any() == wanted.name_any());
                let written = self.applier.apply(known.map(|role| &**role), (**wanted).clone()).await?;
                Ok(written.map(|role| self.roles.wrote(role)).is_some())
            }
            Step::Binding(wanted) => {
                let known = observed.bindings.iter().find(|binding| binding.name_any() == wanted.name_any());
                let written = self.applier.apply(known.map(|binding| &**binding), (**wanted).clone()).await?;
                Ok(written.map(|binding| self.bindings.wrote(binding)).is_some())
            }
            Step::Sight(role, binding) => {
                let client = self.applier.client();
                let key = Key::cluster(role.name_any());
                let known = self.cluster_roles.get(&key);
                let role = self.applier.apply_in(&Api::all(client.clone()), known.as_deref(), (**role).clone()).await?;
                let known = self.cluster_bindings.get(&key);
                let binding =
                    self.applier.apply_in(&Api::all(client.clone()), known.as_deref(), (**binding).clone()).await?;
                let wrote = role.is_some() || binding.is_some();
                role.into_iter().for_each(|role| self.cluster_roles.wrote(role));
                binding.into_iter().for_each(|binding| self.cluster_bindings.wrote(binding));
                Ok(wrote)
            }
            Step::DropRole(role) => {
                self.applier.delete(&self.applier.api(&role.namespace().unwrap_or_default()), &**role).await?;
                self.roles.deleted(role);
                Ok(true)
            }
            Step::DropBinding(binding) => {
                self.applier.delete(&self.applier.api(&binding.namespace().unwrap_or_default()), &**binding).await?;
                self.bindings.deleted(binding);
                Ok(true)
            }
        }
    }
}

impl Reconcile for TeamController {
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
            let api: Api<Team> = Api::all(self.applier.client().clone());
            let before = observed.team.status.as_ref();
            // What is about to change is told when it has.
            if !wrote && let Some(written) = self.applier.report(&api, &*observed.team, before, &status).await? {
                self.teams.wrote(written);
            }
            if !wrote {
                break;
            }
        }
        Ok(Next::Rest)
    }
}

/// What of a cluster its team is interested in: all that it uses is decided by these.
fn what_counts(cluster: &Arc<TenantCluster>) -> (&TenantClusterSpec, Option<&Resolved>) {
    (&cluster.spec, cluster.status.as_ref().and_then(|status| status.resolved.as_ref()))
}

/// The team's objects of a kind, in its namespace and beside the infrastructures.
fn own<K: runtime::Object>(objects: &Watched<K>, team: &str) -> Vec<Arc<K>> {
    let mut own = objects.in_namespace(team);
    own.extend(objects.get(&Key::new(SYSTEM_NAMESPACE, roles::providers_name(team))));
    own.retain(|object| team_of(&**object).as_deref() == Some(team));
    own
}

/// The team that a Role or a RoleBinding was made for.
fn team_of<K: Resource>(object: &K) -> Option<String> {
    let team = object.labels().get(labels::TEAM)?;
    let namespace = object.namespace()?;
    let is_ours =
        namespace == *team || namespace == SYSTEM_NAMESPACE && object.name_any() == roles::providers_name(team);
    is_ours.then(|| team.clone())
}

/// The team whose members see it by a ClusterRole or a ClusterRoleBinding.
fn seen_by<K: Resource>(object: &K) -> Option<String> {
    let team = object.labels().get(labels::TEAM)?;
    (object.name_any() == roles::sight_name(team)).then(|| team.clone())
}
