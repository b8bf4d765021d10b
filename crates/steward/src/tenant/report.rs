//! What is told of a control plane.

use std::collections::BTreeSet;

use butler_api::shared::{Blocker, LocalRef};
use butler_api::steward::TenantControlPlaneStatus;
use butler_api::steward::data_store::Driver;
use butler_api::steward::tenant_control_plane::{
    CertificateReport, Certificates, ConfigMapReport, ControlPlaneState, DataStoreSetup, DeploymentReport, Kubeconfigs,
    KubernetesResources, RouteReport, ServiceReport, StorageReport, StorageUsage, VersionReport,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kernel::version::Version;
use runtime::{Verdict, blockers_since, conditions_since};

use super::observed::{Observed, Store};
use super::plan::{Plan, Step};
use super::versions::{answered, installed};
use super::{inner, overrides};
use crate::credentials::{CONTENT, NOT_AFTER, Root};
use crate::inside;
use crate::names;

/// Condition: some API server answers.
pub(super) const AVAILABLE: &str = "Available";
/// Condition: something is being rolled out.
pub(super) const PROGRESSING: &str = "Progressing";
const UPGRADING: &str = "Upgrading";
/// It serves, though not the version that is wished for.
const VERSION_HELD: &str = "VersionHeld";
/// Nothing is wrong: it has no pods because somebody wants it so.
pub(crate) const ASLEEP: &str = "Asleep";

/// What came of the steps that only doing them can tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Done {
    /// The shared store has a place for it now.
    pub store_set_up: bool,
    /// The shared store has forgotten it.
    pub store_cleared: bool,
    /// Stores of single resources that have a place for it now.
    pub overrides_set_up: BTreeSet<String>,
    /// Stores of single resources that have forgotten it.
    pub overrides_cleared: BTreeSet<String>,
    /// The route that was written.
    pub route: Option<RouteReport>,
    /// The route that was recorded is gone.
    pub route_dropped: bool,
    /// What was put into the tenant.
    pub configured: Option<inside::Applied>,
    /// What failed.
    pub blockers: Vec<Blocker>,
}

/// The status: a function of what was seen and done.
pub fn report(observed: &Observed, plan: &Plan, done: &Done) -> TenantControlPlaneStatus {
    let before = observed.tenant.status.clone().unwrap_or_default();
    let generation = observed.tenant.metadata.generation;
    let now = observed.now;
    let state = state(observed, plan);
    let mut blockers = plan.blockers.clone();
    blockers.extend(done.blockers.iter().cloned());
    let verdicts = verdicts(observed, plan, state, &blockers);
    blockers.splice(0..0, plan.held.clone());
    let resources = resources(observed, plan, done, state);
    let installed = resources.version.as_ref().and_then(|report| report.version.as_ref()?.parse().ok());
    TenantControlPlaneStatus {
        observed_generation: generation,
        control_plane_endpoint: plan.endpoint.as_ref().map(ToString::to_string).or(before.control_plane_endpoint),
        answered_version: answered(observed).max(installed).map(|version: Version| version.to_string()),
        storage: storage(observed, done, before.storage),
        certificates: Some(certificates(observed)),
        kubeconfig: Some(kubeconfigs(observed)),
        kubernetes_resources: Some(resources),
        kubeadmconfig: match &done.configured {
            Some(applied) => Some(ConfigMapReport {
                configmap_name: Some("kubeadm-config".to_owned()),
                checksum: Some(applied.digest.clone()),
                last_update: Some(Time(now)),
            }),
            None => before.kubeadmconfig,
        },
        addons: done.configured.as_ref().map_or(before.addons, |applied| applied.addons.clone()),
        next_renewal: plan.next.map(Time),
        conditions: conditions_since(&before.conditions, verdicts, generation, now),
        blockers: blockers_since(&before.blockers, blockers, now),
    }
}

/// Whether the Deployment has settled.
pub(super) fn is_rolled_out(observed: &Observed) -> bool {
    let Some(deployment) = &observed.deployment else { return false };
    let Some(status) = &deployment.status else { return false };
    let wanted = observed.tenant.spec.control_plane.deployment.replicas;
    status.observed_generation == deployment.metadata.generation
        && status.updated_replicas.unwrap_or(0) == wanted
        && status.replicas.unwrap_or(0) == wanted
        && status.available_replicas.unwrap_or(0) == wanted
}

/// Whether nobody answers because nobody is to.
fn is_silenced(observed: &Observed) -> bool {
    let wanted = observed.tenant.spec.control_plane.deployment.replicas;
    wanted == 0 && observed.deployment.is_some() && observed.available() == 0
}

fn state(observed: &Observed, plan: &Plan) -> ControlPlaneState {
    if observed.tenant.metadata.deletion_timestamp.is_some() {
        return ControlPlaneState::Deleting;
    }
    let running = installed(observed);
    if is_silenced(observed) && observed.pods.is_empty() {
        return ControlPlaneState::Sleeping;
    }
    let rolls = plan.steps.iter().any(|step| matches!(step, Step::Deployment(_)));
    let is_on_its_way = |running: Version| {
        let way = plan.way.filter(|_| rolls && !is_silenced(observed));
        way.is_some_and(|way| !way.is_last() || (running != way.to && !plan.rolled_out))
    };
    let answers = observed.available() > 0;
    match running {
        // One that was woken into another version has nothing to serve meanwhile.
        Some(running) if is_on_its_way(running) => ControlPlaneState::Upgrading,
        Some(_) if !answers => ControlPlaneState::NotReady,
        None if !answers => ControlPlaneState::Provisioning,
        None if !plan.rolled_out || !plan.configured => ControlPlaneState::Provisioning,
        _ => ControlPlaneState::Ready,
    }
}

fn verdicts(observed: &Observed, plan: &Plan, state: ControlPlaneState, blockers: &[Blocker]) -> Vec<Verdict> {
    let blocked = |aspect: &'static str, fallback: &str| match blockers.first() {
        Some(blocker) => Verdict::fails(aspect, blocker.reason.clone(), blocker.message.clone()),
        None => Verdict::fails(aspect, "Working", fallback),
    };
    let judge = |aspect, holds: bool, reason: &str, message: &str, otherwise: &str| match holds {
        true => Verdict::holds(aspect, reason, message),
        false => blocked(aspect, otherwise),
    };
    let available = observed.available() > 0;
    let current = plan.rolled_out;
    // What is inside stays as it is while nobody can look at it.
    let configured = plan.configured || (!(current && available) && inner::configured(observed).is_some());
    let upgrade = plan.way.filter(|_| state == ControlPlaneState::Upgrading);
    let mut verdicts = vec![
        judge("EndpointReady", plan.endpoint.is_some(), "AddressKnown", "it has an address", "its address is awaited"),
        judge("CertificatesReady", plan.certificates_ready, "Issued", "all are valid", "certificates are being issued"),
        judge("DataStoreReady", plan.store_ready, "PlaceMade", "its data has a place", "its place is being made"),
        judge(
            "TenantConfigured",
            configured,
            "Configured",
            "what kubeadm would upload is there",
            "the tenant is being configured",
        ),
    ];
    verdicts.push(match (upgrade, current) {
        (Some(way), _) => Verdict::holds(PROGRESSING, UPGRADING, format!("Kubernetes goes {way}")),
        (None, true) => Verdict::fails(PROGRESSING, "RolledOut", "nothing is being changed"),
        (None, false) => Verdict::holds(PROGRESSING, "RollingOut", "changes are being rolled out"),
    });
    verdicts.extend(match is_silenced(observed) && state != ControlPlaneState::Deleting {
        true => [AVAILABLE, "Ready"].map(|aspect| Verdict::fails(aspect, ASLEEP, "it sleeps: scale it up to wake it")),
        false => [
            judge(AVAILABLE, available, "PodsReady", "at least one API server answers", "no API server answers yet"),
            match (upgrade.filter(|_| blockers.is_empty() && available), &plan.held, state == ControlPlaneState::Ready)
            {
                (Some(way), ..) => Verdict::fails("Ready", UPGRADING, format!("it serves, and goes {way}")),
                (None, Some(held), true) => {
                    Verdict::holds("Ready", VERSION_HELD, format!("it serves as before: {}", held.message))
                }
                (None, _, is_ready) => judge("Ready", is_ready, "Ready", "it serves", "it is being made"),
            },
        ],
    });
    verdicts
}

fn storage(observed: &Observed, done: &Done, before: Option<StorageReport>) -> Option<StorageReport> {
    let before = before.unwrap_or_default();
    let certificate = certificate(observed, &format!("{}-datastore", observed.name()));
    if observed.tenant.metadata.deletion_timestamp.is_some() {
        let setup = before.setup.filter(|_| !done.store_cleared);
        return Some(StorageReport { setup, overrides: overrides::report(observed, done), ..before });
    }
    match &observed.store {
        Store::Own => Some(StorageReport {
            driver: Some(Driver::Etcd),
            data_store_name: Some(names::etcd(observed.name())),
            setup: None,
            certificate,
            usage: usage(observed, before.usage),
            overrides: overrides::report(observed, done),
        }),
        Store::Shared(shared) => {
            let place = observed.place();
            let known = before.setup.filter(|setup| setup.schema.as_ref() == Some(&place.schema));
            let known = known.and_then(|setup| setup.last_update);
            let made = done.store_set_up.then_some(Time(observed.now));
            Some(StorageReport {
                driver: Some(shared.kind),
                data_store_name: Some(shared.name.clone()),
                setup: Some(DataStoreSetup {
                    schema: Some(place.schema),
                    user: Some(place.user),
                    last_update: known.or(made),
                }),
                certificate,
                usage: usage(observed, before.usage),
                overrides: overrides::report(observed, done),
            })
        }
        Store::Trouble(_) => Some(before).filter(|before| *before != StorageReport::default()),
    }
}

fn usage(observed: &Observed, before: Option<StorageUsage>) -> Option<StorageUsage> {
    let Some((measured, at)) = observed.usage else { return before };
    Some(StorageUsage { keys: Some(measured.keys), bytes: Some(measured.bytes), measured_at: Some(Time(at)) })
}

fn certificates(observed: &Observed) -> Certificates {
    let leaf = |suffix: &str| certificate(observed, &format!("{}-{suffix}", observed.name()));
    let root = |root: Root| {
        let name = root.secret_name(observed.name());
        let end = observed.root(root).and_then(|secret| {
            let text = crate::credentials::text(secret, "tls.crt")?;
            pki::Certificate::from_pem(text).ok().map(|certificate| Time(certificate.not_after()))
        });
        let known = observed.tenant.status.as_ref().and_then(|status| status.certificates.clone()).unwrap_or_default();
        match certificate(observed, &name) {
            Some(report) => Some(CertificateReport { not_after: end, ..report }),
            // What was there once stays on record: its loss must not look like its beginning.
            None => match root {
                Root::ClusterCa => known.ca,
                Root::FrontProxyCa => known.front_proxy_ca,
                Root::ServiceAccount => known.sa,
                Root::EtcdCa => None,
            },
        }
    };
    Certificates {
        ca: root(Root::ClusterCa),
        api_server: leaf("apiserver"),
        api_server_kubelet_client: leaf("kubelet-client"),
        front_proxy_ca: root(Root::FrontProxyCa),
        front_proxy_client: leaf("front-proxy-client"),
        sa: root(Root::ServiceAccount),
    }
}

fn kubeconfigs(observed: &Observed) -> Kubeconfigs {
    let leaf = |suffix: &str| certificate(observed, &format!("{}-{suffix}-kubeconfig", observed.name()));
    Kubeconfigs {
        admin: leaf("admin"),
        super_admin: leaf("admin"),
        controller_manager: leaf("controller-manager"),
        scheduler: leaf("scheduler"),
    }
}

fn certificate(observed: &Observed, name: &str) -> Option<CertificateReport> {
    let secret = observed.secret(name)?;
    let annotation = |key: &str| secret.metadata.annotations.as_ref()?.get(key).cloned();
    Some(CertificateReport {
        secret_name: Some(name.to_owned()),
        checksum: annotation(CONTENT),
        last_update: None,
        not_after: annotation(NOT_AFTER).and_then(|text| text.parse().ok()).map(Time),
    })
}

fn resources(observed: &Observed, plan: &Plan, done: &Done, state: ControlPlaneState) -> KubernetesResources {
    let (name, namespace) = (observed.name().to_owned(), observed.namespace().to_owned());
    let before = observed.tenant.status.as_ref().and_then(|status| status.kubernetes_resources.as_ref());
    let known = before.and_then(|resources| resources.version.as_ref()?.version.clone());
    // Only what has answered counts as installed.
    let answers = matches!(state, ControlPlaneState::Ready | ControlPlaneState::Upgrading) && plan.rolled_out;
    let version = plan.way.filter(|_| answers).map(|way| way.now.to_string()).or(known);
    let deployment = observed.deployment.as_ref().map(|deployment| {
        let status = deployment.status.clone().unwrap_or_default();
        let selector: Vec<String> =
            names::selector(&name).into_iter().map(|(key, value)| format!("{key}={value}")).collect();
        DeploymentReport {
            name: Some(name.clone()),
            namespace: Some(namespace.clone()),
            selector: Some(selector.join(",")),
            replicas: Some(status.replicas.unwrap_or(0)),
            ready_replicas: Some(status.ready_replicas.unwrap_or(0)),
            available_replicas: Some(status.available_replicas.unwrap_or(0)),
            unavailable_replicas: Some(status.unavailable_replicas.unwrap_or(0)),
            updated_replicas: Some(status.updated_replicas.unwrap_or(0)),
            last_update: None,
        }
    });
    let service = observed.service.as_ref().map(|_| ServiceReport {
        name: Some(name.clone()),
        namespace: Some(namespace.clone()),
        port: Some(observed.tenant.spec.network_profile.port),
        address: plan.endpoint.as_ref().map(|endpoint| endpoint.host.clone()),
    });
    KubernetesResources {
        version: Some(VersionReport { version, status: Some(state) }),
        deployment,
        service,
        ingress: observed.ingress.as_ref().map(|_| LocalRef { name }),
        route: done
            .route
            .clone()
            .or_else(|| before.and_then(|known| known.route.clone()).filter(|_| !done.route_dropped)),
    }
}
