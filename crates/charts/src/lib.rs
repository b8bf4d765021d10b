//! The built-in catalogue of addons, and what makes it work without a network.
//!
//! - [`definitions`] are the entries of the catalogue: public charts in the versions that Butler is tried with
//!   (`definitions/`, a file each).
//! - [`write_repository`] writes small charts of our own that stand in for them (`charts/` in the checkout) as a repository
//!   in a directory, and [`mirrors`] leads from the public repositories there.
//!
//! A stand-in has the workloads of the real chart under their names, with its images, and the values that Butler and the
//! catalogue set; nodes that only simulate pods cannot tell the difference. Everything is a part of the program, and the same
//! bytes whenever it is written. *Knows no cluster and nothing of how addons are installed.*

mod pack;
mod repository;

use butler_api::butler::AddonDefinition;
use helm::source::Mirror;

pub use repository::write_repository;

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}

/// The built-in entries of the catalogue, by order.
pub fn definitions() -> Vec<AddonDefinition> {
    let read = |(_, text): &(&str, &str)| kernel::yaml::from_str::<AddonDefinition>(text).ok();
    let mut all: Vec<AddonDefinition> = embedded::DEFINITIONS.iter().filter_map(read).collect();
    all.sort_by_key(|definition| definition.spec.order);
    all
}

/// Leads from every repository of the catalogue to the one that [`write_repository`] wrote, as `file:///…`.
pub fn mirrors(repository: &str) -> Vec<Mirror> {
    let mut prefixes: Vec<(String, String)> = Vec::new();
    for definition in definitions() {
        if let Some(chart) = definition.spec.chart {
            prefixes.push((chart.repository, repository.to_owned()));
        }
    }
    let manifests = format!("{}/manifests/cluster-api", repository.trim_end_matches('/'));
    prefixes.push((CLUSTER_API.to_owned(), manifests));
    prefixes.sort();
    prefixes.dedup();
    prefixes.into_iter().map(|(prefix, with)| Mirror { prefix, with }).collect()
}

/// Where Cluster API's manifests are published.
const CLUSTER_API: &str = "https://github.com/kubernetes-sigs/cluster-api/releases/download";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn name(definition: &AddonDefinition) -> String {
        definition.metadata.name.clone().unwrap_or_default()
    }

    #[test]
    fn the_catalogue_is_complete_and_in_order() {
        let names: Vec<String> = definitions().iter().map(name).collect();
        assert_eq!(
            names,
            [
                "kube-vip",
                "cilium",
                "metallb",
                "cert-manager",
                "longhorn",
                "traefik",
                "prometheus",
                "victoriametrics",
                "steward",
                "cluster-api",
                "cluster-api-kubeadm",
                "butler-controller",
                "flux",
            ]
        );
        assert_eq!(names.len(), embedded::DEFINITIONS.len(), "one cannot be read");
    }

    #[test]
    fn whatever_is_named_exists() {
        let all = definitions();
        let names: BTreeSet<String> = all.iter().map(name).collect();
        for definition in &all {
            let spec = &definition.spec;
            for other in spec.depends_on.iter().chain(&spec.conflicts_with) {
                assert!(names.contains(other), "{} names {other}", name(definition));
            }
            for other in &spec.depends_on {
                let first = all.iter().find(|found| name(found) == *other).unwrap();
                assert!(first.spec.order < spec.order, "{other} comes before {}", name(definition));
            }
            let Some(chart) = &spec.chart else { continue };
            let versions: Vec<&str> = pack::versions(&chart.name).collect();
            for version in chart.available_versions.iter().chain([&chart.default_version]) {
                assert!(versions.contains(&version.as_str()), "{} {version} is not among {versions:?}", chart.name);
            }
        }
    }

    #[test]
    fn every_public_repository_has_a_mirror() {
        let mirrors = mirrors("file:///srv/charts");
        for definition in definitions() {
            let addresses = definition.spec.chart.map(|chart| chart.repository);
            let addresses = addresses.into_iter().chain(definition.spec.manifests.and_then(|manifests| manifests.url));
            for address in addresses {
                let mirror = mirrors.iter().find(|mirror| address.starts_with(&mirror.prefix));
                assert!(mirror.is_some_and(|mirror| mirror.with.starts_with("file:///srv/charts")), "{address}");
            }
        }
    }
}
