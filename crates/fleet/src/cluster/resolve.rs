//! What a TenantCluster wants once every gap is filled: from its team, then from the platform.

use std::sync::Arc;

use butler_api::butler::butler_config::ButlerConfig;
use butler_api::butler::provider_config::{ProviderConfig, ScopeType};
use butler_api::butler::team::{ClusterDefaults, Team};
use butler_api::butler::tenant_cluster::{Resolved, TenantCluster, TenantClusterSpec, Workers};
use butler_api::names::{DEFAULT_TENANT_NAMESPACE, SYSTEM_NAMESPACE, labels};
use butler_api::shared::{
    Blocker, BlockerOwner, ByteSize, CpuCount, MachineTemplate, NameRef, NamespacedRef, NodeOs, OsType,
};
use kernel::version::{NEWEST, OLDEST, UpgradeError, Version};
use kube::ResourceExt;

use crate::blockers::blocker;

/// The Kubernetes version of clusters when nobody names one.
pub const DEFAULT_VERSION: &str = "v1.34.4";
const DEFAULT_WORKERS: i32 = 1;

/// Where defaults come from, the closest first.
#[derive(Clone, Copy, Default)]
pub struct Sources<'a> {
    /// The team the cluster belongs to.
    pub team: Option<&'a Team>,
    /// Settings of the platform.
    pub platform: Option<&'a ButlerConfig>,
    /// The infrastructures of the platform, unless nobody may see them. One that is alone goes without saying.
    pub providers: Option<&'a [Arc<ProviderConfig>]>,
}

/// What the cluster wants, with every gap filled.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// The spec, complete.
    pub spec: TenantClusterSpec,
    /// The version.
    pub version: Version,
    /// Why that is another than the one that is wished for. Nothing else waits for it.
    pub held: Option<Blocker>,
    /// What was chosen for what the spec leaves out. What was chosen once stays.
    pub chosen: Resolved,
    /// Addons that every cluster of the team gets.
    pub default_addons: Vec<String>,
}

/// The ProviderConfig a cluster is made on. What was chosen once stays, whatever is named later.
pub fn provider_ref(cluster: &TenantCluster, sources: Sources<'_>) -> Option<NamespacedRef> {
    let at_home = |name: &str| NamespacedRef { name: name.to_owned(), namespace: SYSTEM_NAMESPACE.to_owned() };
    if let Some(decided) = decided(cluster).and_then(|decided| decided.provider_config_ref.clone()) {
        return Some(decided);
    }
    if let Some(named) = named_provider(cluster) {
        return Some(named);
    }
    if let Some(named) = sources.team.and_then(|team| team.spec.provider_config_ref.as_ref()) {
        return Some(at_home(&named.name));
    }
    if let Some(named) = sources.platform.and_then(|platform| platform.spec.default_provider_config_ref.as_ref()) {
        let namespace = named.namespace.clone().unwrap_or_else(|| SYSTEM_NAMESPACE.to_owned());
        return Some(NamespacedRef { name: named.name.clone(), namespace });
    }
    match choices(cluster, sources).as_slice() {
        [only] => Some(at_home(only)),
        _ => None,
    }
}

/// What was chosen for a cluster.
fn decided(cluster: &TenantCluster) -> Option<&Resolved> {
    cluster.status.as_ref()?.resolved.as_ref()
}

/// The ProviderConfig a cluster names itself.
fn named_provider(cluster: &TenantCluster) -> Option<NamespacedRef> {
    let named = cluster.spec.provider_config_ref.as_ref()?;
    let namespace = named.namespace.clone().unwrap_or_else(|| SYSTEM_NAMESPACE.to_owned());
    Some(NamespacedRef { name: named.name.clone(), namespace })
}

/// The spec names another ProviderConfig than the one the cluster was made on meanwhile.
fn moved(cluster: &TenantCluster, reference: &NamespacedRef) -> Option<Blocker> {
    let named = named_provider(cluster).filter(|named| named != reference)?;
    let place = format!("{}/{}", reference.namespace, reference.name);
    Some(blocker(
        "ProviderFixed",
        format!(
            "spec.providerConfigRef names {}/{}, but the cluster is on {place}, and machines cannot move between providers",
            named.namespace, named.name
        ),
        BlockerOwner::User,
        format!("set spec.providerConfigRef to {place} or leave it out; for another provider make a new cluster"),
    ))
}

/// The infrastructures of the platform that a cluster may be made on.
fn choices(cluster: &TenantCluster, sources: Sources<'_>) -> Vec<String> {
    let team = team_name(cluster);
    let stays = |provider: &&Arc<ProviderConfig>| provider.metadata.deletion_timestamp.is_none();
    let usable = sources.providers.into_iter().flatten().filter(stays).filter(|provider| may_use(&team, provider));
    usable.map(|provider| provider.name_any()).collect()
}

/// Whether nobody has said or chosen yet what a cluster is made on.
pub(crate) fn is_undecided(cluster: &TenantCluster) -> bool {
    let chosen = decided(cluster).and_then(|decided| decided.provider_config_ref.as_ref());
    cluster.spec.provider_config_ref.is_none() && chosen.is_none()
}

/// Nobody says what a cluster is made on.
fn unnamed(cluster: &TenantCluster, sources: Sources<'_>) -> Blocker {
    let nobody = "the cluster names no ProviderConfig, and neither its team nor the platform has a default";
    if sources.providers.is_none() {
        let message = format!("{nobody}; which one is chosen cannot be foreseen, as they may not be listed");
        let remedy = "set spec.providerConfigRef, or leave the choice to Butler";
        return blocker("ProviderUnforeseen", message, BlockerOwner::User, remedy);
    }
    let choices = choices(cluster, sources);
    if choices.is_empty() {
        let message = format!("{nobody}; there is none that its team may use");
        let remedy = "create a ProviderConfig that the team may use";
        return blocker("ProviderUnnamed", message, BlockerOwner::PlatformAdmin, remedy);
    }
    let remedy = format!(
        "set spec.providerConfigRef to one of {}, or a default in the Team or the ButlerConfig",
        choices.join(", ")
    );
    blocker("ProviderUnnamed", nobody, BlockerOwner::User, remedy)
}

/// What a cluster is made on is not there: whoever named it can name another, unless there are machines on it.
fn missing(cluster: &TenantCluster, sources: Sources<'_>, reference: &NamespacedRef) -> Blocker {
    let place = format!("{}/{}", reference.namespace, reference.name);
    let choices = choices(cluster, sources);
    let another = match choices.is_empty() {
        true => "another one".to_owned(),
        false => format!("one of {}", choices.join(", ")),
    };
    let is_decided = decided(cluster).is_some_and(|decided| decided.provider_config_ref.is_some());
    let (owner, remedy) = match cluster.spec.provider_config_ref {
        _ if is_decided => (
            BlockerOwner::PlatformAdmin,
            format!("create ProviderConfig {place} anew, as the cluster's machines are on it"),
        ),
        Some(_) => (
            BlockerOwner::User,
            format!("name {another} in spec.providerConfigRef, or have ProviderConfig {place} created"),
        ),
        None => (
            BlockerOwner::PlatformAdmin,
            format!("create ProviderConfig {place}, or name {another} in spec.providerConfigRef"),
        ),
    };
    blocker("ProviderMissing", format!("ProviderConfig {place} does not exist"), owner, remedy)
}

/// Name of the team a cluster belongs to: the one that was decided, else the one it names, else the one its namespace is named
/// after.
pub fn team_name(cluster: &TenantCluster) -> String {
    let decided = decided(cluster).and_then(|decided| decided.team.clone());
    let named = || cluster.spec.team_ref.as_ref().map(|team| team.name.clone());
    decided.or_else(named).unwrap_or_else(|| cluster.namespace().unwrap_or_default())
}

/// Fills every gap, or says what is missing and who can supply it.
pub fn resolve(
    cluster: &TenantCluster,
    sources: Sources<'_>,
    provider: Option<&ProviderConfig>,
) -> Result<Wanted, Vec<Blocker>> {
    let mut blockers = Vec::new();
    let defaults = defaults_of(cluster, sources);
    if let Some(denied) = foreign_team(cluster, sources) {
        blockers.push(denied);
    }
    let version = version(cluster, &defaults, sources).map_err(|blocker| blockers.push(*blocker)).ok();
    let reference = provider_ref(cluster, sources);
    blockers.extend(reference.as_ref().and_then(|reference| moved(cluster, reference)));
    let provider = match (&reference, provider) {
        (None, _) => {
            blockers.push(unnamed(cluster, sources));
            None
        }
        (Some(reference), None) => {
            blockers.push(missing(cluster, sources, reference));
            None
        }
        (Some(_), Some(provider)) => match access(cluster, provider) {
            None => Some(provider),
            Some(denied) => {
                blockers.push(denied);
                None
            }
        },
    };
    let (Some((version, held)), Some(provider), true) = (version, provider, blockers.is_empty()) else {
        return Err(blockers);
    };
    let mut chosen = pinned(cluster, defaults, sources);
    let mut spec = cluster.spec.clone();
    spec.kubernetes_version = Some(version.to_string());
    let beside_pools = !spec.worker_pools.is_empty();
    fill(&mut spec.workers, &chosen, beside_pools.then_some(0));
    for pool in &mut spec.worker_pools {
        fill(&mut pool.workers, &chosen, Some(DEFAULT_WORKERS));
    }
    chosen.kubernetes_version = Some(version.to_string());
    chosen.provider_config_ref = reference;
    chosen.provider = Some(provider.spec.provider);
    chosen.team = sources.team.map(ResourceExt::name_any).or(chosen.team);
    let default_addons = chosen.default_addons.clone().unwrap_or_default();
    Ok(Wanted { spec, version, held, chosen, default_addons })
}

impl Wanted {
    /// All pools with their names. One that was only made complete, and asks for no machine, is none.
    pub fn pools(&self, cluster: &TenantCluster) -> Vec<(String, &Workers)> {
        let named: Vec<String> = cluster.spec.pools().map(|(name, _)| name.to_owned()).collect();
        let pools = self.spec.pools().filter(|(name, _)| named.iter().any(|known| known == name));
        pools.map(|(name, workers)| (name.to_owned(), workers)).collect()
    }
}

/// The defaults of the cluster's environment over those of its team.
fn defaults_of(cluster: &TenantCluster, sources: Sources<'_>) -> ClusterDefaults {
    let Some(team) = sources.team else { return ClusterDefaults::default() };
    let named = cluster.labels().get(labels::ENVIRONMENT);
    let environment = team.spec.environments.iter().find(|environment| Some(&environment.name) == named);
    let closer = environment.and_then(|environment| environment.cluster_defaults.clone()).unwrap_or_default();
    let further = team.spec.cluster_defaults.clone().unwrap_or_default();
    ClusterDefaults {
        kubernetes_version: closer.kubernetes_version.or(further.kubernetes_version),
        worker_count: closer.worker_count.or(further.worker_count),
        worker_cpu: closer.worker_cpu.or(further.worker_cpu),
        worker_memory_gi: closer.worker_memory_gi.or(further.worker_memory_gi),
        worker_disk_gi: closer.worker_disk_gi.or(further.worker_disk_gi),
        default_addons: if closer.default_addons.is_empty() { further.default_addons } else { closer.default_addons },
    }
}

/// The version, and why it is another than the one that is wished for, if that cannot be: then it stays what has answered.
fn version(
    cluster: &TenantCluster,
    defaults: &ClusterDefaults,
    sources: Sources<'_>,
) -> Result<(Version, Option<Blocker>), Box<Blocker>> {
    let status = cluster.status.as_ref();
    let chosen = status.and_then(|status| status.resolved.as_ref()?.kubernetes_version.clone());
    let platform = sources.platform.and_then(|platform| platform.spec.default_kubernetes_version.clone());
    let text = (cluster.spec.kubernetes_version.clone())
        .or(chosen)
        .or_else(|| defaults.kubernetes_version.clone())
        .or(platform)
        .unwrap_or_else(|| DEFAULT_VERSION.to_owned());
    let answered: Option<Version> = status.and_then(|status| status.answered_version.as_ref()?.parse().ok());
    let (reason, message) = match (text.parse::<Version>(), answered) {
        (Err(error), _) => ("VersionUnknown", error.to_string()),
        (Ok(version), _) if !version.is_supported() => {
            ("VersionUnknown", format!("Kubernetes {version} is none that Butler makes control planes of"))
        }
        (Ok(version), Some(answered)) if version < answered => {
            ("VersionRefused", UpgradeError::Downgrade { from: answered, to: version }.to_string())
        }
        (Ok(version), _) => return Ok((version, None)),
    };
    let refused = |remedy: String| blocker(reason, message, BlockerOwner::User, remedy);
    match answered {
        Some(answered) => {
            let way_out = match answered.is_supported() {
                true => format!("set spec.kubernetesVersion to {answered}"),
                false => format!("set spec.kubernetesVersion to one of {}", answered.next_minor()),
            };
            Ok((answered, Some(refused(way_out))))
        }
        None => Err(Box::new(refused(format!("set spec.kubernetesVersion to one of {OLDEST} to {NEWEST}")))),
    }
}

/// A cluster belongs to the team in whose namespace it is; only where teams have none is the reference believed.
fn foreign_team(cluster: &TenantCluster, sources: Sources<'_>) -> Option<Blocker> {
    let named = &cluster.spec.team_ref.as_ref()?.name;
    let namespace = cluster.namespace().unwrap_or_default();
    let denied = |why: String, remedy: String| Some(blocker("TeamDenied", why, BlockerOwner::User, remedy));
    let decided = decided(cluster).and_then(|decided| decided.team.as_ref());
    if let Some(decided) = decided.filter(|decided| *decided != named) {
        return denied(
            format!("spec.teamRef names team {named}, but the cluster belongs to team {decided}"),
            format!("set spec.teamRef to {decided} or leave it out; for team {named} make a new cluster"),
        );
    }
    let shared = sources.platform.map_or(DEFAULT_TENANT_NAMESPACE, |platform| &platform.spec.default_namespace);
    if *named == namespace || namespace == shared {
        return None;
    }
    denied(
        format!("spec.teamRef names team {named}, but the cluster is in the namespace {namespace}"),
        format!("make the cluster in the namespace {named}, or leave spec.teamRef out"),
    )
}

/// Whether clusters of a team may be made on this provider.
pub fn may_use(team: &str, provider: &ProviderConfig) -> bool {
    let owner = provider.spec.scope.team_ref.as_ref().map(|team| team.name.as_str());
    provider.spec.scope.type_ != ScopeType::Team || owner == Some(team)
}

/// Why the cluster may not be made on this provider.
fn access(cluster: &TenantCluster, provider: &ProviderConfig) -> Option<Blocker> {
    if may_use(&team_name(cluster), provider) {
        return None;
    }
    Some(blocker(
        "ProviderDenied",
        format!("ProviderConfig {} belongs to another team", provider.name_any()),
        BlockerOwner::PlatformAdmin,
        "name another ProviderConfig, or let this one's scope be platform",
    ))
}

/// The spec with what was chosen for what it leaves out: applied again, it gives the same cluster whatever the defaults are.
pub fn pinned_spec(cluster: &TenantCluster) -> TenantClusterSpec {
    let mut spec = cluster.spec.clone();
    let Some(chosen) = cluster.status.as_ref().and_then(|status| status.resolved.as_ref()) else { return spec };
    let reference = chosen.provider_config_ref.clone();
    let reference = reference.map(|found| NameRef { name: found.name, namespace: Some(found.namespace) });
    spec.kubernetes_version = spec.kubernetes_version.or(chosen.kubernetes_version.clone());
    spec.provider_config_ref = spec.provider_config_ref.or(reference);
    if !spec.workers.is_empty() || spec.worker_pools.is_empty() {
        let beside_pools = !spec.worker_pools.is_empty();
        fill(&mut spec.workers, chosen, beside_pools.then_some(0));
    }
    for pool in &mut spec.worker_pools {
        fill(&mut pool.workers, chosen, Some(DEFAULT_WORKERS));
    }
    spec
}

/// The defaults of workers, addons and time: those on record, else those of today.
fn pinned(cluster: &TenantCluster, defaults: ClusterDefaults, sources: Sources<'_>) -> Resolved {
    let mut chosen = cluster.status.as_ref().and_then(|status| status.resolved.clone()).unwrap_or_default();
    chosen.worker_count.get_or_insert(defaults.worker_count.unwrap_or(DEFAULT_WORKERS));
    chosen.machine_template.get_or_insert_with(|| {
        let gibibytes = |amount: i32| ByteSize::Text(format!("{amount}Gi"));
        let usual = providers::default_machine();
        MachineTemplate {
            cpu: defaults.worker_cpu.map(|cpu| CpuCount::Int(cpu.into())).or(usual.cpu),
            memory: defaults.worker_memory_gi.map(gibibytes).or(usual.memory),
            disk_size: defaults.worker_disk_gi.map(gibibytes).or(usual.disk_size),
            os: Some(NodeOs { type_: Some(OsType::Rocky), ..NodeOs::default() }),
        }
    });
    chosen.default_addons.get_or_insert(defaults.default_addons);
    let platform = || sources.platform.map(|platform| platform.spec.default_time_servers.clone());
    chosen.time_servers.get_or_insert_with(|| platform().unwrap_or_default());
    chosen
}

fn fill(workers: &mut Workers, chosen: &Resolved, replicas: Option<i32>) {
    workers.replicas = workers.replicas.or(replicas).or(chosen.worker_count);
    let usual = chosen.machine_template.clone().unwrap_or_default();
    let template = workers.machine_template.get_or_insert_default();
    let own = std::mem::take(template);
    let mut os = own.os.unwrap_or_default();
    os.type_ = os.type_.or(usual.os.and_then(|os| os.type_));
    *template = MachineTemplate {
        cpu: own.cpu.or(usual.cpu),
        memory: own.memory.or(usual.memory),
        disk_size: own.disk_size.or(usual.disk_size),
        os: Some(os),
    };
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn cluster(spec: Value) -> TenantCluster {
        serde_json::from_value(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
            "metadata": {"name": "c", "namespace": "team-a", "labels": {labels::ENVIRONMENT: "prod"}}, "spec": spec,
        }))
        .unwrap()
    }

    fn team(spec: Value) -> Team {
        let object = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "Team", "metadata": {"name": "team-a"}, "spec": spec,
        });
        serde_json::from_value(object).unwrap()
    }

    fn platform(spec: Value) -> ButlerConfig {
        let object = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ButlerConfig", "metadata": {"name": "butler"},
            "spec": spec,
        });
        serde_json::from_value(object).unwrap()
    }

    fn provider(spec: Value) -> ProviderConfig {
        serde_json::from_value(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ProviderConfig",
            "metadata": {"name": "here", "namespace": "butler-system"}, "spec": spec,
        }))
        .unwrap()
    }

    #[test]
    fn gaps_are_filled_by_environment_then_team_then_platform() {
        let team = team(json!({
            "providerConfigRef": {"name": "teams"},
            "clusterDefaults": {"kubernetesVersion": "v1.31.0", "workerCount": 5, "workerCPU": 2},
            "environments": [{"name": "prod", "clusterDefaults": {"workerCount": 7}}],
        }));
        let platform = platform(json!({
            "defaultKubernetesVersion": "v1.30.1", "defaultProviderConfigRef": {"name": "platforms"},
        }));
        let local = provider(json!({"provider": "local"}));
        let both = Sources { team: Some(&team), platform: Some(&platform), providers: Some(&[]) };
        let none = Sources::default();
        let alone = Sources { team: None, ..both };
        let bare = cluster(json!({}));
        let named = cluster(json!({"providerConfigRef": {"name": "own"}, "kubernetesVersion": "v1.33.0"}));
        for (cluster, sources, reference, version, workers, cpu) in [
            (&bare, both, Some("teams"), "v1.31.0", 7, 2),
            (&bare, alone, Some("platforms"), "v1.30.1", 1, 4),
            (&named, both, Some("own"), "v1.33.0", 7, 2),
            (&named, none, Some("own"), "v1.33.0", 1, 4),
        ] {
            let wanted = resolve(cluster, sources, Some(&local)).unwrap();
            assert_eq!(wanted.chosen.provider_config_ref.as_ref().map(|r| r.name.as_str()), reference);
            assert_eq!(wanted.version.to_string(), version);
            let (_, pool) = wanted.pools(cluster).remove(0);
            assert_eq!(pool.replicas, Some(workers));
            assert_eq!(pool.machine_template.as_ref().unwrap().cpu.as_ref().unwrap().cores(), Some(cpu));
        }
    }

    #[test]
    fn an_infrastructure_that_is_alone_goes_without_saying() {
        let at = |name: &str, scope: Value| {
            let mut config = provider(json!({"provider": "local", "scope": scope}));
            config.metadata.name = Some(name.to_owned());
            Arc::new(config)
        };
        let everybodys = |name: &str| at(name, json!({"type": "platform"}));
        let foreign = || at("foreign", json!({"type": "team", "teamRef": {"name": "team-b"}}));
        let own = || at("own", json!({"type": "team", "teamRef": {"name": "team-a"}}));
        let named = platform(json!({"defaultProviderConfigRef": {"name": "named"}}));
        for (providers, platform, expected) in [
            (Some(vec![everybodys("a")]), None, Ok("a")),
            (Some(vec![everybodys("a"), foreign()]), None, Ok("a")),
            (Some(vec![own()]), None, Ok("own")),
            (Some(vec![everybodys("a")]), Some(&named), Ok("named")),
            (Some(vec![everybodys("a"), own()]), None, Err("set spec.providerConfigRef to one of a, own, or")),
            (Some(vec![foreign()]), None, Err("create a ProviderConfig that the team may use")),
            // Who may not list them knows nothing of them.
            (None, Some(&named), Ok("named")),
            (None, None, Err("set spec.providerConfigRef, or leave the choice to Butler")),
        ] {
            let sources = Sources { team: None, platform, providers: providers.as_deref() };
            let found = provider_ref(&cluster(json!({})), sources).map(|reference| reference.name);
            match expected {
                Ok(name) => assert_eq!(found.as_deref(), Some(name)),
                Err(remedy) => {
                    let blockers = resolve(&cluster(json!({})), sources, None).unwrap_err();
                    let told = blockers[0].remedy.clone().unwrap_or_default();
                    assert!(found.is_none() && told.starts_with(remedy), "{found:?} {told}");
                }
            }
        }
    }

    #[test]
    fn whoever_named_what_is_not_there_names_another() {
        let there = vec![Arc::new(provider(json!({"provider": "local"})))];
        let sources = Sources { team: None, platform: None, providers: Some(&there) };
        let named = cluster(json!({"providerConfigRef": {"name": "nosuch"}}));
        let missing = resolve(&named, sources, None).unwrap_err().remove(0);
        assert_eq!((missing.reason.as_str(), missing.owner), ("ProviderMissing", Some(BlockerOwner::User)));
        let remedy = "name one of here in spec.providerConfigRef, or have ProviderConfig butler-system/nosuch created";
        assert_eq!(missing.remedy.as_deref(), Some(remedy));
        let platform = platform(json!({"defaultProviderConfigRef": {"name": "nosuch"}}));
        let sources = Sources { platform: Some(&platform), ..sources };
        let missing = resolve(&cluster(json!({})), sources, None).unwrap_err().remove(0);
        assert_eq!(missing.owner, Some(BlockerOwner::PlatformAdmin));
    }

    #[test]
    fn what_was_decided_is_not_moved_and_can_be_put_right() {
        let local = provider(json!({"provider": "local"}));
        let resolved =
            || Resolved { provider_config_ref: Some(at("here")), team: Some("team-a".into()), ..Resolved::default() };
        let there = || Some("set spec.providerConfigRef to butler-system/here or leave it out");
        let own = || Some("set spec.teamRef to team-a or leave it out");
        for (spec, is_decided, provider, remedy) in [
            (json!({}), true, "here", None),
            (json!({"providerConfigRef": {"name": "here"}, "teamRef": {"name": "team-a"}}), true, "here", None),
            (json!({"providerConfigRef": {"name": "here", "namespace": "butler-system"}}), true, "here", None),
            (json!({"providerConfigRef": {"name": "other"}}), true, "here", there()),
            (json!({"providerConfigRef": {"name": "here", "namespace": "x"}}), true, "here", there()),
            (json!({"teamRef": {"name": "team-b"}}), true, "here", own()),
            // Until then whatever is named counts.
            (json!({"providerConfigRef": {"name": "other"}}), false, "other", None),
            (
                json!({"providerConfigRef": {"name": "other"}, "teamRef": {"name": "team-b"}}),
                false,
                "other",
                Some("make the cluster in the namespace team-b, or leave spec.teamRef out"),
            ),
        ] {
            let mut cluster = cluster(spec.clone());
            cluster.status.get_or_insert_default().resolved = is_decided.then(resolved);
            assert_eq!(provider_ref(&cluster, Sources::default()), Some(at(provider)), "{spec}");
            assert!(!is_decided || team_name(&cluster) == "team-a", "{spec}");
            match (resolve(&cluster, Sources::default(), Some(&local)), remedy) {
                (Ok(wanted), None) => {
                    assert_eq!(wanted.chosen.team, is_decided.then(|| "team-a".to_owned()), "{spec}");
                }
                (Err(blockers), Some(remedy)) => {
                    let told = blockers[0].remedy.as_deref().unwrap_or_default();
                    assert!(told.starts_with(remedy), "{spec}: {told}");
                }
                (found, _) => panic!("{spec}: {found:?}"),
            }
        }
        let mut gone = cluster(json!({"providerConfigRef": {"name": "here"}}));
        gone.status.get_or_insert_default().resolved = Some(resolved());
        let missing = resolve(&gone, Sources::default(), None).unwrap_err().remove(0);
        let remedy = "create ProviderConfig butler-system/here anew, as the cluster's machines are on it";
        assert_eq!((missing.remedy.as_deref(), missing.owner), (Some(remedy), Some(BlockerOwner::PlatformAdmin)));
    }

    fn at(name: &str) -> NamespacedRef {
        NamespacedRef { name: name.to_owned(), namespace: SYSTEM_NAMESPACE.to_owned() }
    }

    #[test]
    fn what_is_missing_is_named() {
        let foreign = provider(json!({"provider": "local", "scope": {"type": "team", "teamRef": {"name": "b"}}}));
        let named = json!({"providerConfigRef": {"name": "here"}});
        for (spec, provider, reasons) in [
            (json!({}), None, vec!["ProviderUnnamed"]),
            (named.clone(), None, vec!["ProviderMissing"]),
            (named, Some(&foreign), vec!["ProviderDenied"]),
            (json!({"kubernetesVersion": "v1.29.0"}), None, vec!["VersionUnknown", "ProviderUnnamed"]),
        ] {
            let sources = Sources { providers: Some(&[]), ..Sources::default() };
            let blockers = resolve(&cluster(spec), sources, provider).unwrap_err();
            assert_eq!(blockers.iter().map(|b| b.reason.as_str()).collect::<Vec<_>>(), reasons);
            assert!(blockers.iter().all(|b| b.remedy.is_some() && b.owner.is_some()));
        }
    }

    #[test]
    fn a_version_that_cannot_be_is_held_at_what_has_answered() {
        let local = provider(json!({"provider": "local"}));
        for (wished, answered, expected) in [
            (Some("v1.35.4"), Some("v1.34.4"), Ok(("v1.35.4", None))),
            (Some("v1.34.4"), Some("v1.34.4"), Ok(("v1.34.4", None))),
            (Some("v1.32.0"), None, Ok(("v1.32.0", None))),
            (None, Some("v1.34.4"), Ok(("v1.35.0", None))),
            (Some("v1.32.0"), Some("v1.34.4"), Ok(("v1.34.4", Some("VersionRefused")))),
            (Some("v1.37.0"), Some("v1.34.4"), Ok(("v1.34.4", Some("VersionUnknown")))),
            (Some("v1.29.0"), Some("v1.34.4"), Ok(("v1.34.4", Some("VersionUnknown")))),
            (Some("v1.37.0"), None, Err("set spec.kubernetesVersion to one of v1.30 to v1.36")),
        ] {
            let mut cluster = cluster(json!({"providerConfigRef": {"name": "here"}, "kubernetesVersion": wished}));
            let status = cluster.status.get_or_insert_default();
            status.answered_version = answered.map(str::to_owned);
            // What was chosen last is no reason to refuse anything.
            status.resolved = Some(Resolved { kubernetes_version: Some("v1.35.0".into()), ..Resolved::default() });
            match (resolve(&cluster, Sources::default(), Some(&local)), expected) {
                (Ok(wanted), Ok((version, held))) => {
                    let reason = wanted.held.as_ref().map(|blocker| blocker.reason.as_str());
                    assert_eq!((wanted.version.to_string().as_str(), reason), (version, held), "{wished:?}");
                    let remedy = wanted.held.and_then(|blocker| blocker.remedy);
                    let way_out = "set spec.kubernetesVersion to v1.34.4";
                    assert!(remedy.is_none_or(|remedy| remedy == way_out), "{wished:?}");
                }
                (Err(blockers), Err(remedy)) => assert_eq!(blockers[0].remedy.as_deref(), Some(remedy)),
                (found, _) => panic!("{wished:?}: {found:?}"),
            }
        }
    }

    #[test]
    fn what_was_chosen_once_stays() {
        let at_first = team(json!({"providerConfigRef": {"name": "first"}, "clusterDefaults": {
            "kubernetesVersion": "v1.31.0", "workerCount": 2, "workerCPU": 2, "defaultAddons": ["cert-manager"]}}));
        let later = team(json!({"providerConfigRef": {"name": "second"}, "clusterDefaults": {
            "kubernetesVersion": "v1.34.0", "workerCount": 9, "workerCPU": 16, "workerMemoryGi": 64, "defaultAddons": ["x"]}}));
        let clock = |server: &str| platform(json!({"defaultTimeServers": [server]}));
        let (clock_at_first, clock_later) = (clock("a.example.org"), clock("b.example.org"));
        let local = provider(json!({"provider": "local"}));
        let mut cluster = cluster(json!({}));
        let sources = Sources { team: Some(&at_first), platform: Some(&clock_at_first), providers: Some(&[]) };
        let made = resolve(&cluster, sources, Some(&local)).unwrap();
        cluster.status.get_or_insert_default().resolved = Some(made.chosen.clone());
        let sources = Sources { team: Some(&later), platform: Some(&clock_later), providers: Some(&[]) };
        assert_eq!(resolve(&cluster, sources, Some(&local)).unwrap(), made);
        // What the spec says wins all the same.
        cluster.spec.workers.replicas = Some(3);
        cluster.spec.workers.machine_template =
            Some(MachineTemplate { cpu: Some(CpuCount::Int(8)), ..MachineTemplate::default() });
        let kept = pinned_spec(&cluster);
        assert_eq!((kept.kubernetes_version.as_deref(), kept.workers.replicas), (Some("v1.31.0"), Some(3)));
        assert_eq!(kept.provider_config_ref.map(|reference| reference.name).as_deref(), Some("first"));
        let changed = resolve(&cluster, sources, Some(&local)).unwrap();
        let machine = changed.spec.workers.machine_template.unwrap();
        assert_eq!((changed.spec.workers.replicas, machine.cpu), (Some(3), Some(CpuCount::Int(8))));
        assert_eq!((machine.memory, changed.chosen), (Some(ByteSize::from_gibibytes(8)), made.chosen));
    }
}
