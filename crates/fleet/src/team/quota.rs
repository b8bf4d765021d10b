//! What a team uses of what it may use.

use butler_api::butler::TenantClusterSpec;
use butler_api::butler::butler_config::DefaultTeamLimits;
use butler_api::butler::team::{QuotaStatus, TeamLimits, TeamUsage};
use butler_api::shared::Quantity;
use kernel::quantity;

/// From which share of a limit on a team is close to it, in percent.
const CLOSE: i128 = 80;
const MEBI: u64 = 1 << 20;
const GIBI: u64 = 1 << 30;

/// What the clusters of a team have in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Clusters.
    pub clusters: u64,
    /// Worker nodes.
    pub nodes: u64,
    /// Worker nodes of the largest cluster.
    pub nodes_of_largest: u64,
    /// Processors of all worker nodes.
    pub cpu: u64,
    /// Bytes of memory of all worker nodes.
    pub memory: u64,
    /// Bytes of the system disks of all worker nodes.
    pub storage: u64,
}

/// Adds up what clusters ask for.
pub fn usage<'a>(clusters: impl Iterator<Item = &'a TenantClusterSpec>) -> Usage {
    let mut sum = Usage::default();
    for spec in clusters {
        let mut nodes = 0;
        for (_, workers) in spec.pools() {
            let count = u64::try_from(workers.replicas.unwrap_or(0)).unwrap_or(0);
            let machine = workers.machine_template.clone().unwrap_or_default();
            let bytes = |size: Option<butler_api::shared::ByteSize>| size.and_then(|size| size.bytes()).unwrap_or(0);
            nodes += count;
            sum.cpu += count * u64::from(machine.cpu.and_then(|cpu| cpu.cores()).unwrap_or(0));
            sum.memory = sum.memory.saturating_add(count.saturating_mul(bytes(machine.memory)));
            sum.storage = sum.storage.saturating_add(count.saturating_mul(bytes(machine.disk_size)));
        }
        sum.clusters += 1;
        sum.nodes += nodes;
        sum.nodes_of_largest = sum.nodes_of_largest.max(nodes);
    }
    sum
}

/// One limit and what is used of it.
struct Limit {
    name: &'static str,
    used: u64,
    limit: Option<i64>,
}

impl Limit {
    fn percent(&self) -> Option<i128> {
        let limit = i128::from(self.limit?);
        Some((i128::from(self.used) * 100).checked_div(limit).unwrap_or(if self.used > 0 { 101 } else { 0 }))
    }

    fn is_exceeded(&self) -> bool {
        self.limit.is_some_and(|limit| i128::from(self.used) > i128::from(limit))
    }

    fn utilization(&self) -> Option<i32> {
        self.percent().map(|percent| i32::try_from(percent.clamp(0, 100)).unwrap_or(100))
    }
}

/// How close a team is to its limits: the status, which limits, and all figures.
pub(super) fn judge(
    usage: Usage,
    own: Option<&TeamLimits>,
    platform: Option<&DefaultTeamLimits>,
) -> (QuotaStatus, Option<String>, TeamUsage) {
    let own = own.cloned().unwrap_or_default();
    let platform = platform.cloned().unwrap_or_default();
    let amount = |own: Option<Quantity>, platform: Option<Quantity>| own.or(platform).as_ref().and_then(value);
    let count = |own: Option<i32>, platform: Option<i32>| own.or(platform).map(i64::from);
    let limit = |name, used, limit| Limit { name, used, limit };
    let clusters = limit("clusters", usage.clusters, count(own.max_clusters, platform.max_clusters));
    let nodes = limit("nodes", usage.nodes, count(own.max_total_nodes, None));
    let largest = count(own.max_nodes_per_cluster, platform.max_workers_per_cluster);
    let largest = limit("nodes of the largest cluster", usage.nodes_of_largest, largest);
    let cpu = limit("processors", usage.cpu, amount(own.max_cpu_cores, platform.max_total_cpu));
    let memory = limit("bytes of memory", usage.memory, amount(own.max_memory, platform.max_total_memory));
    let storage = limit("bytes of disk", usage.storage, amount(own.max_storage, platform.max_total_storage));
    let figures = TeamUsage {
        clusters: i32::try_from(usage.clusters).ok(),
        total_nodes: i32::try_from(usage.nodes).ok(),
        total_cpu: i64::try_from(usage.cpu).ok().map(Quantity::Int),
        total_memory: Some(bytes(usage.memory)),
        total_storage: Some(bytes(usage.storage)),
        cluster_utilization: clusters.utilization(),
        node_utilization: nodes.utilization(),
        cpu_utilization: cpu.utilization(),
        memory_utilization: memory.utilization(),
    };
    let all = [clusters, nodes, largest, cpu, memory, storage];
    let close = |limit: &&Limit| limit.is_exceeded() || limit.percent().is_some_and(|percent| percent >= CLOSE);
    let told: Vec<String> = all
        .iter()
        .filter(close)
        .filter_map(|limit| Some(format!("{}: {} of {}", limit.name, limit.used, limit.limit?)))
        .collect();
    let status = match (all.iter().any(Limit::is_exceeded), told.is_empty()) {
        (true, _) => QuotaStatus::Exceeded,
        (false, false) => QuotaStatus::Warning,
        (false, true) => QuotaStatus::Ok,
    };
    (status, (!told.is_empty()).then(|| told.join(", ")), figures)
}

fn value(quantity: &Quantity) -> Option<i64> {
    quantity.to_string().parse::<quantity::Quantity>().ok().map(quantity::Quantity::value)
}

fn bytes(amount: u64) -> Quantity {
    Quantity::Text(match amount {
        whole if whole % GIBI == 0 => format!("{}Gi", whole / GIBI),
        whole if whole % MEBI == 0 => format!("{}Mi", whole / MEBI),
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn spec(workers: i32) -> TenantClusterSpec {
        let template = json!({"cpu": 4, "memory": "8Gi", "diskSize": "50Gi"});
        serde_json::from_value(json!({"workers": {"replicas": workers, "machineTemplate": template}})).unwrap()
    }

    #[test]
    fn use_is_added_up_and_compared() {
        let used = usage([spec(3), spec(1)].iter());
        let gibibytes = |amount: u64| amount << 30;
        let expected = Usage {
            clusters: 2,
            nodes: 4,
            nodes_of_largest: 3,
            cpu: 16,
            memory: gibibytes(32),
            storage: gibibytes(200),
        };
        assert_eq!(used, expected);
        for (limits, status, message) in [
            (json!({}), QuotaStatus::Ok, None),
            (json!({"maxClusters": 3, "maxCPUCores": 64}), QuotaStatus::Ok, None),
            (json!({"maxClusters": 2}), QuotaStatus::Warning, Some("clusters: 2 of 2")),
            (json!({"maxTotalNodes": 5, "maxMemory": "64Gi"}), QuotaStatus::Warning, Some("nodes: 4 of 5")),
            (json!({"maxNodesPerCluster": 2}), QuotaStatus::Exceeded, Some("nodes of the largest cluster: 3 of 2")),
            (json!({"maxClusters": 0}), QuotaStatus::Exceeded, Some("clusters: 2 of 0")),
            (
                json!({"maxCPUCores": 15, "maxClusters": 2}),
                QuotaStatus::Exceeded,
                Some("clusters: 2 of 2, processors: 16 of 15"),
            ),
        ] {
            let limits: TeamLimits = serde_json::from_value(limits).unwrap();
            let found = judge(used, Some(&limits), None);
            assert_eq!((found.0, found.1.as_deref()), (status, message), "{limits:?}");
        }
    }

    #[test]
    fn the_platform_limits_teams_that_set_none() {
        let platform = |value: Value| serde_json::from_value::<DefaultTeamLimits>(value).unwrap();
        let used = usage([spec(3)].iter());
        let (status, message, figures) = judge(used, None, Some(&platform(json!({"maxTotalMemory": "25Gi"}))));
        assert_eq!(status, QuotaStatus::Warning);
        assert_eq!(message.as_deref(), Some("bytes of memory: 25769803776 of 26843545600"));
        assert_eq!((figures.total_memory, figures.memory_utilization), (Some(Quantity::from("24Gi")), Some(96)));
        let own = TeamLimits { max_clusters: Some(9), ..TeamLimits::default() };
        assert_eq!(judge(used, Some(&own), Some(&platform(json!({"maxClusters": 1})))).0, QuotaStatus::Ok);
    }
}
