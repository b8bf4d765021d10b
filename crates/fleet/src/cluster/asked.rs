//! What `spec.addons` asks for, with what the platform, the team and the infrastructure add to it. Pure.

use butler_api::butler::tenant_cluster::{
    CniProvider, GitOpsProvider, GitRepository, IngressProvider, LoadBalancerProvider, MonitoringProvider,
    StorageProvider, TenantAddons,
};
use butler_api::shared::{Provider, Raw};
use serde_json::{Map, Value, json};

use super::resolve::Wanted;

/// Paths of values that Butler sets by itself, whatever the catalogue lets users set.
pub(crate) const BUTLERS_VALUES: &[&str] = &[
    "kubeProxyReplacement",
    "k8sServiceHost",
    "k8sServicePort",
    "ipam",
    "addresses",
    "url",
    "branch",
    "path",
    "secretRef",
];
/// The addon with the addresses that MetalLB hands out: objects of kinds that come with MetalLB.
const ADDRESSES: &str = "metallb-addresses";
/// The addon with the repository that Flux follows.
const REPOSITORY: &str = "flux-repository";

/// One addon that a cluster asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    /// Name of the AddonDefinition.
    pub(crate) addon: String,
    /// Version, if one is named.
    pub(crate) version: Option<String>,
    /// Values over the catalogue's.
    pub(crate) values: Map<String, Value>,
}

/// Everything a cluster asks for, in the order of the spec. `endpoint` is where its API answers, as far as known.
pub(crate) fn asked(wanted: &Wanted, endpoint: Option<(String, i32)>) -> Vec<Asked> {
    let addons = &wanted.spec.addons;
    let mut all = Vec::new();
    all.extend(network(wanted, endpoint));
    all.extend(load_balancer(wanted));
    if let Some(switch) = addons.cert_manager.as_ref().filter(|switch| switch.enabled != Some(false)) {
        all.push(one("cert-manager", &switch.version, &switch.values));
    }
    if let Some(addon) = &addons.storage {
        let provider = addon.provider.unwrap_or(StorageProvider::Longhorn);
        if provider != StorageProvider::None {
            all.push(one(provider.as_str(), &addon.version, &addon.values));
        }
    }
    if let Some(addon) = addons.ingress.as_ref().filter(|addon| addon.enabled != Some(false)) {
        let provider = addon.provider.unwrap_or(IngressProvider::Traefik);
        if provider != IngressProvider::None {
            all.push(one(provider.as_str(), &addon.version, &addon.values));
        }
    }
    if let Some(addon) = &addons.monitoring {
        let provider = addon.provider.unwrap_or(MonitoringProvider::Prometheus);
        if provider != MonitoringProvider::None {
            all.push(one(provider.as_str(), &addon.version, &addon.values));
        }
    }
    if let Some(addon) = &addons.gitops {
        let is_flux = addon.provider.unwrap_or(GitOpsProvider::Flux) == GitOpsProvider::Flux;
        all.push(one(if is_flux { "flux" } else { "argocd" }, &addon.version, &None));
        all.extend(addon.repository.as_ref().filter(|_| is_flux).map(repository));
    }
    for name in &wanted.default_addons {
        let is_refused = refused(addons).contains(&name.as_str());
        if !is_refused && !all.iter().any(|asked| asked.addon == *name) {
            all.push(one(name, &None, &None));
        }
    }
    all
}

/// Where a TenantCluster says which version, and which values, of an addon it wants; nothing for what it cannot say.
pub fn addon_fields(addon: &str) -> (Option<String>, Option<String>) {
    let field = match addon {
        "cilium" => "cni",
        "metallb" => "loadBalancer",
        "cert-manager" => "certManager",
        "longhorn" | "linstor" => "storage",
        "traefik" | "nginx" => "ingress",
        "prometheus" | "victoriametrics" => "monitoring",
        "flux" | "argocd" => return (Some("spec.addons.gitops.version".to_owned()), None),
        ADDRESSES => return (None, Some("spec.addons.loadBalancer.addressPool".to_owned())),
        REPOSITORY => return (None, Some("spec.addons.gitops.repository".to_owned())),
        _ => return (None, None),
    };
    (Some(format!("spec.addons.{field}.version")), Some(format!("spec.addons.{field}.values")))
}

/// Whether Cilium connects the pods, and so does the job of kube-proxy.
pub(crate) fn has_cilium(addons: &TenantAddons) -> bool {
    let named = addons.cni.as_ref().and_then(|cni| cni.provider);
    named.unwrap_or(CniProvider::Cilium) == CniProvider::Cilium
}

/// Addons that the spec explicitly does without.
fn refused(addons: &TenantAddons) -> Vec<&'static str> {
    let off = [
        ("cert-manager", addons.cert_manager.as_ref().is_some_and(|addon| addon.enabled == Some(false))),
        ("cilium", !has_cilium(addons)),
        (
            "metallb",
            addons.load_balancer.as_ref().is_some_and(|addon| addon.provider == Some(LoadBalancerProvider::None)),
        ),
        ("longhorn", addons.storage.as_ref().is_some_and(|addon| addon.provider == Some(StorageProvider::None))),
        (
            "traefik",
            addons
                .ingress
                .as_ref()
                .is_some_and(|addon| addon.enabled == Some(false) || addon.provider == Some(IngressProvider::None)),
        ),
        (
            "prometheus",
            addons.monitoring.as_ref().is_some_and(|addon| addon.provider == Some(MonitoringProvider::None)),
        ),
    ];
    off.into_iter().filter(|(_, is_off)| *is_off).map(|(name, _)| name).collect()
}

/// The pod network: Cilium, told where the API is, because nothing but itself would lead there.
fn network(wanted: &Wanted, endpoint: Option<(String, i32)>) -> Option<Asked> {
    if !has_cilium(&wanted.spec.addons) {
        return None;
    }
    let (host, port) = endpoint?;
    let addon = wanted.spec.addons.cni.clone().unwrap_or_default();
    let mut values = object(json!({
        "kubeProxyReplacement": true,
        "k8sServiceHost": host,
        "k8sServicePort": port,
        "ipam": {"mode": "cluster-pool", "operator": {"clusterPoolIPv4PodCIDRList": [wanted.spec.networking.pod_cidr]}},
    }));
    helm::values::merge(&mut values, addon.values.unwrap_or_default().0);
    Some(Asked { addon: "cilium".to_owned(), version: addon.version, values })
}

/// MetalLB and its addresses, where the infrastructure has no load balancers of its own.
fn load_balancer(wanted: &Wanted) -> Vec<Asked> {
    let named = wanted.spec.addons.load_balancer.as_ref();
    let addresses = wanted.chosen.load_balancer_addresses.as_ref();
    let is_needed = !has_own_load_balancers(wanted.chosen.provider) && addresses.is_some();
    let provider = named.and_then(|addon| addon.provider);
    // Nobody is helped by a load balancer without addresses, unless they asked for it.
    if provider == Some(LoadBalancerProvider::None) || (named.is_none() && !is_needed) {
        return Vec::new();
    }
    let addon = named.cloned().unwrap_or_default();
    let mut all = vec![one("metallb", &addon.version, &addon.values)];
    all.extend(addresses.map(|range| Asked {
        addon: ADDRESSES.to_owned(),
        version: None,
        values: object(json!({"addresses": range})),
    }));
    all
}

fn has_own_load_balancers(provider: Option<Provider>) -> bool {
    matches!(provider, Some(Provider::Aws | Provider::Azure | Provider::Gcp))
}

fn repository(place: &GitRepository) -> Asked {
    let path = place.path.clone().unwrap_or_else(|| "./".to_owned());
    let mut values = object(json!({"url": place.url, "branch": place.branch, "path": path}));
    if let Some(secret) = &place.secret_ref {
        values.insert("secretRef".to_owned(), json!({"name": secret.name}));
    }
    Asked { addon: REPOSITORY.to_owned(), version: None, values }
}

fn one(addon: &str, version: &Option<String>, values: &Option<Raw>) -> Asked {
    Asked { addon: addon.to_owned(), version: version.clone(), values: values.clone().unwrap_or_default().0 }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use butler_api::butler::tenant_cluster::{Resolved, TenantClusterSpec};

    use super::*;

    fn names(addons: Value, provider: Provider, addresses: Option<&str>, defaults: &[&str]) -> Vec<String> {
        let spec: TenantClusterSpec = serde_json::from_value(json!({"addons": addons})).unwrap();
        let chosen = Resolved {
            provider: Some(provider),
            load_balancer_addresses: addresses.map(str::to_owned),
            ..Resolved::default()
        };
        let default_addons = defaults.iter().map(|name| (*name).to_owned()).collect();
        let wanted = Wanted { spec, version: "v1.34.4".parse().unwrap(), held: None, chosen, default_addons };
        asked(&wanted, Some(("10.0.0.9".into(), 6443))).into_iter().map(|asked| asked.addon).collect()
    }

    #[test]
    fn the_spec_the_team_and_the_infrastructure_decide() {
        let range = Some("10.40.1.0-10.40.1.50");
        for (addons, provider, addresses, defaults, expected) in [
            (json!({}), Provider::Local, None, vec![], vec!["cilium"]),
            (json!({"cni": {"provider": "none"}}), Provider::Local, None, vec!["cilium"], vec![]),
            (json!({}), Provider::Harvester, range, vec![], vec!["cilium", "metallb", "metallb-addresses"]),
            (json!({}), Provider::Aws, range, vec![], vec!["cilium"]),
            (json!({"loadBalancer": {"provider": "none"}}), Provider::Harvester, range, vec![], vec!["cilium"]),
            (json!({"loadBalancer": {}}), Provider::Local, None, vec![], vec!["cilium", "metallb"]),
            (
                json!({"storage": {}, "certManager": {}, "ingress": {}, "monitoring": {"provider": "victoriametrics"}}),
                Provider::Local,
                None,
                vec![],
                vec!["cilium", "cert-manager", "longhorn", "traefik", "victoriametrics"],
            ),
            (
                json!({"certManager": {"enabled": false}, "ingress": {"enabled": false}, "storage": {"provider": "none"}}),
                Provider::Local,
                None,
                vec!["cert-manager", "vault"],
                vec!["cilium", "vault"],
            ),
            (
                json!({"gitops": {"repository": {"url": "https://git"}}}),
                Provider::Local,
                None,
                vec!["cilium"],
                vec!["cilium", "flux", "flux-repository"],
            ),
        ] {
            let told = format!("{addons}");
            assert_eq!(names(addons, provider, addresses, &defaults), expected, "{told}");
        }
    }

    #[test]
    fn whatever_the_spec_asks_for_is_changed_by_fields_that_it_has() {
        let crd = serde_json::to_value(<butler_api::butler::TenantCluster as kube::CustomResourceExt>::crd()).unwrap();
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let repository = json!({"url": "https://git"});
        for storage in StorageProvider::ALL.iter().filter(|one| **one != StorageProvider::None) {
            for (ingress, monitoring, gitops) in
                [("traefik", "prometheus", "fluxcd"), ("nginx", "victoriametrics", "argocd")]
            {
                let addons = json!({
                    "storage": {"provider": storage}, "ingress": {"provider": ingress}, "certManager": {},
                    "monitoring": {"provider": monitoring}, "gitops": {"provider": gitops, "repository": repository},
                });
                for addon in names(addons, Provider::Harvester, Some("10.40.1.0-10.40.1.50"), &[]) {
                    let (version, values) = addon_fields(&addon);
                    assert!(version.is_some() || values.is_some(), "{addon}");
                    for field in [version, values].into_iter().flatten() {
                        let path = field.replace('.', "/properties/");
                        assert!(schema.pointer(&format!("/properties/{path}")).is_some(), "{addon} {field}");
                    }
                }
            }
        }
        assert_eq!(addon_fields("vault"), (None, None));
    }

    #[test]
    fn values_of_users_win_over_those_of_the_platform() {
        let spec = json!({
            "networking": {"podCIDR": "10.9.0.0/16"},
            "addons": {"cni": {"version": "1.17.0", "values": {"ipam": {"mode": "kubernetes"}, "hubble": {"on": true}}}},
        });
        let wanted = Wanted {
            spec: serde_json::from_value(spec).unwrap(),
            version: "v1.34.4".parse().unwrap(),
            held: None,
            chosen: Resolved::default(),
            default_addons: Vec::new(),
        };
        let cilium = asked(&wanted, Some(("10.0.0.9".into(), 6443))).remove(0);
        let expected = json!({
            "kubeProxyReplacement": true, "k8sServiceHost": "10.0.0.9", "k8sServicePort": 6443, "hubble": {"on": true},
            "ipam": {"mode": "kubernetes", "operator": {"clusterPoolIPv4PodCIDRList": ["10.9.0.0/16"]}},
        });
        assert_eq!((json!(cilium.values), cilium.version.as_deref()), (expected, Some("1.17.0")));
        // Before the API has an address, nobody could tell Cilium.
        assert!(asked(&wanted, None).is_empty());
    }
}
