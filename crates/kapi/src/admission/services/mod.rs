//! Addresses and ports of Services: given out once, held until the write that took them is stored.

mod addresses;
mod families;
mod node_ports;
mod range;
mod taken;

use ipnet::IpNet;
use kapi_schema::field::FieldError;
use serde_json::Value;

pub(crate) use taken::{Reservation, Taken};

use crate::call::Call;
use crate::object;
use crate::status::Status;

/// The ranges of an API's Services: one, or two of different families. The first says what is given by default.
pub(super) struct Ranges(Vec<IpNet>);

impl Ranges {
    fn parse(text: &str) -> Self {
        Self(text.split(',').filter_map(|part| part.trim().parse().ok()).collect())
    }

    fn of_family(&self, family: &str) -> Option<&IpNet> {
        self.0.iter().find(|net| family_of_net(net) == family)
    }

    fn default_family(&self) -> &'static str {
        self.0.first().map_or("IPv4", family_of_net)
    }

    fn is_dual(&self) -> bool {
        self.0.len() > 1
    }
}

fn family_of_net(net: &IpNet) -> &'static str {
    if matches!(net, IpNet::V6(_)) { "IPv6" } else { "IPv4" }
}

/// Gives a Service the addresses and ports it asks for.
pub(crate) fn allocate(
    call: &mut Call,
    object: &mut Value,
    old: Option<&Value>,
) -> Result<Option<Reservation>, Status> {
    if !call.served.is("", "Service") || !call.target.subresource.is_empty() {
        return Ok(None);
    }
    let ranges = Ranges::parse(&call.api.options.service_cidr);
    let mut reservation = call.api.admission.taken.reserve();
    if addresses::are_readable(object) {
        families::settle(&ranges, object, old)?;
        addresses::allocate(&ranges, &mut reservation, object, old)?;
    }
    let ports = node_ports::Ports { range: call.api.options.node_ports.clone(), dry_run: call.dry_run()? };
    node_ports::allocate(&ports, &mut reservation, object, old)?;
    Ok(Some(reservation))
}

/// The address the API's own Service has: the first of the range.
pub(crate) fn first_service_ip(cidr: &str) -> Option<String> {
    let net: IpNet = cidr.split(',').next()?.trim().parse().ok()?;
    net.hosts().next().map(|ip| ip.to_string())
}

fn invalid(service: &Value, errors: &[FieldError]) -> Status {
    Status::invalid("", "Service", object::name(service), errors)
}

/// Where a search for something free starts.
fn random() -> u128 {
    let mut bytes = [0; 16];
    // Without randomness the search starts at the beginning, which is as right, only more predictable.
    let _ = aws_lc_rs::rand::fill(&mut bytes);
    u128::from_le_bytes(bytes)
}
