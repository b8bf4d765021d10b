//! What a tenant asks for and does not get yet.

use butler_api::steward::tenant_control_plane::ControlPlaneAddons;

/// An addon that is asked for and cannot be served yet. Whoever asks is told, instead of waiting for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsupported {
    /// A way from the tenant's pods to an API server behind a host name.
    TcpProxy,
    /// Joining of nodes that bring their own protocol.
    WorkerBootstrap,
}

impl Unsupported {
    /// The field that asks for it.
    pub fn field(self) -> &'static str {
        match self {
            Self::TcpProxy => "spec.addons.tcpProxy",
            Self::WorkerBootstrap => "spec.addons.workerBootstrap",
        }
    }

    /// What can be done instead.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::TcpProxy => "remove it, and publish the API server at an address of its own",
            Self::WorkerBootstrap => "remove it, and let nodes join with a bootstrap token",
        }
    }
}

/// Everything that is asked for and cannot be served yet.
pub fn unsupported(addons: &ControlPlaneAddons) -> Vec<Unsupported> {
    let asked = [
        (Unsupported::TcpProxy, addons.tcp_proxy.is_some()),
        (Unsupported::WorkerBootstrap, addons.worker_bootstrap.is_some()),
    ];
    asked.into_iter().filter_map(|(what, asked)| asked.then_some(what)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_asked_for_in_vain_is_named() {
        for (addons, expected) in [
            (json!({}), vec![]),
            (json!({"coreDNS": {}, "kubeProxy": {}, "konnectivity": {}}), vec![]),
            (
                json!({"tcpProxy": {}, "workerBootstrap": {"provider": "talos"}}),
                vec!["spec.addons.tcpProxy", "spec.addons.workerBootstrap"],
            ),
        ] {
            let addons = serde_json::from_value(addons).unwrap();
            let found: Vec<_> = unsupported(&addons).into_iter().map(Unsupported::field).collect();
            assert_eq!(found, expected);
        }
    }
}
