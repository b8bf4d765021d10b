//! Versions: which one runs, on which way, and what happens to wishes that cannot be fulfilled.

use butler_api::steward::tenant_control_plane::{CgroupDriver, ControlPlaneState};
use serde_json::{Value, json};
use steward::tenant::{Step, plan};

use super::world::{World, plain};

fn wish(world: &mut World, version: &str) {
    world.spec(|tenant| tenant.spec.kubernetes.version = version.into());
    world.settle();
}

/// What the API servers are made of, and the newest version that has answered.
fn runs(world: &World) -> (String, Option<String>) {
    let image = world.image().rsplit_once(':').unwrap().1.to_owned();
    (image, world.observed.tenant.status.as_ref().unwrap().answered_version.clone())
}

fn version(text: &str) -> (String, Option<String>) {
    (text.to_owned(), Some(text.to_owned()))
}

#[test]
fn versions_move_one_minor_at_a_time() {
    let mut world = World::new(plain());
    world.make_ready();
    for (version, reason) in
        [("v2.0.0", "VersionUnsupported"), ("v1.33.1", "UpgradeRefused"), ("v1.99.0", "VersionUnsupported")]
    {
        world.spec(|tenant| tenant.spec.kubernetes.version = version.into());
        world.settle();
        assert_eq!(world.reasons()[0], reason, "{version}");
        assert_eq!(world.state(), ControlPlaneState::Ready, "the old one goes on");
    }
    world.spec(|tenant| tenant.spec.kubernetes.version = "v1.35.4".into());
    world.settle();
    assert_eq!(world.state(), ControlPlaneState::Upgrading);
    world.cluster_works();
    world.settle();
    assert_eq!(world.state(), ControlPlaneState::Ready);
    assert_eq!(world.installed().as_deref(), Some("v1.35.4"));
}

#[test]
fn who_asks_for_more_before_the_first_is_there_gets_it_step_by_step() {
    // What was asked for before, what does not start in its pods, and by which version the minor is passed.
    for (begun, fails, passed) in [
        (Some("v1.35.4"), None, "v1.35.4"),
        (None, None, "v1.35.0"),
        (Some("v1.35.999"), Some(("kube-apiserver", "ErrImagePull")), "v1.35.0"),
        (Some("v1.35.999"), Some(("kube-scheduler", "ImagePullBackOff")), "v1.35.0"),
        (Some("v1.35.999"), Some(("kube-controller-manager", "InvalidImageName")), "v1.35.0"),
        // Another version would fare no better.
        (Some("v1.35.4"), Some(("kube-apiserver", "CrashLoopBackOff")), "v1.35.4"),
        (Some("v1.35.4"), Some(("kube-apiserver", "CreateContainerConfigError")), "v1.35.4"),
        (Some("v1.35.4"), Some(("konnectivity-server", "ErrImagePull")), "v1.35.4"),
    ] {
        let mut world = World::new(plain());
        world.make_ready();
        if let Some(begun) = begun {
            world.spec(|tenant| tenant.spec.kubernetes.version = begun.into());
            world.settle();
            if let Some((container, reason)) = fails {
                world.fail(container, reason);
            }
        }
        world.spec(|tenant| tenant.spec.kubernetes.version = "v1.36.1".into());
        world.settle();
        let way = format!("Kubernetes goes from v1.34.4 over {passed} to v1.36.1");
        let seen = |world: &World| (world.state(), world.image(), world.installed(), world.told("Progressing"));
        let expected = |image: &str, installed: &str, told: &str| {
            let image = format!("registry.k8s.io/kube-apiserver:{image}");
            (ControlPlaneState::Upgrading, image, Some(installed.to_owned()), ("Upgrading".to_owned(), told.to_owned()))
        };
        assert_eq!(seen(&world), expected(passed, "v1.34.4", &way));
        // What does not start in a version that is not asked for any more is no trouble.
        let is_failing = fails.is_some() && begun == Some(passed);
        assert_eq!(world.told("Ready").0, if is_failing { "PodsFailing" } else { "PodsStarting" });
        world.cluster_works();
        world.settle();
        let way = format!("Kubernetes goes from {passed} to v1.36.1");
        assert_eq!(seen(&world), expected("v1.36.1", passed, &way));
        world.cluster_works();
        world.settle();
        assert_eq!((world.state(), world.installed().as_deref()), (ControlPlaneState::Ready, Some("v1.36.1")));
        assert_eq!(world.reasons(), Vec::<String>::new());
    }
}

#[test]
fn a_wish_that_cannot_be_is_held_and_nothing_else_waits_for_it() {
    for (wished, reason, remedy) in [
        ("v1.37.0", "VersionUnsupported", "set the version back to v1.34.4"),
        ("v1.29.9", "VersionUnsupported", "set the version back to v1.34.4"),
        ("newest", "VersionUnknown", "set the version back to v1.34.4"),
        ("v1.33.1", "UpgradeRefused", "set the version to v1.34.4"),
    ] {
        let mut world = World::new(plain());
        world.make_ready();
        wish(&mut world, wished);
        for replicas in [3, 0, 2] {
            world.spec(|tenant| tenant.spec.control_plane.deployment.replicas = replicas);
            world.settle();
            world.cluster_works();
            world.settle();
            let deployment = world.observed.deployment.as_ref().unwrap().spec.as_ref().unwrap();
            assert_eq!((deployment.replicas, runs(&world)), (Some(replicas), version("v1.34.4")), "{wished}");
        }
        let blockers = &world.observed.tenant.status.as_ref().unwrap().blockers;
        let told: Vec<_> = blockers.iter().map(|b| (b.reason.as_str(), b.remedy.as_deref().unwrap())).collect();
        assert_eq!(told, [(reason, remedy)], "{wished}");
        let ready = world.told("Ready");
        assert!(ready.0 == "VersionHeld" && ready.1.starts_with("it serves as before: "), "{ready:?}");
        let rest = ["TenantConfigured", "Progressing", "CertificatesReady", "DataStoreReady", "EndpointReady"];
        assert_eq!(
            rest.map(|aspect| world.told(aspect).0),
            ["Configured", "RolledOut", "Issued", "PlaceMade", "AddressKnown"]
        );
    }
}

#[test]
fn a_wish_is_taken_back_as_long_as_nobody_has_answered_with_it() {
    let mut world = World::new(plain());
    world.make_ready();
    let before = world.observed.clone();
    wish(&mut world, "v1.35.999");
    world.fail("kube-apiserver", "ErrImagePull");
    // One of before serves beside each new one, so that the numbers alone look well.
    let deployment = std::sync::Arc::make_mut(world.observed.deployment.as_mut().unwrap());
    let status = deployment.status.as_mut().unwrap();
    (status.observed_generation, status.replicas) = (deployment.metadata.generation, status.replicas.map(|n| 2 * n));
    world.settle();
    assert_eq!(runs(&world), ("v1.35.999".to_owned(), Some("v1.34.4".to_owned())));
    let remedy = world.observed.tenant.status.as_ref().unwrap().blockers[0].remedy.clone().unwrap();
    assert!(remedy.ends_with("; or set the version back to v1.34.4, which goes on meanwhile"), "{remedy}");

    wish(&mut world, "v1.34.4");
    world.cluster_works();
    world.settle();
    assert_eq!((world.state(), runs(&world)), (ControlPlaneState::Ready, version("v1.34.4")));
    assert_eq!((world.reasons(), world.told("Ready").0.as_str()), (Vec::new(), "Ready"));
    let template = |world: &World| world.observed.deployment.as_ref().unwrap().spec.as_ref().unwrap().template.clone();
    assert_eq!(Some(template(&world)), before.deployment.as_ref().map(|d| d.spec.as_ref().unwrap().template.clone()));
    assert_eq!(world.observed.secrets, before.secrets);
    let inside =
        |status: &Option<butler_api::steward::TenantControlPlaneStatus>| status.as_ref().unwrap().kubeadmconfig.clone();
    assert_eq!(inside(&world.observed.tenant.status), inside(&before.tenant.status));
}

#[test]
fn there_is_no_way_back_from_what_has_answered() {
    let mut world = World::new(plain());
    world.make_ready();
    wish(&mut world, "v1.35.4");
    world.answer();
    // It is on record before all are of it, and counts before it is on record.
    for wished in ["v1.34.4", "v1.35.3"] {
        wish(&mut world, wished);
        assert_eq!((runs(&world), world.installed().as_deref()), (version("v1.35.4"), Some("v1.34.4")), "{wished}");
        assert_eq!((world.reasons()[0].as_str(), world.state()), ("UpgradeRefused", ControlPlaneState::Upgrading));
    }
    // Its pods may go: what they have written stays.
    world.observed.pods.clear();
    wish(&mut world, "v1.34.4");
    assert_eq!(runs(&world), version("v1.35.4"));
    wish(&mut world, "v1.35.4");
    world.cluster_works();
    world.settle();
    assert_eq!((world.state(), world.installed().as_deref()), (ControlPlaneState::Ready, Some("v1.35.4")));
    assert_eq!(world.reasons(), Vec::<String>::new());
}

#[test]
fn a_wish_may_change_while_it_sleeps_and_before_it_ever_ran() {
    let mut world = World::new(plain());
    world.make_ready();
    world.spec(|tenant| tenant.spec.control_plane.deployment.replicas = 0);
    world.settle();
    world.cluster_works();
    for (wished, expected) in [("v1.35.4", "v1.35.4"), ("v1.34.4", "v1.34.4")] {
        wish(&mut world, wished);
        assert_eq!(world.state(), ControlPlaneState::Sleeping);
        assert_eq!(runs(&world), (expected.to_owned(), Some("v1.34.4".to_owned())));
    }
    let mut world = World::new(plain());
    world.settle();
    world.cluster_works();
    for wished in ["v1.36.1", "v1.32.0"] {
        wish(&mut world, wished);
        assert_eq!(runs(&world), (wished.to_owned(), None));
    }
    wish(&mut world, "v1.37.0");
    assert_eq!((world.reasons(), runs(&world).0.as_str()), (vec!["VersionUnsupported".to_owned()], "v1.32.0"));
}

#[test]
fn what_cannot_be_had_is_told_with_the_versions_that_may_be_chosen() {
    let remedy =
        |world: &World| world.observed.tenant.status.as_ref().unwrap().blockers[0].remedy.clone().unwrap_or_default();
    // Woken into it: nothing serves meanwhile.
    let mut world = World::new(plain());
    world.make_ready();
    world.spec(|tenant| tenant.spec.control_plane.deployment.replicas = 0);
    world.settle();
    world.cluster_works();
    wish(&mut world, "v1.35.999");
    world.spec(|tenant| tenant.spec.control_plane.deployment.replicas = 1);
    world.settle();
    world.fail("kube-apiserver", "ErrImagePull");
    world.settle();
    assert_eq!((world.state(), world.told("Progressing").0.as_str()), (ControlPlaneState::Upgrading, "Upgrading"));
    assert_eq!((world.told("Available").0.as_str(), world.told("Ready").0.as_str()), ("PodsFailing", "PodsFailing"));
    assert!(remedy(&world).ends_with("; or set the version back to v1.34.4"), "{}", remedy(&world));
    // Set back: the pod that does not start stays until another does, and is no trouble any more.
    wish(&mut world, "v1.34.4");
    assert_eq!(world.reasons(), ["PodsStarting"]);
    world.fail("kube-apiserver", "CrashLoopBackOff");
    world.settle();
    assert_eq!(world.reasons(), ["PodsFailing"]);
    // Made with it.
    let mut world = World::new(plain());
    world.settle();
    world.cluster_works();
    wish(&mut world, "v1.35.999");
    world.fail("kube-apiserver", "ErrImagePull");
    world.settle();
    assert!(remedy(&world).ends_with("; or choose another version, as none has answered yet"), "{}", remedy(&world));
}

#[test]
fn whoever_asked_for_more_than_any_node_has_is_told_so() {
    let less = "ask for less in spec.controlPlane.deployment.resources, or have nodes with more room added";
    for (resources, owner, remedy) in [
        (json!({"apiServer": {"requests": {"cpu": "4000"}}}), "User", less),
        (Value::Null, "PlatformAdmin", "have nodes with more room added"),
    ] {
        let mut world = World::new(plain());
        world.make_ready();
        let resources = serde_json::from_value(resources).unwrap();
        world.spec(|tenant| {
            tenant.spec.control_plane.deployment.resources = resources;
            tenant.spec.control_plane.deployment.replicas = 3;
        });
        world.settle();
        world.find_no_room();
        world.settle();
        let told = world.observed.tenant.status.as_ref().unwrap().blockers[0].clone();
        assert_eq!((told.reason.as_str(), told.owner.unwrap().as_str()), ("PodsUnschedulable", owner));
        assert!(told.remedy.as_deref().unwrap().starts_with(remedy), "{:?}", told.remedy);
        assert_eq!(world.told("Progressing").0, "RollingOut");
    }
}

#[test]
fn what_is_inside_is_of_the_version_that_all_were_of_last() {
    let inside = |world: &World| {
        let steps = plan(&world.observed).steps.into_iter();
        let mut inside = steps.filter_map(|step| match step {
            Step::Configure(inside) => Some(inside.version.to_string()),
            _ => None,
        });
        inside.next()
    };
    let mut world = World::new(plain());
    world.make_ready();
    wish(&mut world, "v1.35.4");
    assert_eq!(inside(&world), None);
    world.spec(|tenant| tenant.spec.kubernetes.kubelet.cgroupfs = Some(CgroupDriver::Cgroupfs));
    assert_eq!(inside(&world).as_deref(), Some("v1.34.4"));
    assert!(world.settle().configured);
    world.cluster_works();
    assert_eq!(inside(&world).as_deref(), Some("v1.35.4"));
}
