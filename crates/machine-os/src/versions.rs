//! What differs between releases of Kubernetes and of operating systems.

use std::ops::RangeInclusive;

use butler_api::shared::OsType;
use kernel::version::{MinorVersion, NEWEST, OLDEST, Version};

use crate::{Error, Pool};

/// Refuses a Kubernetes that the pool's operating system does not have. For all others every operating system here has
/// packages, extensions, images or variants.
pub(crate) fn check(pool: &Pool) -> Result<(), Error> {
    let version = pool.kubernetes;
    match version.is_supported() {
        true => Ok(()),
        false => Err(Error::Kubernetes { os: pool.os_type(), version, oldest: OLDEST, newest: NEWEST }),
    }
}

/// The image of the container that holds a pod's namespaces, as kubeadm of the version wants it.
pub(crate) fn pause_image(kubernetes: Version) -> &'static str {
    match kubernetes.minor {
        ..=30 => "registry.k8s.io/pause:3.9",
        31..=33 => "registry.k8s.io/pause:3.10",
        _ => "registry.k8s.io/pause:3.10.1",
    }
}

/// The newest version of kubeadm's own API that kubeadm of the version reads.
pub(crate) fn kubeadm_api(kubernetes: Version) -> &'static str {
    match kubernetes.minor {
        ..=30 => "kubeadm.k8s.io/v1beta3",
        _ => "kubeadm.k8s.io/v1beta4",
    }
}

/// The version without its `v`, as packages write it.
pub(crate) fn plain(version: Version) -> String {
    format!("{}.{}.{}", version.major, version.minor, version.patch)
}

/// Every Talos 1.n runs six minors of Kubernetes, 1.(n+18) to 1.(n+23).
const TALOS_OLDEST_OFFSET: u32 = 18;
const TALOS_NEWEST_OFFSET: u32 = 23;

/// The minors of Talos 1 of which that is known.
const TALOS_KNOWN: RangeInclusive<u32> = 7..=13;

/// Talos releases that Butler chooses by itself, newest last: the oldest that runs the Kubernetes asked for and is still looked after.
const TALOS_TESTED: [Version; 2] = [Version::new(1, 12, 0), Version::new(1, 13, 0)];

/// The release of Talos for the pool.
pub(crate) fn talos(pool: &Pool) -> Result<Version, Error> {
    let options = pool.os.talos.as_ref().and_then(|talos| talos.version.as_deref());
    let asked = options.map(|version| ("os.talos.version", version));
    let Some((field, text)) = asked.or(pool.os.version.as_deref().map(|version| ("os.version", version))) else {
        let tested = TALOS_TESTED.into_iter().find(|talos| runs(*talos, pool.kubernetes));
        return Ok(tested.unwrap_or(TALOS_TESTED[TALOS_TESTED.len() - 1]));
    };
    let unknown = || Error::OsVersion {
        os: OsType::Talos,
        field,
        version: text.to_owned(),
        way_out: "write a release such as v1.12.0, or leave the field out".to_owned(),
    };
    let talos: Version = text.parse().map_err(|_| unknown())?;
    if talos.major != 1 || !TALOS_KNOWN.contains(&talos.minor) {
        return Err(unknown());
    }
    if runs(talos, pool.kubernetes) {
        return Ok(talos);
    }
    let line = |minor: u32| MinorVersion { major: 1, minor: minor.clamp(*TALOS_KNOWN.start(), *TALOS_KNOWN.end()) };
    let from = line(pool.kubernetes.minor.saturating_sub(TALOS_NEWEST_OFFSET));
    let to = line(pool.kubernetes.minor.saturating_sub(TALOS_OLDEST_OFFSET));
    Err(Error::TalosSkew { field, talos, kubernetes: pool.kubernetes, from, to })
}

fn runs(talos: Version, kubernetes: Version) -> bool {
    (talos.minor + TALOS_OLDEST_OFFSET..=talos.minor + TALOS_NEWEST_OFFSET).contains(&kubernetes.minor)
}

/// Refuses a release of Rocky Linux other than 9.
pub(crate) fn rocky(pool: &Pool) -> Result<(), Error> {
    let Some(version) = pool.os.version.as_deref() else { return Ok(()) };
    let nine = version == "9" || version.strip_prefix("9.").is_some_and(|minor| minor.parse::<u8>().is_ok());
    if nine { Ok(()) } else { Err(os_version(OsType::Rocky, version, "choose 9, or one of its minors such as 9.5")) }
}

/// Refuses what is no release of Flatcar, Bottlerocket or Kairos; which one runs is decided by the image.
pub(crate) fn numbered(pool: &Pool) -> Result<(), Error> {
    let Some(version) = pool.os.version.as_deref() else { return Ok(()) };
    let numbers: Vec<&str> = version.strip_prefix('v').unwrap_or(version).split('.').collect();
    match (2..=3).contains(&numbers.len()) && numbers.iter().all(|number| number.parse::<u32>().is_ok()) {
        true => Ok(()),
        false => Err(os_version(pool.os_type(), version, "write numbers such as 1.2.3, or leave the field out")),
    }
}

fn os_version(os: OsType, version: &str, way_out: &str) -> Error {
    Error::OsVersion { os, field: "os.version", version: version.to_owned(), way_out: way_out.to_owned() }
}
