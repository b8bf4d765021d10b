//! Control planes as real programs: what they need of this machine, and its removal.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use local::Bridge;
use local::agent::Binaries;

use crate::addresses::Addresses;
use crate::shared_etcd;

/// The real programs and the network they run in.
pub(crate) struct Real {
    binaries: Binaries,
    bridge: Arc<Bridge>,
}

impl Real {
    /// Makes the network. What a killed Butler left of it is removed first.
    pub(crate) async fn up(binaries: Binaries, addresses: &Addresses) -> Result<Self> {
        let local = [addresses.services(), addresses.load_balancers()];
        let bridge = Bridge::up(&addresses.bridge(), addresses.pods().told, &local).await;
        Ok(Self { binaries, bridge: Arc::new(bridge.context("cannot make the network of control planes")?) })
    }

    /// Removes the network.
    pub(crate) async fn down(self) -> Result<()> {
        self.bridge.down().await.context("cannot remove the network of control planes")
    }

    pub(crate) fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    pub(crate) fn bridge(&self) -> &Arc<Bridge> {
        &self.bridge
    }
}

/// The programs below `folder`, or below the cache. Says what is missing before anything is started.
pub(crate) fn binaries(folder: Option<&Path>) -> Result<Binaries> {
    if let Some(missing) = local::agent::missing_for_processes() {
        bail!("--real: {missing}");
    }
    let folder = folder.map_or_else(cache, |folder| Ok(std::path::absolute(folder)?))?;
    let binaries = Binaries { kubernetes: folder.join("kubernetes"), etcd: folder.join("etcd") };
    let etcd = binaries.etcd.join(format!("v{}", shared_etcd::VERSION)).join("etcd");
    if !etcd.is_file() {
        bail!("--real: there is no {}; `make kubernetes` builds it", etcd.display());
    }
    if !has_a_version(&binaries.kubernetes) {
        bail!("--real: there is no kube-apiserver in {}; `make kubernetes` builds it", binaries.kubernetes.display());
    }
    Ok(binaries)
}

/// Whether there is any version of Kubernetes to run. Which ones are wanted is said by control planes.
fn has_a_version(folder: &Path) -> bool {
    let versions = std::fs::read_dir(folder).into_iter().flatten().flatten();
    versions.into_iter().any(|version| version.path().join("kube-apiserver").is_file())
}

/// Where the scripts put what they build.
fn cache() -> Result<PathBuf> {
    let given = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let standard =
        || Some(given("XDG_CACHE_HOME").or_else(|| Some(std::env::home_dir()?.join(".cache")))?.join("butler"));
    given("BUTLER_CACHE").or_else(standard).context("no home directory is known; name the folder after --real")
}
