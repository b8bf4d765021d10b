//! Services, and how traffic finds its way.

use std::collections::BTreeSet;

use serde_json::Value;

use super::cell::{Row, first_three, joined, list, number, text};
use super::{AGE, NAME, Printer, string};

pub(super) const PRINTERS: &[Printer] = &[
    Printer {
        group: "",
        kind: "Service",
        columns: &[
            NAME,
            string("Type", "How it is exposed."),
            string("Cluster-IP", "Its address inside the cluster."),
            string("External-IP", "Its addresses outside of the cluster."),
            string("Port(s)", "Its ports, each with the node's port where there is one."),
            AGE,
            string("Selector", "Which pods it leads to.").wide(),
        ],
        row: service,
    },
    Printer {
        group: "",
        kind: "Endpoints",
        columns: &[NAME, string("Endpoints", "The addresses and ports behind the service."), AGE],
        row: |it| vec![it.name(), endpoints(it).into(), it.age()],
    },
    Printer {
        group: "discovery.k8s.io",
        kind: "EndpointSlice",
        columns: &[
            NAME,
            string("AddressType", "What its addresses are."),
            string("Ports", "The ports every endpoint has."),
            string("Endpoints", "The addresses behind the service."),
            AGE,
        ],
        row: endpoint_slice,
    },
    Printer {
        group: "networking.k8s.io",
        kind: "Ingress",
        columns: &[
            NAME,
            string("Class", "The class of controller that serves it."),
            string("Hosts", "The host names it answers for."),
            string("Address", "Where its load balancer is reached."),
            string("Ports", "The ports it listens on."),
            AGE,
        ],
        row: ingress,
    },
    Printer {
        group: "networking.k8s.io",
        kind: "IngressClass",
        columns: &[
            NAME,
            string("Controller", "The controller that serves this class."),
            string("Parameters", "The object that configures the controller further."),
            AGE,
        ],
        row: |it| vec![it.name(), it.text("spec.controller").into(), parameters(it).into(), it.age()],
    },
    Printer {
        group: "networking.k8s.io",
        kind: "NetworkPolicy",
        columns: &[NAME, string("Pod-Selector", "Which pods it is about."), AGE],
        row: |it| vec![it.name(), it.selector("spec.podSelector"), it.age()],
    },
    Printer {
        group: "networking.k8s.io",
        kind: "ServiceCIDR",
        columns: &[NAME, string("CIDRs", "The ranges that cluster IPs come from."), AGE],
        row: |it| vec![it.name(), joined(it.list("spec.cidrs").iter().filter_map(Value::as_str)), it.age()],
    },
    Printer {
        group: "networking.k8s.io",
        kind: "IPAddress",
        // The row has an age that no column announces: so does the real server's.
        columns: &[NAME, string("ParentRef", "The object that holds the address.")],
        row: |it| vec![it.name(), parent(it).into(), it.age()],
    },
];

fn service(it: Row<'_>) -> Vec<Value> {
    let ports: Vec<String> = it.list("spec.ports").iter().map(port).collect();
    let ports = if ports.is_empty() { "<none>".to_owned() } else { ports.join(",") };
    vec![
        it.name(),
        it.text("spec.type").into(),
        it.list("spec.clusterIPs").first().and_then(Value::as_str).unwrap_or("<none>").into(),
        external_ip(it).into(),
        ports.into(),
        it.age(),
        it.labels("spec.selector"),
    ]
}

fn port(port: &Value) -> String {
    let (number_, node, protocol) = (number(port, "port"), number(port, "nodePort"), text(port, "protocol"));
    if node > 0 { format!("{number_}:{node}/{protocol}") } else { format!("{number_}/{protocol}") }
}

fn external_ip(it: Row<'_>) -> String {
    let fixed: Vec<&str> = it.list("spec.externalIPs").iter().filter_map(Value::as_str).collect();
    match it.text("spec.type") {
        "ClusterIP" | "NodePort" if fixed.is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => fixed.join(","),
        "LoadBalancer" => {
            let mut all: BTreeSet<&str> = BTreeSet::new();
            all.extend(it.list("status.loadBalancer.ingress").iter().filter_map(ingress_point));
            let all: Vec<&str> = all.into_iter().chain(fixed).collect();
            if all.is_empty() { "<pending>".to_owned() } else { all.join(",") }
        }
        "ExternalName" => it.text("spec.externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// The address of a load balancer, its name where it has none.
fn ingress_point(point: &Value) -> Option<&str> {
    [text(point, "ip"), text(point, "hostname")].into_iter().find(|address| !address.is_empty())
}

fn endpoints(it: Row<'_>) -> String {
    let subsets = it.list("subsets");
    if subsets.is_empty() {
        return "<none>".to_owned();
    }
    let mut all = Vec::new();
    for subset in subsets {
        let addresses = || list(subset, "addresses").iter().map(|address| text(address, "ip"));
        let ports = list(subset, "ports");
        if ports.is_empty() {
            all.extend(addresses().map(str::to_owned));
        }
        for port in ports {
            all.extend(addresses().map(|address| host_port(address, number(port, "port"))));
        }
    }
    first_three(&all, all.len())
}

fn host_port(host: &str, port: i64) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn endpoint_slice(it: Row<'_>) -> Vec<Value> {
    let ports: Vec<String> = it
        .list("ports")
        .iter()
        .map(|port| match (&port["port"], &port["name"]) {
            (Value::Number(number), _) => number.to_string(),
            (_, Value::String(name)) => name.clone(),
            _ => "*".to_owned(),
        })
        .collect();
    let addresses: Vec<String> = it
        .list("endpoints")
        .iter()
        .flat_map(|endpoint| list(endpoint, "addresses"))
        .filter_map(|address| address.as_str().map(str::to_owned))
        .collect();
    let or_unset = |all: &[String]| match first_three(all, all.len()) {
        text if text.is_empty() => Value::from("<unset>"),
        text => text.into(),
    };
    vec![it.name(), it.text("addressType").into(), or_unset(&ports), or_unset(&addresses), it.age()]
}

fn ingress(it: Row<'_>) -> Vec<Value> {
    let address: BTreeSet<&str> = it.list("status.loadBalancer.ingress").iter().filter_map(ingress_point).collect();
    let ports = if it.list("spec.tls").is_empty() { "80" } else { "80, 443" };
    vec![
        it.name(),
        it.text_or("spec.ingressClassName", "<none>"),
        hosts(it.list("spec.rules")).into(),
        joined(address.into_iter()),
        ports.into(),
        it.age(),
    ]
}

/// The real server counts what it leaves out by rules, named hosts or not.
fn hosts(rules: &[Value]) -> String {
    let mut named = Vec::new();
    let mut more = false;
    for rule in rules {
        more |= named.len() == 3;
        if !more && !text(rule, "host").is_empty() {
            named.push(text(rule, "host"));
        }
    }
    match (named.is_empty(), more) {
        (true, _) => "*".to_owned(),
        (false, false) => named.join(","),
        (false, true) => format!("{} + {} more...", named.join(","), rules.len() - 3),
    }
}

fn parameters(it: Row<'_>) -> String {
    let Some(parameters) = it.at("spec.parameters") else { return "<none>".to_owned() };
    let group = parameters["apiGroup"].as_str().map(|group| format!(".{group}")).unwrap_or_default();
    format!("{}{group}/{}", text(parameters, "kind"), text(parameters, "name"))
}

fn parent(it: Row<'_>) -> String {
    let Some(parent) = it.at("spec.parentRef") else { return "<none>".to_owned() };
    let mut out = text(parent, "resource").to_owned();
    if !text(parent, "group").is_empty() {
        out = format!("{out}.{}", text(parent, "group"));
    }
    out = out.to_lowercase();
    for key in ["namespace", "name"] {
        if key == "name" || !text(parent, key).is_empty() {
            out = format!("{out}/{}", text(parent, key));
        }
    }
    out
}
