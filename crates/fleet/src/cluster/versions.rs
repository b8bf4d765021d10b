//! Which version each part of a cluster is to run now: the control plane first, then one pool after the other.

use kernel::version::Version;

use super::observed::{Observed, is_settled, version_of};
use crate::names;

/// How many minors a kubelet may be behind its API server.
const SKEW: u32 = 3;

/// The version the control plane is to run now: the wanted one, or, on a longer way, the next minor. A wish that was taken back is
/// followed as far as nobody has answered with a newer version.
pub(crate) fn control_plane(observed: &Observed, wanted: Version) -> Version {
    let asked = observed.control_plane.as_ref().and_then(|plane| plane.spec.kubernetes_version().parse().ok());
    let Some(asked): Option<Version> = asked else { return wanted };
    if wanted <= asked {
        return observed.answered_version().map_or(wanted, |answered| answered.max(wanted));
    }
    let next =
        if wanted.minor > asked.minor + 1 { Version { minor: asked.minor + 1, patch: 0, ..asked } } else { wanted };
    let reached = observed.running_version() == Some(asked) && observed.is_control_plane_ready();
    // Steward passes the minor between by itself, should it not have come further yet; others would skip it.
    let must_wait = next != wanted || (observed.standalone.is_some() && next.minor > asked.minor);
    if must_wait && !reached {
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
    // One that was asked for in a version that was taken back meanwhile.
    if own > control_plane {
        return observed.running_version().unwrap_or(control_plane);
    }
    let reached = observed.running_version() == Some(control_plane) && observed.is_control_plane_ready();
    let done = |pool: &String| {
        deployment(pool).is_some_and(|other| is_settled(other) && version_of(other) >= Some(control_plane))
    };
    if reached && earlier.iter().all(done) { control_plane } else { own }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::super::standalone::like_hosted;
    use super::*;

    /// A cluster whose control plane is asked for in one version, runs another, and has workers of a third.
    fn observed(asked: &str, running: &str, workers: &str, is_standalone: bool) -> Observed {
        let plane = |kind: &str, spec: Value| {
            json!({
                "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": kind, "metadata": {"name": "c"}, "spec": spec,
                "status": {"ready": true, "initialized": true, "version": running},
            })
        };
        let template = json!({"infrastructureRef": {"apiVersion": "x/v1", "kind": "X", "name": "c"}});
        let spec = json!({"replicas": 1, "version": asked, "machineTemplate": template, "kubeadmConfigSpec": {}});
        let standalone = is_standalone.then(|| serde_json::from_value(plane("KubeadmControlPlane", spec)).unwrap());
        let hosted = plane("StewardControlPlane", json!({"replicas": 1, "version": asked}));
        let pool = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment", "metadata": {"name": "c-workers"},
            "spec": {"clusterName": "c", "replicas": 1, "selector": {}, "template": {"spec": {
                "clusterName": "c", "version": workers, "bootstrap": {},
                "infrastructureRef": {"apiVersion": "x/v1", "kind": "X", "name": "w"},
            }}},
        });
        Observed {
            cluster: Arc::default(),
            team: None,
            platform: None,
            provider: None,
            providers: None,
            credentials: None,
            namespace: None,
            capi: None,
            control_plane: Some(Arc::new(match &standalone {
                Some(plane) => like_hosted(plane),
                None => serde_json::from_value(hosted).unwrap(),
            })),
            standalone: standalone.map(Arc::new),
            hosted: None,
            infrastructure: None,
            deployments: BTreeMap::from([("c-workers".to_owned(), Arc::new(serde_json::from_value(pool).unwrap()))]),
            machines: Vec::new(),
            checks: BTreeMap::new(),
            config_templates: BTreeMap::new(),
            machine_templates: BTreeMap::new(),
            secrets: BTreeMap::new(),
            addons: Vec::new(),
            network_pools: Vec::new(),
            allocations: Vec::new(),
            rivals: Vec::new(),
            kubeconfig: None,
            published: None,
            viewer_kubeconfig: None,
            published_viewer: None,
            taken_secrets: Vec::new(),
            now: jiff::Timestamp::UNIX_EPOCH,
        }
    }

    /// The same with a machine that carries the control plane and has become a node.
    fn with_carrier(mut observed: Observed, version: &str) -> Observed {
        let machine = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
            "metadata": {"name": "m", "labels": {"cluster.x-k8s.io/control-plane": ""}},
            "spec": {"clusterName": "c", "version": version, "infrastructureRef": {}},
            "status": {"nodeRef": {"name": "m"}},
        });
        observed.machines.push(Arc::new(serde_json::from_value(machine).unwrap()));
        observed
    }

    #[test]
    fn control_planes_skip_no_minor_and_leave_no_worker_behind() {
        let hosted = |asked, running, workers| observed(asked, running, workers, false);
        let standalone = |asked, running| observed(asked, running, running, true);
        for (observed, wanted, expected) in [
            (hosted("v1.34.4", "v1.34.4", "v1.34.4"), "v1.35.4", "v1.35.4"),
            (hosted("v1.34.4", "v1.34.4", "v1.34.4"), "v1.36.1", "v1.35.0"),
            (hosted("v1.34.4", "v1.33.0", "v1.33.0"), "v1.36.1", "v1.34.4"),
            (hosted("v1.34.4", "v1.34.4", "v1.34.4"), "v1.33.9", "v1.34.4"),
            // Taken back, as far as nobody has answered with it.
            (hosted("v1.35.999", "v1.34.4", "v1.34.4"), "v1.34.4", "v1.34.4"),
            (hosted("v1.35.999", "v1.34.4", "v1.34.4"), "v1.35.4", "v1.35.4"),
            (hosted("v1.36.1", "v1.35.0", "v1.34.4"), "v1.34.4", "v1.35.0"),
            (standalone("v1.35.999", "v1.34.4"), "v1.34.4", "v1.34.4"),
            (with_carrier(standalone("v1.35.4", "v1.34.4"), "v1.35.4"), "v1.34.4", "v1.35.4"),
            (with_carrier(standalone("v1.35.4", "v1.34.4"), "v1.34.4"), "v1.34.4", "v1.34.4"),
            // Asked for before the last wish is fulfilled: Steward passes what is between, machines do not.
            (hosted("v1.35.4", "v1.34.4", "v1.34.4"), "v1.36.1", "v1.36.1"),
            (standalone("v1.35.4", "v1.34.4"), "v1.36.1", "v1.35.4"),
            (standalone("v1.35.4", "v1.34.4"), "v1.35.5", "v1.35.5"),
            (standalone("v1.35.4", "v1.35.4"), "v1.36.1", "v1.36.1"),
            // A kubelet may be three minors behind, and no more.
            (hosted("v1.35.4", "v1.35.4", "v1.33.0"), "v1.36.1", "v1.36.1"),
            (hosted("v1.35.4", "v1.35.4", "v1.32.0"), "v1.36.1", "v1.35.4"),
        ] {
            let version = |text: &str| text.parse::<Version>().unwrap();
            assert_eq!(control_plane(&observed, version(wanted)), version(expected), "to {wanted}");
        }
    }

    #[test]
    fn what_has_never_answered_runs_no_version() {
        for (initialized, is_standalone, expected) in
            [(true, true, Some("v1.34.4")), (false, true, None), (true, false, Some("v1.34.4")), (false, false, None)]
        {
            let mut observed = observed("v1.34.4", "v1.34.4", "v1.34.4", is_standalone);
            let plane = Arc::make_mut(observed.control_plane.as_mut().unwrap());
            plane.status.as_mut().unwrap().initialized = initialized;
            let running = observed.running_version().map(|version| version.to_string());
            assert_eq!((running.as_deref(), observed.has_answered()), (expected, initialized));
        }
    }

    #[test]
    fn workers_wait_for_the_control_plane() {
        for (asked, running, expected) in [
            ("v1.36.1", "v1.34.4", "v1.34.4"),
            ("v1.36.1", "v1.35.4", "v1.34.4"),
            ("v1.36.1", "v1.36.1", "v1.36.1"),
            // The pool was begun in a version that was taken back.
            ("v1.33.0", "v1.33.0", "v1.33.0"),
        ] {
            let mut observed = observed(asked, running, "v1.34.4", false);
            let cluster: Value = json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster", "metadata": {"name": "c"}, "spec": {},
            });
            observed.cluster = Arc::new(serde_json::from_value(cluster).unwrap());
            let asked: Version = asked.parse().unwrap();
            assert_eq!(pool(&observed, asked, "workers", &[]).to_string(), expected, "{running} runs");
        }
    }
}
