//! KubeadmConfigs: the data by which a machine joins, and the token in it.

mod cloud_init;
mod plan;
mod token;

use std::sync::Arc;

use capi::bootstrap::{File, KubeadmConfig};
use capi::core::Machine;
use capi::names::{labels, secrets};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::core::ObjectMeta;
use pki::BootstrapToken;
use runtime::{Failure, Key, Next, Queue, Reconcile, Retry};
use serde_json::json;

use super::world::World;
use crate::controller::Controller;
use crate::workloads::template::owned_by;
use plan::{Observed, Step, plan};

/// The controller of KubeadmConfigs.
pub(super) struct Configs {
    world: Arc<World>,
}

impl Configs {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world) }
    }

    fn observe(&self, config: &Arc<KubeadmConfig>) -> Observed {
        let world = &self.world;
        let namespace = config.namespace().unwrap_or_default();
        let machine = Key::of_controller::<Machine>(&**config).and_then(|key| world.machines.get(&key));
        let cluster = machine.as_ref().and_then(|machine| world.cluster(&namespace, &machine.spec.cluster_name));
        let authority = cluster.as_ref().and_then(|cluster| {
            let secret = world.secrets.get(&Key::new(&namespace, secrets::authority(&cluster.name_any())))?;
            String::from_utf8(secret.data.as_ref()?.get("tls.crt")?.0.clone()).ok()
        });
        let has_data = world.secrets.get(&Key::of(&**config)).is_some();
        Observed { config: Arc::clone(config), machine, cluster, authority, has_data, now: world.now() }
    }

    async fn act(&self, observed: &Observed, step: &Step) -> Result<(), Failure> {
        let world = &self.world;
        let config = &observed.config;
        match step {
            Step::Discover(discovery) => {
                let token = BootstrapToken::generate(&pki::SystemKeys).map_err(|error| {
                    Failure::new(Retry::Backoff, "NoRandomness", "no token can be made").caused_by(error)
                })?;
                token::write(&self.tenant(observed).await?, &token, observed.now).await?;
                let mut discovery = json!(discovery);
                discovery["bootstrapToken"]["token"] = token.text().expose().into();
                world
                    .configs
                    .patch(config, json!({"spec": {"joinConfiguration": {"discovery": discovery}}}))
                    .await
                    .map(drop)
            }
            Step::Data => {
                let version = observed.machine.as_ref().and_then(|machine| machine.spec.version.as_deref());
                let files = self.files(config)?;
                let data = cloud_init::cloud_config(&config.spec, &files, version)?;
                match world.secrets.create(&secret(config, data)).await {
                    // Somebody was faster, and it is this very data.
                    Err(failure) if failure.reason == "Conflict" => Ok(()),
                    outcome => outcome.map(drop),
                }
            }
            Step::Refresh(token) => token::write(&self.tenant(observed).await?, token, observed.now).await,
        }
    }

    async fn tenant(&self, observed: &Observed) -> Result<kube::Client, Failure> {
        let missing = || Failure::new(Retry::Backoff, "KubeconfigMissing", "the cluster's kubeconfig is not there yet");
        let cluster = observed.cluster.as_ref().ok_or_else(missing)?;
        let tenant = self.world.tenants.get(&Key::of(&**cluster)).await?.ok_or_else(missing)?;
        Ok(tenant.client.clone())
    }

    /// The files of a machine, with what stands in Secrets.
    fn files(&self, config: &KubeadmConfig) -> Result<Vec<File>, Failure> {
        let namespace = config.namespace().unwrap_or_default();
        let filled = |file: &File| {
            let Some(source) = &file.content_from else { return Ok(file.clone()) };
            let secret = self.world.secrets.get(&Key::new(&namespace, &source.secret.name));
            let data = secret.and_then(|secret| secret.data.as_ref()?.get(&source.secret.key).cloned());
            let text = data.and_then(|data| String::from_utf8(data.0).ok());
            let missing = || format!("key {} of Secret {} is not there", source.secret.key, source.secret.name);
            let content = text.ok_or_else(|| Failure::new(Retry::Backoff, "FileMissing", missing()))?;
            Ok(File { content: Some(content), content_from: None, ..file.clone() })
        };
        config.spec.files.iter().map(filled).collect()
    }
}

fn secret(config: &KubeadmConfig, data: String) -> Secret {
    let cluster = config.labels().get(labels::CLUSTER_NAME).cloned().unwrap_or_default();
    let bytes = |text: String| ByteString(text.into_bytes());
    Secret {
        metadata: ObjectMeta {
            name: config.metadata.name.clone(),
            namespace: config.metadata.namespace.clone(),
            labels: Some([(labels::CLUSTER_NAME.to_owned(), cluster)].into()),
            owner_references: Some(owned_by(config)),
            ..ObjectMeta::default()
        },
        type_: Some(secrets::TYPE.to_owned()),
        data: Some(
            [(secrets::VALUE.to_owned(), bytes(data)), (secrets::FORMAT.to_owned(), bytes("cloud-config".into()))]
                .into(),
        ),
        ..Secret::default()
    }
}

impl Reconcile for Configs {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(config) = self.world.configs.get(key) else { return Ok(Next::Rest) };
        let observed = self.observe(&config);
        let plan = plan(&observed);
        for step in &plan.steps {
            self.act(&observed, step).await?;
        }
        let is_changed = plan.steps.iter().any(|step| matches!(step, Step::Discover(_)));
        if !is_changed && plan.status != config.status {
            self.world.configs.report(&KubeadmConfig { status: plan.status, ..(*config).clone() }).await?;
        }
        Ok(plan.again.map_or(Next::Rest, Next::After))
    }
}

impl Controller for Configs {
    const NAME: &'static str = "capi-kubeadmconfig";
    const WORKERS: usize = 16;

    fn subscribe(&self, queue: &Queue) {
        let world = &self.world;
        world.configs.queue_each(queue);
        let own = |namespace: Option<String>, machine: &Machine| {
            let name = machine.spec.bootstrap.config_ref.as_ref().and_then(|reference| reference.name.clone());
            name.map(|name| Key::new(namespace.unwrap_or_default(), name))
        };
        world.machines.queue_mapped(queue, move |machine| own(machine.namespace(), machine));
        let machines = world.machines.clone();
        world.clusters.queue_mapped(queue, move |cluster| {
            let name = cluster.name_any();
            let here = machines.in_namespace(&cluster.namespace().unwrap_or_default()).into_iter();
            let waiting = here.filter(|machine| {
                let is_ready = machine.status.as_ref().is_some_and(|status| status.bootstrap_ready);
                machine.spec.cluster_name == name && !is_ready
            });
            waiting.filter_map(|machine| own(machine.namespace(), &machine)).collect::<Vec<_>>()
        });
        let configs = world.configs.clone();
        world.secrets.queue_mapped(queue, move |secret| configs.get(&Key::of(secret)).map(|config| Key::of(&*config)));
    }
}
