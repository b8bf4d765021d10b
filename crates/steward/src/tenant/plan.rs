//! What to do next for a control plane.

use std::collections::BTreeMap;

use butler_api::shared::{Blocker, BlockerOwner};
use butler_api::steward::tenant_control_plane::RouteReport;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::Ingress;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kernel::version::Version;
use kube::Resource;
use kube::core::DynamicObject;
use pki::Authority;

use super::endpoint::{Endpoint, endpoint};
use super::joining::plan_joining;
use super::leaves::{admin_secret, leaves};
use super::observed::{Observed, Store};
use super::versions::{self, Way};
use super::{deletion, inner, joining, overrides, report, support, taken};
use crate::credentials::{Issuer, Leaf, LeafState, Root, RootState, Roots, content_digest};
use crate::inside;
use crate::names;
use crate::store::Connection;
use crate::workload::{self, RenderError, Wanted};

/// One thing to do. Each may be repeated, and interrupted anywhere.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Hold the object until all it stands for is gone.
    Hold,
    /// Let the object go.
    Release,
    /// Make a root that never was.
    MakeRoot(Root),
    /// Copy a root that somebody wants deleted.
    RescueRoot(Root),
    /// Let a root go that was copied, or that is no longer needed.
    ReleaseRoot(Root),
    /// Make a root again from its copy.
    RestoreRoot(Root),
    /// Remove a copy that is no longer needed.
    DropRescue(Root),
    /// Issue a leaf, anew if it is there.
    Issue(Leaf),
    /// Write the Service, of the API server or of etcd.
    Service(Box<Service>),
    /// Write the Ingress.
    Ingress(Box<Ingress>),
    /// Remove the Ingress.
    DropIngress,
    /// Write the route of a gateway or of Traefik.
    Route(Box<DynamicObject>),
    /// Remove the route.
    DropRoute(RouteReport),
    /// Write the Deployment.
    Deployment(Box<Deployment>),
    /// Write the StatefulSet of its own etcd.
    StatefulSet(Box<StatefulSet>),
    /// Write the PodDisruptionBudget.
    Budget(Box<PodDisruptionBudget>),
    /// Remove the PodDisruptionBudget.
    DropBudget,
    /// Make a place in the shared store. Its name is on record already.
    SetUpStore,
    /// Make a place in the store of single resources with this name.
    SetUpOverride(String),
    /// Remove the place in the store of single resources with this name.
    ClearOverride(String),
    /// Put into the tenant what belongs there.
    Configure(Box<inside::Tenant>),
    /// See that machines can join until then, or no more.
    Join {
        /// The tenant they join.
        tenant: Box<inside::Tenant>,
        /// Until when.
        until: Option<Timestamp>,
    },
    /// Remove the place in the shared store.
    ClearStore,
    /// Remove the Deployment and wait for its pods.
    DropDeployment,
    /// Remove its own etcd and wait for its pods and volumes.
    DropEtcd,
}

impl Step {
    /// Whether it is done in a data store.
    pub(super) fn is_in_store(&self) -> bool {
        matches!(self, Self::SetUpStore | Self::ClearStore | Self::SetUpOverride(_) | Self::ClearOverride(_))
    }

    /// What it is, in a word or two.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Release => "release",
            Self::MakeRoot(_) => "make root",
            Self::RescueRoot(_) => "rescue root",
            Self::ReleaseRoot(_) => "release root",
            Self::RestoreRoot(_) => "restore root",
            Self::DropRescue(_) => "drop rescue",
            Self::Issue(_) => "issue",
            Self::Service(_) => "service",
            Self::Ingress(_) => "ingress",
            Self::DropIngress => "drop ingress",
            Self::Route(_) => "route",
            Self::DropRoute(_) => "drop route",
            Self::Deployment(_) => "deployment",
            Self::StatefulSet(_) => "stateful set",
            Self::Budget(_) => "budget",
            Self::DropBudget => "drop budget",
            Self::SetUpStore => "set up store",
            Self::SetUpOverride(_) => "set up override",
            Self::ClearOverride(_) => "clear override",
            Self::Configure(_) => "configure",
            Self::Join { .. } => "join",
            Self::ClearStore => "clear store",
            Self::DropDeployment => "drop deployment",
            Self::DropEtcd => "drop etcd",
        }
    }
}

/// What to do now, what is waited for, and what was concluded on the way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What to do now, in this order.
    pub steps: Vec<Step>,
    /// What stands in the way of more.
    pub blockers: Vec<Blocker>,
    /// Why it goes on with another version than the one that is wished for. Nothing else waits for that.
    pub held: Option<Blocker>,
    /// When something falls due by itself.
    pub next: Option<Timestamp>,
    /// From which version to which it goes, once that is clear.
    pub way: Option<Way>,
    /// Where it is reached, once that is known.
    pub endpoint: Option<Endpoint>,
    /// Whether all keys and certificates are as they should be.
    pub certificates_ready: bool,
    /// Whether the store holds a place for it.
    pub store_ready: bool,
    /// Whether all pods are of the template that is wanted, and available.
    pub rolled_out: bool,
    /// The rules by which certificates of nodes are approved.
    pub approvals: Option<inside::approval::Rules>,
    /// Whether all that belongs into the tenant is in it.
    pub configured: bool,
}

impl Plan {
    fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    fn wait_for(mut self, blocker: Blocker) -> Self {
        self.blockers.push(blocker);
        self
    }
}

/// Decides. Pure: the same observation gives the same plan.
pub fn plan(observed: &Observed) -> Plan {
    let metadata = &observed.tenant.metadata;
    let plan = Plan::default();
    if metadata.annotations.as_ref().is_some_and(|all| all.contains_key(names::PAUSED)) {
        return plan.wait_for(support::paused());
    }
    if metadata.deletion_timestamp.is_some() {
        return deletion::plan(observed);
    }
    if !metadata.finalizers.iter().flatten().any(|finalizer| finalizer == names::FINALIZER) {
        return plan.then(Step::Hold);
    }
    if let Some(blocker) = taken::blocker(observed.namespace(), &observed.taken) {
        return plan.wait_for(blocker);
    }
    let mut blockers = support::check(observed);
    let (way, held) = match versions::choose(observed) {
        Ok(chosen) if blockers.is_empty() => chosen,
        Ok((_, held)) => return Plan { held, blockers, ..plan },
        Err(blocker) => {
            blockers.push(*blocker);
            return Plan { blockers, ..plan };
        }
    };
    let Some(owner) = observed.tenant.controller_owner_ref(&()) else { return plan };
    let (namespace, name) = (observed.namespace(), observed.name());

    let service = workload::service(namespace, name, &owner, &observed.tenant.spec);
    let mut plan = Plan { way: Some(way), held, ..plan.then(Step::Service(Box::new(service))) };
    if matches!(observed.store, Store::Own) {
        plan = plan
            .then(Step::Service(Box::new(workload::etcd_peer_service(namespace, name, &owner))))
            .then(Step::Service(Box::new(workload::etcd_client_service(namespace, name, &owner))));
    }
    match workload::ingress(namespace, name, &owner, &observed.tenant.spec) {
        Some(ingress) => plan.steps.push(Step::Ingress(Box::new(ingress))),
        None if observed.ingress.is_some() => plan.steps.push(Step::DropIngress),
        None => {}
    }
    plan_roots(observed, &mut plan);
    let endpoint = match endpoint(observed) {
        Ok(endpoint) => endpoint,
        Err(blocker) => return plan.wait_for(*blocker),
    };
    plan.endpoint = Some(endpoint.clone());
    let Some(roots) = Roots::open(|root| observed.root(root)) else { return plan };
    plan_store(observed, &mut plan);
    overrides::plan(observed, &mut plan);
    let Some(connection) = connection(observed, &mut plan) else { return plan };
    plan_leaves(observed, &endpoint, &roots, &mut plan);
    if !plan.certificates_ready || !plan.store_ready {
        return plan;
    }
    let wanted = Wanted {
        namespace,
        name,
        owner: &owner,
        spec: &observed.tenant.spec,
        version: way.now,
        platform_resources: observed.platform_resources.as_ref(),
        tolerations: &observed.tolerations,
        advertised: endpoint.advertised,
        place: observed.place(),
        store: connection,
        overrides: overrides::servers(observed),
        mounted: mounted(observed),
    };
    if let Err(error) = plan_workload(observed, &wanted, &mut plan) {
        return plan.wait_for(support::unrenderable(&error));
    }
    // Until all API servers are of another version, what is inside is of the one they were of last.
    let inside = if plan.rolled_out { Some(way.now) } else { way.from.filter(|from| *from != way.now) };
    if let Some(version) = inside.filter(|_| observed.available() > 0) {
        plan_inside(observed, &roots, version, &mut plan);
    }
    plan_route(observed, &owner, &mut plan);
    plan
}

/// The route comes last: its kind may be missing in the management cluster, and nothing else waits for it.
fn plan_route(observed: &Observed, owner: &OwnerReference, plan: &mut Plan) {
    let status = observed.tenant.status.as_ref().and_then(|status| status.kubernetes_resources.as_ref());
    let known = status.and_then(|resources| resources.route.clone());
    let wanted = workload::route(observed.namespace(), observed.name(), owner, &observed.tenant.spec);
    let of_another_kind = |known: &RouteReport| {
        let kind = wanted.as_ref().and_then(|route| Some(route.types.as_ref()?.kind.clone()));
        kind.as_ref() != Some(&known.kind)
    };
    plan.steps.extend(known.filter(of_another_kind).map(Step::DropRoute));
    plan.steps.extend(wanted.map(|route| Step::Route(Box::new(route))));
}

/// Authorities and keys: made once, rescued, never overwritten.
fn plan_roots(observed: &Observed, plan: &mut Plan) {
    let own = matches!(observed.store, Store::Own).then_some(Root::EtcdCa);
    for root in Root::COMMON.into_iter().chain(own) {
        let rescue = observed.secret(&root.rescue_name(observed.name()));
        match (root.state(observed.root(root)), rescue) {
            (RootState::Good, None) => {}
            (RootState::Good, Some(_)) => plan.steps.push(Step::DropRescue(root)),
            (RootState::Going, None) => plan.steps.push(Step::RescueRoot(root)),
            (RootState::Going, Some(_)) => plan.steps.push(Step::ReleaseRoot(root)),
            (RootState::Absent, Some(_)) => plan.steps.push(Step::RestoreRoot(root)),
            (RootState::Absent, None) if support::was_made(observed, root) => {
                plan.blockers.push(support::lost(observed, root));
            }
            (RootState::Absent, None) => plan.steps.push(Step::MakeRoot(root)),
            (RootState::Damaged(why), _) => plan.blockers.push(support::damaged(observed, root, &why)),
        }
    }
}

/// A place in the shared store: on record first, then made.
fn plan_store(observed: &Observed, plan: &mut Plan) {
    match &observed.store {
        Store::Own => plan.store_ready = true,
        Store::Trouble(error) => plan.blockers.push(support::store_trouble(error)),
        Store::Shared(shared) => {
            let storage = observed.tenant.status.as_ref().and_then(|status| status.storage.as_ref());
            let place = observed.place();
            let recorded = storage.filter(|storage| storage.data_store_name.as_ref() == Some(&shared.name));
            let setup = recorded.and_then(|storage| storage.setup.as_ref());
            let setup = setup.filter(|setup| setup.schema.as_ref() == Some(&place.schema));
            match setup {
                Some(setup) if setup.last_update.is_some() => plan.store_ready = true,
                Some(_) => plan.steps.push(Step::SetUpStore),
                // The report of this pass puts it on record; the next one goes on.
                None => {}
            }
        }
    }
}

/// How the API server reaches its store.
fn connection(observed: &Observed, plan: &mut Plan) -> Option<Connection> {
    match &observed.store {
        Store::Shared(shared) => Some(shared.connection.clone()),
        Store::Trouble(_) => None,
        Store::Own => {
            let service = observed.etcd.client_service.as_ref();
            let address = service.and_then(|service| service.spec.as_ref()?.cluster_ip.clone());
            let Some(address) = address.filter(|address| !address.is_empty()) else {
                plan.blockers
                    .push(support::waiting("EtcdServicePending", "the Service of its etcd has no address yet"));
                return None;
            };
            let host = if address.contains(':') { format!("[{address}]") } else { address };
            Some(Connection { servers: vec![format!("https://{host}:{}", workload::ETCD_PORT)], certificate: true })
        }
    }
}

fn plan_leaves(observed: &Observed, endpoint: &Endpoint, roots: &Roots, plan: &mut Plan) {
    let store = match store_authority(observed) {
        Ok(store) => store,
        Err(blocker) => {
            plan.blockers.push(*blocker);
            return;
        }
    };
    let issuer = Issuer { roots, store: store.as_ref(), lifetime: observed.leaf_lifetime };
    plan.certificates_ready = true;
    for leaf in leaves(observed, endpoint) {
        match leaf.state(observed.secret(&leaf.secret_name), &issuer, observed.now) {
            LeafState::Good { renew_at, .. } => {
                plan.next = Some(plan.next.map_or(renew_at, |next| next.min(renew_at)));
            }
            LeafState::Absent | LeafState::Outdated | LeafState::Due => {
                plan.certificates_ready = false;
                plan.steps.push(Step::Issue(leaf));
            }
        }
    }
}

/// The authority of the shared store, where it issues certificates to tenants.
pub(super) fn store_authority(observed: &Observed) -> Result<Option<Authority>, Box<Blocker>> {
    let Store::Shared(shared) = &observed.store else { return Ok(None) };
    if !shared.connection.certificate {
        return Ok(None);
    }
    let tls = shared.access.tls.as_ref();
    let Some((tls, key)) = tls.and_then(|tls| Some((tls, tls.authority_key.as_ref()?))) else {
        return Err(Box::new(support::store_key_missing(&shared.name)));
    };
    match Authority::from_pem(&tls.authority, key.expose()) {
        Ok(authority) => Ok(Some(authority)),
        Err(error) => Err(Box::new(support::store_key_useless(&shared.name, &error.to_string()))),
    }
}

fn plan_workload(observed: &Observed, wanted: &Wanted<'_>, plan: &mut Plan) -> Result<(), RenderError> {
    let deployment = workload::deployment(wanted)?;
    if let Some(etcd) = &wanted.spec.etcd {
        let mut members = workload::stateful_set(wanted, etcd)?;
        let asleep = wanted.replicas() == 0;
        // The API server goes first and comes last.
        if asleep && observed.pods.is_empty() {
            members.spec.get_or_insert_default().replicas = Some(0);
        }
        let ready = is_ready(observed.etcd.stateful_set.as_deref());
        plan.steps.push(Step::StatefulSet(Box::new(members)));
        if !asleep && !ready && observed.deployment.is_none() {
            plan.blockers.push(support::waiting("EtcdStarting", "its etcd is not ready yet"));
            return Ok(());
        }
    }
    let as_wanted = matches!(runtime::changed(observed.deployment.as_deref(), deployment.clone()), Ok(None));
    plan.rolled_out = as_wanted && report::is_rolled_out(observed);
    plan.steps.push(Step::Deployment(Box::new(deployment)));
    match workload::budget(wanted)? {
        Some(budget) => plan.steps.push(Step::Budget(Box::new(budget))),
        None if observed.budget.is_some() => plan.steps.push(Step::DropBudget),
        None => {}
    }
    plan.blockers.extend(support::pods_trouble(observed, plan.way));
    Ok(())
}

/// What belongs into the tenant while its API servers are of this version.
fn plan_inside(observed: &Observed, roots: &Roots, version: Version, plan: &mut Plan) {
    let wanted = inner::tenant(observed, plan, roots, version);
    let digest = wanted
        .as_ref()
        .map_err(ToString::to_string)
        .and_then(|wanted| inside::digest(wanted).map_err(|error| error.to_string()));
    match (wanted, digest) {
        (Ok(wanted), Ok(digest)) => {
            plan.configured = inner::configured(observed) == Some(digest.as_str());
            match plan.configured {
                false => plan.steps.push(Step::Configure(Box::new(wanted.clone()))),
                true => plan_joining(observed, &wanted, plan),
            }
            plan.approvals = inside::approval::Rules::of(&wanted);
        }
        (_, Err(why)) => plan.blockers.push(support::unconfigurable(&why)),
        (Err(_), Ok(_)) => {}
    }
}

fn is_ready(members: Option<&StatefulSet>) -> bool {
    let counts = members.and_then(|members| Some((members.spec.as_ref()?.replicas?, members.status.as_ref()?)));
    counts.is_some_and(|(wanted, status)| wanted > 0 && status.ready_replicas.unwrap_or(0) * 2 > wanted)
}

/// Digests of everything the pods mount.
fn mounted(observed: &Observed) -> BTreeMap<String, String> {
    let unmounted = [admin_secret(observed.name()), joining::secret_name(observed.name())];
    let is_mounted = |name: &String| !unmounted.contains(name) && !name.ends_with("-rescue");
    let of_pods = observed.secrets.iter().filter(|(name, _)| is_mounted(name));
    of_pods.map(|(name, secret)| (name.clone(), content_digest(secret))).collect()
}

/// A blocker on which nobody but Butler works.
pub(super) fn butler(reason: &str, message: String) -> Blocker {
    Blocker {
        reason: reason.to_owned(),
        message,
        evidence: Vec::new(),
        owner: Some(BlockerOwner::Butler),
        remedy: None,
        since: None,
    }
}
