//! What containers of a pod share: volumes, and a network if they need one.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::{Client, ResourceExt};
use runtime::Clock;

use super::Settings;
use super::fields::Addresses;
use super::files;
use super::program::{Context, Place};
use super::sources::Sources;
use super::tokens::Tokens;
use super::volumes::{Given, resolve};

/// Makes and takes down what containers share.
pub(crate) struct Sandboxes {
    pub(crate) client: Client,
    pub(crate) sources: Arc<dyn Sources>,
    pub(crate) clock: Clock,
    pub(crate) settings: Settings,
}

/// Why a pod is not ready for containers, in a kubelet's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unprepared {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// Whether only time can help, and not a change of what the pod refers to.
    pub(crate) passes: bool,
}

impl Unprepared {
    fn mount(message: String) -> Self {
        Self { reason: "FailedMount", message, passes: false }
    }

    fn sandbox(error: impl std::fmt::Display) -> Self {
        let message = format!("Failed to create pod sandbox: {error}");
        Self { reason: "FailedCreatePodSandBox", message, passes: true }
    }
}

impl Sandboxes {
    /// Makes a pod ready for containers.
    pub(crate) async fn make(&self, pod: &Arc<Pod>, address: IpAddr, place: Place) -> Result<Context, Unprepared> {
        let tokens = self.tokens(pod, place).await?;
        let uid = pod.uid().unwrap_or_default();
        let mut context = Context {
            pod: Arc::clone(pod),
            volumes: Arc::default(),
            addresses: Addresses {
                pod: address,
                host: self.settings.address,
                bound: self.settings.pods.reach(address),
            },
            directory: self.directory(&uid),
            names: self.names(),
            namespace: None,
            tokens,
            sources: Arc::clone(&self.sources),
        };
        self.fill(&mut context, place).await?;
        match (place, &self.settings.bridge) {
            _ if is_on_host(pod) => {}
            (Place::Namespace, Some(bridge)) => {
                context.namespace = Some(bridge.attach(&uid, address).await.map_err(Unprepared::sandbox)?);
            }
            (Place::Namespace, None) => {
                let error = "processes need networks of their own, which this node was started without";
                return Err(Unprepared::sandbox(error));
            }
            (Place::Process, Some(bridge)) => bridge.answer_for(address).await.map_err(Unprepared::sandbox)?,
            _ => {}
        }
        Ok(context)
    }

    /// The same with volumes as they are now, if anything changed since.
    pub(crate) async fn renew(&self, known: &Context, place: Place) -> Result<Option<Context>, Unprepared> {
        let mut context = known.clone();
        if known.tokens.due_in((self.clock)()).is_some_and(|due| due.is_zero()) {
            context.tokens = self.tokens(&known.pod, place).await?;
        }
        self.fill(&mut context, place).await?;
        Ok((context.volumes != known.volumes || context.tokens.renew_at != known.tokens.renew_at).then_some(context))
    }

    /// Resolves the volumes, and puts those of processes on the disk.
    async fn fill(&self, context: &mut Context, place: Place) -> Result<(), Unprepared> {
        let directory = context.directory.join("volumes");
        let given = Given { addresses: context.addresses, tokens: &context.tokens.by_wish, directory: &directory };
        let volumes = Arc::new(resolve(&context.pod, &*self.sources, &given).map_err(Unprepared::mount)?);
        if place == Place::Namespace && volumes != context.volumes {
            let (pod, volumes) = (Arc::clone(&context.pod), Arc::clone(&volumes));
            let written = tokio::task::spawn_blocking(move || files::write(&pod, &volumes, &directory)).await;
            let written = written.map_err(std::io::Error::other).flatten();
            written.map_err(|error| Unprepared {
                passes: true,
                ..Unprepared::mount(format!("cannot write volumes: {error}"))
            })?;
        }
        context.volumes = volumes;
        Ok(())
    }

    /// Takes down what a pod had.
    pub(crate) async fn take_down(&self, uid: &str, address: Option<IpAddr>, place: Place) {
        if let Some(bridge) = &self.settings.bridge {
            let gone = match (place, address) {
                (Place::Namespace, _) => bridge.detach(uid).await,
                (Place::Process, Some(address)) => bridge.forget(address).await,
                _ => Ok(()),
            };
            if let Err(error) = gone {
                tracing::warn!(%error, pod = uid, "cannot take down a pod's network");
            }
        }
        if place == Place::Namespace
            && let Err(error) = tokio::fs::remove_dir_all(self.directory(uid)).await
        {
            tracing::warn!(%error, pod = uid, "cannot remove a pod's files");
        }
    }

    async fn tokens(&self, pod: &Pod, place: Place) -> Result<Tokens, Unprepared> {
        if place != Place::Namespace {
            return Ok(Tokens::default());
        }
        let given = Tokens::request(&self.client, pod, (self.clock)()).await;
        given.map_err(|error| Unprepared {
            passes: true,
            ..Unprepared::mount(format!("failed to fetch token: {error}"))
        })
    }

    fn directory(&self, uid: &str) -> PathBuf {
        self.pods().join(uid)
    }

    /// Where files of pods are.
    pub(crate) fn pods(&self) -> PathBuf {
        self.settings.directory.join("pods")
    }

    /// Where the names of Services are.
    pub(crate) fn names(&self) -> PathBuf {
        self.settings.directory.join("names")
    }
}

/// Whether a pod uses the node's own network.
pub(crate) fn is_on_host(pod: &Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| spec.host_network == Some(true))
}
