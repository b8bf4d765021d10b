//! What machines do at their first boot, by their operating system.

use butler_api::butler::tenant_cluster::Workers;
use butler_api::shared::Blocker;
use capi::bootstrap::{JoinConfiguration, KubeadmConfigSpec, NodeRegistration};
use kernel::version::Version;

use crate::cluster::Wanted;

/// The configuration of the machines of a pool.
pub(crate) fn config(
    _wanted: &Wanted,
    _workers: &Workers,
    _version: Version,
) -> Result<KubeadmConfigSpec, Vec<Blocker>> {
    Ok(KubeadmConfigSpec {
        join_configuration: Some(JoinConfiguration {
            node_registration: Some(NodeRegistration::default()),
            ..JoinConfiguration::default()
        }),
        ..KubeadmConfigSpec::default()
    })
}
