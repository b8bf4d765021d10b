//! Routes of gateways: kinds that the management cluster may not have, so they are read when needed and not watched.

use butler_api::steward::tenant_control_plane::RouteReport;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, ResourceExt};
use runtime::{Failure, Retry, changed};

use super::TenantController;
use super::observed::Observed;
use super::report::Done;
use super::taken::{Taken, foreign};
use crate::names;
use crate::workload::ROUTE;

/// The reason of a failure: the management cluster does not serve the kind.
pub(super) const UNKNOWN: &str = "RouteUnknown";

impl TenantController {
    /// Writes a route in the newest version that is served, if it is not there as it should be.
    pub(super) async fn publish(
        &self,
        observed: &Observed,
        route: &DynamicObject,
        done: &mut Done,
    ) -> Result<bool, Failure> {
        for (group, version, kind) in versions(route) {
            let mut wanted = route.clone();
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(&group, version, &kind));
            wanted.types.get_or_insert_default().api_version.clone_from(&resource.api_version);
            let api: Api<DynamicObject> =
                Api::namespaced_with(self.applier.client().clone(), observed.namespace(), &resource);
            let known = there(&api, &wanted.name_any()).await?;
            if let Some(owner) = known.as_ref().and_then(|known| foreign(known, observed.uid())) {
                let taken = Taken { kind, name: wanted.name_any(), owner };
                done.blockers.extend(super::taken::blocker(observed.namespace(), &[taken]));
                return Ok(false);
            }
            let report = RouteReport { api_version: resource.api_version.clone(), kind, name: wanted.name_any() };
            let Some(wanted) = changed(known.as_ref(), wanted)? else {
                done.route = Some(report);
                return Ok(false);
            };
            let params = PatchParams::apply(names::MANAGER).force();
            match api.patch(&wanted.name_any(), &params, &Patch::Apply(&wanted)).await {
                Ok(_) => {
                    done.route = Some(report);
                    return Ok(true);
                }
                // An object that is not there is made: what is not there is its kind.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(error.into()),
            }
        }
        let kind = route.types.as_ref().map_or("", |types| types.kind.as_str());
        Err(Failure::new(Retry::Backoff, UNKNOWN, format!("the management cluster does not know the kind {kind}")))
    }

    /// Removes a route that is no longer wanted.
    pub(super) async fn unpublish(
        &self,
        observed: &Observed,
        route: &RouteReport,
        done: &mut Done,
    ) -> Result<bool, Failure> {
        let (group, version) = route.api_version.split_once('/').unwrap_or(("", &route.api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &route.kind));
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.applier.client().clone(), observed.namespace(), &resource);
        let known = there(&api, &route.name).await?.filter(|known| foreign(known, observed.uid()).is_none());
        if known.is_some() {
            api.delete(&route.name, &DeleteParams::default()).await?;
        }
        done.route_dropped = true;
        Ok(false)
    }
}

/// An object that may be missing, and its kind as well.
async fn there(api: &Api<DynamicObject>, name: &str) -> Result<Option<DynamicObject>, Failure> {
    match api.get(name).await {
        Ok(object) => Ok(Some(object)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The versions of a route's kind, those to try first first.
fn versions(route: &DynamicObject) -> Vec<(String, &str, String)> {
    let Some(types) = &route.types else { return Vec::new() };
    let (group, version) = types.api_version.split_once('/').unwrap_or(("", &types.api_version));
    let all = if types.kind == ROUTE.1 { ROUTE.2.to_vec() } else { vec![version] };
    all.into_iter().map(|version| (group.to_owned(), version, types.kind.clone())).collect()
}
