//! From the name of an addon to the addon, of either kind.

use butler_api::butler::addon_install::AddonInstallStatus;
use butler_api::butler::{ManagementAddon, TenantAddon};
use fleet::addon::{Addon, Ask};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject};
use kube::{Api, ResourceExt};
use serde_json::{Map, Value};

use super::Named;
use crate::failure::{Code, Failure, Outcome};
use crate::lookup;
use crate::session::Session;

/// Where addons are: on clusters of teams, or on the management cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    Tenants,
    Management,
}

impl Ground {
    /// The kind of object that asks for addons there.
    pub(crate) fn kind(self) -> ApiResource {
        match self {
            Self::Tenants => ApiResource::erase::<TenantAddon>(&()),
            Self::Management => ApiResource::erase::<ManagementAddon>(&()),
        }
    }

    /// The program that is for it.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Tenants => "butlerctl",
            Self::Management => "butleradm",
        }
    }

    /// The objects of a team, or all.
    pub(crate) fn api(self, session: &Session, namespace: Option<&str>) -> Api<DynamicObject> {
        match namespace.filter(|_| self == Self::Tenants) {
            Some(namespace) => Api::namespaced_with(session.client.clone(), namespace, &self.kind()),
            None => Api::all_with(session.client.clone(), &self.kind()),
        }
    }
}

/// An addon that was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) ground: Ground,
    pub(crate) object: DynamicObject,
}

impl Found {
    pub(crate) fn name(&self) -> String {
        self.object.name_any()
    }

    pub(crate) fn namespace(&self) -> Option<String> {
        self.object.namespace()
    }

    pub(crate) fn api(&self, session: &Session) -> Api<DynamicObject> {
        self.ground.api(session, self.namespace().as_deref())
    }

    /// The cluster it is on.
    pub(crate) fn cluster(&self) -> Option<String> {
        self.text("/spec/clusterRef/name")
    }

    /// Its name in the catalogue, else that of its chart.
    pub(crate) fn addon(&self) -> String {
        self.text("/spec/addon").or_else(|| self.text("/spec/helm/chart")).unwrap_or_default()
    }

    pub(crate) fn version(&self) -> Option<String> {
        self.text("/spec/version").filter(|version| !version.is_empty())
    }

    /// The values over the catalogue's.
    pub(crate) fn values(&self) -> Map<String, Value> {
        self.object.data.pointer("/spec/values").and_then(Value::as_object).cloned().unwrap_or_default()
    }

    /// The same addon, asking for another version, if one is named, and these values.
    pub(crate) fn asking(&self, version: Option<&str>, values: &Map<String, Value>) -> Self {
        let mut asked = self.clone();
        asked.object.data["spec"]["values"] = values.clone().into();
        if let Some(version) = version {
            asked.object.data["spec"]["version"] = version.into();
        }
        asked
    }

    /// What it asks for.
    pub(crate) fn ask(&self) -> Outcome<Ask> {
        let object = serde_json::to_value(&self.object)?;
        Ok(match self.ground {
            Ground::Tenants => serde_json::from_value::<TenantAddon>(object)?.ask(),
            Ground::Management => serde_json::from_value::<ManagementAddon>(object)?.ask(),
        })
    }

    pub(crate) fn status(&self) -> Outcome<AddonInstallStatus> {
        match self.object.data.get("status") {
            Some(status) => Ok(serde_json::from_value(status.clone())?),
            None => Ok(AddonInstallStatus::default()),
        }
    }

    /// The cluster that asks for it by its spec.
    pub(crate) fn owner(&self) -> Option<&OwnerReference> {
        self.object.owner_references().iter().find(|owner| owner.kind == "TenantCluster")
    }

    /// Fails if its cluster decides about it: a change would not last.
    pub(crate) fn check_own(&self) -> Outcome {
        match self.owner() {
            None => Ok(()),
            Some(owner) => Err(Failure::new(
                Code::Refused,
                format!("{} comes from spec.addons of TenantCluster {}: change it there", self.name(), owner.name),
            )),
        }
    }

    fn text(&self, pointer: &str) -> Option<String> {
        self.object.data.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
    }
}

/// Finds an addon by its name, or by cluster and name in the catalogue.
pub(crate) async fn find(session: &Session, ground: Ground, named: &Named) -> Outcome<Found> {
    let name = &named.name;
    let missing = |place: String| Failure::new(Code::NotFound, format!("there is no addon {name:?} {place}"));
    if ground == Ground::Management {
        let found = ground.api(session, None).get_opt(name).await?;
        return found.map(|object| Found { ground, object }).ok_or_else(|| {
            missing("on the management cluster; `butleradm addon list` shows what there is".to_owned())
        });
    }
    if let Some(cluster) = &named.cluster {
        let cluster = lookup::find(session, cluster).await?;
        let api = ground.api(session, Some(&cluster.namespace));
        for name in [name.clone(), format!("{}-{name}", cluster.name)] {
            let found = api.get_opt(&name).await?.map(|object| Found { ground, object });
            if let Some(found) = found.filter(|found| found.cluster().as_deref() == Some(&cluster.name)) {
                return Ok(found);
            }
        }
        return Err(missing(format!("on {}; `butlerctl addon list -c {0}` shows what there is", cluster.name)));
    }
    let mut matching = list(session, ground, None).await?;
    matching.retain(|object| object.name_any() == *name);
    match matching.len() {
        0 => Err(missing("that you may see; `butlerctl addon list` shows what there is".to_owned())),
        1 => Ok(Found { ground, object: matching.swap_remove(0) }),
        _ => Err(Failure::usage(format!("several teams have an addon {name:?}: name one with -n TEAM"))),
    }
}

/// All addons of a cluster, of the team that is meant, or that the user may see.
pub(crate) async fn list(session: &Session, ground: Ground, cluster: Option<&str>) -> Outcome<Vec<DynamicObject>> {
    let params = ListParams::default();
    if ground == Ground::Management {
        return Ok(typed(ground, ground.api(session, None).list(&params).await?.items));
    }
    if let Some(cluster) = cluster {
        let cluster = lookup::find(session, cluster).await?;
        let mut items = ground.api(session, Some(&cluster.namespace)).list(&params).await?.items;
        let on = |object: &DynamicObject| {
            object.data.pointer("/spec/clusterRef/name").and_then(Value::as_str) == Some(&cluster.name)
        };
        items.retain(on);
        return Ok(typed(ground, items));
    }
    if let Some(team) = session.team.as_ref().or(session.chosen_team.as_ref()) {
        return Ok(typed(ground, ground.api(session, Some(team)).list(&params).await?.items));
    }
    let items = match ground.api(session, None).list(&params).await {
        Err(error) if Failure::is_forbidden(&error) => {
            let mut items = Vec::new();
            for team in lookup::visible_teams(session).await? {
                items.extend(ground.api(session, Some(&team)).list(&params).await?.items);
            }
            items
        }
        answer => answer?.items,
    };
    Ok(typed(ground, items))
}

/// All addons on the cluster of one, whether there is such a cluster or not.
pub(crate) async fn beside(session: &Session, found: &Found) -> Outcome<Vec<Found>> {
    let listed = found.api(session).list(&ListParams::default()).await?.items;
    let all = typed(found.ground, listed).into_iter().map(|object| Found { ground: found.ground, object });
    Ok(all.filter(|other| other.cluster() == found.cluster()).collect())
}

/// Lists leave the kind out of their items.
fn typed(ground: Ground, mut items: Vec<DynamicObject>) -> Vec<DynamicObject> {
    let kind = ground.kind();
    for item in &mut items {
        item.types = Some(kube::core::TypeMeta { api_version: kind.api_version.clone(), kind: kind.kind.clone() });
    }
    items
}
