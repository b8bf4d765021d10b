//! Doing what the plan says, on the cluster. Each piece of work may be cut short anywhere and begun again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use butler_api::butler::addon_definition::{DriftPolicy, ManifestSource};
use butler_api::butler::addon_install::{AddonInstallStatus, HelmRelease};
use butler_api::shared::BlockerOwner;
use helm::action::{ActionError, Actions, Options, went_back};
use helm::chart::Chart;
use helm::release::{Release, Status};
use helm::render::RenderError;
use helm::source::{self, Access, ChartRef, Reach, SourceError, Sources};
use helm::values::Values;
use k8s_openapi::api::core::v1::Secret;
use kube::core::DynamicObject;
use kube::{Api, Client, ResourceExt};
use pki::Secret as Password;
use runtime::{Failure, Key, fingerprint};
use serde_json::{Value, json};

use super::eyes::Followed;
use super::fields::{Obstacle, Part, words};
use super::manifests;
use super::placement::Placement;
use super::plan::DRIFTED;
use super::target::Target;
use super::wanted::{Source, Wanted};
use crate::blockers::blocker;
use crate::names;

/// Revisions of an addon that are kept.
const HISTORY: usize = 10;
/// Labels cannot be longer.
const LONGEST_LABEL: usize = 63;
/// Objects that do not go by themselves are told of after this time.
const GONE_WITHIN: Duration = Duration::from_secs(120);

/// A release that is on a cluster.
pub(crate) struct Done {
    pub(crate) release: HelmRelease,
    /// When it was applied.
    pub(crate) at: Option<jiff::Timestamp>,
    pub(crate) followed: Arc<Followed>,
}

/// Something that went wrong, as people are told of it.
pub(crate) struct Fault {
    pub(crate) obstacle: Box<Obstacle>,
    /// Trying the same again cannot help.
    pub(crate) is_final: bool,
}

impl Fault {
    fn new(obstacle: impl Into<Obstacle>, is_final: bool) -> Self {
        Self { obstacle: Box::new(obstacle.into()), is_final }
    }
}

/// Where charts and the Secrets of their repositories come from.
pub(crate) struct Origin<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) management: &'a Client,
    /// What the repositories that teams choose begin with.
    pub(crate) allowed: Vec<String>,
}

/// Brings about what is wanted, whatever is there: installs, upgrades, goes on, or only looks.
pub(crate) async fn ensure(
    target: &Target,
    origin: &Origin<'_>,
    wanted: &Wanted,
    label: &str,
    told: &Told,
) -> Result<Done, Fault> {
    let actions = &target.actions;
    let last = actions
        .records(&wanted.placement.namespace)
        .last(&wanted.placement.release)
        .await
        .map_err(ActionError::from)?;
    let is_left_alone = told.is_same_wish() && wanted.drift != DriftPolicy::Repair;
    let release = match last {
        Some(last) if told.is_of(&last) => last,
        // Others changed it while nobody looked, or are about to remove it, and it stays as they want it.
        Some(last) if is_left_alone && (last.info.status == Status::Uninstalling || !last.info.status.is_pending()) => {
            let done = look(target, &last).await?;
            return Ok(Done { release: told.known_as(done.release), ..done });
        }
        None if is_left_alone => {
            let remedy = "set spec.driftPolicy to Repair, or delete this addon";
            let message = "somebody else uninstalled its Helm release".to_owned();
            return Err(users(DRIFTED, message, vec![words(remedy)]));
        }
        last => {
            let chart = chart(origin, wanted).await?;
            let options = options(wanted, label, last.is_none());
            apply(actions, wanted, &chart, last, &options).await?
        }
    };
    look(target, &release).await
}

/// Goes back from what is wanted, which did not come to run, to the revision that `ran` last. What is there then, and what is
/// told.
pub(crate) async fn take_back(
    target: &Target,
    wanted: &Wanted,
    label: &str,
    ran: Option<i32>,
    why: &str,
) -> Result<(Done, Fault), Fault> {
    let options = Options { failed_because: Some(why.to_owned()), ..options(wanted, label, false) };
    let (actions, Placement { release, namespace }) = (&target.actions, &wanted.placement);
    let index = actions.records(namespace).index(release).await.map_err(ActionError::from)?;
    let back = actions.rollback(release, back_to(&index, ran), &options).await?;
    let message = format!("{why}; {}", went_back(back.revision));
    let else_keep = words(", and look at its pods; spec.onUpgradeFailure Keep leaves it there");
    let remedy = vec![words("correct "), Part::Values, words(" or "), Part::Version, else_keep];
    Ok((look(target, &back).await?, users("WorkloadNotReady", message, remedy)))
}

/// The revision that ran last, if it is still on record. Others may have come in between and never run.
fn back_to(index: &[(u32, Status)], ran: Option<i32>) -> Option<u32> {
    let (ran, (_, earlier)) = (u32::try_from(ran?).ok()?, index.split_last()?);
    earlier.iter().any(|(revision, status)| *revision == ran && status.is_complete()).then_some(ran)
}

/// The release that is there, if any is complete.
pub(crate) async fn present(target: &Target, there: &Placement) -> Result<Option<Done>, Fault> {
    let deployed = target.actions.records(&there.namespace).deployed(&there.release).await;
    match deployed.map_err(ActionError::from)? {
        Some(deployed) => look(target, &deployed).await.map(Some),
        None => Ok(None),
    }
}

/// Nothing complete is there that could be looked at.
pub(crate) fn nothing_there(there: &Placement) -> Fault {
    let message = format!("no complete revision of {there} is on the cluster");
    Fault::new(blocker("ReleaseMissing", message, BlockerOwner::Butler, "wait: it is looked for again"), false)
}

/// Compares a release with the cluster, and puts right what differs if so said. Gives back what differs, or did.
pub(crate) async fn compare(target: &Target, wanted: &Wanted, repairs: bool) -> Result<Vec<String>, Fault> {
    let actions = &target.actions;
    let deployed = actions
        .records(&wanted.placement.namespace)
        .deployed(&wanted.placement.release)
        .await
        .map_err(ActionError::from)?;
    let Some(release) = deployed else { return Ok(Vec::new()) };
    let differing = if repairs { actions.repair(&release).await? } else { actions.drift(&release).await? };
    Ok(differing.iter().map(ToString::to_string).collect())
}

/// Removes a release.
pub(crate) async fn uninstall(target: &Target, there: &Placement, label: &str) -> Result<(), Fault> {
    let namespace = there.namespace.clone();
    let options = Options { namespace, wait: true, timeout: GONE_WITHIN, labels: labels(label), ..Options::default() };
    target.actions.uninstall(&there.release, &options).await?;
    Ok(())
}

/// What was told of a release, by which one that has not changed is known.
pub(crate) struct Told {
    pub(crate) status: AddonInstallStatus,
    pub(crate) digest: String,
}

impl Told {
    fn is_of(&self, release: &Release) -> bool {
        self.is_same_wish()
            && self.revision().and_then(|revision| u32::try_from(revision).ok()) == Some(release.revision)
            && release.info.status == Status::Deployed
    }

    /// Whether what is wanted was installed before.
    fn is_same_wish(&self) -> bool {
        self.revision().is_some() && self.status.values_digest.as_ref() == Some(&self.digest)
    }

    fn revision(&self) -> Option<i32> {
        self.status.helm_release.as_ref().and_then(|told| told.revision)
    }

    /// A release that is there stays known as the one that was told of, so that the revision that others made of it is seen to
    /// be another.
    pub(crate) fn known_as(&self, there: HelmRelease) -> HelmRelease {
        let is_others = self.revision().is_some() && self.revision() != there.revision;
        self.status.helm_release.clone().filter(|_| is_others).unwrap_or(there)
    }

    /// What is on the cluster after a try that failed, with the digest it is known by. What others made of it does not
    /// become what was wanted by being found there.
    pub(crate) fn left(&self, there: HelmRelease) -> (String, HelmRelease) {
        let there = if self.is_same_wish() { self.known_as(there) } else { there };
        let is_known = there.revision == self.revision();
        (self.status.values_digest.clone().filter(|_| is_known).unwrap_or_default(), there)
    }
}

async fn apply(
    actions: &Actions,
    wanted: &Wanted,
    chart: &Chart,
    last: Option<Release>,
    options: &Options,
) -> Result<Release, ActionError> {
    let (name, values) = (&wanted.placement.release, &helm::values::from_json(wanted.values.clone()));
    let install = || actions.install(name, chart, values, options);
    let upgrade = || actions.upgrade(name, chart, values, options);
    match last {
        Some(last)
            if last.info.status == Status::Deployed
                && is_same(&last, chart, values)
                && is_labelled(&last, &options.labels)? =>
        {
            Ok(last)
        }
        // What a crash left is gone on with if it is what is wanted now.
        Some(last) if last.info.status == Status::PendingInstall => match install().await {
            Err(ActionError::NameInUse(_)) => upgrade().await,
            other => other,
        },
        Some(last) if !matches!(last.info.status, Status::Uninstalled | Status::Uninstalling) => upgrade().await,
        _ => install().await,
    }
}

/// Whether all objects of a release have the labels by which they are watched. Those of a release that `helm` wrote have not.
fn is_labelled(release: &Release, labels: &BTreeMap<String, String>) -> Result<bool, ActionError> {
    let has = |object: &DynamicObject| labels.iter().all(|(key, value)| object.labels().get(key) == Some(value));
    Ok(Actions::objects(release)?.iter().all(has))
}

/// Whether a release is of this chart and these values.
fn is_same(release: &Release, chart: &Chart, values: &Values) -> bool {
    let recorded = |field: &str| release.chart.pointer(&format!("/metadata/{field}")).and_then(Value::as_str);
    let digest = |annotations: Option<&Value>| annotations.and_then(|all| all.get(manifests::DIGEST)).cloned();
    let own = serde_json::to_value(&chart.metadata.annotations).ok();
    recorded("name") == Some(chart.name())
        && recorded("version") == Some(chart.metadata.version.as_str())
        && digest(release.chart.pointer("/metadata/annotations")) == digest(own.as_ref())
        && equal(&Value::Object(release.config.clone()), &Value::Object(values.clone()))
}

/// Whether two values are the same: a whole number may come back as a fraction.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| equal(one, other)))
        }
        _ => one == other,
    }
}

async fn look(target: &Target, release: &Release) -> Result<Done, Fault> {
    let objects = Actions::objects(release)?;
    let placement = Placement { release: release.name.clone(), namespace: release.namespace.clone() };
    let applied = release.generations.clone();
    let followed = target.eyes.follow(&objects, placement, (release.revision, release.info.status), applied).await;
    let followed = followed.map_err(|error| fault_of(Failure::from(error)))?;
    let told = HelmRelease {
        name: Some(release.name.clone()),
        namespace: Some(release.namespace.clone()),
        revision: i32::try_from(release.revision).ok(),
        status: Some(release.info.status.name().to_owned()),
        version: version_of(release).map(str::to_owned),
    };
    Ok(Done { release: told, at: release.info.last_deployed, followed: Arc::new(followed) })
}

/// The version of an addon that a release is of, as people ask for it.
pub fn version_of(release: &Release) -> Option<&str> {
    let version = release.chart.pointer("/metadata/appVersion").filter(|_| is_plain(release));
    version.or_else(|| release.chart.pointer("/metadata/version")).and_then(Value::as_str)
}

/// Whether a release is of plain manifests.
fn is_plain(release: &Release) -> bool {
    release.chart.pointer("/metadata/annotations").is_some_and(|all| all.get(manifests::DIGEST).is_some())
}

fn options(wanted: &Wanted, label: &str, is_new: bool) -> Options {
    Options {
        namespace: wanted.placement.namespace.clone(),
        create_namespace: wanted.create_namespace,
        timeout: wanted.patience,
        // Nothing is left half installed; what was there before comes back if the addon says so.
        atomic: is_new || wanted.rolls_back,
        max_history: HISTORY,
        given: Some(wanted.given.clone()),
        labels: labels(label),
        ..Options::default()
    }
}

/// The label of an addon's objects on its cluster.
pub(crate) fn label(addon: &str) -> String {
    if addon.len() <= LONGEST_LABEL { addon.to_owned() } else { fingerprint(&json!(addon)) }
}

/// The labels of all objects of an addon.
pub fn labels_of(addon: &str) -> BTreeMap<String, String> {
    labels(&label(addon))
}

fn labels(label: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(names::ADDON.to_owned(), label.to_owned())])
}

async fn chart(origin: &Origin<'_>, wanted: &Wanted) -> Result<Arc<Chart>, Fault> {
    let Origin { sources, management, allowed } = origin;
    let reach = match wanted.is_teams_choice {
        true => Reach::Public { allowed: allowed.clone() },
        false => Reach::Anywhere,
    };
    match &wanted.source {
        Source::Chart { repository, name, digest, credentials, authority } => {
            let access = access(management, credentials.as_ref(), authority.as_ref(), reach).await?;
            let reference = ChartRef {
                repository: repository.clone(),
                name: name.clone(),
                version: wanted.version.clone(),
                digest: digest.clone(),
            };
            Ok(sources.fetch(&reference, &access).await?.chart)
        }
        Source::Manifests(source) => plain(sources, wanted, source, reach).await.map(Arc::new),
    }
}

async fn plain(sources: &Sources, wanted: &Wanted, source: &ManifestSource, reach: Reach) -> Result<Chart, Fault> {
    let text = match (&source.inline, &source.url) {
        (Some(text), _) => text.clone(),
        (None, url) => {
            let url = substituted(url.as_deref().unwrap_or_default(), wanted)?;
            let bytes = sources.file(&url, source.digest.as_deref(), &Access { reach, ..Access::default() }).await?;
            decoded(bytes, &url, &wanted.title)?
        }
    };
    manifests::chart(&wanted.title, &wanted.version, &documents(&text, wanted)?).map_err(|error| {
        platforms("ManifestsInvalid", error.to_string(), format!("correct AddonDefinition {}", wanted.title))
    })
}

fn decoded(bytes: Vec<u8>, url: &str, definition: &str) -> Result<String, Fault> {
    String::from_utf8(bytes).map_err(|_| {
        let remedy = format!("correct spec.manifests.url of AddonDefinition {definition}");
        platforms("ManifestsInvalid", format!("what is at {url} is no text"), remedy)
    })
}

fn substituted(text: &str, wanted: &Wanted) -> Result<String, Fault> {
    manifests::substitute(text, &wanted.values, &wanted.version).map_err(|names| {
        let message = format!("no value is given for {}", names.join(", "));
        users("ValuesRefused", message, vec![words("give them in "), Part::Values])
    })
}

/// Manifests with their values in place, which are texts in them and never more.
fn documents(text: &str, wanted: &Wanted) -> Result<String, Fault> {
    let documents = substituted(text, wanted)?;
    manifests::check(text, &documents, &wanted.values, &wanted.version).map_err(|reason| {
        let message = format!("the values do not fit into the manifests of {}: {reason}", wanted.title);
        users("ValuesRefused", message, vec![words("correct them in "), Part::Values])
    })?;
    Ok(documents)
}

fn users(reason: &str, message: String, remedy: Vec<Part>) -> Fault {
    Fault::new(Obstacle::new(reason, message, BlockerOwner::User, remedy), true)
}

/// Manifests are the catalogue's, and only its keepers can correct them.
fn platforms(reason: &str, message: String, remedy: String) -> Fault {
    Fault::new(blocker(reason, message, BlockerOwner::PlatformAdmin, remedy), true)
}

/// Credentials and authority of a repository, out of their Secrets.
async fn access(
    management: &Client,
    credentials: Option<&Key>,
    authority: Option<&Key>,
    reach: Reach,
) -> Result<Access, Fault> {
    let mut access = Access { reach, ..Access::default() };
    if let Some(key) = credentials {
        let secret = secret(management, key).await?;
        access.username = bytes(&secret, "username").and_then(|bytes| String::from_utf8(bytes).ok());
        access.password = bytes(&secret, "password").and_then(|bytes| String::from_utf8(bytes).ok()).map(Password::new);
        access.docker_config = bytes(&secret, ".dockerconfigjson");
        access.ca = bytes(&secret, "ca.crt");
    }
    if let Some(key) = authority {
        access.ca = bytes(&secret(management, key).await?, "ca.crt");
    }
    Ok(access)
}

fn bytes(secret: &Secret, key: &str) -> Option<Vec<u8>> {
    Some(secret.data.as_ref()?.get(key)?.0.clone())
}

async fn secret(management: &Client, key: &Key) -> Result<Secret, Fault> {
    let api: Api<Secret> = Api::namespaced(management.clone(), &key.namespace);
    let found = api.get_opt(&key.name).await.map_err(|error| fault_of(Failure::from(error)))?;
    found.ok_or_else(|| {
        let message = format!("Secret {key} with the credentials of the repository is not there");
        Fault::new(
            blocker("SecretMissing", message, BlockerOwner::PlatformAdmin, format!("create Secret {key}")),
            false,
        )
    })
}

/// Something that the cluster could not be asked.
pub(crate) fn fault_of(failure: Failure) -> Fault {
    Fault::new(blocker("ClusterUnreachable", failure.chain(), BlockerOwner::Butler, "wait: it is tried again"), false)
}

/// Work that took longer than anybody waits.
pub(crate) fn given_up(limit: Duration) -> Fault {
    let message = format!("nothing came of it within {} seconds, so it was given up", limit.as_secs());
    Fault::new(blocker("ClusterUnreachable", message, BlockerOwner::Butler, "wait: it is tried again"), false)
}

impl From<SourceError> for Fault {
    fn from(error: SourceError) -> Self {
        let owner = if error.is_final() { BlockerOwner::User } else { BlockerOwner::PlatformAdmin };
        let remedy = match error.fault() {
            source::Fault::NoVersion { .. } | source::Fault::Version(_) => {
                vec![words("set "), Part::Version, words(" to one that there is")]
            }
            source::Fault::Forbidden(_) => vec![words(
                "choose another repository, or have it named in spec.addons.allowedRepositories of the ButlerConfig",
            )],
            source::Fault::OutOfReach(_) => vec![words(
                "choose a repository that others can reach too; whoever runs the platform may name a mirror of it in \
                 spec.addons.mirrors of the ButlerConfig",
            )],
            _ => vec![words(
                "correct the version or the repository; where there is no way out, name a mirror in the ButlerConfig",
            )],
        };
        // Secrets are corrected without anybody being told.
        let is_final = error.is_final() && error.reason() != "RepositoryAccessDenied";
        Self::new(Obstacle::new(error.reason(), error.to_string(), owner, remedy), is_final)
    }
}

impl From<ActionError> for Fault {
    fn from(error: ActionError) -> Self {
        let evidence = snippet(&error).into_iter().collect();
        let fields = error.refused_fields();
        let (owner, remedy) = match error.reason() {
            "ValuesRefused" | "RenderFailed" | "KubernetesVersion" => {
                (BlockerOwner::User, vec![words("correct "), Part::Values, words(" or "), Part::Version])
            }
            "Refused" if !fields.is_empty() => {
                let refused = words(format!(" leads to {}, or choose another ", fields.join(", ")));
                (BlockerOwner::User, vec![words("correct what in "), Part::Values, refused, Part::Version])
            }
            "OwnedByOthers" => (BlockerOwner::User, vec![words("remove these objects from the cluster")]),
            "Unreachable" | "Conflict" | "Busy" | "Interrupted" => {
                (BlockerOwner::Butler, vec![words("wait: it is tried again")])
            }
            "HookFailed" | "NotReady" | "Unhealthy" => {
                (BlockerOwner::User, vec![words("look at the pods of the addon on the cluster; it is tried again")])
            }
            _ => {
                let remedy = vec![words("correct "), Part::Values, words(", or choose another "), Part::Version];
                (BlockerOwner::User, remedy)
            }
        };
        let is_final = error.is_final();
        let obstacle = Obstacle::new(error.reason(), error.to_string(), owner, remedy);
        Self::new(obstacle.with_evidence(evidence), is_final)
    }
}

/// Where in the chart it failed, and the line.
fn snippet(error: &ActionError) -> Option<String> {
    match error {
        ActionError::Render(
            RenderError::Parse { location, snippet, .. } | RenderError::Template { location, snippet, .. },
        ) => Some(format!("{location}: {}", snippet.trim())),
        ActionError::TakenBack { cause, .. } | ActionError::NotTakenBack { cause, .. } => snippet(cause),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use helm::action::ObjectRef;

    use super::*;
    use crate::addon::plan::tests::observed;

    #[test]
    fn fields_of_refused_objects_are_told_as_they_are() {
        let causes = json!({"causes": [{"field": "spec.versions[0].schema"}, {"field": "spec.values"}]});
        let answer = json!({"status": "Failure", "code": 422, "message": "it is invalid", "details": causes});
        let source = Box::new(kube::Error::Api(serde_json::from_value(answer).unwrap()));
        let object = json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "web", "namespace": "shop"}});
        let object = Box::new(ObjectRef::of(&object));
        let fault = Fault::from(ActionError::Api { verb: "apply", object, source });
        let mut observed = observed(json!({}));
        for (addon, expected, owner) in [
            (
                "longhorn",
                "correct what in spec.addons.storage.values leads to spec.versions[0].schema, spec.values, or choose \
                 another spec.addons.storage.version of TenantCluster c",
                BlockerOwner::User,
            ),
            (
                "flux",
                "correct what in spec.defaults.values of AddonDefinition flux leads to spec.versions[0].schema, \
                 spec.values, or choose another spec.addons.gitops.version of TenantCluster c",
                BlockerOwner::PlatformAdmin,
            ),
        ] {
            observed.ask.addon = Some(addon.to_owned());
            let told = fault.obstacle.to_owner(&observed);
            assert_eq!((told.remedy.as_deref(), told.owner), (Some(expected), Some(owner)));
        }
    }

    #[test]
    fn what_never_ran_is_not_gone_back_to() {
        use Status::{Deployed, Failed, PendingRollback, Superseded};
        let hasty = &[(1, Superseded), (2, Superseded), (3, Deployed)][..];
        for (index, ran, expected) in [
            (hasty, Some(1), Some(1)),
            (hasty, Some(2), Some(2)),
            // Nobody knows, it has just come, or is not on record any more.
            (hasty, None, None),
            (hasty, Some(3), None),
            (&hasty[1..], Some(1), None),
            (&[(1, Failed), (2, Deployed)], Some(1), None),
            // Killed on the way back.
            (&[(1, Superseded), (2, Superseded), (3, Failed), (4, PendingRollback)], Some(1), Some(1)),
            (&[], Some(1), None),
        ] {
            assert_eq!(back_to(index, ran), expected, "{index:?} {ran:?}");
        }
    }

    #[test]
    fn manifests_are_the_platforms_to_correct() {
        assert_eq!(decoded(b"a: 1".to_vec(), "https://x", "crds").ok().as_deref(), Some("a: 1"));
        let told = decoded(vec![0xff], "https://x", "crds").err().unwrap().obstacle.to_owner(&observed(json!({})));
        let remedy = "correct spec.manifests.url of AddonDefinition crds";
        assert_eq!((told.owner, told.remedy.as_deref()), (Some(BlockerOwner::PlatformAdmin), Some(remedy)));
    }

    #[test]
    fn what_others_installed_is_not_taken_for_what_was_wanted() {
        let told = |digest: &str| Told {
            status: serde_json::from_value(json!({
                "valuesDigest": "known", "helmRelease": {"name": "l", "revision": 3, "version": "1.0.0"},
            }))
            .unwrap(),
            digest: digest.to_owned(),
        };
        let release = |revision: i32, version: &str| {
            let (name, version) = (Some("l".to_owned()), Some(version.to_owned()));
            HelmRelease { name, revision: Some(revision), version, ..HelmRelease::default() }
        };
        for (wish, there, expected) in [
            ("known", release(3, "1.0.0"), ("known", release(3, "1.0.0"))),
            // Somebody else's, while the same is wanted: it is seen to be another than what was installed.
            ("known", release(4, "2.0.0"), ("known", release(3, "1.0.0"))),
            // An upgrade failed before it changed anything, or was taken back, or is somebody else's.
            ("new", release(3, "1.0.0"), ("known", release(3, "1.0.0"))),
            ("new", release(5, "2.0.0"), ("", release(5, "2.0.0"))),
        ] {
            let (digest, left) = told(wish).left(there.clone());
            assert_eq!((digest.as_str(), left), expected, "{wish} {there:?}");
        }
        let nothing = Told { status: AddonInstallStatus::default(), digest: "new".to_owned() };
        let found = HelmRelease { revision: Some(1), ..HelmRelease::default() };
        assert_eq!(nothing.left(found.clone()), (String::new(), found));
    }
}
