//! Where a webhook listens: its URL taken apart, or its Service looked up.

use serde_json::Value;

use super::super::fields::{int, list, stored, stored_all, text};
use super::client::Endpoint;
use super::index::{Hook, Place};
use crate::call::Call;

/// Finds the endpoint of a webhook. The error tells why there is none.
pub(super) fn find(call: &Call, hook: &Hook) -> Result<Endpoint, String> {
    match &hook.place {
        Place::Url(url) => of_url(url).ok_or_else(|| format!("webhook URL {url:?} is no https URL")),
        Place::Service { namespace, name, port, path } => {
            let host = format!("{name}.{namespace}.svc");
            let authority = format!("{host}:{port}");
            let path = if path.is_empty() || path.starts_with('/') { path.clone() } else { format!("/{path}") };
            let address = resolve(call, namespace, name, *port);
            Ok(Endpoint { authority, host, path, address })
        }
    }
}

fn of_url(url: &str) -> Option<Endpoint> {
    let uri: http::Uri = url.parse().ok()?;
    if uri.scheme_str() != Some("https") {
        return None;
    }
    let authority = uri.authority()?;
    let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
    let address = format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(443));
    let path = if uri.path() == "/" { String::new() } else { uri.path().to_owned() };
    Some(Endpoint { authority: authority.to_string(), host, path, address: Ok(address) })
}

/// The address behind a Service: a ready endpoint, else the Service's own address.
fn resolve(call: &Call, namespace: &str, name: &str, port: u16) -> Result<String, String> {
    let key = format!("{namespace}/{name}");
    let service = stored(call, "services.", &key).ok_or_else(|| format!("service {name:?} not found"))?;
    if text(&service, "/spec/type") == "ExternalName" {
        return Ok(format!("{}:{port}", text(&service, "/spec/externalName")));
    }
    let ports = list(&service, "/spec/ports");
    let found = ports.iter().find(|known| int(known, "/port") == Some(i64::from(port)));
    let Some(found) = found else { return Err(format!("no service port {port} found for service {name:?}")) };
    let port_name = text(found, "/name");
    let slices = stored_all(call, "endpointslices.discovery.k8s.io", &format!("{namespace}/"));
    let of_service = slices
        .iter()
        .filter(|slice| slice.pointer("/metadata/labels/kubernetes.io~1service-name") == Some(&name.into()));
    if let Some(address) = of_service.filter_map(|slice| in_slice(slice, port_name)).next() {
        return Ok(address);
    }
    let endpoints = stored(call, "endpoints.", &key);
    if let Some(address) = endpoints.and_then(|endpoints| in_endpoints(&endpoints, port_name)) {
        return Ok(address);
    }
    match text(&service, "/spec/clusterIP") {
        "" | "None" => Err(format!("no endpoints available for service {name:?}")),
        address => Ok(joined(address, i64::from(port))),
    }
}

fn in_slice(slice: &Value, port_name: &str) -> Option<String> {
    let port = int(named(list(slice, "/ports"), port_name)?, "/port")?;
    let ready = |endpoint: &&Value| endpoint.pointer("/conditions/ready").and_then(Value::as_bool).unwrap_or(true);
    let endpoint = list(slice, "/endpoints").iter().find(ready)?;
    Some(joined(text(endpoint, "/addresses/0"), port))
}

fn in_endpoints(endpoints: &Value, port_name: &str) -> Option<String> {
    list(endpoints, "/subsets").iter().find_map(|subset| {
        let port = int(named(list(subset, "/ports"), port_name)?, "/port")?;
        let address = list(subset, "/addresses").first()?;
        Some(joined(text(address, "/ip"), port))
    })
}

fn named<'a>(ports: &'a [Value], name: &str) -> Option<&'a Value> {
    ports.iter().find(|port| text(port, "/name") == name)
}

fn joined(address: &str, port: i64) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let endpoint = of_url("https://127.0.0.1:8443/a/b").unwrap();
        assert_eq!((endpoint.host.as_str(), endpoint.path.as_str()), ("127.0.0.1", "/a/b"));
        assert_eq!(endpoint.address.unwrap(), "127.0.0.1:8443");
        assert_eq!(of_url("https://[::1]/x").unwrap().address.unwrap(), "[::1]:443");
        assert_eq!(of_url("https://[::1]/x").unwrap().host, "::1");
        assert!(of_url("http://x").is_none() && of_url("").is_none());
    }

    #[test]
    fn the_first_ready_endpoint_is_taken() {
        let slice = json!({"ports": [{"name": "", "port": 9443}], "endpoints": [
            {"addresses": ["10.0.0.1"], "conditions": {"ready": false}},
            {"addresses": ["127.0.0.1"], "conditions": {"ready": true}},
        ]});
        assert_eq!(in_slice(&slice, ""), Some("127.0.0.1:9443".into()));
        assert_eq!(in_slice(&slice, "https"), None);
        let endpoints = json!({"subsets": [{"addresses": [{"ip": "::1"}], "ports": [{"port": 1}]}]});
        assert_eq!(in_endpoints(&endpoints, ""), Some("[::1]:1".into()));
    }
}
