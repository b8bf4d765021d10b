//! `butler up`.

use std::fs::OpenOptions;
use std::io::IsTerminal;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use butler_api::butler::{ProviderConfig, Team, TenantCluster};
use clap::Args;
use jiff::SignedDuration;
use kapi::Plane;
use kapi_store::{OpenError, Store};
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use runtime::Metrics;
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

use crate::addresses::{Addresses, Ground};
use crate::data_dir::{DataDir, Running, quoted};
use crate::management::{self, Management, Own};
use crate::real::{self, Real};
use crate::{Place, demo, install, machine, plane, snapshot, tell};

/// How long a process that was killed may take to let go of what it held.
const DYING: Duration = Duration::from_secs(1);

/// What whoever stopped it is told.
const DOWN: &str = "Butler is down.";

/// How long a detached Butler may take to be ready; it takes a fraction of a second.
const START_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Args)]
pub(crate) struct Up {
    #[command(flatten)]
    place: Place,
    /// The port of the Kubernetes API on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 6443, value_name = "PORT")]
    api_port: u16,
    /// Keep objects in this Kubernetes instead of an API of Butler's own. Its Services must be reachable from here, or have
    /// loopback addresses (--service-cluster-ip-range=127.200.0.0/18). Cluster API is stood in for unless it is there
    #[arg(long, value_name = "FILE", conflicts_with_all = ["api_port", "restore"])]
    kubeconfig: Option<PathBuf>,
    /// Start from a file that `butler snapshot` wrote; there must be no store in the data directory yet
    #[arg(long, value_name = "FILE")]
    restore: Option<PathBuf>,
    /// Run control planes as real programs, with a real etcd, out of this folder: what `make kubernetes` builds. Needs root
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    real: Option<Option<PathBuf>>,
    /// How long certificates of control planes are valid, such as 72h [default: a year]
    #[arg(long, value_name = "DURATION", value_parser = lifetime)]
    certificate_lifetime: Option<SignedDuration>,
    /// Make a team and a cluster (examples/quickstart.yaml), and show them on their way
    #[arg(long)]
    demo: bool,
    /// Go on in the background once the API is ready
    #[arg(long)]
    detach: bool,
}

impl Up {
    pub(crate) async fn run(self) -> Result<()> {
        let data = DataDir::of(&self.place)?;
        data.prepare()?;
        if self.detach { self.start_detached(&data).await } else { self.serve(&data).await }
    }

    async fn serve(self, data: &DataDir) -> Result<()> {
        start_logging();
        allow_many_files();
        let started = Instant::now();
        let mut hold = patiently(async || data.hold()).await?;
        let own = match &self.kubeconfig {
            Some(_) => None,
            None => Some(patiently(async || Own::listen(data, self.api_port).await).await?),
        };
        let binaries = self.real.as_ref().map(|folder| real::binaries(folder.as_deref())).transpose()?;
        let ground = if binaries.is_some() { Ground::Bridge } else { Ground::Loopback };
        let addresses = patiently(async || Addresses::claim(data, ground)).await?;
        let metrics = Metrics::default();
        if let Some(snapshot) = &self.restore {
            Store::restore(snapshot, &data.store())?;
        }
        let plane = open_store(data).await?;
        // The path of a socket may not be long, that of a data directory may.
        if let Err(error) = snapshot::serve(data, plane.store().clone()) {
            tracing::warn!("`butler snapshot` will not work: {error:#}");
        }
        let management = match (own, &self.kubeconfig) {
            (Some(own), _) => own.serve(data, &plane, &addresses, metrics.clone(), stop_signal()).await?,
            (None, path) => management::outside(data, path.as_deref().unwrap_or(Path::new(""))).await?,
        };
        let Management { client, server, kubeconfig, serving } = management;
        let installed = tokio::select! {
            biased;
            () = stop_signal() => {
                tell(DOWN);
                return Ok(());
            }
            installed = install::crds(&client) => installed?,
        };
        let real = match binaries {
            Some(binaries) => Some(Real::up(binaries, &addresses).await?),
            None => None,
        };
        let settings = machine::Settings {
            data,
            addresses: &addresses,
            real: real.as_ref(),
            leaf_lifetime: self.certificate_lifetime,
            metrics,
            runs_workloads: serving.is_some(),
            installed,
        };
        let machine = match machine::start(&plane, client.clone(), settings).await {
            Ok(machine) => machine,
            Err(error) => {
                take_down(real).await?;
                return Err(error);
            }
        };
        let since = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let pid = i32::try_from(std::process::id())?;
        hold.describe(&Running { pid, server: server.clone(), since, kubeconfig: kubeconfig.clone() })?;
        tell(&format!("Butler is up after {} ms: {server}", started.elapsed().as_millis()));
        tell(&format!("  export KUBECONFIG={}", quoted(&kubeconfig)));
        if std::io::stderr().is_terminal() {
            tell("It runs until Ctrl-C; go on in another terminal.");
        }
        if !self.demo {
            tell_next_step(&client).await;
        }
        let shown = self.demo.then(|| tokio::spawn(show(client, kubeconfig)));
        let served = match serving {
            Some(serving) => {
                serving.await.map_or_else(|error| Err(error.into()), |served| served.context("the API stopped"))
            }
            None => {
                stop_signal().await;
                Ok(())
            }
        };
        // Tasks that end after this still hold the store: whoever waits for the lock waits for the end of the process.
        std::mem::forget(hold);
        if let Some(shown) = shown {
            shown.abort();
        }
        drop(machine);
        take_down(real).await?;
        served?;
        tell(DOWN);
        Ok(())
    }

    /// Starts this program again without a terminal and waits until it is ready.
    async fn start_detached(self, data: &DataDir) -> Result<()> {
        patiently(async || match data.running()? {
            Some(running) => bail!(data.taken(Some(&running))),
            None => Ok(()),
        })
        .await?;
        let path = data.log();
        let log = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
        let log = log.with_context(|| format!("cannot open {}", path.display()))?;
        let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
        command.arg("up").arg("--data-dir").arg(data.path());
        if let Some(path) = &self.kubeconfig {
            command.arg("--kubeconfig").arg(path);
        } else {
            command.args(["--api-port", &self.api_port.to_string()]);
        }
        if let Some(snapshot) = &self.restore {
            command.arg("--restore").arg(snapshot);
        }
        if let Some(folder) = &self.real {
            command.arg("--real").args(folder);
        }
        if let Some(lifetime) = self.certificate_lifetime {
            command.arg("--certificate-lifetime").arg(format!("{lifetime:#}"));
        }
        let mut child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .spawn()
            .context("cannot start in the background")?;
        tokio::select! {
            biased;
            () = stop_signal() => abandon(data, child).await,
            shown = self.follow_start(data, &mut child) => shown,
        }
    }

    /// Waits until what was started in the background is ready, and shows what comes next.
    async fn follow_start(&self, data: &DataDir, child: &mut Child) -> Result<()> {
        let path = data.log();
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            if let Some(running) = data.running()?.filter(|running| i64::from(running.pid) == i64::from(child.id())) {
                tell(&format!("Butler is up: {} (process {})", running.server, running.pid));
                tell(&format!("  export KUBECONFIG={}", quoted(&running.kubeconfig)));
                tell(&format!("It goes on in the background; `{}` stops it.", data.down()));
                let client = client_of(&running.kubeconfig);
                if self.demo {
                    demo::run(client.await?, &running.kubeconfig).await?;
                } else if let Ok(Ok(client)) = tokio::time::timeout(NEXT_STEP_TIMEOUT, client).await {
                    tell_next_step(&client).await;
                }
                return Ok(());
            }
            if let Some(status) = child.try_wait()? {
                bail!("Butler did not start ({status}): {}", last_line(&path));
            }
            if Instant::now() > deadline {
                bail!("Butler is not ready after {START_TIMEOUT:?}; see {}", path.display());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Somebody does not want to wait: what is not up yet does not come up, and what is goes on.
async fn abandon(data: &DataDir, mut child: Child) -> Result<()> {
    if data.running()?.is_some_and(|running| !running.is_starting()) {
        bail!("cut short: Butler goes on in the background; `{}` stops it", data.down());
    }
    if let Some(pid) = Pid::from_raw(i32::try_from(child.id())?) {
        kill_process(pid, Signal::TERM).context("cannot stop what was started")?;
    }
    tokio::task::spawn_blocking(move || child.wait()).await??;
    bail!("cut short: Butler was not started")
}

async fn client_of(kubeconfig: &Path) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

/// Butler is up; how it goes on is worth a moment, and no failure.
const NEXT_STEP_TIMEOUT: Duration = Duration::from_secs(3);

/// Says what leads to a first cluster, where there is none.
async fn tell_next_step(client: &Client) {
    let any = ListParams::default().limit(1);
    let clusters = Api::<TenantCluster>::all(client.clone());
    let providers = Api::<ProviderConfig>::all(client.clone());
    let teams = Api::<Team>::all(client.clone());
    let all = ListParams::default();
    let found = async {
        tokio::try_join!(clusters.list_metadata(&any), teams.list_metadata(&all), providers.list_metadata(&any))
    };
    let Ok(Ok((clusters, teams, providers))) = tokio::time::timeout(NEXT_STEP_TIMEOUT, found).await else { return };
    if clusters.items.is_empty() {
        tell(&fleet::first_step(teams.items.len(), None, !providers.items.is_empty()));
    }
}

/// Tries again for a moment: a process that was killed holds what it had until the kernel has taken it apart.
async fn patiently<T>(mut attempt: impl AsyncFnMut() -> Result<T>) -> Result<T> {
    let deadline = Instant::now() + DYING;
    loop {
        match attempt().await {
            Err(_) if Instant::now() < deadline => tokio::time::sleep(Duration::from_millis(20)).await,
            outcome => return outcome,
        }
    }
}

/// Opens the store, which a process that was killed may hold for a moment yet.
async fn open_store(data: &DataDir) -> Result<Plane> {
    let opened = patiently(async || match plane::of_store(data) {
        Err(error) if matches!(error.downcast_ref(), Some(OpenError::Locked(_))) => Err(error),
        // No patience helps with what else can be wrong.
        outcome => Ok(outcome),
    });
    opened.await?
}

/// Shows the demonstration. If it goes wrong, that is told, and Butler runs on.
async fn show(client: Client, kubeconfig: PathBuf) {
    if let Err(error) = demo::run(client, &kubeconfig).await {
        tell(&format!("butler: {error:#}"));
    }
}

async fn take_down(real: Option<Real>) -> Result<()> {
    match real {
        Some(real) => real.down().await,
        None => Ok(()),
    }
}

/// Shorter ones would be renewed more often than a control plane takes to start.
const SHORTEST_LIFETIME: SignedDuration = SignedDuration::from_mins(2);

fn lifetime(text: &str) -> Result<SignedDuration, String> {
    let lifetime: SignedDuration = text.parse().map_err(|_| "write it as 72h or 30m".to_owned())?;
    if lifetime < SHORTEST_LIFETIME {
        return Err("certificates are valid for two minutes at least".to_owned());
    }
    Ok(lifetime)
}

fn last_line(path: &std::path::Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().last().unwrap_or("nothing was logged").trim_start_matches("butler: ").to_owned()
}

/// Control planes have listeners and connections, many times the 1,024 open files that a shell allows a process at first.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

fn start_logging() {
    // A machine that joins looks for its cluster before it trusts anybody, and the client would warn of it each time.
    let filter = tracing_subscriber::EnvFilter::try_from_env("BUTLER_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn,kube_client::client::tls=error"));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let _ = logs.with_ansi(std::io::stderr().is_terminal()).try_init();
}

/// Resolves when the process is asked to stop.
async fn stop_signal() {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
