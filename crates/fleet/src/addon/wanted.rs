//! What is to be installed, once the catalogue has filled the gaps. Pure.

use std::time::Duration;

use butler_api::butler::AddonDefinition;
use butler_api::butler::addon_definition::{AddonDefaults, AddonDefinitionSpec, DriftPolicy, ManifestSource};
use butler_api::butler::addon_install::{HelmChart, UpgradeFailurePolicy};
use butler_api::names::SYSTEM_NAMESPACE;
use butler_api::shared::{Blocker, BlockerOwner, SecretRef};
use helm::values::{self, Values};
use kernel::duration::GoDuration;
use kernel::version::Version;
use runtime::{Key, fingerprint};
use serde_json::json;

use super::ask::Ask;
use super::fields::{Obstacle, Part, words};
use super::manifests;
use super::placement::Placement;
use super::values::check;
use crate::blockers::blocker;

/// An install is given this long when nobody says.
const PATIENCE: Duration = Duration::from_secs(600);

/// What is to be installed.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// What people call it: the name of the AddonDefinition, or of the chart.
    pub title: String,
    /// Where it comes from.
    pub source: Source,
    /// Name and namespace of its Helm release.
    pub placement: Placement,
    /// Whether the namespace is made.
    pub create_namespace: bool,
    /// Version, or range of versions.
    pub version: String,
    /// All values.
    pub values: Values,
    /// Those of them that the addon's object has.
    pub given: Values,
    /// How long it may take until its workloads run.
    pub patience: Duration,
    /// What happens to objects that were changed by others.
    pub drift: DriftPolicy,
    /// Whether an upgrade that failed is taken back.
    pub rolls_back: bool,
    /// Whether a team chose where it comes from: then it is fetched only from where a team may go.
    pub is_teams_choice: bool,
}

/// Where an addon comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A Helm chart.
    Chart {
        /// The repository.
        repository: String,
        /// Name of the chart.
        name: String,
        /// SHA-256 it must have.
        digest: Option<String>,
        /// Secret with credentials for the repository.
        credentials: Option<Key>,
        /// Secret with the authority of the repository.
        authority: Option<Key>,
    },
    /// Plain manifests.
    Manifests(ManifestSource),
}

impl Wanted {
    /// A digest of all that an install depends on. `attempt` tells apart tries that somebody asked for.
    pub fn digest(&self, attempt: Option<&str>) -> String {
        let source = match &self.source {
            Source::Chart { repository, name, digest, .. } => json!([repository, name, digest]),
            Source::Manifests(manifests) => json!(manifests),
        };
        fingerprint(&json!([
            source,
            self.version,
            self.placement.release,
            self.placement.namespace,
            self.values,
            attempt
        ]))
    }
}

/// Whom an addon is wanted for.
pub(crate) struct For<'a> {
    /// Name and namespace of the addon object.
    pub(crate) object: &'a Key,
    /// Version of Kubernetes on the cluster, if known.
    pub(crate) kubernetes: Option<Version>,
    /// Paths of values that Butler itself sets.
    pub(crate) butlers_values: &'a [&'a str],
}

/// The Secrets that are read for an addon in this namespace.
pub(crate) fn secrets(ask: &Ask, definition: Option<&AddonDefinition>, namespace: &str) -> Vec<Key> {
    match (&ask.helm, definition.and_then(|definition| definition.spec.chart.as_ref())) {
        (Some(chart), _) => chart.credentials_ref.iter().map(|reference| own(namespace, reference)).collect(),
        (None, Some(chart)) => chart.credentials_ref.iter().chain(&chart.ca_ref).map(at_home).collect(),
        (None, None) => Vec::new(),
    }
}

/// A Secret that a team names. Those of other teams are none of theirs.
fn own(namespace: &str, reference: &SecretRef) -> Key {
    Key::new(namespace, reference.name.clone())
}

/// A Secret that the catalogue names.
fn at_home(reference: &SecretRef) -> Key {
    Key::new(reference.namespace.as_deref().unwrap_or(SYSTEM_NAMESPACE), reference.name.clone())
}

/// What the catalogue has against what is asked for, on whatever cluster; of one that its cluster asks for, some values are
/// Butler's own.
pub fn objections(ask: &Ask, definition: &AddonDefinition, is_clusters_own: bool) -> Vec<Blocker> {
    let butlers_values = if is_clusters_own { crate::cluster::BUTLERS_VALUES } else { &[] };
    let target = For { object: &Key::cluster(""), kubernetes: None, butlers_values };
    let obstacles = wanted(ask, Some(definition), &target).err().unwrap_or_default();
    obstacles.iter().map(Obstacle::to_author).collect()
}

/// Fills the gaps, or says what is wrong and who can put it right.
pub(crate) fn wanted(
    ask: &Ask,
    definition: Option<&AddonDefinition>,
    target: &For<'_>,
) -> Result<Wanted, Vec<Obstacle>> {
    let placement = Placement::asked(ask, definition, &target.object.name);
    match (&ask.helm, definition, placement) {
        (Some(chart), _, Some(placement)) => Ok(of_chart(ask, chart.clone(), placement, target)),
        (None, Some(definition), Some(placement)) => of_catalogue(ask, definition, placement, target),
        _ => {
            let name = ask.addon.clone().unwrap_or_default();
            let missing = blocker(
                "DefinitionMissing",
                format!("there is no AddonDefinition {name}"),
                BlockerOwner::PlatformAdmin,
                format!("create AddonDefinition {name}, or choose one of `butlerctl addon catalog`"),
            );
            Err(vec![missing.into()])
        }
    }
}

fn of_chart(ask: &Ask, chart: HelmChart, placement: Placement, target: &For<'_>) -> Wanted {
    Wanted {
        title: chart.chart.clone(),
        source: Source::Chart {
            repository: chart.repository,
            name: chart.chart,
            digest: None,
            credentials: chart.credentials_ref.as_ref().map(|reference| own(&target.object.namespace, reference)),
            authority: None,
        },
        placement,
        create_namespace: chart.create_namespace,
        version: ask.version.clone().unwrap_or_default(),
        values: ask.values.clone(),
        given: ask.values.clone(),
        patience: PATIENCE,
        drift: ask.drift_policy.unwrap_or(DriftPolicy::Repair),
        rolls_back: rolls_back(ask),
        is_teams_choice: true,
    }
}

fn of_catalogue(
    ask: &Ask,
    definition: &AddonDefinition,
    placement: Placement,
    target: &For<'_>,
) -> Result<Wanted, Vec<Obstacle>> {
    let name = definition.metadata.name.clone().unwrap_or_default();
    let spec = &definition.spec;
    let defaults = spec.defaults.clone().unwrap_or_default();
    let mut wrong = Vec::new();
    let version = version(ask, &name, spec).unwrap_or_else(|obstacle| {
        wrong.push(*obstacle);
        String::new()
    });
    wrong.extend(kubernetes(&name, spec, target.kubernetes).map(Obstacle::from));
    let mut merged = defaults.values.clone().unwrap_or_default().0;
    values::merge(&mut merged, ask.values.clone());
    let faults = check(&spec.configurable_values, &ask.values, &merged, target.butlers_values);
    if let Some(first) = faults.first() {
        let remedy = vec![words("correct "), Part::Values];
        let refused = Obstacle::new("ValuesRefused", first.clone(), BlockerOwner::User, remedy);
        wrong.push(refused.with_evidence(faults[1..].to_vec()));
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let source = match (&spec.chart, &spec.manifests) {
        (Some(chart), _) => Source::Chart {
            repository: chart.repository.clone(),
            name: chart.name.clone(),
            digest: chart.digests.get(&version).cloned(),
            credentials: chart.credentials_ref.as_ref().map(at_home),
            authority: chart.ca_ref.as_ref().map(at_home),
        },
        (None, manifests) => Source::Manifests(manifests.clone().unwrap_or_default()),
    };
    let of_url = |source: &Source| match source {
        Source::Manifests(source) => source.url.as_deref().is_some_and(manifests::has_values),
        Source::Chart { .. } => false,
    };
    // Values of a team that become a part of an address choose it.
    let is_teams_choice = !target.object.namespace.is_empty() && of_url(&source);
    let AddonDefaults { create_namespace, timeout, .. } = defaults;
    Ok(Wanted {
        placement,
        title: name,
        source,
        create_namespace,
        version,
        values: merged,
        given: ask.values.clone(),
        patience: duration(&timeout).unwrap_or(PATIENCE),
        drift: ask.drift_policy.or(spec.drift_policy).unwrap_or(DriftPolicy::Repair),
        rolls_back: rolls_back(ask),
        is_teams_choice,
    })
}

fn rolls_back(ask: &Ask) -> bool {
    ask.on_upgrade_failure != Some(UpgradeFailurePolicy::Keep)
}

fn version(ask: &Ask, name: &str, spec: &AddonDefinitionSpec) -> Result<String, Box<Obstacle>> {
    let (usual, others) = match (&spec.chart, &spec.manifests) {
        (Some(chart), _) => (chart.default_version.clone(), chart.available_versions.as_slice()),
        (None, manifests) => (manifests.clone().unwrap_or_default().version, [].as_slice()),
    };
    let Some(asked) = ask.version.clone().filter(|asked| *asked != usual) else { return Ok(usual) };
    // Inline manifests are of one version; fetched ones are of the version in their address.
    let is_fixed = spec.manifests.as_ref().is_some_and(|manifests| manifests.inline.is_some());
    // It becomes a part of an address.
    let is_free = others.is_empty() && !is_fixed && helm::source::is_version(&asked);
    if others.contains(&asked) || is_free {
        return Ok(asked);
    }
    let others = others.iter().filter(|other| **other != usual).map(String::as_str);
    let choice: Vec<&str> = [usual.as_str()].into_iter().chain(others).collect();
    Err(Box::new(Obstacle::new(
        "VersionUnknown",
        format!("{name} is not offered in version {asked}"),
        BlockerOwner::User,
        vec![words("set "), Part::Version, words(format!(" to one of {}", choice.join(", ")))],
    )))
}

/// Whether the addon works on the cluster's Kubernetes.
fn kubernetes(name: &str, spec: &AddonDefinitionSpec, runs: Option<Version>) -> Option<Blocker> {
    let (bounds, runs) = (spec.kubernetes_versions.as_ref()?, runs?);
    let read = |bound: &Option<String>| bound.as_ref().and_then(|text| text.parse::<Version>().ok());
    let (least, most) = (read(&bounds.min), read(&bounds.max));
    if least.is_none_or(|least| runs >= least) && most.is_none_or(|most| runs <= most) {
        return None;
    }
    let range = match (least, most) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("{least} and newer"),
        (None, Some(most)) => format!("{most} and older"),
        (None, None) => return None,
    };
    Some(blocker(
        "KubernetesUnsupported",
        format!("{name} works on Kubernetes {range}, and the cluster runs {runs}"),
        BlockerOwner::User,
        "move the cluster to a version that fits, or choose another addon",
    ))
}

fn duration(text: &str) -> Option<Duration> {
    GoDuration::parse(text).ok().and_then(|duration| u64::try_from(duration.0).ok()).map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn definition(more: Value) -> AddonDefinition {
        let mut spec = json!({
            "displayName": "L", "description": "l",
            "chart": {
                "repository": "https://charts.example", "name": "l", "defaultVersion": "1.2.3",
                "availableVersions": ["1.1.0"], "digests": {"1.1.0": "ab"},
            },
            "defaults": {"namespace": "l-system", "timeout": "5m", "values": {"a": 1, "b": {"c": 2}}},
        });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "AddonDefinition", "metadata": {"name": "lh"},
            "spec": spec,
        }))
        .unwrap()
    }

    fn decide(ask: Ask, definition: Option<&AddonDefinition>) -> Result<Wanted, Vec<String>> {
        let object = Key::new("team-a", "c-lh");
        let target = For { object: &object, kubernetes: "v1.31.2".parse().ok(), butlers_values: &[] };
        wanted(&ask, definition, &target)
            .map_err(|obstacles| obstacles.into_iter().map(|obstacle| obstacle.blocker.reason).collect())
    }

    #[test]
    fn the_catalogue_fills_the_gaps() {
        let values = json!({"b": {"d": 3}}).as_object().unwrap().clone();
        let found = decide(Ask { values, ..Ask::default() }, Some(&definition(json!({})))).unwrap();
        assert_eq!(json!(found.values), json!({"a": 1, "b": {"c": 2, "d": 3}}));
        assert_eq!(
            (found.placement.release.as_str(), found.placement.namespace.as_str(), found.version.as_str()),
            ("lh", "l-system", "1.2.3")
        );
        assert_eq!((found.patience, found.drift), (Duration::from_secs(300), DriftPolicy::Repair));
        let other = Ask { version: Some("1.1.0".into()), ..Ask::default() };
        let other = decide(other, Some(&definition(json!({})))).unwrap();
        assert!(matches!(&other.source, Source::Chart { digest: Some(digest), .. } if digest == "ab"));
        assert_ne!(other.digest(None), found.digest(None));
        assert_ne!(found.digest(Some("1")), found.digest(None));
        assert_eq!(found.digest(None), found.clone().digest(None));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let at = |version: &str| Ask { version: Some(version.into()), ..Ask::default() };
        let any = json!({"chart": {"repository": "oci://x", "name": "l", "defaultVersion": "1.2.3"}});
        for (ask, more, expected) in [
            (at("1.2.3"), json!({}), Ok("1.2.3")),
            (at("9.9.9"), json!({}), Err(vec!["VersionUnknown"])),
            (at("../9"), any.clone(), Err(vec!["VersionUnknown"])),
            (at("9.9.9"), any, Ok("9.9.9")),
            (Ask::default(), json!({"kubernetesVersions": {"min": "v1.30.0", "max": "v1.31.9"}}), Ok("1.2.3")),
            (Ask::default(), json!({"kubernetesVersions": {"min": "v1.32.0"}}), Err(vec!["KubernetesUnsupported"])),
            (Ask::default(), json!({"kubernetesVersions": {"max": "v1.30.9"}}), Err(vec!["KubernetesUnsupported"])),
            (
                Ask::default(),
                json!({"configurableValues": [{"path": "host", "required": true}]}),
                Err(vec!["ValuesRefused"]),
            ),
        ] {
            let found = decide(ask, Some(&definition(more)));
            let expected = expected.map(str::to_owned).map_err(|all| all.into_iter().map(str::to_owned).collect());
            assert_eq!(found.map(|wanted| wanted.version), expected);
        }
        assert_eq!(
            decide(Ask { addon: Some("x".into()), ..Ask::default() }, None),
            Err(vec!["DefinitionMissing".into()])
        );
    }

    #[test]
    fn what_teams_choose_is_told_from_what_operators_do() {
        let helm = serde_json::from_value(json!({"repository": "https://x", "chart": "web"})).ok();
        let by_url = |url: &str| {
            let spec = json!({"chart": null, "manifests": {"version": "1", "url": url}});
            decide(Ask::default(), Some(&definition(spec))).unwrap().is_teams_choice
        };
        assert!(decide(Ask { helm, ..Ask::default() }, None).unwrap().is_teams_choice);
        assert!(!decide(Ask::default(), Some(&definition(json!({})))).unwrap().is_teams_choice);
        assert!(!by_url("https://x/${version}.yaml"));
        assert!(by_url("https://${host}/${version}.yaml"));
    }

    #[test]
    fn charts_of_users_read_secrets_of_their_own_namespace() {
        let helm = serde_json::from_value(json!({
            "repository": "https://x", "chart": "web", "credentialsRef": {"name": "s", "namespace": "butler-system"},
        }));
        let found = decide(Ask { helm: helm.ok(), ..Ask::default() }, None).unwrap();
        let Source::Chart { credentials, .. } = &found.source else { panic!("no chart") };
        assert_eq!(credentials, &Some(Key::new("team-a", "s")));
        assert_eq!(found.placement.to_string(), "release c-lh in namespace c-lh");
    }
}
