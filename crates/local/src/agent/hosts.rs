//! Names of Services for processes of pods, in place of a DNS server.

use std::collections::BTreeSet;
use std::fmt::Write;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::ResourceExt;

/// A hosts file that knows every Service by its names, and the members of headless ones.
pub(crate) fn hosts<'a>(
    services: impl IntoIterator<Item = &'a Service>,
    slices: impl IntoIterator<Item = &'a EndpointSlice>,
) -> String {
    let mut out = String::from("127.0.0.1 localhost\n::1 localhost\n");
    let names = |first: &str, namespace: &str| {
        format!("{first}.{namespace}.svc {first}.{namespace}.svc.cluster.local {first}.{namespace}")
    };
    let mut lines = BTreeSet::new();
    for service in services {
        let namespace = service.namespace().unwrap_or_default();
        let address = service.spec.as_ref().and_then(|spec| spec.cluster_ip.as_deref());
        if let Some(address) = address.filter(|address| !matches!(*address, "" | "None")) {
            lines.insert(format!("{address} {}", names(&service.name_any(), &namespace)));
        }
    }
    for slice in slices {
        let namespace = slice.namespace().unwrap_or_default();
        let Some(service) = slice.labels().get("kubernetes.io/service-name") else { continue };
        for endpoint in &slice.endpoints {
            if let (Some(hostname), Some(address)) = (&endpoint.hostname, endpoint.addresses.first()) {
                lines.insert(format!("{address} {}", names(&format!("{hostname}.{service}"), &namespace)));
            }
        }
    }
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn services_and_members_of_headless_ones_have_names() {
        let service = |name: &str, ip: &str| -> Service {
            serde_json::from_value(json!({"metadata": {"name": name, "namespace": "n"}, "spec": {"clusterIP": ip}}))
                .unwrap()
        };
        let slice: EndpointSlice = serde_json::from_value(json!({
            "metadata": {"name": "x", "namespace": "n", "labels": {"kubernetes.io/service-name": "etcd"}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.0.0.1"], "hostname": "etcd-0"}, {"addresses": ["10.0.0.2"]}],
        }))
        .unwrap();
        assert_eq!(
            hosts([&service("api", "10.96.0.9"), &service("etcd", "None")], [&slice]),
            "127.0.0.1 localhost\n::1 localhost\n\
             10.0.0.1 etcd-0.etcd.n.svc etcd-0.etcd.n.svc.cluster.local etcd-0.etcd.n\n\
             10.96.0.9 api.n.svc api.n.svc.cluster.local api.n\n"
        );
    }
}
