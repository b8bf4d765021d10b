//! Which version each part of a cluster is to run now: the control plane first, then one pool after the other.

use kernel::version::Version;

use super::observed::{Observed, is_settled, version_of};
use crate::names;

/// How many minors a kubelet may be behind its API server.
const SKEW: u32 = 3;

/// The version the control plane is to run now: the wanted one, or, on a longer way, the next minor.
pub(crate) fn control_plane(observed: &Observed, wanted: Version) -> Version {
    let asked = observed.control_plane.as_ref().and_then(|plane| plane.spec.kubernetes_version().parse().ok());
    let Some(asked): Option<Version> = asked else { return wanted };
    if wanted <= asked {
        return asked;
    }
    let next =
        if wanted.minor > asked.minor + 1 { Version { minor: asked.minor + 1, patch: 0, ..asked } } else { wanted };
    let reached = observed.running_version() == Some(asked) && observed.is_control_plane_ready();
    // Of one minor to the next any patch will do; a longer way is gone step by step.
    if next != wanted && !reached {
        return asked;
    }
    let too_far = |worker: Version| worker.minor + SKEW < next.minor;
    if observed.oldest_worker().is_some_and(too_far) { asked } else { next }
}

/// The version a pool is to run now. `earlier` are the pools that come before it.
pub(crate) fn pool(observed: &Observed, control_plane: Version, pool: &str, earlier: &[String]) -> Version {
    let deployment = |pool: &str| observed.deployments.get(&names::pool(&observed.name(), pool));
    // Nodes are never newer than the API server that answers.
    let Some(own) = deployment(pool).and_then(|own| version_of(own)) else {
        return observed.running_version().unwrap_or(control_plane);
    };
    let reached = observed.running_version() == Some(control_plane) && observed.is_control_plane_ready();
    let done = |pool: &String| {
        deployment(pool).is_some_and(|other| is_settled(other) && version_of(other) >= Some(control_plane))
    };
    if reached && earlier.iter().all(done) { control_plane } else { own }
}
