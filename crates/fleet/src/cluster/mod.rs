//! TenantCluster: observe, plan, act, report.

mod act;
mod addons;
mod addresses;
mod asked;
mod contents;
mod deletion;
mod excuse;
mod failed_starts;
mod health;
mod invitation;
mod motion;
mod news;
mod observed;
mod phase;
mod plan;
mod pools;
mod preview;
mod publish;
mod receipt;
mod remaining;
mod render;
mod report;
mod resolve;
mod standalone;
mod versions;
mod viewer;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use butler_api::butler::butler_config::ButlerConfig;
use butler_api::butler::provider_config::{NetworkMode, ProviderConfig};
use butler_api::butler::team::Team;
use butler_api::butler::tenant_cluster::{ClusterPhase, TenantCluster, TenantClusterStatus};
use butler_api::butler::{IPAllocation, NetworkPool, TenantAddon};
use butler_api::controlplane::StewardControlPlane;
use butler_api::names::{BUTLER_CONFIG, SYSTEM_NAMESPACE, VIEWER_CONF};
use butler_api::shared::Provider;
use butler_api::steward::TenantControlPlane;
use capi::bootstrap::KubeadmConfigTemplate;
use capi::controlplane::KubeadmControlPlane;
use capi::core::{Cluster, Machine, MachineDeployment, MachineHealthCheck};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::core::DynamicObject;
use kube::{Api, Resource, ResourceExt};
use parking_lot::Mutex;
use runtime::events::Recorder;
use runtime::{Applier, Clock, Failure, Key, Metrics, Next, Queue, Reconcile, Retry, Watched, Watches, Ways};
use tokio::sync::Semaphore;

pub(crate) use asked::BUTLERS_VALUES;
pub use asked::addon_fields;
pub(crate) use contents::client;
pub(crate) use deletion::WAKING;
pub use deletion::removing;
pub use health::ASLEEP;
pub(crate) use invitation::Invitation;
pub use observed::Observed;
pub use phase::{Facts, next as next_phase};
pub use plan::{Kind, Plan, Step, plan};
pub use preview::{Preview, look, preview, removal};
pub use receipt::{REASON as RECEIPT_REASON, Receipt};
pub use remaining::Remaining;
pub use render::Object;
pub use report::{Done, report};
pub use resolve::{DEFAULT_VERSION, Sources, Wanted, may_use, pinned_spec, provider_ref, resolve, team_name};

use resolve::is_undecided;

use crate::names;
use crate::names::MANAGER;
use crate::network::{load_balancer_name, name_the_same};
use crate::time::now;

/// The controller's name in logs and figures.
const NAME: &str = "tenant-cluster";
/// Rounds of observe, plan and act in one pass. A new cluster takes four.
const ROUNDS: usize = 12;
/// Passes at a time. They wait for the API most of the time.
const WORKERS: usize = 16;
/// Listing a kind takes milliseconds.
const KNOWN_WITHIN: Duration = Duration::from_secs(5);
/// Clusters at a time that are asked what was made inside.
const CLEARING: usize = 4;
/// How often a cluster that goes is asked whether what was made inside is gone: only it knows.
const CONTENTS_AGAIN: Duration = Duration::from_secs(1);

/// The controller of TenantClusters.
pub struct ClusterController {
    applier: Applier,
    recorder: Recorder,
    metrics: Metrics,
    watches: Watches,
    queue: Queue,
    clock: Clock,
    ways: Ways,
    clusters: Watched<TenantCluster>,
    teams: Watched<Team>,
    configs: Watched<ButlerConfig>,
    providers: Watched<ProviderConfig>,
    addons: Watched<TenantAddon>,
    network_pools: Watched<NetworkPool>,
    allocations: Watched<IPAllocation>,
    namespaces: Watched<Namespace>,
    secrets: Watched<Secret>,
    capi: Watched<Cluster>,
    control_planes: Watched<StewardControlPlane>,
    hosted: Watched<TenantControlPlane>,
    standalone: Watched<KubeadmControlPlane>,
    deployments: Watched<MachineDeployment>,
    machines: Watched<Machine>,
    checks: Watched<MachineHealthCheck>,
    config_templates: Watched<KubeadmConfigTemplate>,
    /// Clusters that may be asked at a time what was made inside.
    clearing: Semaphore,
    /// Of providers that some cluster uses.
    infrastructures: Mutex<HashMap<Provider, Arc<Infrastructure>>>,
}

/// The objects of one provider.
struct Infrastructure {
    kinds: providers::Kinds,
    clusters: Watched<DynamicObject>,
    templates: Watched<DynamicObject>,
}

impl ClusterController {
    /// Runs until dropped.
    pub async fn run(watches: Watches, clock: Clock, metrics: Metrics, ways: Ways) {
        let queue = Queue::default();
        let controller = Arc::new(Self {
            applier: Applier::new(watches.client().clone(), MANAGER),
            queue: queue.clone(),
            recorder: Recorder::new(watches.client().clone(), Clock::clone(&clock)),
            metrics: metrics.clone(),
            clock,
            ways,
            clusters: watches.of(),
            teams: watches.of(),
            configs: watches.of(),
            providers: watches.of(),
            addons: watches.of(),
            network_pools: watches.of(),
            allocations: watches.of(),
            namespaces: watches.of(),
            secrets: watches.of(),
            capi: watches.of(),
            control_planes: watches.of(),
            hosted: watches.of(),
            standalone: watches.of(),
            deployments: watches.of(),
            machines: watches.of(),
            checks: watches.of(),
            config_templates: watches.of(),
            clearing: Semaphore::new(CLEARING),
            infrastructures: Mutex::default(),
            watches: watches.clone(),
        });
        watches.synced().await;
        controller.follow();
        controller.count();
        runtime::run(NAME, controller, queue, WORKERS, metrics).await;
    }

    /// Queues a cluster when anything changes that its plan looks at.
    fn follow(self: &Arc<Self>) {
        let queue = &self.queue;
        self.clusters.queue_each(queue);
        self.secrets.queue_mapped(queue, |secret| {
            let cluster = names::cluster_of_kubeconfig(&secret.name_any())?.to_owned();
            Some(Key::new(secret.namespace().unwrap_or_default(), cluster))
        });
        self.addons.queue_mapped(queue, |addon| {
            Some(Key::new(addon.namespace().unwrap_or_default(), addon.spec.cluster_ref.name.clone()))
        });
        self.namespaces.queue_mapped(queue, source_of);
        self.allocations.queue_mapped(queue, source_of);
        self.follow_internals(&self.secrets);
        self.follow_internals(&self.capi);
        self.follow_internals(&self.control_planes);
        self.follow_internals(&self.hosted);
        self.follow_internals(&self.standalone);
        self.follow_internals(&self.deployments);
        self.follow_internals(&self.machines);
        self.follow_internals(&self.checks);
        self.follow_internals(&self.config_templates);

        // Defaults and access: few objects, seldom changed.
        let (controller, wanting) = (Arc::downgrade(self), queue.clone());
        self.teams.on_change(move |before, after| {
            let generation = |team: Option<&Arc<Team>>| team.and_then(|team| team.metadata.generation);
            if generation(before) != generation(after)
                && let (Some(own), Some(team)) = (controller.upgrade(), after.or(before))
            {
                let name = team.name_any();
                own.clusters_where(|cluster| team_name(cluster) == name).into_iter().for_each(|key| wanting.add(key));
            }
        });
        let controller = Arc::downgrade(self);
        self.network_pools.queue_mapped(queue, move |_| {
            let waits = |cluster: &TenantCluster| {
                let blockers = cluster.status.iter().flat_map(|status| &status.blockers);
                blockers.into_iter().any(|blocker| ["PoolMissing", "PoolExhausted"].contains(&blocker.reason.as_str()))
            };
            controller.upgrade().map(|own| own.clusters_where(waits)).unwrap_or_default()
        });
        self.follow_addresses();
        let controller = Arc::downgrade(self);
        self.configs.queue_mapped(queue, move |_| {
            controller.upgrade().map(|own| own.clusters_where(|_| true)).unwrap_or_default()
        });
        let controller = Arc::downgrade(self);
        let wanting = queue.clone();
        self.providers.on_change(move |before, after| {
            let generation =
                |config: Option<&Arc<ProviderConfig>>| config.and_then(|config| config.metadata.generation);
            if generation(before) != generation(after)
                && let (Some(own), Some(config)) = (controller.upgrade(), after.or(before))
            {
                own.users_of(&Key::of(&**config)).into_iter().for_each(|key| wanting.add(key));
                own.clusters_where(is_undecided).into_iter().for_each(|key| wanting.add(key));
            }
        });
        let controller = Arc::downgrade(self);
        self.secrets.queue_mapped(queue, move |secret| {
            controller.upgrade().map(|own| own.users_of_credentials(&Key::of(secret))).unwrap_or_default()
        });
    }

    /// Queues clusters that name addresses when others begin or end to have them.
    fn follow_addresses(self: &Arc<Self>) {
        let (controller, waiting) = (Arc::downgrade(self), self.queue.clone());
        self.network_pools.on_change(move |before, after| {
            let names = |cluster: &TenantCluster| cluster.spec.load_balancer_addresses().is_some();
            if before.map(|pool| &pool.spec) != after.map(|pool| &pool.spec)
                && let Some(own) = controller.upgrade()
            {
                own.clusters_where(names).into_iter().for_each(|key| waiting.add(key));
            }
        });
        let (controller, waiting) = (Arc::downgrade(self), self.queue.clone());
        self.clusters.on_change(move |before, after| {
            let named = |cluster: Option<&Arc<TenantCluster>>| cluster?.spec.load_balancer_addresses();
            if let Some(left) = before.filter(|_| named(before).is_some() && named(before) != named(after))
                && let Some(own) = controller.upgrade()
            {
                let shares = |cluster: &TenantCluster| name_the_same(&left.spec, &cluster.spec);
                own.clusters_where(shares).into_iter().for_each(|key| waiting.add(key));
            }
        });
    }

    /// Queues the cluster whose internals an object is among.
    fn follow_internals<K: runtime::Object>(&self, watched: &Watched<K>) {
        let namespaces = self.namespaces.clone();
        watched.queue_mapped(&self.queue, move |object| {
            let namespace = namespaces.get(&Key::cluster(object.namespace()?))?;
            source_of(&*namespace)
        });
    }

    fn clusters_where(&self, holds: impl Fn(&TenantCluster) -> bool) -> Vec<Key> {
        self.clusters.all().iter().filter(|cluster| holds(cluster)).map(|cluster| Key::of(&**cluster)).collect()
    }

    /// Clusters on a provider.
    fn users_of(&self, provider: &Key) -> Vec<Key> {
        self.clusters_where(|cluster| {
            let named = self.provider_of(cluster);
            named.is_some_and(|named| named == *provider)
        })
    }

    /// Clusters on a provider whose credentials this Secret has.
    fn users_of_credentials(&self, secret: &Key) -> Vec<Key> {
        let names_it = |config: &Arc<ProviderConfig>| {
            let source = providers::credentials_of(config);
            source
                .is_some_and(|source| source.secret.name == secret.name && source.secret.namespace == secret.namespace)
        };
        let naming: Vec<Key> = self.providers.all().iter().filter(|c| names_it(c)).map(|c| Key::of(&**c)).collect();
        naming.iter().flat_map(|provider| self.users_of(provider)).collect()
    }

    fn provider_of(&self, cluster: &TenantCluster) -> Option<Key> {
        let team = self.teams.get(&Key::cluster(team_name(cluster)));
        let platform = self.configs.get(&Key::cluster(BUTLER_CONFIG));
        let providers = is_undecided(cluster).then(|| self.choices());
        let sources = Sources { team: team.as_deref(), platform: platform.as_deref(), providers: providers.as_deref() };
        let reference = provider_ref(cluster, sources)?;
        Some(Key::new(reference.namespace, reference.name))
    }

    /// Other clusters on its infrastructure that name some of the same addresses.
    fn rivals(&self, cluster: &TenantCluster) -> Vec<Arc<TenantCluster>> {
        if cluster.spec.load_balancer_addresses().is_none() {
            return Vec::new();
        }
        let (key, provider) = (Key::of(cluster), self.provider_of(cluster));
        let is_rival = |other: &Arc<TenantCluster>| {
            name_the_same(&cluster.spec, &other.spec) && Key::of(&**other) != key && self.provider_of(other) == provider
        };
        self.clusters.all().into_iter().filter(is_rival).collect()
    }

    /// The infrastructures of the platform.
    fn choices(&self) -> Vec<Arc<ProviderConfig>> {
        self.providers.in_namespace(SYSTEM_NAMESPACE)
    }

    /// The objects of the provider of a cluster, watched from the first cluster on it on.
    fn infrastructure(&self, observed: &Observed) -> Option<Arc<Infrastructure>> {
        let chosen = observed.cluster.status.as_ref().and_then(|status| status.resolved.as_ref()?.provider);
        self.infrastructure_of(observed.provider.as_ref().map(|config| config.spec.provider).or(chosen)?)
    }

    fn infrastructure_of(&self, provider: Provider) -> Option<Arc<Infrastructure>> {
        let mut known = self.infrastructures.lock();
        if let Some(infrastructure) = known.get(&provider) {
            return Some(Arc::clone(infrastructure));
        }
        let kinds = providers::kinds(provider)?;
        let clusters = self.watches.of_kind(&kinds.cluster);
        let templates = self.watches.of_kind(&kinds.template);
        self.follow_internals(&clusters);
        self.follow_internals(&templates);
        let infrastructure = Arc::new(Infrastructure { kinds, clusters, templates });
        known.insert(provider, Arc::clone(&infrastructure));
        Some(infrastructure)
    }

    fn observe(&self, key: &Key) -> Option<Observed> {
        let cluster = self.clusters.get(key)?;
        let internals = names::internals(&cluster);
        let own = Key::new(&internals, &key.name);
        let provider = self.provider_of(&cluster).and_then(|key| self.providers.get(&key));
        let credentials = provider
            .as_ref()
            .and_then(|config| providers::credentials_of(config))
            .and_then(|source| self.secrets.get(&Key::new(source.secret.namespace, source.secret.name)));
        let takes_from_pools = provider.as_ref().is_some_and(|config| {
            config.spec.network.as_ref().is_some_and(|network| network.mode == NetworkMode::Ipam)
        });
        let home =
            provider.as_ref().and_then(|config| config.namespace()).unwrap_or_else(|| SYSTEM_NAMESPACE.to_owned());
        let named = |addon: &Arc<TenantAddon>| addon.spec.cluster_ref.name == key.name;
        let kubeconfig = self.secrets.get(&Key::new(&internals, capi::names::secrets::kubeconfig(&key.name)));
        let published = self.secrets.get(&Key::new(&key.namespace, names::kubeconfig(&key.name)));
        let viewer = self.secrets.get(&Key::new(&internals, butler_api::names::viewer_kubeconfig(&key.name)));
        let published_viewer = self.secrets.get(&Key::new(&key.namespace, names::viewer_kubeconfig(&key.name)));
        let owns = |secret: &Arc<Secret>| publish::is_owned(secret, cluster.metadata.uid.as_ref());
        let taken = [&published, &published_viewer].into_iter().flatten().filter(|secret| !owns(secret));
        let taken_secrets = taken.map(|secret| secret.name_any()).collect();
        let standalone = self.standalone.get(&own);
        let like_hosted = || standalone.as_deref().map(|plane| Arc::new(standalone::like_hosted(plane)));
        let mut observed = Observed {
            team: self.teams.get(&Key::cluster(team_name(&cluster))),
            platform: self.configs.get(&Key::cluster(BUTLER_CONFIG)),
            provider,
            providers: is_undecided(&cluster).then(|| self.choices()),
            credentials,
            namespace: self.namespaces.get(&Key::cluster(internals.clone())),
            capi: self.capi.get(&own),
            control_plane: self.control_planes.get(&own).or_else(like_hosted),
            standalone,
            hosted: self.hosted.get(&own),
            infrastructure: None,
            deployments: by_name(&self.deployments, &internals),
            machines: self.machines.in_namespace(&internals),
            checks: by_name(&self.checks, &internals),
            config_templates: by_name(&self.config_templates, &internals),
            machine_templates: BTreeMap::new(),
            secrets: by_name(&self.secrets, &internals),
            network_pools: if takes_from_pools { self.network_pools.all() } else { Vec::new() },
            allocations: self.allocations.named(&home, &load_balancer_name(&cluster)),
            rivals: self.rivals(&cluster),
            addons: self.addons.in_namespace(&key.namespace).into_iter().filter(named).collect(),
            kubeconfig: kubeconfig.and_then(|secret| secret.data.as_ref()?.get("value").cloned()),
            published: published.filter(owns),
            viewer_kubeconfig: viewer.and_then(|secret| secret.data.as_ref()?.get(VIEWER_CONF).cloned()),
            published_viewer: published_viewer.filter(owns),
            taken_secrets,
            now: now(&self.clock),
            cluster,
        };
        if let Some(infrastructure) = self.infrastructure(&observed) {
            observed.infrastructure = infrastructure.clusters.get(&own);
            observed.machine_templates = by_name(&infrastructure.templates, &internals);
        }
        Some(observed)
    }

    /// Waits until the templates of a cluster that has machines are known: one that is there must not be taken for missing.
    async fn templates_known(&self, key: &Key) -> Result<(), Failure> {
        let Some(observed) = self.observe(key).filter(|observed| !observed.deployments.is_empty()) else {
            return Ok(());
        };
        let Some(infrastructure) = self.infrastructure(&observed) else { return Ok(()) };
        let known = tokio::time::timeout(KNOWN_WITHIN, infrastructure.templates.synced()).await;
        known.map_err(|_| {
            let message = format!("{} cannot be listed", infrastructure.kinds.template.kind);
            Failure::new(Retry::Backoff, "KindMissing", message)
        })
    }

    /// Tells people and Prometheus what is new.
    fn tell(&self, observed: &Observed, status: &TenantClusterStatus) {
        let before = observed.status();
        for news in news::news(&before, status) {
            self.recorder.tell(&*observed.cluster, news);
        }
        self.metrics.blocked(NAME, &Key::of(&*observed.cluster), &status.blockers);
        let created = observed.cluster.creation_timestamp();
        if before.ready_since.is_none()
            && let (Some(ready), Some(created)) = (&status.ready_since, created)
        {
            self.metrics.took("butler_tenantcluster_ready_seconds", ready.0.duration_since(created.0));
        }
    }

    /// What Prometheus asks for: how many clusters there are, and in which phases.
    fn count(&self) {
        let known: Arc<Mutex<HashMap<Key, (&'static str, String)>>> = Arc::default();
        let (told, clusters) = (Arc::clone(&known), self.clusters.clone());
        self.clusters.on_change(move |before, after| {
            let Some(key) = after.or(before).map(|cluster| Key::of(&**cluster)) else { return };
            let mut told = told.lock();
            // Two changes may be told in another order than they happened.
            match clusters.get(&key) {
                Some(cluster) => {
                    let phase = cluster.status.as_ref().and_then(|status| status.phase);
                    told.insert(key, (phase.map_or("Pending", ClusterPhase::as_str), team_name(&cluster)));
                }
                None => drop(told.remove(&key)),
            }
        });
        let clusters = Arc::clone(&known);
        self.metrics.count_by("butler_tenantcluster_phase", "TenantClusters by phase", "phase", move || {
            clusters.lock().values().map(|(phase, _)| (*phase).to_owned()).collect()
        });
        self.metrics.count_by("butler_tenantcluster_count", "TenantClusters by team", "team", move || {
            known.lock().values().map(|(_, team)| team.clone()).collect()
        });
    }

    /// One round: whether it wrote something, and what it wants next.
    async fn round(&self, observed: &Observed) -> Result<(bool, Next), Failure> {
        let plan = plan(observed);
        let mut done = Done::default();
        let (mut wrote, mut failure, mut next) = (false, None, Next::Rest);
        for step in &plan.steps {
            match self.act(observed, step, &mut done).await {
                Ok(changed) => wrote |= changed,
                Err(error) => {
                    done.refused = act::is_refused(&error);
                    if error.retry != Retry::Soon {
                        done.blockers.push(act::failed(&error));
                    }
                    failure = Some(error);
                    break;
                }
            }
            if *step == Step::ClearContents && !done.contents_removed {
                next = Next::After(CONTENTS_AGAIN);
            }
        }
        if let (Next::Rest, Some(at)) = (next, plan.look_again) {
            next = Next::After(Duration::try_from(at.duration_since(observed.now)).unwrap_or_default());
        }
        let is_leaving = plan.steps.contains(&Step::Release) && failure.is_none();
        if !is_leaving && observed.is_held() {
            let status = report(observed, &plan, &done);
            let api: Api<TenantCluster> = self.applier.api(&observed.cluster.namespace().unwrap_or_default());
            let before = observed.cluster.status.as_ref();
            let written = self.applier.report(&api, &*observed.cluster, before, &status).await?;
            if let Some(object) = written {
                self.tell(observed, &status);
                self.clusters.wrote(object);
                wrote = true;
            }
        } else if is_leaving {
            self.metrics.blocked(NAME, &Key::of(&*observed.cluster), &[]);
        }
        match failure {
            // Only a cluster that is Failed waits for somebody to ask for another try.
            Some(failure) if failure.retry == Retry::Terminal && !observed_failed(observed, &done) => {
                Err(Failure { retry: Retry::Backoff, ..failure })
            }
            Some(failure) => Err(failure),
            None => Ok((wrote, next)),
        }
    }
}

impl Reconcile for ClusterController {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let mut next = Next::Rest;
        self.templates_known(key).await?;
        for _ in 0..ROUNDS {
            let Some(observed) = self.observe(key) else { return Ok(Next::Rest) };
            let (wrote, after) = self.round(&observed).await?;
            next = after;
            if !wrote {
                return Ok(next);
            }
        }
        tracing::warn!(%key, "a pass did not settle");
        Ok(next)
    }
}

/// Whether the cluster is Failed by what was done.
fn observed_failed(observed: &Observed, done: &Done) -> bool {
    let may_fail = matches!(observed.phase(), Some(ClusterPhase::Provisioning | ClusterPhase::Installing));
    done.refused && may_fail
}

/// The cluster that the labels of an object lead to.
fn source_of<K: Resource>(object: &K) -> Option<Key> {
    render::source(object.labels()).map(|(namespace, name)| Key::new(namespace, name))
}

fn by_name<K: runtime::Object>(watched: &Watched<K>, namespace: &str) -> BTreeMap<String, Arc<K>> {
    watched.in_namespace(namespace).into_iter().map(|object| (object.name_any(), object)).collect()
}
