//! Which version a control plane is to run now: the wanted one, or, on a longer way, one of the next minor.

use std::fmt;

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use kernel::version::{MinorVersion, UpgradeError, Version};

use super::observed::Observed;
use super::support;

/// The way of a control plane to the version that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// What answered last, if anything has.
    pub from: Option<Version>,
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

/// The way to a version, or why there is none. Minors are never skipped, however often the wish changed meanwhile.
pub(super) fn way(observed: &Observed, to: Version) -> Result<Way, UpgradeError> {
    let from = support::installed(observed);
    let now = match from.map(|from| from.upgrade_to(to)) {
        Some(Err(UpgradeError::SkippedMinor { next, .. })) => between(observed, next),
        Some(Err(error)) => return Err(error),
        Some(Ok(_)) | None => to,
    };
    Ok(Way { from, now, to })
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

/// The containers whose images are of the version of Kubernetes.
const OF_VERSION: [&str; 3] = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/// Reasons of waiting for an image that there may not be.
const WITHOUT_IMAGE: [&str; 3] = ["ErrImagePull", "ImagePullBackOff", "InvalidImageName"];

/// Whether an image of the version of Kubernetes cannot be had for a pod.
fn lacks_image(pod: &Pod) -> bool {
    let containers = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    let mut reasons = containers
        .filter(|container| OF_VERSION.contains(&container.name.as_str()))
        .filter_map(|container| container.state.as_ref()?.waiting.as_ref()?.reason.as_deref());
    reasons.any(|reason| WITHOUT_IMAGE.contains(&reason))
}

fn image(pod: &PodSpec) -> Option<&str> {
    pod.containers.iter().find(|container| container.name == "kube-apiserver")?.image.as_deref()
}

fn version_of(observed: &Observed, image: &str) -> Option<Version> {
    let settings = observed.tenant.spec.control_plane.deployment.registry_settings.as_ref();
    let suffix = settings.and_then(|settings| settings.tag_suffix.as_deref()).unwrap_or_default();
    image.rsplit_once(':')?.1.strip_suffix(suffix)?.parse().ok()
}
