//! What differs between Kubernetes' minor versions, as kubeadm of that minor has it.

use kernel::version::{NEWEST, OLDEST, Version};

use super::Error;

/// What a minor version of Kubernetes brings along.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Release {
    /// Version of kubeadm's API in which it uploads its configuration.
    pub(super) kubeadm_api: KubeadmApi,
    /// CoreDNS that belongs to it.
    pub(super) coredns_tag: &'static str,
    /// Whether CoreDNS leaves the cluster's own names out of its cache: they change faster than it forgets.
    pub(super) uncached_cluster_names: bool,
    /// Whether the ports of CoreDNS' probes have names.
    pub(super) named_probe_ports: bool,
}

/// A version of kubeadm's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KubeadmApi {
    V1Beta3,
    V1Beta4,
}

impl KubeadmApi {
    pub(super) fn api_version(self) -> &'static str {
        match self {
            Self::V1Beta3 => "kubeadm.k8s.io/v1beta3",
            Self::V1Beta4 => "kubeadm.k8s.io/v1beta4",
        }
    }
}

impl Release {
    /// The release a version belongs to.
    pub(super) fn of(version: Version) -> Result<Self, Error> {
        let coredns_tag = match (version.major, version.minor) {
            (1, 30..=32) => "v1.11.3",
            (1, 33) => "v1.12.0",
            (1, 34) => "v1.12.1",
            (1, 35) => "v1.13.1",
            (1, 36) => "v1.14.2",
            _ => return Err(Error::UnknownRelease { version, oldest: OLDEST, newest: NEWEST }),
        };
        Ok(Self {
            kubeadm_api: if version.minor >= 31 { KubeadmApi::V1Beta4 } else { KubeadmApi::V1Beta3 },
            coredns_tag,
            uncached_cluster_names: version.minor >= 32,
            named_probe_ports: version.minor >= 34,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_minors_in_between_are_known() {
        for minor in 0..100 {
            let found = Release::of(Version::new(1, minor, 1));
            assert_eq!(found.is_ok(), Version::new(1, minor, 1).is_supported(), "{minor}");
        }
        let refused = Release::of(Version::new(2, 34, 0)).unwrap_err();
        assert_eq!(refused.to_string(), "Kubernetes v2.34.0 is not known: choose one of v1.30 to v1.36");
    }
}
