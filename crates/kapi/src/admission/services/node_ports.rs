//! The ports a Service has on every node.

use std::ops::RangeInclusive;

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::super::fields::{int, list, list_mut, set_spec, text};
use super::{Reservation, invalid, random, range};
use crate::status::Status;

/// What a dry run gives out instead of a port: numbers from here on, which no Service can have.
const DRY_RUN_AFTER: u16 = 32768;

/// Where node ports come from.
pub(super) struct Ports {
    pub(super) range: RangeInclusive<u16>,
    pub(super) dry_run: bool,
}

/// Takes the ports asked for and finds those that are not.
pub(super) fn allocate(
    ports: &Ports,
    reservation: &mut Reservation,
    service: &mut Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    if matches!(text(service, "/spec/type"), "NodePort" | "LoadBalancer") {
        match old {
            None => on_create(ports, reservation, service)?,
            Some(old) => on_update(ports, reservation, service, old)?,
        }
    }
    if needs_health_check(service) && !old.is_some_and(needs_health_check) {
        health_check(ports, reservation, service)?;
    }
    Ok(())
}

fn needs_health_check(service: &Value) -> bool {
    text(service, "/spec/type") == "LoadBalancer" && text(service, "/spec/externalTrafficPolicy") == "Local"
}

fn gets_ports_unasked(service: &Value) -> bool {
    text(service, "/spec/type") == "NodePort"
        || service.pointer("/spec/allocateLoadBalancerNodePorts").and_then(Value::as_bool).unwrap_or(true)
}

fn node_port(port: &Value) -> i64 {
    int(port, "/nodePort").unwrap_or(0)
}

/// Ports of the same number (TCP and UDP, say) share a node port.
fn on_create(ports: &Ports, reservation: &mut Reservation, service: &mut Value) -> Result<(), Status> {
    let unasked = gets_ports_unasked(service);
    let given: Vec<(i64, i64)> =
        list(service, "/spec/ports").iter().map(|port| (int(port, "/port").unwrap_or(0), node_port(port))).collect();
    let mut known: Vec<(i64, i64)> = Vec::new();
    for (i, &(number, asked)) in given.iter().enumerate() {
        if asked == 0 && !unasked {
            continue;
        }
        let shared = known.iter().find(|(other, _)| *other == number).map(|(_, port)| *port);
        let chosen = match shared {
            Some(shared) if asked == 0 || asked == shared => shared,
            Some(_) => take(ports, reservation, service, i, asked)?,
            None => {
                let wanted = given.iter().find(|(other, port)| *other == number && *port != 0).map(|(_, port)| *port);
                let chosen = match wanted {
                    Some(wanted) => take(ports, reservation, service, i, wanted)?,
                    None => next(ports, reservation, "nodePort")?,
                };
                known.push((number, chosen));
                chosen
            }
        };
        set(service, i, chosen);
    }
    Ok(())
}

fn on_update(ports: &Ports, reservation: &mut Reservation, service: &mut Value, old: &Value) -> Result<(), Status> {
    let unasked = gets_ports_unasked(service);
    let had: Vec<i64> = list(old, "/spec/ports").iter().map(node_port).filter(|port| *port != 0).collect();
    let asked: Vec<i64> = list(service, "/spec/ports").iter().map(node_port).collect();
    let mut taken: Vec<i64> = Vec::new();
    for (i, &port) in asked.iter().enumerate() {
        if port == 0 {
            if unasked {
                let chosen = next(ports, reservation, "nodePort")?;
                set(service, i, chosen);
            }
        } else if !had.contains(&port) && !taken.contains(&port) {
            taken.push(take(ports, reservation, service, i, port)?);
        }
    }
    Ok(())
}

fn health_check(ports: &Ports, reservation: &mut Reservation, service: &mut Value) -> Result<(), Status> {
    match int(service, "/spec/healthCheckNodePort").unwrap_or(0) {
        0 => {
            let chosen = next(ports, reservation, "HealthCheck NodePort 0")?;
            set_spec(service, "healthCheckNodePort", chosen);
            Ok(())
        }
        asked => try_take(ports, reservation, asked).map(|_| ()).map_err(|why| {
            Status::internal(format!("failed to allocate requested HealthCheck NodePort {asked}: {why}"))
        }),
    }
}

fn set(service: &mut Value, index: usize, port: i64) {
    let entry = list_mut(service, "/spec/ports").get_mut(index).and_then(Value::as_object_mut);
    if let Some(entry) = entry {
        entry.insert("nodePort".into(), port.into());
    }
}

fn take(ports: &Ports, reservation: &mut Reservation, service: &Value, index: usize, port: i64) -> Result<i64, Status> {
    try_take(ports, reservation, port).map_err(|why| {
        let path = Path::new("spec.ports").index(index).child("nodePort");
        invalid(service, &[FieldError::invalid(&path, &port.into(), why)])
    })
}

fn try_take(ports: &Ports, reservation: &mut Reservation, port: i64) -> Result<i64, String> {
    match u16::try_from(port).ok().filter(|port| ports.range.contains(port)) {
        None => Err(format!(
            "provided port is not in the valid range. The range of valid ports is {}-{}",
            ports.range.start(),
            ports.range.end()
        )),
        Some(known) if reservation.port(known) => Ok(port),
        Some(_) => Err("provided port is already allocated".into()),
    }
}

fn next(ports: &Ports, reservation: &mut Reservation, what: &str) -> Result<i64, Status> {
    let found = if ports.dry_run {
        let last = reservation.highest_port().unwrap_or(DRY_RUN_AFTER);
        last.checked_add(1).filter(|port| reservation.port(*port))
    } else {
        range::ports(&ports.range, random()).find(|port| reservation.port(*port))
    };
    found.map(i64::from).ok_or_else(|| Status::internal(format!("failed to allocate a {what}: range is full")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Taken;
    use super::*;

    fn allocated(taken: &Taken, spec: Value, old: Option<Value>) -> Result<(Value, Reservation), String> {
        let mut service = json!({"metadata": {"name": "s"}, "spec": spec});
        let old = old.map(|spec| json!({"spec": spec}));
        let mut reservation = taken.reserve();
        let ports = Ports { range: 30000..=30003, dry_run: false };
        allocate(&ports, &mut reservation, &mut service, old.as_ref()).map_err(|status| status.message)?;
        Ok((service["spec"].clone(), reservation))
    }

    #[test]
    fn ports_asked_for_are_checked() {
        let taken = Taken::default();
        let asked = |port: u32| json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]});
        let _held = allocated(&taken, asked(30001), None).unwrap();
        let rows = [
            (30001, "provided port is already allocated"),
            (80, "provided port is not in the valid range. The range of valid ports is 30000-30003"),
        ];
        for (port, why) in rows {
            let expected = format!("Service \"s\" is invalid: spec.ports[0].nodePort: Invalid value: {port}: {why}");
            assert_eq!(allocated(&taken, asked(port), None).map(|_| ()).unwrap_err(), expected);
        }
    }

    #[test]
    fn ports_of_one_number_share_a_node_port() {
        let spec =
            json!({"type": "NodePort", "ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]});
        let (spec, _held) = allocated(&Taken::default(), spec, None).unwrap();
        assert_eq!(spec["ports"][0]["nodePort"], spec["ports"][1]["nodePort"]);
    }

    #[test]
    fn a_dry_run_gives_out_dummies() {
        let mut service = json!({"spec": {"type": "NodePort", "ports": [{"port": 80}, {"port": 81}]}});
        let ports = Ports { range: 30000..=30003, dry_run: true };
        allocate(&ports, &mut Taken::default().reserve(), &mut service, None).unwrap();
        assert_eq!(service["spec"]["ports"], json!([{"port": 80, "nodePort": 32769}, {"port": 81, "nodePort": 32770}]));
    }

    #[test]
    fn balancers_get_what_they_ask_for() {
        let taken = Taken::default();
        let without = json!({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{"port": 80}]});
        let (spec, _) = allocated(&taken, without, None).unwrap();
        assert_eq!(spec["ports"][0].get("nodePort"), None);
        let local = json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]});
        let (spec, _held) = allocated(&taken, local, None).unwrap();
        assert_ne!(spec["healthCheckNodePort"], spec["ports"][0]["nodePort"]);
        assert!(spec["healthCheckNodePort"].is_i64());
    }

    #[test]
    fn changes_keep_their_ports() {
        let taken = Taken::default();
        let had = json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30001}]});
        taken.observe("a/s", Some(json!({"spec": had}).to_string().as_bytes()));
        let new = json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30001}, {"port": 81}]});
        let (spec, _held) = allocated(&taken, new, Some(had)).unwrap();
        assert_eq!(spec["ports"][0]["nodePort"], 30001);
        assert_ne!(spec["ports"][1]["nodePort"], 30001);
    }
}
