//! Publication under a host name: an Ingress, or a route of a gateway, that passes TLS through to the API server.

use butler_api::shared::{IngressControllerType, Metadata};
use butler_api::steward::TenantControlPlaneSpec;
use butler_api::steward::tenant_control_plane::ControlPlane;
use k8s_openapi::api::networking::v1::{
    HTTPIngressPath, HTTPIngressRuleValue, Ingress, IngressBackend, IngressRule, IngressServiceBackend, IngressSpec,
    ServiceBackendPort,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};

use super::metadata;
use crate::names;

/// The port of ingress controllers.
const INGRESS_PORT: i32 = 443;
/// The port of a gateway's listener, unless its reference names another.
const GATEWAY_PORT: i32 = 6443;

/// The kind of a gateway's route. Newer releases of the Gateway API serve v1, older ones v1alpha2.
pub const ROUTE: (&str, &str, [&str; 2]) = ("gateway.networking.k8s.io", "TLSRoute", ["v1", "v1alpha2"]);
/// The kind of Traefik's route.
const TRAEFIK_ROUTE: (&str, &str, &str) = ("traefik.io", "IngressRouteTCP", "v1alpha1");

/// The host name and port by which clients reach the API server, where it is published under one.
pub fn published(control_plane: &ControlPlane) -> Option<(String, i32)> {
    let (ingress, gateway) = (control_plane.ingress.as_ref(), control_plane.gateway.as_ref());
    let by_gateway = || {
        let gateway = gateway?;
        let port = gateway.parent_refs.first().and_then(|parent| parent.0.get("port")?.as_i64());
        let port = port.and_then(|port| i32::try_from(port).ok()).unwrap_or(GATEWAY_PORT);
        Some((gateway.hostname.clone()?, port))
    };
    ingress.and_then(|ingress| Some((ingress.hostname.clone()?, INGRESS_PORT))).or_else(by_gateway)
}

/// The Ingress, if one is asked for and its controller reads them.
pub fn ingress(namespace: &str, name: &str, owner: &OwnerReference, spec: &TenantControlPlaneSpec) -> Option<Ingress> {
    let wanted = spec.control_plane.ingress.as_ref()?;
    let passing: &[(&str, &str)] = match wanted.controller_type.unwrap_or(IngressControllerType::Generic) {
        IngressControllerType::Traefik => return None,
        IngressControllerType::Haproxy => &[("haproxy.org/ssl-passthrough", "true")],
        IngressControllerType::Nginx => &[
            ("nginx.ingress.kubernetes.io/ssl-passthrough", "true"),
            ("nginx.ingress.kubernetes.io/backend-protocol", "HTTPS"),
        ],
        IngressControllerType::Generic => &[],
    };
    let mut metadata = described(namespace, name, owner, wanted.additional_metadata.as_ref());
    let annotations = metadata.annotations.get_or_insert_default();
    for (key, value) in passing {
        annotations.entry((*key).to_owned()).or_insert_with(|| (*value).to_owned());
    }
    let port = ServiceBackendPort { name: Some("kube-apiserver".to_owned()), number: None };
    let backend = IngressBackend {
        service: Some(IngressServiceBackend { name: name.to_owned(), port: Some(port) }),
        resource: None,
    };
    let path = HTTPIngressPath { path: Some("/".to_owned()), path_type: "Prefix".to_owned(), backend };
    let rule = IngressRule { host: wanted.hostname.clone(), http: Some(HTTPIngressRuleValue { paths: vec![path] }) };
    Some(Ingress {
        metadata,
        spec: Some(IngressSpec {
            ingress_class_name: wanted.ingress_class_name.clone(),
            rules: Some(vec![rule]),
            ..IngressSpec::default()
        }),
        status: None,
    })
}

/// The route, if one is asked for: of a gateway, or of Traefik, which passes nothing through for an Ingress.
pub fn route(
    namespace: &str,
    name: &str,
    owner: &OwnerReference,
    spec: &TenantControlPlaneSpec,
) -> Option<DynamicObject> {
    let (extra, (group, kind, version), body) = match (&spec.control_plane.gateway, &spec.control_plane.ingress) {
        (Some(gateway), _) => {
            let parents: Vec<Value> = gateway.parent_refs.iter().map(|raw| Value::Object(raw.0.clone())).collect();
            let backend = json!({"name": name, "port": spec.network_profile.port});
            let body = json!({
                "parentRefs": parents,
                "hostnames": [gateway.hostname],
                "rules": [{"backendRefs": [backend]}],
            });
            let (group, kind, [newest, _]) = ROUTE;
            (&gateway.additional_metadata, (group, kind, newest), body)
        }
        (None, Some(ingress)) if ingress.controller_type == Some(IngressControllerType::Traefik) => {
            let host = ingress.hostname.as_deref().unwrap_or_default();
            let service = json!({"name": name, "port": spec.network_profile.port});
            let body = json!({
                "entryPoints": ["websecure"],
                "routes": [{"match": format!("HostSNI(`{host}`)"), "services": [service]}],
                "tls": {"passthrough": true},
            });
            (&ingress.additional_metadata, TRAEFIK_ROUTE, body)
        }
        (None, _) => return None,
    };
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let mut route = DynamicObject::new(name, &resource).data(json!({"spec": body}));
    route.metadata = described(namespace, name, owner, extra.as_ref());
    Some(route)
}

fn described(namespace: &str, name: &str, owner: &OwnerReference, extra: Option<&Metadata>) -> ObjectMeta {
    let extra = extra.cloned().unwrap_or_default();
    let mut labels = names::labels(name, "control-plane");
    labels.extend(extra.labels);
    let mut metadata = metadata(namespace, name, labels, owner);
    metadata.annotations = (!extra.annotations.is_empty()).then_some(extra.annotations);
    metadata
}
