//! Small things every room shares: YAML as kubectl reads it, quantities, versions, address ranges. No IO, no clock.

pub mod cidr;
pub mod duration;
pub mod quantity;
pub mod version;
pub mod yaml;
