//! `butler up --demo`: a team, an infrastructure and a cluster, shown on their way.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use butler_api::butler::tenant_cluster::{ClusterPhase, TenantCluster, TenantClusterStatus};
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::api::{ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{DynamicObject, GroupVersionKind};
use kube::discovery::pinned_kind;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watch_object};
use kube::{Api, Client, Config, ResourceExt};

use crate::data_dir::quoted;
use crate::tell;

/// What is made.
const QUICKSTART: &str = include_str!("../../../examples/quickstart.yaml");
const TEAM: &str = "team-a";
const CLUSTER: &str = "my-cluster";
/// It takes seconds. After this long somebody should look at what it waits for.
const PATIENCE: Duration = Duration::from_secs(180);

/// Makes what is not there yet, and follows the cluster until it is Ready.
pub(crate) async fn run(client: Client, kubeconfig: &Path) -> Result<()> {
    let begun = Instant::now();
    let mut is_new = false;
    for document in kernel::yaml::values(QUICKSTART).context("the example cannot be read")? {
        // The cluster is the last.
        is_new = create(&client, &serde_json::from_value(document)?).await?;
    }
    let doing = if is_new { "Making" } else { "There already is" };
    tell(&format!("{doing} TenantCluster {CLUSTER} of {TEAM} (examples/quickstart.yaml):"));
    let clusters: Api<TenantCluster> = Api::namespaced(client.clone(), TEAM);
    let followed = tokio::time::timeout(PATIENCE, follow(&clusters, begun)).await;
    let Ok(cluster) = followed else {
        bail!("{CLUSTER} is not Ready after {PATIENCE:?}; ask why: butlerctl cluster why {CLUSTER} -n {TEAM}");
    };
    show_nodes(&client, &cluster?).await?;
    tell("Try next:");
    if let Some(folder) = folder_to_add(&std::env::current_exe()?, std::env::var_os("PATH")) {
        tell(&format!("  export PATH={}:$PATH", quoted(&folder)));
    }
    tell(&format!("  export KUBECONFIG={}", quoted(kubeconfig)));
    tell("  butlerctl cluster list");
    tell(&format!("  butlerctl addon list -c {CLUSTER}"));
    tell(&format!("  butlerctl cluster scale {CLUSTER} --workers 5 --wait"));
    tell(&format!("  butlerctl cluster kubeconfig {CLUSTER} | kubectl --kubeconfig /dev/stdin get nodes"));
    tell(&format!("  butlerctl cluster destroy {CLUSTER}"));
    Ok(())
}

/// Creates an object, unless one of its name is there, which is then the user's.
async fn create(client: &Client, object: &DynamicObject) -> Result<bool> {
    let types = object.types.clone().context("an object without a kind")?;
    let kind = GroupVersionKind::try_from(&types)?;
    let (resource, _) = pinned_kind(client, &kind).await.with_context(|| format!("{} is not served", kind.kind))?;
    let api: Api<DynamicObject> = match object.namespace() {
        Some(namespace) => Api::namespaced_with(client.clone(), &namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    match api.create(&PostParams::default(), object).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot make {} {}", kind.kind, object.name_any())),
    }
}

/// Prints a line whenever there is something new to say, until the cluster is Ready.
async fn follow(clusters: &Api<TenantCluster>, begun: Instant) -> Result<TenantCluster> {
    let mut changes = std::pin::pin!(watch_object(clusters.clone(), CLUSTER).default_backoff());
    let mut said = String::new();
    loop {
        let change = match changes.try_next().await {
            Ok(Some(change)) => change,
            Ok(None) => bail!("the watch ended"),
            Err(watcher::Error::WatchFailed(_) | watcher::Error::WatchStartFailed(_)) => continue,
            Err(error) => return Err(error.into()),
        };
        let Some(cluster) = change else { continue };
        let status = cluster.status.clone().unwrap_or_default();
        let line = line(&status);
        if line != said {
            tell(&format!("  {:>5.1} s  {line}", begun.elapsed().as_secs_f64()));
            said = line;
        }
        match status.phase {
            Some(ClusterPhase::Ready) => return Ok(cluster),
            Some(ClusterPhase::Failed) => bail!("{CLUSTER} failed: {}", waits_for(&status).unwrap_or_default()),
            _ => {}
        }
    }
}

/// Where the cluster is, and what it waits for.
fn line(status: &TenantClusterStatus) -> String {
    let phase = status.phase.map_or("Accepted", ClusterPhase::as_str);
    match waits_for(status) {
        Some(wait) => format!("{phase}: {wait}"),
        None => phase.to_owned(),
    }
}

fn waits_for(status: &TenantClusterStatus) -> Option<String> {
    status.blockers.first().map(|blocker| blocker.message.clone())
}

/// Lists the cluster's nodes through its own kubeconfig.
async fn show_nodes(client: &Client, cluster: &TenantCluster) -> Result<()> {
    let reference = cluster.status.as_ref().and_then(|status| status.kubeconfig_secret_ref.as_ref());
    let name = reference.map_or_else(|| format!("{CLUSTER}-kubeconfig"), |reference| reference.name.clone());
    let secret = Api::<Secret>::namespaced(client.clone(), TEAM).get(&name).await?;
    let text = secret.data.and_then(|mut data| data.remove("value")).context("the kubeconfig is empty")?;
    let kubeconfig = Kubeconfig::from_yaml(std::str::from_utf8(&text.0)?)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let nodes = Api::<Node>::all(Client::try_from(config)?).list(&ListParams::default()).await?;
    tell(&format!("{CLUSTER} is Ready. Its nodes, through its own kubeconfig:"));
    for node in nodes {
        let status = node.status.unwrap_or_default();
        let is_ready = status.conditions.iter().flatten().any(|c| c.type_ == "Ready" && c.status == "True");
        let version = status.node_info.map(|info| info.kubelet_version).unwrap_or_default();
        let name = node.metadata.name.unwrap_or_default();
        tell(&format!("  {name}  {}  {version}", if is_ready { "Ready" } else { "NotReady" }));
    }
    tell("Its API is real; its machines are simulated, and pods on them only seem to run.");
    Ok(())
}

/// The folder of `butlerctl`, if it is beside this program and the shell would not find one.
fn folder_to_add(program: &Path, path: Option<OsString>) -> Option<PathBuf> {
    let folder = program.parent()?;
    let has_it = |folder: &Path| folder.join("butlerctl").is_file();
    let is_found = path.is_some_and(|path| std::env::split_paths(&path).any(|folder| has_it(&folder)));
    (has_it(folder) && !is_found).then(|| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_told_where_it_lacks_the_programs() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("butler");
        assert_eq!(folder_to_add(&program, None), None, "there is no butlerctl");
        std::fs::write(folder.path().join("butlerctl"), "").unwrap();
        assert_eq!(folder_to_add(&program, Some("/nowhere".into())), Some(folder.path().to_owned()));
        assert_eq!(folder_to_add(&program, Some(folder.path().into())), None, "it is found");
    }
}
