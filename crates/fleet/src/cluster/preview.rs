//! What a change would do to the objects below a TenantCluster, before it is made.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use butler_api::butler::TenantAddon;
use butler_api::butler::tenant_cluster::TenantCluster;
use butler_api::names::{BUTLER_CONFIG, SYSTEM_NAMESPACE};
use butler_api::shared::Blocker;
use capi::controlplane::KubeadmControlPlane;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::ListParams;
use kube::core::{DynamicObject, NamespaceResourceScope};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::observed::Observed;
use super::render::{self, Object};
use super::resolve::{is_undecided, provider_ref, resolve, team_name};
use super::standalone::like_hosted;
use crate::names;

/// One object, as it is and as it would become.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    /// As it is, as far as anybody wants something of it; nothing when it is not there.
    pub before: Option<Value>,
    /// As it would become; nothing when it would go.
    pub after: Option<Value>,
}

/// What reaching the spec would do to every object below, once all is done; or what is in the way of it.
pub fn preview(observed: &Observed) -> Result<Vec<Preview>, Vec<Blocker>> {
    let wanted = resolve(&observed.cluster, observed.sources(), observed.provider.as_deref())?;
    let reached = reached(observed, &wanted.version.to_string());
    let mut objects = vec![render::namespace(observed, wanted.chosen.team.as_deref())];
    objects.extend(render::objects(&reached, &wanted)?);
    objects.extend(super::addons::foreseen(observed, &wanted).into_iter().map(|addon| Object::Addon(Box::new(addon))));
    let mut previews = Vec::new();
    for object in &objects {
        // Credentials are nobody's business here.
        let (Some(after), false) = (value(object), matches!(object, Object::Secret(_))) else { continue };
        let before = known(observed, object).map(|before| projected(&before, &after));
        previews.push(Preview { before, after: Some(after) });
    }
    let kept = |name: &str| objects.iter().any(|o| matches!(o, Object::Deployment(d) if d.name_any() == name));
    let pools = observed.deployments.iter().filter(|(name, _)| !kept(name));
    previews.extend(pools.map(|(_, pool)| Preview { before: encoded(&**pool), after: None }));
    Ok(previews)
}

/// Everything that deleting the cluster would remove.
pub fn removal(observed: &Observed) -> Vec<Preview> {
    let mut all: Vec<Option<Value>> = observed.addons.iter().map(|object| encoded(&**object)).collect();
    all.extend(observed.deployments.values().map(|object| encoded(&**object)));
    all.extend(observed.machines.iter().map(|object| encoded(&**object)));
    all.extend(observed.checks.values().map(|object| encoded(&**object)));
    all.push(match &observed.standalone {
        Some(plane) => encoded(&**plane),
        None => observed.control_plane.as_deref().and_then(encoded),
    });
    all.push(observed.hosted.as_deref().and_then(encoded));
    all.push(observed.capi.as_deref().and_then(encoded));
    all.push(observed.infrastructure.as_deref().and_then(encoded));
    all.push(observed.namespace.as_deref().and_then(encoded));
    all.into_iter().flatten().map(|before| Preview { before: Some(before), after: None }).collect()
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
        kubeconfig: None,
        published: None,
        viewer_kubeconfig: None,
        published_viewer: None,
        now: Timestamp::now(),
        cluster: Arc::new(cluster),
    };
    let Some(reference) = provider_ref(&observed.cluster, observed.sources()) else { return Ok((observed, unseen)) };
    observed.provider = one(&Api::namespaced(client.clone(), &reference.namespace), &reference.name).await?;
    let Some(provider) = observed.provider.clone() else { return Ok((observed, unseen)) };
    if let Some(source) = providers::credentials_of(&provider) {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &source.secret.namespace);
        observed.credentials = one(&secrets, &source.secret.name).await?;
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

/// The object there is in the place of another.
fn known(observed: &Observed, object: &Object) -> Option<Value> {
    match object {
        Object::Namespace(_) => observed.namespace.as_deref().and_then(encoded),
        Object::Secret(_) | Object::Allocation(_) => None,
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
