//! The cluster addresses of a Service.

use std::net::IpAddr;

use kapi_schema::field::{FieldError, Path};
use serde_json::{Value, json};

use super::super::fields::{list, set_spec, text, texts};
use super::{Ranges, Reservation, invalid, random, range};
use crate::status::Status;

/// Whether all addresses asked for are addresses; if not, validation says what is wrong with them.
pub(super) fn are_readable(service: &Value) -> bool {
    let readable = |address: &Value| {
        address.as_str().is_some_and(|text| text.is_empty() || text == "None" || text.parse::<IpAddr>().is_ok())
    };
    list(service, "/spec/clusterIPs").iter().all(readable)
}

/// Takes the addresses asked for and finds those that are not.
pub(super) fn allocate(
    ranges: &Ranges,
    reservation: &mut Reservation,
    service: &mut Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    let kind = text(service, "/spec/type");
    if kind == "ExternalName" || text(service, "/spec/clusterIPs/0") == "None" {
        return Ok(());
    }
    // Addresses once given stay; only a Service that had none, or fewer, gets some.
    let kept = match old {
        None => 0,
        Some(old) if text(old, "/spec/type") == "ExternalName" => 0,
        Some(old) if text(old, "/spec/clusterIPs/0") == "None" => return Ok(()),
        Some(old) => list(old, "/spec/clusterIPs").len(),
    };
    let families: Vec<String> = texts(service, "/spec/ipFamilies").into_iter().map(str::to_owned).collect();
    let mut addresses: Vec<String> = texts(service, "/spec/clusterIPs").into_iter().map(str::to_owned).collect();
    addresses.resize(addresses.len().max(families.len()), String::new());
    for (family, address) in families.iter().zip(&mut addresses).skip(kept) {
        let Some(net) = ranges.of_family(family) else { continue };
        if address.is_empty() {
            let found = range::addresses(net, random()).find(|candidate| reservation.address(*candidate));
            let full = || Status::internal("failed to allocate a serviceIP: range is full");
            *address = found.ok_or_else(full)?.to_string();
        } else {
            take(net, reservation, address).map_err(|why| {
                let detail = format!("failed to allocate IP {address}: {why}");
                let given = service.pointer("/spec/clusterIPs").cloned().unwrap_or_default();
                invalid(service, &[FieldError::invalid(&Path::new("spec.clusterIPs"), &given, detail)])
            })?;
        }
    }
    set_spec(service, "clusterIP", addresses.first().cloned().unwrap_or_default());
    set_spec(service, "clusterIPs", json!(addresses));
    Ok(())
}

fn take(net: &ipnet::IpNet, reservation: &mut Reservation, address: &str) -> Result<(), String> {
    let Ok(address) = address.parse::<IpAddr>() else { return Ok(()) };
    if !net.contains(&address) {
        return Err("the provided network does not match the current range".into());
    }
    let (first, last) = range::bounds(net);
    if !(first..=last).contains(&range::number(address)) {
        return Err(format!("the provided IP ({address}) is not in the valid range. The range of valid IPs is {net}"));
    }
    if reservation.address(address) { Ok(()) } else { Err("provided IP is already allocated".into()) }
}

#[cfg(test)]
mod tests {
    use super::super::Taken;
    use super::*;

    fn allocated(taken: &Taken, spec: Value, old: Option<Value>) -> Result<(Value, Reservation), String> {
        let mut service = json!({"metadata": {"name": "s"}, "spec": spec});
        let old = old.map(|spec| json!({"spec": spec}));
        let mut reservation = taken.reserve();
        let ranges = Ranges::parse("10.96.0.0/29");
        allocate(&ranges, &mut reservation, &mut service, old.as_ref()).map_err(|status| status.message)?;
        Ok((service["spec"]["clusterIPs"].clone(), reservation))
    }

    #[test]
    fn addresses_are_given_once() {
        let taken = Taken::default();
        let plain = || json!({"ipFamilies": ["IPv4"]});
        let mut held = Vec::new();
        for _ in 0..6 {
            held.push(allocated(&taken, plain(), None).unwrap());
        }
        let mut given: Vec<String> = held.iter().map(|(ips, _)| ips[0].as_str().unwrap().to_owned()).collect();
        given.sort();
        given.dedup();
        assert_eq!(given.len(), 6);
        let full = allocated(&taken, plain(), None).map(|_| ()).unwrap_err();
        assert_eq!(full, "Internal error occurred: failed to allocate a serviceIP: range is full");
    }

    #[test]
    fn addresses_asked_for_are_checked() {
        let taken = Taken::default();
        let asked = |ip: &str| json!({"ipFamilies": ["IPv4"], "clusterIP": ip, "clusterIPs": [ip]});
        let held = allocated(&taken, asked("10.96.0.3"), None).unwrap();
        let rows = [
            ("10.96.0.3", "provided IP is already allocated"),
            ("192.0.2.1", "the provided network does not match the current range"),
            (
                "10.96.0.7",
                "the provided IP (10.96.0.7) is not in the valid range. The range of valid IPs is 10.96.0.0/29",
            ),
        ];
        for (ip, why) in rows {
            let expected = format!(
                "Service \"s\" is invalid: spec.clusterIPs: Invalid value: [{ip:?}]: failed to allocate IP {ip}: {why}"
            );
            assert_eq!(allocated(&taken, asked(ip), None).map(|_| ()).unwrap_err(), expected);
        }
        drop(held);
        assert!(allocated(&taken, asked("10.96.0.3"), None).is_ok());
    }

    #[test]
    fn changes_keep_their_address() {
        let taken = Taken::default();
        let had = json!({"type": "ClusterIP", "ipFamilies": ["IPv4"], "clusterIPs": ["10.96.0.3"]});
        let _others = allocated(&taken, had.clone(), None).unwrap();
        let (kept, _) = allocated(&taken, had.clone(), Some(had)).unwrap();
        assert_eq!(kept, json!(["10.96.0.3"]));
        let (new, _) =
            allocated(&taken, json!({"ipFamilies": ["IPv4"]}), Some(json!({"type": "ExternalName"}))).unwrap();
        assert_eq!(new.as_array().unwrap().len(), 1);
    }
}
