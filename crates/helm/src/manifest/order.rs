//! The order in which kinds are installed and removed.

use std::cmp::Ordering;

/// Kinds others need come first. What is not listed comes last, by name.
const INSTALL: [&str; 38] = [
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// What must go before what it serves.
const UNINSTALL_FIRST: [&str; 4] =
    ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService", "Ingress"];

fn compare(a: &str, b: &str, rank: impl Fn(&str) -> Option<usize>) -> Ordering {
    match (rank(a), rank(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Which of two kinds is installed first.
pub fn install_order(a: &str, b: &str) -> Ordering {
    compare(a, b, |kind| INSTALL.iter().position(|known| *known == kind))
}

/// Which of two kinds is removed first.
pub fn uninstall_order(a: &str, b: &str) -> Ordering {
    let rank = |kind: &str| {
        let first = UNINSTALL_FIRST.iter().position(|known| *known == kind);
        let rest = || INSTALL.iter().rev().position(|known| *known == kind).map(|rank| rank + UNINSTALL_FIRST.len());
        // Services go before what serves them.
        if kind == "Service" { Some(UNINSTALL_FIRST.len()) } else { first.or_else(rest) }
    };
    compare(a, b, rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_an_order() {
        let mut kinds = vec!["Zebra", "Deployment", "Ant", "Namespace", "Service", "ConfigMap"];
        kinds.sort_by(|a, b| install_order(a, b));
        assert_eq!(kinds, ["Namespace", "ConfigMap", "Service", "Deployment", "Ant", "Zebra"]);
        kinds.sort_by(|a, b| uninstall_order(a, b));
        assert_eq!(kinds, ["Service", "Deployment", "ConfigMap", "Namespace", "Ant", "Zebra"]);
    }
}
