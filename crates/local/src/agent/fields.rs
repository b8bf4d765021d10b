//! What a pod is told about itself.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Container, Pod, ResourceFieldSelector};
use kernel::quantity::Quantity;
use kube::ResourceExt;

/// The value of a field of a pod, as `fieldRef` names it; nothing when there is no such field.
pub(crate) fn field(pod: &Pod, path: &str, node: &Addresses) -> Option<String> {
    let spec = pod.spec.as_ref();
    if let Some((map, key)) = subscript(path) {
        let found = match map {
            "metadata.labels" => pod.labels().get(key),
            "metadata.annotations" => pod.annotations().get(key),
            _ => return None,
        };
        return Some(found.cloned().unwrap_or_default());
    }
    match path {
        "metadata.name" => Some(pod.name_any()),
        "metadata.namespace" => pod.namespace(),
        "metadata.uid" => pod.uid(),
        "metadata.labels" => Some(lines(pod.labels())),
        "metadata.annotations" => Some(lines(pod.annotations())),
        "spec.nodeName" => spec.and_then(|spec| spec.node_name.clone()),
        "spec.serviceAccountName" => spec.and_then(|spec| spec.service_account_name.clone()),
        "status.hostIP" | "status.hostIPs" => Some(node.host.to_string()),
        "status.podIP" | "status.podIPs" => Some(node.pod.to_string()),
        _ => None,
    }
}

/// The addresses a pod is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses {
    pub(crate) pod: IpAddr,
    pub(crate) host: IpAddr,
    /// Where the pod really listens; it is not told.
    pub(crate) bound: IpAddr,
}

fn subscript(path: &str) -> Option<(&str, &str)> {
    let (map, key) = path.split_once('[')?;
    Some((map, key.strip_suffix(']')?.trim_matches('\'').trim_matches('"')))
}

fn lines(map: &BTreeMap<String, String>) -> String {
    map.iter().map(|(key, value)| format!("{key}={value:?}")).collect::<Vec<_>>().join("\n")
}

/// The value of a request or limit, in units of the divisor, rounded up. What is not given counts as nothing.
pub(crate) fn resource(containers: &[Container], own: &str, selector: &ResourceFieldSelector) -> Option<String> {
    let name = selector.container_name.as_deref().filter(|name| !name.is_empty()).unwrap_or(own);
    let resources = containers.iter().find(|container| container.name == name)?.resources.as_ref();
    let (list, resource) = selector.resource.split_once('.')?;
    let amounts = resources.and_then(|resources| match list {
        "limits" => resources.limits.as_ref(),
        _ => resources.requests.as_ref(),
    });
    let thousandths = |text: &str| text.parse::<Quantity>().ok().map(|q| q.milli_value().max(0).unsigned_abs());
    let amount = amounts.and_then(|amounts| amounts.get(resource)).and_then(|amount| thousandths(&amount.0));
    let divisor = selector.divisor.as_ref().and_then(|divisor| thousandths(&divisor.0)).filter(|d| *d > 0);
    Some(amount.unwrap_or(0).div_ceil(divisor.unwrap_or(1000)).to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_is_told_what_it_asks_for() {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": "n", "uid": "u", "labels": {"a": "1", "b/c": "2"}},
            "spec": {"nodeName": "here", "serviceAccountName": "default", "containers": []},
        }))
        .unwrap();
        let addresses = Addresses {
            pod: "127.112.0.1".parse().unwrap(),
            host: "127.0.0.1".parse().unwrap(),
            bound: "127.112.0.1".parse().unwrap(),
        };
        for (path, value) in [
            ("metadata.name", Some("p")),
            ("metadata.namespace", Some("n")),
            ("metadata.uid", Some("u")),
            ("metadata.labels['b/c']", Some("2")),
            ("metadata.labels['none']", Some("")),
            ("metadata.labels", Some("a=\"1\"\nb/c=\"2\"")),
            ("spec.nodeName", Some("here")),
            ("spec.serviceAccountName", Some("default")),
            ("status.podIP", Some("127.112.0.1")),
            ("status.hostIP", Some("127.0.0.1")),
            ("status.phase", None),
        ] {
            assert_eq!(field(&pod, path, &addresses).as_deref(), value, "{path}");
        }
    }

    #[test]
    fn resources_are_told_in_units_of_the_divisor() {
        let containers: Vec<Container> = serde_json::from_value(json!([
            {"name": "a", "resources": {"limits": {"cpu": "1500m", "memory": "64Mi"}, "requests": {"cpu": "250m"}}},
        ]))
        .unwrap();
        for (selector, value) in [
            (json!({"resource": "limits.cpu"}), "2"),
            (json!({"resource": "limits.cpu", "divisor": "1m"}), "1500"),
            (json!({"resource": "limits.memory", "divisor": "1Mi"}), "64"),
            (json!({"resource": "requests.cpu", "containerName": "a"}), "1"),
            (json!({"resource": "requests.memory"}), "0"),
        ] {
            let parsed = serde_json::from_value(selector.clone()).unwrap();
            assert_eq!(resource(&containers, "a", &parsed).as_deref(), Some(value), "{selector}");
        }
    }
}
