//! What a change would do to the objects below a TenantCluster, before it is made.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use butler_api::butler::provider_config::NetworkMode;
use butler_api::butler::tenant_cluster::TenantCluster;
use butler_api::butler::{IPAllocation, NetworkPool, TenantAddon};
use butler_api::names::finalizers::NETWORK_POOL;
use butler_api::names::{BUTLER_CONFIG, SYSTEM_NAMESPACE};
use butler_api::shared::{Blocker, BlockerOwner};
use capi::controlplane::KubeadmControlPlane;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::ListParams;
use kube::core::{DynamicObject, NamespaceResourceScope};
use kube::{Api, Client, Resource, ResourceExt};
use runtime::Key;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::addresses::addresses;
use super::observed::Observed;
use super::plan::{Kind, Step, invited};
use super::publish;
use super::render::{self, Object};
use super::resolve::{Wanted, is_undecided, provider_ref, resolve, team_name};
use super::standalone::like_hosted;
use crate::names;
use crate::network::{self, load_balancer_name, name_the_same};

/// What stands for addresses that a pool has yet to give.
const UNKNOWN_ADDRESSES: &str = "(addresses of its pool)";

/// One object, as it is and as it would become.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    /// As it is, as far as anybody wants something of it; nothing when it is not there.
    pub before: Option<Value>,
    /// As it would become; nothing when it would go.
    pub after: Option<Value>,
}

/// What reaching the spec would do to every object below, once all is done, and what would be in the way of it; or why nothing would
/// be done.
pub fn preview(observed: &Observed) -> Result<(Vec<Preview>, Vec<Blocker>), Vec<Blocker>> {
    let mut wanted = resolve(&observed.cluster, observed.sources(), observed.provider.as_deref())?;
    let addresses = addresses(observed, &wanted);
    let named = wanted.spec.load_balancer_addresses();
    let to_come =
        addresses.steps.iter().any(|step| matches!(step, Step::Apply(_))).then(|| UNKNOWN_ADDRESSES.to_owned());
    wanted.chosen.load_balancer_addresses = named.or(to_come).or(addresses.range);
    let reached = reached(observed, &wanted.version.to_string());
    let mut objects = vec![render::namespace(observed, wanted.chosen.team.as_deref())];
    objects.extend(render::objects(&reached, &wanted)?);
    objects.extend(super::addons::foreseen(observed, &wanted).into_iter().map(|addon| Object::Addon(Box::new(addon))));
    objects.extend(publish::secrets(&published(observed)).map(|secret| Object::Secret(Box::new(secret))));
    let mut gone = superfluous(observed, &objects, &wanted);
    for step in addresses.steps.into_iter().chain(addresses.last_steps) {
        match step {
            Step::Apply(object) => objects.push(*object),
            Step::Delete(_, name) => {
                gone.extend(
                    observed.allocations.iter().find(|known| known.name_any() == name).and_then(|o| encoded(&**o)),
                );
            }
            _ => {}
        }
    }
    let mut previews = Vec::new();
    for object in &objects {
        let Some(after) = value(object).map(without_contents) else { continue };
        let before = known(observed, object).map(|before| projected(&without_contents(before), &after));
        previews.push(Preview { before, after: Some(after) });
    }
    previews.extend(gone.into_iter().map(|before| Preview { before: Some(without_contents(before)), after: None }));
    let in_the_way = addresses.blockers.into_iter().filter(|blocker| blocker.owner != Some(BlockerOwner::Butler));
    let exhausted = objects.iter().filter_map(|object| match object {
        Object::Allocation(asked) => unanswered(asked, &observed.network_pools),
        _ => None,
    });
    Ok((previews, in_the_way.chain(exhausted).chain(publish::taken(observed)).collect()))
}

/// Everything that deleting the cluster would remove.
pub fn removal(observed: &Observed) -> Vec<Preview> {
    let mut all: Vec<Option<Value>> = observed.addons.iter().map(|object| encoded(&**object)).collect();
    all.extend(observed.deployments.values().map(|object| encoded(&**object)));
    all.extend(observed.machines.iter().map(|object| encoded(&**object)));
    all.extend(observed.checks.values().map(|object| encoded(&**object)));
    all.extend(observed.config_templates.values().map(|object| encoded(&**object)));
    all.extend(observed.machine_templates.values().map(|object| encoded(&**object)));
    all.extend(observed.secrets.values().map(|object| encoded(&**object)));
    all.push(match &observed.standalone {
        Some(plane) => encoded(&**plane),
        None => observed.control_plane.as_deref().and_then(encoded),
    });
    all.push(observed.hosted.as_deref().and_then(encoded));
    all.push(observed.capi.as_deref().and_then(encoded));
    all.push(observed.infrastructure.as_deref().and_then(encoded));
    all.extend(observed.allocations.iter().map(|object| encoded(&**object)));
    all.extend(observed.published.iter().chain(&observed.published_viewer).map(|object| encoded(&**object)));
    all.push(observed.namespace.as_deref().and_then(encoded));
    let all = all.into_iter().flatten().map(without_contents);
    all.map(|before| Preview { before: Some(before), after: None }).collect()
}

/// What nobody would want any more once all is done.
fn superfluous(observed: &Observed, objects: &[Object], wanted: &Wanted) -> Vec<Value> {
    let invited = invited(observed, wanted);
    let steps = super::plan::superfluous(&settled(observed), objects, &invited, true);
    let below = steps.iter().filter_map(|step| match step {
        Step::Delete(Kind::Deployment, name) => observed.deployments.get(name).and_then(|o| encoded(&**o)),
        Step::Delete(Kind::HealthCheck, name) => observed.checks.get(name).and_then(|o| encoded(&**o)),
        Step::Delete(Kind::ConfigTemplate, name) => observed.config_templates.get(name).and_then(|o| encoded(&**o)),
        Step::Delete(Kind::MachineTemplate, name) => observed.machine_templates.get(name).and_then(|o| encoded(&**o)),
        Step::Delete(Kind::Secret, name) => observed.secrets.get(name).and_then(|o| encoded(&**o)),
        _ => None,
    });
    let is_wanted = |addon: &TenantAddon| {
        objects.iter().any(|object| matches!(object, Object::Addon(wanted) if wanted.name_any() == addon.name_any()))
    };
    let unwanted = observed.addons.iter().filter(|addon| super::addons::is_owned(observed, addon) && !is_wanted(addon));
    let unwanted = unwanted.filter(|_| super::addons::is_butlers(wanted));
    below.chain(unwanted.filter_map(|addon| encoded(&**addon))).collect()
}

/// Reads once, through the API, what a pass would know. Gives back beside it what the user may not see of it.
pub async fn look(client: &Client, cluster: TenantCluster) -> kube::Result<(Observed, Vec<String>)> {
    let (name, namespace) = (cluster.name_any(), names::internals(&cluster));
    // One that is not there yet has no internals.
    let place = if cluster.uid().is_some() { namespace.as_str() } else { "" };
    let team = one(&Api::all(client.clone()), &team_name(&cluster)).await?;
    let platform = one(&Api::all(client.clone()), BUTLER_CONFIG).await?;
    let standalone: Option<Arc<KubeadmControlPlane>> = inside(client, place, &name).await?;
    let mut unseen = Vec::new();
    let secrets = seen(all(client, place).await, "Secrets below the cluster", &mut unseen)?;
    let addons = seen(addons_of(client, &cluster).await, "addons", &mut unseen)?;
    let providers = match is_undecided(&cluster) {
        true => seen(all(client, SYSTEM_NAMESPACE).await.map(Some), "ProviderConfigs", &mut unseen)?,
        false => None,
    };
    let providers = providers.map(|providers| providers.into_values().collect());
    let like_hosted = || standalone.as_deref().map(|plane| Arc::new(like_hosted(plane)));
    let mut observed = Observed {
        team,
        platform,
        provider: None,
        providers,
        credentials: None,
        namespace: if place.is_empty() { None } else { one(&Api::<Namespace>::all(client.clone()), place).await? },
        capi: inside(client, place, &name).await?,
        control_plane: inside(client, place, &name).await?.or_else(like_hosted),
        standalone,
        hosted: inside(client, place, &name).await?,
        infrastructure: None,
        deployments: all(client, place).await?,
        machines: all(client, place).await?.into_values().collect(),
        checks: all(client, place).await?,
        config_templates: all(client, place).await?,
        machine_templates: BTreeMap::new(),
        secrets,
        addons,
        network_pools: Vec::new(),
        allocations: Vec::new(),
        rivals: Vec::new(),
        kubeconfig: None,
        published: None,
        viewer_kubeconfig: None,
        published_viewer: None,
        taken_secrets: Vec::new(),
        now: Timestamp::now(),
        cluster: Arc::new(cluster),
    };
    for (name, place) in [
        (names::kubeconfig(&name), &mut observed.published),
        (names::viewer_kubeconfig(&name), &mut observed.published_viewer),
    ] {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &observed.cluster.namespace().unwrap_or_default());
        let found = seen(one(&secrets, &name).await, "kubeconfigs", &mut unseen)?;
        match found.filter(|_| observed.cluster.uid().is_some()) {
            Some(secret) if publish::is_owned(&secret, observed.cluster.metadata.uid.as_ref()) => *place = Some(secret),
            Some(secret) => observed.taken_secrets.push(secret.name_any()),
            None => {}
        }
    }
    let Some(reference) = provider_ref(&observed.cluster, observed.sources()) else { return Ok((observed, unseen)) };
    if observed.cluster.spec.load_balancer_addresses().is_some() {
        let everywhere: Api<TenantCluster> = Api::all(client.clone());
        let others = everywhere.list(&ListParams::default()).await.map(|list| list.items);
        let others = seen(others, "addresses of other clusters", &mut unseen)?;
        let is_rival = |other: &TenantCluster| {
            let resolved = other.status.as_ref().and_then(|status| status.resolved.as_ref());
            let is_other = Key::of(other) != Key::of(&*observed.cluster);
            let on = resolved.and_then(|resolved| resolved.provider_config_ref.as_ref());
            is_other && on == Some(&reference) && name_the_same(&observed.cluster.spec, &other.spec)
        };
        observed.rivals = others.into_iter().filter(is_rival).map(Arc::new).collect();
    }
    observed.provider = one(&Api::namespaced(client.clone(), &reference.namespace), &reference.name).await?;
    let Some(provider) = observed.provider.clone() else { return Ok((observed, unseen)) };
    if let Some(source) = providers::credentials_of(&provider) {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &source.secret.namespace);
        observed.credentials = one(&secrets, &source.secret.name).await?;
    }
    if provider.spec.network.as_ref().is_some_and(|network| network.mode == NetworkMode::Ipam) {
        let pools: kube::Result<BTreeMap<String, Arc<NetworkPool>>> = all(client, &reference.namespace).await;
        observed.network_pools = seen(pools, "NetworkPools", &mut unseen)?.into_values().collect();
        let asked: kube::Result<BTreeMap<String, Arc<IPAllocation>>> = all(client, &reference.namespace).await;
        let beginning = load_balancer_name(&observed.cluster);
        let asked = seen(asked, "IPAllocations", &mut unseen)?.into_iter();
        observed.allocations = asked.filter(|(name, _)| name.starts_with(&beginning)).map(|(_, one)| one).collect();
    }
    if let Some(kinds) = providers::kinds(provider.spec.provider).filter(|_| !place.is_empty()) {
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), place, &kinds.cluster);
        observed.infrastructure = one(&api, &name).await?;
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), place, &kinds.template);
        let templates = api.list(&ListParams::default()).await?;
        observed.machine_templates =
            templates.into_iter().map(|object| (object.name_any(), Arc::new(object))).collect();
    }
    Ok((observed, unseen))
}

/// What is not for everybody's eyes: who may not see it sees less of what would change, and is told.
fn seen<T: Default>(answer: kube::Result<T>, what: &str, unseen: &mut Vec<String>) -> kube::Result<T> {
    match answer {
        Err(kube::Error::Api(status)) if [403, 404].contains(&status.code) => {
            unseen.push(format!("{what} are left out: {}", status.message));
            Ok(T::default())
        }
        answer => answer,
    }
}

/// The addons of a cluster.
async fn addons_of(client: &Client, cluster: &TenantCluster) -> kube::Result<Vec<Arc<TenantAddon>>> {
    let Some(namespace) = cluster.namespace() else { return Ok(Vec::new()) };
    let api: Api<TenantAddon> = Api::namespaced(client.clone(), &namespace);
    let all = api.list(&ListParams::default()).await?.items;
    let own = all.into_iter().filter(|addon| addon.spec.cluster_ref.name == cluster.name_any());
    Ok(own.map(Arc::new).collect())
}

async fn one<K: Clone + DeserializeOwned + Debug>(api: &Api<K>, name: &str) -> kube::Result<Option<Arc<K>>> {
    Ok(api.get_opt(name).await?.map(Arc::new))
}

async fn inside<K>(client: &Client, namespace: &str, name: &str) -> kube::Result<Option<Arc<K>>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
{
    if namespace.is_empty() {
        return Ok(None);
    }
    one(&Api::namespaced(client.clone(), namespace), name).await
}

async fn all<K>(client: &Client, namespace: &str) -> kube::Result<BTreeMap<String, Arc<K>>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
{
    if namespace.is_empty() {
        return Ok(BTreeMap::new());
    }
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    let list = api.list(&ListParams::default()).await?;
    Ok(list.into_iter().map(|object| (object.name_any(), Arc::new(object))).collect())
}

/// The same cluster once the control plane and all pools run this version, so that nothing waits for its turn.
fn reached(observed: &Observed, version: &str) -> Observed {
    let mut reached = observed.clone();
    if let Some(plane) = &mut reached.control_plane {
        let plane = Arc::make_mut(plane);
        plane.spec.version = version.to_owned();
        let status = plane.status.get_or_insert_default();
        (status.ready, status.initialized, status.version) = (true, true, Some(version.to_owned()));
    }
    for pool in reached.deployments.values_mut() {
        Arc::make_mut(pool).spec.template.spec.version = Some(version.to_owned());
    }
    reached
}

/// The same cluster once all its pools are what they should be, so that no template is kept for machines of it.
fn settled(observed: &Observed) -> Observed {
    let mut settled = observed.clone();
    for pool in settled.deployments.values_mut() {
        let pool = Arc::make_mut(pool);
        let wanted = pool.spec.replicas;
        let status = pool.status.get_or_insert_default();
        (status.replicas, status.updated_replicas, status.ready_replicas) = (wanted, wanted, wanted);
        status.observed_generation = pool.metadata.generation;
    }
    settled
}

/// The same cluster once its kubeconfigs are there, which are nobody's business here.
fn published(observed: &Observed) -> Observed {
    let has_viewers = observed.cluster.spec.control_plane.replicas != Some(0) || observed.published_viewer.is_some();
    let mut published = observed.clone();
    published.kubeconfig = Some(ByteString::default());
    published.viewer_kubeconfig = has_viewers.then(ByteString::default);
    published
}

/// Why a pool would not give what is to be asked of it.
fn unanswered(asked: &IPAllocation, pools: &[Arc<NetworkPool>]) -> Option<Blocker> {
    let pool = pools.iter().find(|pool| pool.name_any() == asked.spec.pool_ref.name)?;
    let observed = network::Observed {
        name: pool.name_any(),
        pool: Some(held(pool)),
        others: pools.iter().filter(|other| Key::of(&***other) != Key::of(&**pool)).cloned().collect(),
        allocations: vec![Arc::new(asked.clone())],
        infrastructure: pool
            .status
            .as_ref()
            .map(|status| status.infrastructure_allocations.clone())
            .unwrap_or_default(),
        ..network::Observed::default()
    };
    network::plan(&observed).into_iter().find_map(|step| match step {
        network::Step::Tell(_, status) => status.blockers.into_iter().next(),
        _ => None,
    })
}

/// The same pool, as its controller holds it before it gives anything.
fn held(pool: &Arc<NetworkPool>) -> Arc<NetworkPool> {
    let mut held = (**pool).clone();
    if !held.finalizers().iter().any(|known| known == NETWORK_POOL) {
        held.finalizers_mut().push(NETWORK_POOL.to_owned());
    }
    Arc::new(held)
}

/// An object without what is in a Secret: credentials are nobody's business here.
fn without_contents(mut object: Value) -> Value {
    if object.get("kind").and_then(Value::as_str) == Some("Secret")
        && let Some(fields) = object.as_object_mut()
    {
        fields.retain(|field, _| ["apiVersion", "kind", "metadata"].contains(&field.as_str()));
    }
    object
}

/// The object there is in the place of another.
fn known(observed: &Observed, object: &Object) -> Option<Value> {
    match object {
        Object::Namespace(_) => observed.namespace.as_deref().and_then(encoded),
        Object::Secret(new) => {
            let published = observed.published.iter().chain(&observed.published_viewer);
            let known = published.chain(observed.secrets.values());
            known.into_iter().find(|known| Key::of(&***known) == Key::of(&**new)).and_then(|o| encoded(&**o))
        }
        Object::Allocation(_) => None,
        Object::Infrastructure(_) => observed.infrastructure.as_deref().and_then(encoded),
        Object::Cluster(_) => observed.capi.as_deref().and_then(encoded),
        Object::ControlPlane(_) => observed.control_plane.as_deref().and_then(encoded),
        Object::Standalone(_) => observed.standalone.as_deref().and_then(encoded),
        Object::ConfigTemplate(new) => observed.config_templates.get(&new.name_any()).and_then(|o| encoded(&**o)),
        Object::MachineTemplate(new) => observed.machine_templates.get(&new.name_any()).and_then(|o| encoded(&**o)),
        Object::Deployment(new) => observed.deployments.get(&new.name_any()).and_then(|o| encoded(&**o)),
        Object::HealthCheck(new) => observed.checks.get(&new.name_any()).and_then(|o| encoded(&**o)),
        Object::Addon(new) => {
            let known = observed.addons.iter().find(|known| known.name_any() == new.name_any());
            known.and_then(|o| encoded(&**o))
        }
    }
}

fn value(object: &Object) -> Option<Value> {
    match object {
        Object::Namespace(object) => encoded(&**object),
        Object::Secret(object) => encoded(&**object),
        Object::Infrastructure(object) | Object::MachineTemplate(object) => encoded(&**object),
        Object::Cluster(object) => encoded(&**object),
        Object::ControlPlane(object) => encoded(&**object),
        Object::Standalone(object) => encoded(&**object),
        Object::ConfigTemplate(object) => encoded(&**object),
        Object::Deployment(object) => encoded(&**object),
        Object::HealthCheck(object) => encoded(&**object),
        Object::Allocation(object) => encoded(&**object),
        Object::Addon(object) => encoded(&**object),
    }
}

fn encoded<K: Serialize>(object: &K) -> Option<Value> {
    serde_json::to_value(object).ok()
}

/// The part of `whole` that `wanted` says something about: the API and others add fields that are not ours.
fn projected(whole: &Value, wanted: &Value) -> Value {
    match (whole, wanted) {
        (Value::Object(whole), Value::Object(wanted)) => {
            let shared =
                whole.iter().filter_map(|(key, value)| Some((key.clone(), projected(value, wanted.get(key)?))));
            Value::Object(shared.collect())
        }
        (Value::Array(whole), Value::Array(wanted)) if whole.len() == wanted.len() => {
            Value::Array(whole.iter().zip(wanted).map(|(whole, wanted)| projected(whole, wanted)).collect())
        }
        _ => whole.clone(),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn only_what_may_not_be_seen_is_left_out_and_that_is_said() {
        for (code, expected) in
            [(403, Some("addons are left out: no")), (404, Some("addons are left out: no")), (500, None)]
        {
            let mut unseen = Vec::new();
            let status = Status { code, message: "no".into(), ..Status::default() };
            let answer = seen::<Vec<u8>>(Err(kube::Error::Api(Box::new(status))), "addons", &mut unseen);
            assert_eq!((answer.is_ok(), unseen.first().map(String::as_str)), (expected.is_some(), expected), "{code}");
        }
    }
}
