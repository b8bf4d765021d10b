//! What runs in a container.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::core::PartialObjectMeta;
use runtime::events::News;
use tokio::sync::watch;

use super::BY;
use super::board::Board;
use super::environment::environment;
use super::expand::expand;
use super::fields::Addresses;
use super::image::Image;
use super::sources::Sources;
use super::tokens::Tokens;
use super::volumes::Volume;

/// What an image stands for.
pub(crate) trait Program: Send + Sync {
    /// Starts a container. What is given back runs it, and is dropped when it has to end at once.
    fn start(&self, launch: Launch, control: Control) -> BoxFuture<'_, Result<Running, NotStarted>>;

    /// Where it runs.
    fn place(&self) -> Place {
        Place::Nowhere
    }
}

/// Where a program runs, which decides what its pod needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// It listens nowhere and reads no files of the disk.
    Nowhere,
    /// In this process, listening on the pod's address.
    Process,
    /// In a network and a file system of its own.
    Namespace,
}

/// A container at work, until it is over.
pub(crate) type Running = BoxFuture<'static, Exit>;

/// How a container is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) code: i32,
    pub(crate) message: Option<String>,
}

impl Exit {
    /// It did what it should.
    pub(crate) fn done() -> Self {
        Self { code: 0, message: None }
    }

    /// It gave up.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { code: 1, message: Some(message.into()) }
    }
}

/// Why a container does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotStarted {
    /// The program gave up at once.
    Exited(Exit),
    /// This node cannot run it as it is.
    Waiting { reason: &'static str, message: String },
}

/// Programs by the last part of their image's name.
#[derive(Clone)]
pub struct Programs {
    pub(crate) named: HashMap<&'static str, Arc<dyn Program>>,
    /// For all other images.
    pub(crate) other: Arc<dyn Program>,
}

impl Programs {
    /// The program of an image.
    pub(crate) fn of(&self, image: &str) -> &Arc<dyn Program> {
        self.named.get(Image::parse(image).program).unwrap_or(&self.other)
    }
}

/// A container to be started: everything it was told, resolved.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(crate) pod: Arc<Pod>,
    pub(crate) container: Container,
    /// The program and its arguments.
    pub(crate) words: Vec<String>,
    pub(crate) volumes: Arc<BTreeMap<String, Volume>>,
    pub(crate) addresses: Addresses,
    pub(crate) environment: Vec<(String, String)>,
    /// Where the pod's files are.
    pub(crate) directory: PathBuf,
    /// Where the names of Services are.
    pub(crate) names: PathBuf,
    /// The pod's network, if it has one of its own.
    pub(crate) namespace: Option<String>,
    context: Context,
}

/// What the containers of a pod share.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) pod: Arc<Pod>,
    pub(crate) volumes: Arc<BTreeMap<String, Volume>>,
    pub(crate) addresses: Addresses,
    pub(crate) directory: PathBuf,
    pub(crate) names: PathBuf,
    pub(crate) namespace: Option<String>,
    pub(crate) tokens: Tokens,
    pub(crate) sources: Arc<dyn Sources>,
}

impl Context {
    /// What a container of the pod is told, or why it cannot be.
    pub(crate) fn launch(&self, container: &Container) -> Result<Launch, String> {
        let environment = environment(&self.pod, container, &*self.sources, &self.addresses)?;
        let value = |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let words = container.command.iter().flatten().chain(container.args.iter().flatten());
        let words = words.map(|word| expand(word, value)).collect();
        Ok(Launch {
            pod: Arc::clone(&self.pod),
            container: container.clone(),
            words,
            volumes: Arc::clone(&self.volumes),
            addresses: self.addresses,
            environment,
            directory: self.directory.clone(),
            names: self.names.clone(),
            namespace: self.namespace.clone(),
            context: self.clone(),
        })
    }
}

impl Launch {
    /// The image's program and version.
    pub(crate) fn image(&self) -> Image<'_> {
        Image::parse(self.container.image.as_deref().unwrap_or_default())
    }

    /// Another container of the pod, by its program.
    pub(crate) fn neighbour(&self, program: &str) -> Option<Self> {
        let containers = &self.pod.spec.as_ref()?.containers;
        let found =
            containers.iter().find(|c| Image::parse(c.image.as_deref().unwrap_or_default()).program == program)?;
        self.context.launch(found).ok()
    }

    /// Where what the container says is kept.
    pub(crate) fn log_file(&self) -> PathBuf {
        self.directory.join("logs").join(format!("{}.log", self.container.name))
    }

    /// Reads a file as the container would see it.
    pub(crate) fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        let missing = || format!("open {path}: no such file or directory");
        let mounts = self.container.volume_mounts.iter().flatten();
        let below = mounts.filter_map(|mount| Some((mount, Path::new(path).strip_prefix(&mount.mount_path).ok()?)));
        let (mount, rest) = below.max_by_key(|(mount, _)| mount.mount_path.len()).ok_or_else(missing)?;
        let inner = match mount.sub_path.as_deref().filter(|sub| !sub.is_empty()) {
            Some(sub) if rest.as_os_str().is_empty() => PathBuf::from(sub),
            Some(sub) => Path::new(sub).join(rest),
            None => rest.to_owned(),
        };
        match self.volumes.get(&mount.name).ok_or_else(missing)? {
            Volume::Files(files) => {
                files.get(inner.to_string_lossy().as_ref()).map(|file| file.bytes.clone()).ok_or_else(missing)
            }
            Volume::Directory { path: directory, .. } => {
                std::fs::read(directory.join(inner)).map_err(|error| format!("open {path}: {error}"))
            }
        }
    }

    /// Reads a text file as the container would see it.
    pub(crate) fn read_text(&self, path: &str) -> Result<String, String> {
        String::from_utf8(self.read(path)?).map_err(|_| format!("{path} is no text"))
    }
}

/// Which pod is meant.
pub(crate) type Who = PartialObjectMeta<Pod>;

/// How a program hears from its agent, and tells it how it fares.
pub(crate) struct Control {
    pub(crate) board: Arc<Board>,
    /// The container's identifier, by which a report of an earlier run is told from one of this.
    pub(crate) id: String,
    pub(crate) pod: Arc<Who>,
    pub(crate) container: String,
    pub(crate) stop: watch::Receiver<Option<Duration>>,
}

impl Control {
    /// The container is up and, if so, ready for work.
    pub(crate) fn report(&self, started: bool, ready: bool) {
        self.board.report(&self.pod, &self.container, &self.id, started, ready);
    }

    /// Resolves when the container shall stop, with the time it has for that.
    pub(crate) async fn stopping(&self) -> Duration {
        let mut stop = self.stop.clone();
        match stop.wait_for(Option::is_some).await {
            Ok(grace) => grace.unwrap_or_default(),
            // The agent is gone.
            Err(_) => Duration::ZERO,
        }
    }

    /// Tells people about the pod.
    pub(crate) fn warn(&self, reason: &'static str, message: impl Into<String>) {
        self.board.events.tell(&*self.pod, News::warning(BY, reason, message));
    }
}
