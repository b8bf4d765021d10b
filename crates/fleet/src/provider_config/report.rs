//! What a ProviderConfig is told.

use std::sync::Arc;

use butler_api::butler::provider_config::{NetworkMode, ProviderCapacity, ProviderNetwork};
use butler_api::butler::{NetworkPool, ProviderConfig, ProviderConfigStatus};
use butler_api::names::conditions::READY;
use butler_api::shared::{Blocker, BlockerOwner};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use runtime::{Key, Verdict, blockers_since, conditions_since};

use super::credentials;
use crate::blockers::blocker;
use crate::network;

/// What a pass knows.
pub struct Observed {
    /// The ProviderConfig.
    pub provider: Arc<ProviderConfig>,
    /// The Secret with its credentials.
    pub secret: Option<Arc<Secret>>,
    /// All pools there are.
    pub pools: Vec<Arc<NetworkPool>>,
    /// Clusters that are made on it.
    pub used_by: Vec<Key>,
    /// The time.
    pub now: Timestamp,
}

/// What is known. Nothing is said of what nobody asked the infrastructure: its version, and whether it accepts the
/// credentials. Pure.
pub fn report(observed: &Observed) -> ProviderConfigStatus {
    let provider = &observed.provider;
    let before = provider.status.clone().unwrap_or_default();
    let generation = provider.metadata.generation;
    let credentials = credentials::check(provider, observed.secret.as_deref());
    let network = provider.spec.network.as_ref().filter(|network| network.mode == NetworkMode::Ipam);
    let capacity = network.map(|network| capacity(observed, network));
    let addresses = match (network, &capacity) {
        (Some(network), Some(capacity)) => addresses(observed, network, capacity),
        _ => Ok("addresses come from the provider itself".to_owned()),
    };
    let found = [&credentials, &addresses].into_iter().filter_map(|found| found.as_ref().err());
    let mut blockers: Vec<Blocker> = found.map(|blocker| (**blocker).clone()).collect();
    if provider.metadata.deletion_timestamp.is_some() {
        blockers.insert(0, in_use(&observed.used_by));
    }
    let verdict = |aspect, found: &Result<String, Box<Blocker>>| match found {
        Ok(message) => Verdict::holds(aspect, "Complete", message.clone()),
        Err(blocker) => Verdict::fails(aspect, blocker.reason.clone(), blocker.message.clone()),
    };
    let ready = match blockers.first() {
        None => Ok("everything that can be seen from here is there".to_owned()),
        Some(blocker) => Err(Box::new(blocker.clone())),
    };
    let verdicts =
        vec![verdict("CredentialsValid", &credentials), verdict("PoolAvailable", &addresses), verdict(READY, &ready)];
    ProviderConfigStatus {
        observed_generation: generation,
        ready: Some(blockers.is_empty()),
        validated: None,
        provider_version: None,
        capacity,
        last_probe_time: None,
        last_validation_time: None,
        conditions: conditions_since(&before.conditions, verdicts, generation, observed.now),
        blockers: blockers_since(&before.blockers, blockers, observed.now),
    }
}

fn capacity(observed: &Observed, network: &ProviderNetwork) -> ProviderCapacity {
    let size = u64::try_from(network::default_size(network)).unwrap_or(1).max(1);
    let spaces = network::provider_pools(&observed.provider, &observed.pools)
        .into_iter()
        .map(|pool| network::free(pool, &observed.pools));
    let (mut free, mut tenants) = (0, 0);
    for space in spaces {
        free += space.count();
        tenants += space.runs().iter().map(|run| run.count() / size).sum::<u64>();
    }
    let number = |count: u64| Some(i32::try_from(count).unwrap_or(i32::MAX));
    ProviderCapacity { available_ips: number(free), estimated_tenants: number(tenants) }
}

fn addresses(
    observed: &Observed,
    network: &ProviderNetwork,
    capacity: &ProviderCapacity,
) -> Result<String, Box<Blocker>> {
    let found = network::provider_pools(&observed.provider, &observed.pools).len();
    let named = network.pool_refs.len();
    let names: Vec<String> =
        network.pool_refs.iter().take(16).map(|reference| format!("NetworkPool {}", reference.name)).collect();
    if found == 0 {
        let remedy = "create one of them, or name others in spec.network.poolRefs";
        let missing = blocker("PoolMissing", "none of its pools exists", BlockerOwner::PlatformAdmin, remedy);
        return Err(Box::new(Blocker { evidence: names, ..missing }));
    }
    if capacity.available_ips == Some(0) {
        let remedy = "widen a pool, add another, or delete clusters that have addresses of them";
        let full =
            blocker("PoolExhausted", "none of its pools has a free address", BlockerOwner::PlatformAdmin, remedy);
        return Err(Box::new(Blocker { evidence: names, ..full }));
    }
    Ok(format!("{found} of the {named} pools it names can be used, and there are free addresses"))
}

fn in_use(used_by: &[Key]) -> Blocker {
    let evidence = used_by.iter().take(16).map(|key| format!("TenantCluster {key}")).collect();
    let message = format!("{} clusters are made on it", used_by.len());
    Blocker { evidence, ..blocker("InUse", message, BlockerOwner::PlatformAdmin, "delete these clusters first") }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object<K: serde::de::DeserializeOwned>(kind: &str, name: &str, rest: Value) -> Arc<K> {
        let mut object = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": "butler-system"},
        });
        object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        Arc::new(serde_json::from_value(object).unwrap())
    }

    fn secret(keys: &[&str]) -> Arc<Secret> {
        let data: serde_json::Map<_, _> = keys.iter().map(|key| ((*key).to_owned(), json!("eA=="))).collect();
        let object = json!({"metadata": {"name": "s", "namespace": "butler-system"}, "data": data});
        Arc::new(serde_json::from_value(object).unwrap())
    }

    fn told(spec: Value, secret: Option<Arc<Secret>>, pools: Vec<Arc<NetworkPool>>) -> ProviderConfigStatus {
        let provider = object("ProviderConfig", "here", json!({"spec": spec}));
        report(&Observed { provider, secret, pools, used_by: Vec::new(), now: Timestamp::UNIX_EPOCH })
    }

    fn reasons(status: &ProviderConfigStatus) -> Vec<&str> {
        status.blockers.iter().map(|blocker| blocker.reason.as_str()).collect()
    }

    #[test]
    fn credentials_are_there_and_complete_or_it_is_said_what_is_missing() {
        let harvester = json!({"provider": "harvester", "credentialsRef": {"name": "s"}});
        let other_key = json!({"provider": "harvester", "credentialsRef": {"name": "s", "key": "config"}});
        let aws = json!({"provider": "aws", "aws": {"region": "x", "credentialsRef": {"name": "s"}}});
        for (spec, keys, expected) in [
            (json!({"provider": "local"}), None, vec![]),
            (harvester.clone(), None, vec!["CredentialsMissing"]),
            (harvester.clone(), Some(vec!["config"]), vec!["CredentialsInvalid"]),
            (harvester, Some(vec!["kubeconfig"]), vec![]),
            (other_key, Some(vec!["config"]), vec![]),
            (aws.clone(), Some(vec!["accessKeyID"]), vec!["CredentialsInvalid"]),
            (aws, Some(vec!["accessKeyID", "secretAccessKey"]), vec![]),
        ] {
            let status = told(spec.clone(), keys.map(|keys| secret(&keys)), Vec::new());
            assert_eq!(reasons(&status), expected, "{spec}");
            assert_eq!(status.ready, Some(expected.is_empty()));
            // Nobody asked the provider.
            assert_eq!((status.validated, status.last_validation_time), (None, None));
        }
        let found = told(
            json!({"provider": "nutanix", "credentialsRef": {"name": "s"}}),
            Some(secret(&["username"])),
            Vec::new(),
        );
        assert_eq!(found.blockers[0].message, "Secret butler-system/s lacks password");
        let fine = told(
            json!({"provider": "harvester", "credentialsRef": {"name": "s"}}),
            Some(secret(&["kubeconfig"])),
            Vec::new(),
        );
        let message = "Secret butler-system/s has kubeconfig; whether harvester accepts them was not tried";
        assert_eq!(fine.conditions[0].message.as_deref(), Some(message));
    }

    #[test]
    fn room_is_counted_in_clusters() {
        let pool = |name: &str, cidr: &str, grants: Value| -> Arc<NetworkPool> {
            object("NetworkPool", name, json!({"spec": {"cidr": cidr}, "status": {"grants": grants}}))
        };
        let network =
            json!({"mode": "ipam", "poolRefs": [{"name": "a"}, {"name": "b"}], "loadBalancer": {"defaultPoolSize": 4}});
        let spec = json!({"provider": "local", "network": network});
        let grants = json!([{"name": "x", "uid": "x", "start": "10.0.0.7", "end": "10.0.0.8"}]);
        let none: Vec<Arc<NetworkPool>> = Vec::new();
        for (pools, expected, free) in [
            (none, vec!["PoolMissing"], (0, 0)),
            // Twelve addresses of fourteen, in rows of six.
            (vec![pool("a", "10.0.0.0/28", grants.clone())], vec![], (12, 2)),
            (vec![pool("a", "10.0.0.0/28", json!([])), pool("b", "10.0.1.0/29", json!([]))], vec![], (20, 4)),
            (
                vec![pool(
                    "a",
                    "10.0.0.7/31",
                    json!([{"name": "x", "uid": "x", "start": "10.0.0.6", "end": "10.0.0.7"}]),
                )],
                vec!["PoolExhausted"],
                (0, 0),
            ),
        ] {
            let status = told(spec.clone(), None, pools);
            assert_eq!(reasons(&status), expected);
            let capacity = status.capacity.unwrap();
            assert_eq!((capacity.available_ips, capacity.estimated_tenants), (Some(free.0), Some(free.1)));
        }
    }
}
