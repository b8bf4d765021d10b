//! Which version a control plane is to run now: the wanted one, or, on a longer way, one of the next minor.

use std::fmt;

use butler_api::shared::Blocker;
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use kernel::version::{MinorVersion, UpgradeError, Version};

use super::observed::Observed;
use super::support;

/// The way of a control plane to the version that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// What all API servers were of last, if there were any.
    pub from: Option<Version>,
    /// The newest that has answered: what wrote into the store last, below which there is no way.
    pub answered: Option<Version>,
    /// What is to run now.
    pub now: Version,
    /// What is wanted.
    pub to: Version,
}

impl Way {
    /// Whether nothing is left to be gone after this.
    pub(super) fn is_last(self) -> bool {
        self.now == self.to
    }

    /// What still runs and may be wished for again, should nothing come of what is to run now.
    pub(super) fn may_return_to(self) -> Option<Version> {
        self.from.filter(|from| self.answered == Some(*from) && *from < self.now)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(from) = self.from.filter(|from| *from != self.now) {
            write!(f, "from {from} ")?;
        }
        if !self.is_last() {
            write!(f, "over {} ", self.now)?;
        }
        write!(f, "to {}", self.to)
    }
}

/// The way to the version that is wished for, and why it is another if it cannot be that: then it stays what has answered.
/// Where nothing has, there is no way.
pub(super) fn choose(observed: &Observed) -> Result<(Way, Option<Blocker>), Box<Blocker>> {
    let text = &observed.tenant.spec.kubernetes.version;
    let answered = answered(observed);
    let wished = text.parse().ok().filter(|version: &Version| version.is_supported());
    let held = match (wished.map(|to| way(observed, answered, to)), answered) {
        (Some(Ok(way)), _) => return Ok((way, None)),
        (Some(Err(error)), Some(answered)) => support::version_refused(&error, answered),
        (Some(Err(_)) | None, _) => support::version_unusable(text, answered),
    };
    let Some(stay) = answered else { return Err(Box::new(held)) };
    Ok((Way { from: installed(observed), answered: Some(stay), now: stay, to: stay }, Some(held)))
}

/// The way to a version, or why there is none. Minors are never skipped, however often the wish changed meanwhile, and nothing
/// that has answered is gone back from.
fn way(observed: &Observed, answered: Option<Version>, to: Version) -> Result<Way, UpgradeError> {
    let from = installed(observed);
    if let Some(answered) = answered.filter(|answered| to < *answered) {
        return Err(UpgradeError::Downgrade { from: answered, to });
    }
    // Of the very first ones some may have answered before all do.
    let now = match from.or(answered).map(|from| from.upgrade_to(to)) {
        Some(Err(UpgradeError::SkippedMinor { next, .. })) => {
            let passed = between(observed, next);
            answered.filter(|answered| answered.line() == next).map_or(passed, |answered| passed.max(answered))
        }
        Some(Err(error)) => return Err(error),
        Some(Ok(_)) | None => to,
    };
    Ok(Way { from, answered, now, to })
}

/// The version that all API servers were of last.
pub(super) fn installed(observed: &Observed) -> Option<Version> {
    let status = observed.tenant.status.as_ref()?;
    status.kubernetes_resources.as_ref()?.version.as_ref()?.version.as_ref()?.parse().ok()
}

/// The newest version that an API server has answered with. One is enough: it may have written what older ones cannot read.
pub(super) fn answered(observed: &Observed) -> Option<Version> {
    let known = observed.tenant.status.as_ref().and_then(|status| status.answered_version.as_ref()?.parse().ok());
    let now = observed.pods.iter().filter(|pod| answers(pod)).filter_map(|pod| {
        let image = image(pod.spec.as_ref()?)?;
        version_of(observed, image)
    });
    now.chain(known).chain(installed(observed)).max()
}

fn answers(pod: &Pod) -> bool {
    let mut containers = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    containers.any(|container| container.name == API_SERVER && container.ready)
}

/// The version by which a minor is passed: the one of it that is on its way already, as somebody asked for it, else its first.
fn between(observed: &Observed, minor: MinorVersion) -> Version {
    let deployment = observed.deployment.as_ref().and_then(|known| known.spec.as_ref()?.template.spec.as_ref());
    let image = deployment.and_then(image);
    let begun = image.and_then(|image| version_of(observed, image)).filter(|begun| begun.line() == minor);
    let cannot_be_had = || {
        let mut pods = observed.pods.iter().filter(|pod| pod.spec.as_ref().and_then(self::image) == image);
        pods.any(|pod| lacks_image(pod))
    };
    // One that may not exist must not be in the way for ever. Whatever else is wrong would be so with another version too.
    begun.filter(|_| !cannot_be_had()).unwrap_or(Version::new(minor.major, minor.minor, 0))
}

const API_SERVER: &str = "kube-apiserver";

/// The containers whose images are of the version of Kubernetes.
const OF_VERSION: [&str; 3] = [API_SERVER, "kube-controller-manager", "kube-scheduler"];

/// Reasons of waiting for an image that there may not be.
const WITHOUT_IMAGE: [&str; 3] = ["ErrImagePull", "ImagePullBackOff", "InvalidImageName"];

/// Whether a pod is of another version than the one that is to run now.
pub(super) fn is_of_another(observed: &Observed, pod: &Pod, now: Version) -> bool {
    let version = pod.spec.as_ref().and_then(image).and_then(|image| version_of(observed, image));
    version.is_some_and(|version| version != now)
}

/// Whether an image of the version of Kubernetes cannot be had.
pub(super) fn lacks_images(observed: &Observed) -> bool {
    observed.pods.iter().any(|pod| lacks_image(pod))
}

/// Whether an image of the version of Kubernetes cannot be had for a pod.
fn lacks_image(pod: &Pod) -> bool {
    let containers = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    let mut reasons = containers
        .filter(|container| OF_VERSION.contains(&container.name.as_str()))
        .filter_map(|container| container.state.as_ref()?.waiting.as_ref()?.reason.as_deref());
    reasons.any(|reason| WITHOUT_IMAGE.contains(&reason))
}

fn image(pod: &PodSpec) -> Option<&str> {
    pod.containers.iter().find(|container| container.name == API_SERVER)?.image.as_deref()
}

fn version_of(observed: &Observed, image: &str) -> Option<Version> {
    let settings = observed.tenant.spec.control_plane.deployment.registry_settings.as_ref();
    let suffix = settings.and_then(|settings| settings.tag_suffix.as_deref()).unwrap_or_default();
    image.rsplit_once(':')?.1.strip_suffix(suffix)?.parse().ok()
}
