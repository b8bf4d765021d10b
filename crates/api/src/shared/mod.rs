//! Shapes that several kinds use.

mod blocker;
mod condition;
mod exposure;
mod machine;
mod network;
mod node_os;
mod providers;
mod quantity;
mod raw;
mod refs;
mod resources;

pub use blocker::{Blocker, BlockerOwner};
pub use condition::{Condition, ConditionStatus};
pub use exposure::{ControlPlaneExposure, ExposureMode, IngressControllerType, ServiceType};
pub use machine::{ExtraDisk, MachineRole, MachineTemplate, Taint, TaintEffect};
pub use network::AddressRange;
pub use node_os::{NodeOs, OsType, TalosOptions};
pub use providers::{
    AwsProvider, AzureProvider, GcpProvider, HarvesterProvider, LocalProvider, NutanixProvider, Provider,
    ProxmoxProvider, VmIdRange,
};
pub use quantity::{ByteSize, CpuCount, IntOrPercent, Quantity};
pub use raw::Raw;
pub use refs::{LocalRef, NameRef, NamespacedRef, SecretRef};
pub use resources::{ComponentResources, ControlPlaneResources, DedicatedEtcd, Metadata, ResourceAmounts};
