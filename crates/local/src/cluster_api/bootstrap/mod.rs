//! KubeadmConfigs: the data by which a machine joins, and the token in it.

mod cloud_init;
mod plan;
mod token;

use std::collections::HashMap;
use std::sync::Arc;

use capi::bootstrap::{File, KubeadmConfig};
use capi::core::{Cluster, Machine};
use capi::names::{labels, secrets};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::core::ObjectMeta;
use parking_lot::Mutex;
use pki::BootstrapToken;
use runtime::{Failure, Key, Next, Queue, Reconcile, Retry};
use serde_json::json;

use super::world::{World, cluster_of_secret};
use crate::controller::Controller;
use crate::workloads::template::owned_by;
use plan::{Observed, Step, begins, needs_token, plan, token};

/// Where kubeadm keeps keys.
pub(crate) const PKI: &str = "/etc/kubernetes/pki";

/// The controller of KubeadmConfigs.
pub(super) struct Configs {
    world: Arc<World>,
    /// When the tokens end that machines still need.
    expirations: Mutex<HashMap<Key, (String, Timestamp)>>,
}

impl Configs {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world), expirations: Mutex::default() }
    }

    fn look(&self, config: &Arc<KubeadmConfig>) -> Observed {
        let world = &self.world;
        let namespace = config.namespace().unwrap_or_default();
        let machine = Key::of_controller::<Machine>(&**config).and_then(|key| world.machines.get(&key));
        let cluster = machine.as_ref().and_then(|machine| world.cluster(&namespace, &machine.spec.cluster_name));
        let authority = cluster.as_ref().and_then(|cluster| {
            let secret = world.secrets.get(&Key::new(&namespace, secrets::authority(&cluster.name_any())))?;
            String::from_utf8(secret.data.as_ref()?.get("tls.crt")?.0.clone()).ok()
        });
        let has_data = world.secrets.get(&Key::of(&**config)).is_some();
        let (config, expires) = (Arc::clone(config), None);
        Observed { config, machine, cluster, authority, has_data, expires, now: world.now() }
    }

    async fn observe(&self, config: &Arc<KubeadmConfig>) -> Result<Observed, Failure> {
        let mut observed = self.look(config);
        let key = Key::of(&**config);
        let Some(token) = token(config).filter(|_| needs_token(&observed)) else {
            self.expirations.lock().remove(&key);
            return Ok(observed);
        };
        let known = self.expirations.lock().get(&key).filter(|(id, _)| *id == token.id).map(|(_, expires)| *expires);
        observed.expires = match known {
            // One that has ended may be gone, or somebody may have refreshed it.
            Some(expires) if expires > observed.now => Some(expires),
            _ => token::expiration(&self.tenant(&observed).await?, &token).await?,
        };
        self.remember(&key, &token, observed.expires);
        Ok(observed)
    }

    fn remember(&self, config: &Key, token: &BootstrapToken, expires: Option<Timestamp>) {
        if let Some(expires) = expires {
            self.expirations.lock().insert(config.clone(), (token.id.clone(), expires));
        }
    }

    async fn write(&self, observed: &Observed, token: &BootstrapToken) -> Result<(), Failure> {
        let expires = token::write(&self.tenant(observed).await?, token, observed.now).await?;
        self.remember(&Key::of(&*observed.config), token, Some(expires));
        Ok(())
    }

    async fn act(&self, observed: &Observed, step: &Step) -> Result<(), Failure> {
        let world = &self.world;
        let config = &observed.config;
        match step {
            Step::Discover(discovery) => {
                let token = BootstrapToken::generate(&pki::SystemKeys).map_err(|error| {
                    Failure::new(Retry::Backoff, "NoRandomness", "no token can be made").caused_by(error)
                })?;
                self.write(observed, &token).await?;
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
                let mut files = self.files(config)?;
                let carries = begins(&config.spec)
                    || config.spec.join_configuration.as_ref().is_some_and(|join| join.control_plane.is_some());
                if let Some(cluster) = observed.cluster.as_ref().filter(|_| carries) {
                    files.extend(self.keys(cluster)?);
                }
                let data = cloud_init::cloud_config(&config.spec, &files, version, observed.cluster.as_deref())?;
                match world.secrets.create(&secret(config, data)).await {
                    // Somebody was faster, and it is this very data.
                    Err(failure) if failure.reason == "Conflict" => Ok(()),
                    outcome => outcome.map(drop),
                }
            }
            Step::Refresh(token) => self.write(observed, token).await,
        }
    }

    /// The keys of a cluster as files, for machines that carry its control plane.
    fn keys(&self, cluster: &Cluster) -> Result<Vec<File>, Failure> {
        let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
        let all = [
            (secrets::authority(&name), "ca.crt", "ca.key"),
            (secrets::etcd(&name), "etcd/ca.crt", "etcd/ca.key"),
            (secrets::front_proxy(&name), "front-proxy-ca.crt", "front-proxy-ca.key"),
            (secrets::service_accounts(&name), "sa.pub", "sa.key"),
        ];
        let mut files = Vec::new();
        for (secret, certificate, key) in all {
            let found = self.world.secrets.get(&Key::new(&namespace, &secret));
            for (entry, file) in [("tls.crt", certificate), ("tls.key", key)] {
                let data = found.as_ref().and_then(|found| found.data.as_ref()?.get(entry).cloned());
                let missing =
                    || Failure::new(Retry::Backoff, "KeysMissing", format!("{entry} of Secret {secret} is not there"));
                let content = data.and_then(|data| String::from_utf8(data.0).ok()).ok_or_else(missing)?;
                files.push(File {
                    path: format!("{PKI}/{file}"),
                    owner: Some("root:root".to_owned()),
                    permissions: Some(if entry == "tls.key" { "0600" } else { "0640" }.to_owned()),
                    content: Some(content),
                    ..File::default()
                });
            }
        }
        Ok(files)
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
        let Some(config) = self.world.configs.get(key) else {
            self.expirations.lock().remove(key);
            return Ok(Next::Rest);
        };
        let observed = self.observe(&config).await?;
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
        // The data itself, the cluster's authority and kubeconfig, and whatever files come from.
        let (configs, machines) = (world.configs.clone(), world.machines.clone());
        world.secrets.queue_mapped(queue, move |secret| {
            let (name, cluster) = (secret.name_any(), cluster_of_secret(secret).map(|key| key.name));
            let here = configs.in_namespace(&secret.namespace().unwrap_or_default());
            let waits = |config: &&Arc<KubeadmConfig>| {
                let sources = config.spec.files.iter().filter_map(|file| file.content_from.as_ref());
                let machine = Key::of_controller::<Machine>(&***config).and_then(|key| machines.get(&key));
                let is_ready = config.status.as_ref().is_some_and(|status| status.ready);
                config.name_any() == name
                    || !is_ready
                        && (sources.into_iter().any(|source| source.secret.name == name)
                            || cluster.is_some() && machine.map(|machine| machine.spec.cluster_name.clone()) == cluster)
            };
            here.iter().filter(waits).map(|config| Key::of(&**config)).collect::<Vec<_>>()
        });
    }
}
