//! Putting it there.

use butler_api::steward::tenant_control_plane::{AddonReport, ImageOverride};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client, ResourceExt};
use runtime::Failure;

use super::objects::ADDON;
use super::{Error, Tenant, coredns, defaults, digest, konnectivity, kube_proxy, objects};

/// Owns what administrators may not change.
const MANAGER: &str = "steward";
/// Owns what administrators may take over.
const DEFAULTS_MANAGER: &str = "steward-defaults";

/// Requests under way at a time: enough to hide round trips, few enough that a tenant costs few connections.
const AT_A_TIME: usize = 4;

/// What was done in a tenant.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// Digest of what is there now.
    pub digest: String,
    /// The addons, each on or off.
    pub addons: Vec<AddonReport>,
    /// Objects some fields of which somebody else has taken over, as `kind namespace/name`.
    pub kept: Vec<String>,
}

/// Makes the tenant what it should be: everything that should be there is written, and what is left of addons that are
/// switched off is removed. Can be repeated at any time, and taken up after any failure.
///
/// `client` must be one that RBAC cannot stop (`system:masters`): the rights of all others are made here.
pub async fn apply(client: &Client, tenant: &Tenant) -> Result<Applied, Failure> {
    let (objects, defaults, leftovers) = (objects(tenant)?, defaults(tenant)?, leftovers(tenant)?);
    let force = PatchParams::apply(MANAGER).force();
    stream::iter(&objects)
        .map(Ok)
        .try_for_each_concurrent(AT_A_TIME, |object| async {
            write(client, object, &force).await.map_err(|error| cannot("write", object, error))
        })
        .await?;
    let mut kept = Vec::new();
    for object in &defaults {
        match write(client, object, &PatchParams::apply(DEFAULTS_MANAGER)).await {
            Ok(()) => {}
            Err(kube::Error::Api(status)) if status.code == 409 => kept.push(title(object)),
            Err(error) => return Err(cannot("write", object, error)),
        }
    }
    stream::iter(&leftovers).map(Ok).try_for_each_concurrent(AT_A_TIME, |object| remove(client, object)).await?;
    Ok(Applied { digest: digest(tenant)?, addons: addons(tenant)?, kept })
}

fn addons(tenant: &Tenant) -> Result<Vec<AddonReport>, Error> {
    let report = |name: &str, version: Option<String>| AddonReport {
        name: name.to_owned(),
        enabled: version.is_some(),
        version,
        last_update: None,
    };
    let core_dns = tenant.addons.core_dns.as_ref().map(|image| coredns::tag(tenant, image)).transpose()?;
    let kube_proxy = tenant.addons.kube_proxy.as_ref().map(|image: &ImageOverride| kube_proxy::tag(tenant, image));
    let konnectivity = tenant.addons.konnectivity.as_ref().map(|wanted| konnectivity::tag(tenant, wanted));
    Ok(vec![report("coreDNS", core_dns), report("kubeProxy", kube_proxy), report("konnectivity", konnectivity)])
}

async fn write(client: &Client, object: &DynamicObject, params: &PatchParams) -> Result<(), kube::Error> {
    api_of(client, object).patch(&object.name_any(), params, &Patch::Apply(object)).await.map(drop)
}

fn api_of(client: &Client, object: &DynamicObject) -> Api<DynamicObject> {
    // All kinds are known and have regular plurals: no discovery is needed.
    let types = object.types.clone().unwrap_or_default();
    let kind = GroupVersionKind::try_from(types).unwrap_or_else(|_| GroupVersionKind::gvk("", "v1", ""));
    let resource = ApiResource::from_gvk(&kind);
    match object.namespace() {
        Some(namespace) => Api::namespaced_with(client.clone(), &namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// One object of each kind that addons which are switched off may have left behind.
fn leftovers(tenant: &Tenant) -> Result<Vec<DynamicObject>, Error> {
    let plain = ImageOverride::default();
    let mut left = Vec::new();
    if tenant.addons.core_dns.is_none() {
        left.extend(coredns::objects(tenant, &plain)?);
    }
    if tenant.addons.kube_proxy.is_none() {
        left.extend(kube_proxy::objects(tenant, &plain)?);
    }
    left.extend(konnectivity::leftovers(tenant)?);
    // Workloads go first, and what they need after them.
    left.reverse();
    Ok(left)
}

/// Removes what carries the label of an addon, of the kind and in the namespace of this object of it. Nothing has to be
/// read first, and what users made themselves stays.
async fn remove(client: &Client, of: &DynamicObject) -> Result<(), Failure> {
    let addon = of.labels().get(ADDON).map_or("", String::as_str);
    let labelled = ListParams::default().labels(&format!("{ADDON}={addon}"));
    let removed = api_of(client, of).delete_collection(&DeleteParams::background(), &labelled).await;
    removed.map(drop).map_err(|error| cannot("remove", of, error))
}

fn cannot(what: &str, object: &DynamicObject, error: kube::Error) -> Failure {
    let failure = Failure::from(error);
    Failure { message: format!("cannot {what} {} in the tenant: {}", title(object), failure.message), ..failure }
}

fn title(object: &DynamicObject) -> String {
    let kind = object.types.as_ref().map_or("", |types| types.kind.as_str());
    match object.namespace() {
        Some(namespace) => format!("{kind} {namespace}/{}", object.name_any()),
        None => format!("{kind} {}", object.name_any()),
    }
}
