//! Worker pools: templates, MachineDeployment and health check of each.
//!
//! Templates are never changed. A pool whose machines are to be different gets new ones under another name, and Cluster
//! API replaces the machines because the name is another.

use butler_api::butler::tenant_cluster::{HealthCheck, Workers};
use butler_api::shared::{Blocker, ConditionStatus, IntOrPercent};
use capi::bootstrap::KubeadmConfigTemplate;
use capi::core::{
    Bootstrap, MachineDeployment, MachineDeploymentSpec, MachineHealthCheck, MachineHealthCheckSpec, MachineSpec,
    MachineTemplate, RollingUpdate, Strategy, UnhealthyCondition,
};
use capi::names::labels::{CLUSTER_NAME, CONTROL_PLANE, DEPLOYMENT_NAME};
use capi::names::secrets;
use capi::{ObjectReference, TemplateMeta};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use kernel::duration::GoDuration;
use kernel::version::Version;
use kube::core::{DynamicObject, TypeMeta};
use kube::{Resource, ResourceExt};
use providers::Machines;
use serde_json::json;

use super::render::{Object, Renderer};
use super::{invitation, versions};
use crate::bootstrap::{self, Boots, Surroundings};
use crate::names;

const NODE_STARTUP_TIMEOUT: &str = "10m";
const UNHEALTHY_TIMEOUT: &str = "5m";
const MAX_UNHEALTHY: &str = "40%";
/// The smallest pool of which that share is a whole machine.
const SMALLEST_SHARED: i32 = 3;

/// The objects of all pools, in the order they are made; or all that is in the way.
pub(crate) fn objects(renderer: &Renderer<'_>, control_plane: Version) -> Result<Vec<Object>, Vec<Blocker>> {
    let mut objects = Vec::new();
    let mut blockers = Vec::new();
    let mut earlier: Vec<String> = Vec::new();
    for (pool, workers) in renderer.wanted.pools(&renderer.observed.cluster) {
        let version = versions::pool(renderer.observed, control_plane, &pool, &earlier);
        match renderer.pool(&pool, workers, version) {
            Ok(made) => objects.extend(made),
            Err(trouble) => blockers.extend(trouble),
        }
        earlier.push(pool);
    }
    if blockers.is_empty() { Ok(objects) } else { Err(blockers) }
}

impl Renderer<'_> {
    fn pool(&self, pool: &str, workers: &Workers, version: Version) -> Result<Vec<Object>, Vec<Blocker>> {
        let name = names::pool(&self.name, pool);
        let machine = providers::machine_template(&self.request, Machines::Pool(pool))?;
        let invitation = invitation::known(self.observed, &name);
        let boots = bootstrap::config(&self.surroundings(), self.wanted, pool, workers, version, invitation.as_ref())?;
        let machine_digest = runtime::fingerprint(&machine.spec);
        let known = self.observed.deployments.get(&name).map(|deployment| &deployment.spec.template.spec);

        let used = known.and_then(|spec| spec.infrastructure_ref.name.as_deref());
        let templates = &self.observed.machine_templates;
        let machine_name =
            template_name(&name, &machine_digest, used, |name| templates.get(name).and_then(|t| digest_of(&**t)));
        let machine_template = DynamicObject {
            types: Some(TypeMeta { api_version: machine.api_version.clone(), kind: machine.kind.clone() }),
            metadata: self.annotated(&machine_name, &machine_digest),
            data: json!({"spec": machine.spec}),
        };
        let (bootstrap, booted) = self.booted(&name, boots, known.map(|spec| &spec.bootstrap));
        let spec = MachineSpec {
            cluster_name: self.name.clone(),
            version: Some(version.to_string()),
            bootstrap,
            infrastructure_ref: ObjectReference::new(&machine.api_version, &machine.kind, &machine_name),
            node_drain_timeout: workers
                .rollout
                .as_ref()
                .and_then(|rollout| rollout.node_drain_timeout.as_deref().map(as_in_go)),
            ..MachineSpec::default()
        };
        let deployment = self.deployment(&name, workers, spec);
        let mut objects: Vec<Object> = booted.into_iter().collect();
        objects.push(Object::MachineTemplate(Box::new(machine_template)));
        objects.push(Object::Deployment(Box::new(deployment)));
        let check = workers.health_check.clone().unwrap_or_default();
        if check.enabled != Some(false) {
            let most = check.max_unhealthy.clone().unwrap_or_else(|| brake(workers.replicas.unwrap_or_default()));
            objects.push(Object::HealthCheck(Box::new(self.health_check(&name, &check, most))));
        }
        Ok(objects)
    }

    /// What machines of a pool refer to, and the object that is, if it is known already.
    fn booted(&self, pool: &str, boots: Boots, used: Option<&Bootstrap>) -> (Bootstrap, Option<Object>) {
        match boots {
            Boots::Config(spec) => {
                let digest = runtime::fingerprint(&json!(spec));
                let used = used.and_then(|used| used.config_ref.as_ref()?.name.as_deref());
                let templates = &self.observed.config_templates;
                let name = template_name(pool, &digest, used, |name| digest_of(&**templates.get(name)?));
                let template = KubeadmConfigTemplate { metadata: self.annotated(&name, &digest), spec: *spec };
                let kind = KubeadmConfigTemplate::kind(&());
                let reference = ObjectReference::new(&KubeadmConfigTemplate::api_version(&()), &kind, &name);
                let bootstrap = Bootstrap { config_ref: Some(reference), data_secret_name: None };
                (bootstrap, Some(Object::ConfigTemplate(Box::new(template))))
            }
            Boots::Data { digest, document } => {
                let used = used.and_then(|used| used.data_secret_name.as_deref());
                let known = |name: &str| digest_of(&**self.observed.secrets.get(name)?);
                let name = template_name(&names::boot_data(pool), &digest, used, known);
                let secret = document.map(|(format, document)| {
                    let data = [(secrets::VALUE, document.expose()), (secrets::FORMAT, format.as_str())];
                    let data = data.map(|(key, text)| (key.to_owned(), ByteString(text.as_bytes().to_vec())));
                    Object::Secret(Box::new(Secret {
                        metadata: self.annotated(&name, &digest),
                        type_: Some(secrets::TYPE.to_owned()),
                        data: Some(data.into()),
                        ..Secret::default()
                    }))
                });
                (Bootstrap { config_ref: None, data_secret_name: Some(name) }, secret)
            }
        }
    }

    /// Metadata of something that is replaced and never changed.
    pub(crate) fn annotated(&self, name: &str, digest: &str) -> ObjectMeta {
        let mut metadata = self.metadata(name);
        metadata.annotations = Some([(names::TEMPLATE.to_owned(), digest.to_owned())].into());
        metadata
    }

    /// What the provider and the platform say about every machine.
    pub(crate) fn surroundings(&self) -> Surroundings<'_> {
        let network = self.request.provider.spec.network.as_ref();
        let platform = self.observed.platform.as_ref().map(|platform| &platform.spec);
        let time_servers = [
            Some(&self.wanted.spec.time_servers),
            network.map(|network| &network.time_servers),
            self.wanted.chosen.time_servers.as_ref(),
        ];
        let name_servers = network.map(|network| network.dns_servers.as_slice()).unwrap_or_default();
        Surroundings {
            cluster: &self.name,
            time_servers: time_servers.into_iter().flatten().find(|list| !list.is_empty()).cloned().unwrap_or_default(),
            name_servers: name_servers.iter().filter_map(|address| address.parse().ok()).collect(),
            machine: providers::node_machine(
                self.request.provider.spec.provider,
                self.wanted.spec.control_plane.external_cloud_provider == Some(true),
            ),
            ssh_key: platform.and_then(|platform| platform.ssh_authorized_key.clone()),
        }
    }

    fn deployment(&self, name: &str, workers: &Workers, spec: MachineSpec) -> MachineDeployment {
        let rollout = workers.rollout.clone().unwrap_or_default();
        let mut labels = self.labels.clone();
        labels.insert(DEPLOYMENT_NAME.to_owned(), name.to_owned());
        MachineDeployment {
            metadata: self.metadata(name),
            spec: MachineDeploymentSpec {
                cluster_name: self.name.clone(),
                replicas: workers.replicas.unwrap_or_default(),
                selector: self.selector(name),
                template: MachineTemplate { metadata: Some(TemplateMeta { labels, ..TemplateMeta::default() }), spec },
                strategy: Some(Strategy {
                    type_: Some("RollingUpdate".to_owned()),
                    rolling_update: Some(RollingUpdate {
                        max_surge: Some(rollout.max_surge.unwrap_or(IntOrPercent::Int(1))),
                        max_unavailable: Some(rollout.max_unavailable.unwrap_or(IntOrPercent::Int(0))),
                        delete_policy: None,
                    }),
                    remediation: None,
                }),
                ..MachineDeploymentSpec::default()
            },
            status: None,
        }
    }

    fn health_check(&self, name: &str, check: &HealthCheck, most: IntOrPercent) -> MachineHealthCheck {
        let timeout = as_in_go(check.unhealthy_timeout.as_deref().unwrap_or(UNHEALTHY_TIMEOUT));
        let unhealthy = |status| UnhealthyCondition { type_: "Ready".to_owned(), status, timeout: timeout.clone() };
        let startup = as_in_go(check.node_startup_timeout.as_deref().unwrap_or(NODE_STARTUP_TIMEOUT));
        MachineHealthCheck {
            metadata: self.metadata(name),
            spec: MachineHealthCheckSpec {
                cluster_name: self.name.clone(),
                selector: self.selector(name),
                unhealthy_conditions: vec![unhealthy(ConditionStatus::Unknown), unhealthy(ConditionStatus::False)],
                max_unhealthy: Some(most),
                unhealthy_range: None,
                node_startup_timeout: Some(startup),
                remediation_template: None,
            },
            status: None,
        }
    }

    /// What replaces dead machines of a standalone control plane.
    pub(crate) fn control_plane_check(&self, name: &str) -> MachineHealthCheck {
        let pairs = [(CLUSTER_NAME, self.name.as_str()), (CONTROL_PLANE, "")];
        let labels = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let mut check = self.health_check(name, &HealthCheck::default(), IntOrPercent::from(MAX_UNHEALTHY));
        check.spec.selector = LabelSelector { match_labels: Some(labels.into()), ..LabelSelector::default() };
        check
    }

    fn selector(&self, deployment: &str) -> LabelSelector {
        let pairs = [(CLUSTER_NAME, self.name.as_str()), (DEPLOYMENT_NAME, deployment)];
        let labels = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
        LabelSelector { match_labels: Some(labels.into()), ..LabelSelector::default() }
    }
}

/// How many of so many machines may be dead at once and be replaced: a share, and one in any case.
fn brake(machines: i32) -> IntOrPercent {
    if machines < SMALLEST_SHARED { IntOrPercent::Int(1) } else { IntOrPercent::from(MAX_UNHEALTHY) }
}

/// The digest of what a template was made for.
pub(crate) fn digest_of<K: Resource>(template: &K) -> Option<String> {
    template.annotations().get(names::TEMPLATE).cloned()
}

/// The name of the template with this digest: the one in use if it is that one, else the plain name, else one more.
pub(crate) fn template_name(
    name: &str,
    digest: &str,
    used: Option<&str>,
    digest_of: impl Fn(&str) -> Option<String>,
) -> String {
    if let Some(used) = used
        && digest_of(used).as_deref() == Some(digest)
    {
        return used.to_owned();
    }
    match digest_of(name) {
        Some(other) if other != digest => format!("{name}-{}", digest.get(..8).unwrap_or(digest)),
        // Somebody deleted the template in use; machines must not be replaced for that.
        None if used.is_some_and(|used| used != name && used.ends_with(digest.get(..8).unwrap_or(digest))) => {
            used.unwrap_or(name).to_owned()
        }
        _ => name.to_owned(),
    }
}

/// A length of time as Cluster API gives it back, so that it is seen to be what was asked for.
fn as_in_go(text: &str) -> String {
    GoDuration::parse(text).map_or_else(|_| text.to_owned(), |duration| duration.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_dead_machine_is_replaced_however_few_there_are() {
        for (machines, expected) in [(1, IntOrPercent::Int(1)), (2, IntOrPercent::Int(1)), (3, "40%".into())] {
            assert_eq!(brake(machines), expected, "{machines}");
        }
    }

    #[test]
    fn templates_are_replaced_and_never_changed() {
        let there: &[(&str, &str)] = &[("c-workers", "1111111111"), ("c-workers-22222222", "2222222222")];
        for (used, digest, expected) in [
            (None, "1111111111", "c-workers"),
            (Some("c-workers"), "1111111111", "c-workers"),
            (Some("c-workers"), "2222222222", "c-workers-22222222"),
            (Some("c-workers-22222222"), "2222222222", "c-workers-22222222"),
            (Some("c-workers-22222222"), "3333333333", "c-workers-33333333"),
            (Some("c-workers-22222222"), "1111111111", "c-workers"),
        ] {
            let digest_of = |name: &str| there.iter().find(|(known, _)| *known == name).map(|(_, d)| (*d).to_owned());
            assert_eq!(template_name("c-workers", digest, used, digest_of), expected, "{used:?} {digest}");
        }
        // The plain one is gone while another is in use: that one stays.
        let digest_of = |name: &str| (name == "c-workers-22222222").then(|| "2222222222".to_owned());
        let kept = template_name("c-workers", "2222222222", Some("c-workers-22222222"), digest_of);
        assert_eq!(kept, "c-workers-22222222");
        let restored = template_name("c-workers", "2222222222", Some("c-workers-22222222"), |_| None);
        assert_eq!(restored, "c-workers-22222222");
    }
}
