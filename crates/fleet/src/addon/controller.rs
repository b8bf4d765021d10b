//! The controller of TenantAddons and ManagementAddons: observe, plan, act, report.

mod follow;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use butler_api::butler::addon_install::AddonInstallStatus;
use butler_api::butler::tenant_cluster::{ClusterPhase, ManagementMode};
use butler_api::butler::{AddonDefinition, ButlerConfig, Team, TenantCluster};
use butler_api::names::{BUTLER_CONFIG, annotations, conditions};
use butler_api::shared::{BlockerOwner, ConditionStatus};
use futures::FutureExt as _;
use helm::source::{Limits, Mirror, Sources};
use k8s_openapi::api::core::v1::Secret;
use kernel::quantity::Quantity;
use kube::{Resource, ResourceExt};
use parking_lot::Mutex;
use runtime::events::Recorder;
use runtime::{
    Applier, Clock, Failure, Key, Metrics, Next, Queue, Reconcile, Watched, Watches, Ways, add_finalizer,
    remove_finalizer,
};

use super::Settings;
use super::ask::Addon;
use super::eyes::Changed;
use super::graph::{IfMissing, Need, Node};
use super::limits;
use super::memory::{Memory, Work};
use super::news::news;
use super::observed::{Ground, Observed, Running, Sight};
use super::placement::Placement;
use super::plan::{PAUSED, Plan, Step, awaits_workers, install_took, plan};
use super::report::report;
use super::target::{Target, Targets, Way};
use super::turns::Turns;
use super::wanted::Wanted;
use super::work::{self, Done, Fault, Origin, Told, label};
use crate::blockers::blocker;
use crate::cluster::{ASLEEP, WAKING, team_name};
use crate::names;
use crate::names::MANAGER;
use crate::time::now;

/// Rounds of observe, plan and act in one pass.
const ROUNDS: usize = 6;
/// Passes at a time.
const WORKERS: usize = 8;
/// Pieces of work on clusters at a time. They wait for clusters and repositories most of the time.
const AT_WORK: usize = 32;
/// How many of them may be one team's: its repositories and clusters may be slow.
const OF_ONE_TEAM: usize = 8;
/// Nothing takes longer beyond the patience an addon asks for: a cluster that does not answer must not keep its place.
const MARGIN: Duration = Duration::from_secs(180);
/// Pods are listed in milliseconds where somebody answers, and are looked at again soon.
const PODS_WITHIN: Duration = Duration::from_secs(4);
/// A removal is not given longer than this, with all hooks of it.
const UNINSTALL: Duration = Duration::from_secs(780);

/// The controller of one kind of addon.
pub struct AddonController<K: Addon> {
    shared: Arc<Shared<K>>,
}

struct Shared<K: Addon> {
    applier: Applier,
    recorder: Recorder,
    metrics: Metrics,
    queue: Queue,
    clock: Clock,
    settings: Settings,
    addons: Watched<K>,
    definitions: Watched<AddonDefinition>,
    clusters: Watched<TenantCluster>,
    teams: Watched<Team>,
    configs: Watched<ButlerConfig>,
    secrets: Watched<Secret>,
    memory: Memory,
    targets: Targets,
    turns: Turns,
    /// Where charts come from, and what that is by.
    sources: Mutex<Option<(Origins, Sources)>>,
}

/// Mirrors, and the size of the cache.
type Origins = (Vec<Mirror>, u64);

impl<K: Addon> AddonController<K> {
    /// Runs until dropped.
    pub async fn run(watches: Watches, clock: Clock, metrics: Metrics, ways: Ways, settings: Settings) {
        let queue = Queue::default();
        let shared = Arc::new(Shared {
            applier: Applier::new(watches.client().clone(), MANAGER),
            recorder: Recorder::new(watches.client().clone(), Clock::clone(&clock)),
            metrics: metrics.clone(),
            queue: queue.clone(),
            targets: Targets::new(Clock::clone(&clock), ways),
            clock,
            settings,
            addons: watches.of(),
            definitions: watches.of(),
            clusters: watches.of(),
            teams: watches.of(),
            configs: watches.of(),
            secrets: watches.of(),
            memory: Memory::default(),
            turns: Turns::new(AT_WORK, OF_ONE_TEAM),
            sources: Mutex::default(),
        });
        watches.synced().await;
        shared.follow();
        runtime::run(K::CONTROLLER, Arc::new(Self { shared }), queue, WORKERS, metrics).await;
    }
}

impl<K: Addon> Reconcile for AddonController<K> {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let shared = &self.shared;
        for _ in 0..ROUNDS {
            let Some(object) = shared.addons.get(key) else {
                shared.memory.forget(key);
                shared.metrics.blocked(K::CONTROLLER, key, &[]);
                shared.targets.keep(|cluster| shared.has_addons(cluster));
                return Ok(Next::Rest);
            };
            let observed = shared.observe(key, &object);
            let plan = plan(&observed);
            let api = K::api(shared.applier.client(), &key.namespace);
            match &plan.step {
                Some(Step::Hold) => {
                    let written = add_finalizer(&api, &*object, K::FINALIZER).await?;
                    written.into_iter().for_each(|object| shared.addons.wrote(object));
                    continue;
                }
                Some(Step::Release) => {
                    remove_finalizer(&api, &*object, K::FINALIZER).await?;
                    shared.memory.forget(key);
                    return Ok(Next::Rest);
                }
                Some(Step::Stop) => {
                    shared.memory.stop(key);
                    continue;
                }
                _ => {}
            }
            if observed.is_held && !plan.is_unseen {
                shared.tell(&object, &observed, &plan).await?;
            }
            shared.start(&object, &observed, &plan);
            if plan.looks_at_pods {
                shared.look_at_pods(key, observed.now);
            }
            return Ok(plan.again.map_or(Next::Rest, Next::After));
        }
        tracing::warn!(%key, "a pass did not settle");
        Ok(Next::Rest)
    }
}

impl<K: Addon> Shared<K> {
    /// All addons of a cluster.
    fn on_cluster(&self, cluster: Option<&Key>) -> Vec<Arc<K>> {
        let there = match cluster {
            Some(cluster) => self.addons.in_namespace(&cluster.namespace),
            None => self.addons.all(),
        };
        there.into_iter().filter(|addon| addon.cluster().as_ref() == cluster).collect()
    }

    fn observe(&self, key: &Key, object: &Arc<K>) -> Observed {
        let (cluster, now) = (object.cluster(), now(&self.clock));
        let others = self.on_cluster(cluster.as_ref());
        let others = others.iter().filter(|other| Key::of(&***other) != *key).map(|other| self.node(other)).collect();
        let (progress, sight) = self.memory.get(key, self.way(cluster.as_ref()).map(|way| way.version()), now);
        let ask = object.ask();
        let definition = ask.addon.as_ref().and_then(|name| self.definitions.get(&Key::cluster(name)));
        Observed {
            key: key.clone(),
            generation: object.meta().generation,
            is_held: object.finalizers().iter().any(|finalizer| finalizer == K::FINALIZER),
            is_leaving: object.meta().deletion_timestamp.is_some(),
            is_clusters_own: is_clusters_own(&**object),
            may_go: object.annotations().contains_key(names::UNWANTED),
            retry: object.annotations().get(annotations::RETRY).cloned(),
            before: object.told().cloned().unwrap_or_default(),
            surroundings: self.surroundings(key, &ask, definition.as_deref()),
            definition,
            own: self.node(object),
            others,
            ground: match &cluster {
                Some(cluster) => self.ground(cluster, ask.addon.as_deref()),
                None => Ground {
                    title: "the management cluster".to_owned(),
                    exists: true,
                    answers: true,
                    has_nodes: true,
                    ..Ground::default()
                },
            },
            ask,
            progress,
            sight,
            now,
        }
    }

    /// An addon, as the others on its cluster see it.
    fn node(&self, object: &Arc<K>) -> Node {
        let ask = object.ask();
        let definition = ask.addon.as_ref().and_then(|name| self.definitions.get(&Key::cluster(name)));
        let spec = definition.as_ref().map(|definition| &definition.spec);
        let is_platform = |name: &String| {
            self.definitions.get(&Key::cluster(name)).is_some_and(|definition| definition.spec.platform)
        };
        let left_to_owner = |name: &String| (K::is_tenants() && is_clusters_own(&**object)) || is_platform(name);
        let needs = spec.into_iter().flat_map(|spec| &spec.depends_on).map(|name| {
            let if_missing = if left_to_owner(name) { IfMissing::LeftToOwner } else { IfMissing::Blocked };
            Need::Definition(name.clone(), if_missing)
        });
        let told = object.told();
        // Those who sleep are woken all at once.
        let waits = |blocker: &butler_api::shared::Blocker| {
            blocker.owner != Some(BlockerOwner::Butler) && blocker.reason != ASLEEP
        };
        Node {
            name: object.name_any(),
            needs: needs.chain(ask.depends_on.iter().cloned().map(Need::Object)).collect(),
            conflicts: spec.map(|spec| spec.conflicts_with.clone()).unwrap_or_default(),
            order: spec.and_then(|spec| spec.order).unwrap_or(i32::MAX),
            phase: told.and_then(|told| told.phase),
            is_there: told.is_some_and(is_there),
            is_stuck: told.is_some_and(|told| told.blockers.iter().any(waits)),
            awaits_workers: told.is_some_and(awaits_workers),
            is_leaving: object.meta().deletion_timestamp.is_some(),
            since: object.creation_timestamp().map(|time| time.0),
            placement: told
                .and_then(Placement::recorded)
                .or_else(|| Placement::asked(&ask, definition.as_deref(), &object.name_any())),
            addon: ask.addon,
        }
    }

    fn ground(&self, key: &Key, addon: Option<&str>) -> Ground {
        let title = key.name.clone();
        let Some(cluster) = self.clusters.get(key) else { return Ground { title, ..Ground::default() } };
        let status = cluster.status.clone().unwrap_or_default();
        let is_leaving = cluster.metadata.deletion_timestamp.is_some();
        let holds = |type_: &str| {
            status.conditions.iter().any(|known| known.type_ == type_ && known.status == ConditionStatus::True)
        };
        let mode = cluster.spec.management_policy.as_ref().map(|policy| policy.mode);
        let paused = cluster.spec.paused == Some(true);
        let paused = paused.then(|| {
            let remedy = format!("`butlerctl cluster resume {title}` lets it go on");
            blocker(PAUSED, format!("{title} is paused: nothing is changed on it"), BlockerOwner::User, remedy)
        });
        let only_looks = mode.filter(|mode| matches!(mode, ManagementMode::Observe | ManagementMode::GitOps));
        let hands_off = only_looks.map(|mode| {
            let message = format!("spec.managementPolicy.mode of {title} is {mode}: Butler only looks");
            let field = format!("spec.managementPolicy.mode of TenantCluster {title}");
            blocker(PAUSED, message, BlockerOwner::User, format!("set {field} to Active to have Butler install it"))
        });
        let version = status.observed_state.as_ref().and_then(|state| state.kubernetes_version.clone());
        // Versions are told of what has answered.
        let is_void = version.is_none() && status.ready_since.is_none();
        Ground {
            exists: true,
            answers: self.kubeconfig(&cluster).is_some() && holds(conditions::CONTROL_PLANE_READY),
            sleeps: cluster.spec.control_plane.replicas == Some(0),
            is_waking: status.blockers.iter().any(|blocker| blocker.reason == WAKING),
            is_void,
            has_nodes: status.worker_nodes_desired != Some(0)
                && matches!(
                    status.phase,
                    Some(ClusterPhase::Installing | ClusterPhase::Ready | ClusterPhase::Updating)
                ),
            workers: status.worker_nodes_ready.zip(status.worker_nodes_desired),
            is_leaving,
            is_abandoned: cluster.annotations().contains_key(names::ABANDON_CONTENTS),
            paused,
            hands_off,
            denied: self.denied(&cluster, addon),
            kubernetes: version.and_then(|version| version.parse().ok()),
            title,
        }
    }

    /// Why a team may not use an addon, or a chart of its own.
    fn denied(&self, cluster: &TenantCluster, addon: Option<&str>) -> Option<String> {
        let team = self.teams.get(&Key::cluster(team_name(cluster)))?;
        limits::denied(team.spec.resource_limits.as_ref()?, &team.name_any(), addon)
    }

    /// The administrator's kubeconfig of a cluster, as Cluster API keeps it.
    fn kubeconfig(&self, cluster: &TenantCluster) -> Option<Vec<u8>> {
        let name = capi::names::secrets::kubeconfig(&cluster.name_any());
        let secret = self.secrets.get(&Key::new(names::internals(cluster), name))?;
        Some(secret.data.as_ref()?.get("value")?.0.clone())
    }

    /// Tells the API, people and Prometheus what is new.
    async fn tell(&self, object: &Arc<K>, observed: &Observed, plan: &Plan) -> Result<(), Failure> {
        let status = report(observed, plan);
        let api = K::api(self.applier.client(), &observed.key.namespace);
        let Some(written) = self.applier.report(&api, &**object, object.told(), &status).await? else {
            return Ok(());
        };
        for news in news(&observed.before, &status) {
            self.recorder.tell(&**object, news);
        }
        self.metrics.blocked(K::CONTROLLER, &observed.key, &status.blockers);
        if let Some(took) = install_took(observed, &status) {
            self.metrics.took("butler_addon_install_duration_seconds", took);
        }
        self.addons.wrote(written);
        Ok(())
    }

    /// Begins the work that the plan asks for. Its end leads to another pass.
    fn start(self: &Arc<Self>, object: &Arc<K>, observed: &Observed, plan: &Plan) {
        let (own, object) = (Arc::clone(self), Arc::clone(object));
        let label = label(&observed.key.name);
        let work = self.memory.work(&observed.key, observed.retry.clone(), observed.surroundings);
        match plan.step.clone() {
            Some(Step::Ensure(wanted)) => {
                let digest = wanted.digest(observed.retry.as_deref());
                let told = Told { status: observed.before.clone(), digest: digest.clone() };
                let limit = wanted.patience + MARGIN;
                self.spawn(&work, Running::Ensure(digest), limit, own.ensure(work.clone(), object, *wanted, told));
            }
            Some(Step::Compare(wanted, repairs)) => {
                let Sight::Seen { state, .. } = observed.sight else { return };
                self.spawn(&work.clone(), Running::Compare, MARGIN, async move {
                    let compared = match own.target(&object).await {
                        Ok(target) => work::compare(&target, &wanted, repairs).await,
                        Err(fault) => Err(fault),
                    };
                    match compared {
                        Ok(differing) => own.memory.compared(&work, state, differing, repairs, now(&own.clock)),
                        Err(fault) => own.memory.incomparable(&work, fault, now(&own.clock)),
                    }
                });
            }
            Some(Step::Look(there)) => {
                let digest = observed.before.values_digest.clone().unwrap_or_default();
                let told = Told { status: observed.before.clone(), digest };
                self.spawn(&work.clone(), Running::Look, MARGIN, own.look(work, object, there, told));
            }
            Some(Step::TakeBack(wanted, why)) => {
                let digest = wanted.digest(observed.retry.as_deref());
                let limit = wanted.patience + MARGIN;
                let running = Running::TakeBack(digest.clone(), why.clone());
                let told = Told { status: observed.before.clone(), digest };
                self.spawn(&work.clone(), running, limit, own.take_back(work, object, *wanted, why, told));
            }
            Some(Step::Uninstall(there)) => {
                self.spawn(&work.clone(), Running::Uninstall, UNINSTALL, async move {
                    let removed = match own.target(&object).await {
                        Ok(target) => work::uninstall(&target, &there, &label).await,
                        Err(fault) => Err(fault),
                    };
                    match removed {
                        Ok(()) => own.memory.removed(&work),
                        Err(fault) => own.memory.failed(&work, None, None, fault, None, now(&own.clock)),
                    }
                });
            }
            _ => {}
        }
    }

    fn spawn(
        self: &Arc<Self>,
        work: &Work,
        running: Running,
        limit: Duration,
        doing: impl Future<Output = ()> + Send + 'static,
    ) {
        let (own, current, what) = (Arc::clone(self), work.clone(), running.clone());
        // It must not end before it is known to have begun.
        let (begin, begun) = tokio::sync::oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let _ = begun.await;
            if let Some(_turn) = own.turns.wait(&current.key.namespace).await
                && let Err(fault) = ended(limit, doing).await
            {
                let told = &fault.obstacle.blocker.message;
                tracing::warn!(key = %current.key, fault = %told, "work on an addon came to nothing");
                let now = now(&own.clock);
                match what {
                    Running::Ensure(digest) | Running::TakeBack(digest, _) => {
                        own.memory.failed(&current, None, Some(digest), fault, None, now)
                    }
                    Running::Compare | Running::Look => own.memory.incomparable(&current, fault, now),
                    Running::Uninstall => own.memory.failed(&current, None, None, fault, None, now),
                }
            }
            own.queue.add(current.key);
        });
        self.memory.begin(work, running, task.abort_handle());
        let _ = begin.send(());
    }

    async fn ensure(self: Arc<Self>, work: Work, object: Arc<K>, wanted: Wanted, told: Told) {
        let digest = told.digest.clone();
        let target = match self.target(&object).await {
            Ok(target) => target,
            Err(fault) => return self.memory.failed(&work, None, Some(digest), fault, None, now(&self.clock)),
        };
        let (sources, management) = (self.sources(), self.applier.client().clone());
        let origin = Origin { sources: &sources, management: &management, allowed: self.allowed_repositories() };
        let label = label(&work.key.name);
        match work::ensure(&target, &origin, &wanted, &label, &told).await {
            Ok(done) => self.memory.ensured(&work, &target, digest, done, now(&self.clock)),
            Err(fault) => {
                let there = work::present(&target, &wanted.placement).await.ok().flatten().map(|mut done| {
                    let digest;
                    (digest, done.release) = told.left(done.release);
                    (digest, done)
                });
                self.memory.failed(&work, Some(&target), Some(digest), fault, there, now(&self.clock));
            }
        }
    }

    async fn look(self: Arc<Self>, work: Work, object: Arc<K>, there: Placement, told: Told) {
        let seen = match self.target(&object).await {
            Ok(target) => work::present(&target, &there).await.map(|done| (target, done)),
            Err(fault) => Err(fault),
        };
        match seen {
            Ok((target, Some(done))) => {
                // What others made of it meanwhile does not become ours by being looked at.
                let done = Done { release: told.known_as(done.release), ..done };
                self.memory.seen(&work, &target, told.digest, done, now(&self.clock));
            }
            Ok((_, None)) => self.memory.incomparable(&work, work::nothing_there(&there), now(&self.clock)),
            Err(fault) => self.memory.incomparable(&work, fault, now(&self.clock)),
        }
    }

    async fn take_back(self: Arc<Self>, work: Work, object: Arc<K>, wanted: Wanted, why: String, told: Told) {
        let (digest, ran) = (told.digest, told.status.installed_revision);
        let target = match self.target(&object).await {
            Ok(target) => target,
            Err(fault) => return self.memory.failed(&work, None, Some(digest), fault, None, now(&self.clock)),
        };
        let (there, fault) = match work::take_back(&target, &wanted, &label(&work.key.name), ran, &why).await {
            Ok((done, fault)) => (Some(done), fault),
            Err(fault) => (work::present(&target, &wanted.placement).await.ok().flatten(), fault),
        };
        // Nobody knows any more what that was wanted by.
        let there = there.map(|done| (String::new(), done));
        self.memory.failed(&work, Some(&target), Some(digest), fault, there, now(&self.clock));
    }

    /// Looks at the pods of workloads that do not run. That leads to another pass.
    fn look_at_pods(self: &Arc<Self>, key: &Key, now: jiff::Timestamp) {
        let Some((target, followed)) = self.memory.look_at_pods(key, now) else { return };
        let (own, key) = (Arc::clone(self), key.clone());
        tokio::spawn(async move {
            if tokio::time::timeout(PODS_WITHIN, target.eyes.look_closer(&followed, now)).await.is_ok() {
                own.queue.add(key);
            }
        });
    }

    /// How a cluster is reached now.
    fn way(&self, cluster: Option<&Key>) -> Option<Way> {
        match cluster {
            None => Some(Way::Here(self.applier.client().clone())),
            Some(key) => self.kubeconfig(&*self.clusters.get(key)?).map(Way::Kubeconfig),
        }
    }

    /// The cluster of an addon.
    async fn target(self: &Arc<Self>, object: &Arc<K>) -> Result<Arc<Target>, Fault> {
        let cluster = object.cluster().unwrap_or_else(management);
        let gone = || Failure::new(runtime::Retry::Backoff, "KubeconfigMissing", "its kubeconfig is not there");
        let way = self.way(object.cluster().as_ref()).ok_or_else(gone).map_err(work::fault_of)?;
        let (own, place) = (Arc::downgrade(self), object.cluster());
        let wake = move |changed: &Changed<'_>| {
            let Some(own) = own.upgrade() else { return };
            let addons = own.on_cluster(place.as_ref());
            let is_of = |addon: &&Arc<K>| match changed {
                Changed::Object(of) => label(&Key::of(&***addon).name) == **of,
                Changed::Record(of) => addon.told().and_then(Placement::recorded).as_ref() == Some(of),
            };
            addons.iter().filter(is_of).for_each(|addon| own.queue.add(Key::of(&**addon)));
        };
        self.targets.get(&cluster, way, wake).await.map_err(work::fault_of)
    }

    /// What the repositories that teams choose begin with.
    fn allowed_repositories(&self) -> Vec<String> {
        let config = self.configs.get(&Key::cluster(BUTLER_CONFIG));
        config.and_then(|config| config.spec.addons.clone()).unwrap_or_default().allowed_repositories
    }

    /// Where charts come from now.
    fn sources(&self) -> Sources {
        let config = self.configs.get(&Key::cluster(BUTLER_CONFIG));
        let named = config.iter().flat_map(|config| config.spec.addons.iter()).flat_map(|addons| &addons.mirrors);
        let named = named.map(|mirror| Mirror { prefix: mirror.prefix.clone(), with: mirror.with.clone() });
        let mirrors: Vec<Mirror> = named.chain(self.settings.mirrors.iter().cloned()).collect();
        let asked = config.iter().filter_map(|config| config.spec.addons.as_ref()?.cache_size.as_ref()).next();
        let size = asked.and_then(|size| size.to_string().parse::<Quantity>().ok());
        let size = size.and_then(|size| u64::try_from(size.value()).ok());
        let limits = Limits { cache: size.unwrap_or(Limits::default().cache), ..Limits::default() };
        let by = (mirrors, limits.cache);
        let mut sources = self.sources.lock();
        if let Some((_, known)) = sources.as_ref().filter(|(known, _)| *known == by) {
            return known.clone();
        }
        let fresh = Sources::with_limits(self.settings.cache.clone(), by.0.clone(), limits);
        *sources = Some((by, fresh.clone()));
        fresh
    }

    fn has_addons(&self, cluster: &Key) -> bool {
        let cluster = Some(cluster).filter(|cluster| **cluster != management());
        !self.on_cluster(cluster).is_empty()
    }
}

/// Does a piece of work that must end: what takes too long is given up, and a panic is no reason to be silent.
async fn ended(limit: Duration, doing: impl Future<Output = ()>) -> Result<(), Fault> {
    let done = tokio::time::timeout(limit, AssertUnwindSafe(doing).catch_unwind()).await;
    done.map_err(|_| work::given_up(limit))?.map_err(|panic| {
        let words = panic.downcast_ref::<&str>().copied();
        let words = words.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic");
        let remedy = "wait: it is tried again; if it stays, report it with the log of Butler";
        let blocker = blocker("WorkBroken", format!("Butler made a mistake: {words}"), BlockerOwner::Butler, remedy);
        Fault { obstacle: Box::new(blocker.into()), is_final: false }
    })
}

/// What stands for the management cluster among clusters.
fn management() -> Key {
    Key::cluster("")
}

/// Whether something of it is on its cluster; what was only begun has no revision.
fn is_there(told: &AddonInstallStatus) -> bool {
    told.helm_release.as_ref().is_some_and(|release| release.revision.is_some())
}

/// Whether the platform asks for it: a cluster by its spec, or, on the management cluster, whoever runs the platform.
fn is_clusters_own<K: Addon>(addon: &K) -> bool {
    let is_cluster = |kind: &str| kind == TenantCluster::kind(&());
    let owned = addon.owner_references().iter().any(|owner| owner.controller == Some(true) && is_cluster(&owner.kind));
    owned || !K::is_tenants()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_panics_or_hangs_ends_with_a_fault_that_is_tried_again() {
        let limit = Duration::from_secs(60);
        let told = |ended: Result<(), Fault>| {
            ended.map_err(|fault| {
                (fault.obstacle.blocker.reason.clone(), fault.obstacle.blocker.message, fault.is_final)
            })
        };
        let fault = |reason: &str, message: &str| Err((reason.to_owned(), message.to_owned(), false));
        assert_eq!(told(ended(limit, async {}).await), Ok(()));
        let panicked = ended(limit, async { panic!("no order of {}", "keys") }).await;
        assert_eq!(told(panicked), fault("WorkBroken", "Butler made a mistake: no order of keys"));
        let given_up = "nothing came of it within 0 seconds, so it was given up";
        assert_eq!(told(ended(Duration::ZERO, std::future::pending()).await), fault("ClusterUnreachable", given_up));
    }
}
