//! The environment of a container.

use k8s_openapi::api::core::v1::{Container, EnvVarSource, Pod};
use kube::ResourceExt;
use runtime::Key;

use super::expand::expand;
use super::fields::{Addresses, field, resource};
use super::sources::Sources;

/// The variables of a container in order, or why they cannot be had, in a kubelet's words.
pub(crate) fn environment(
    pod: &Pod,
    container: &Container,
    sources: &dyn Sources,
    addresses: &Addresses,
) -> Result<Vec<(String, String)>, String> {
    let namespace = pod.namespace().unwrap_or_default();
    let mut out: Vec<(String, String)> = Vec::new();
    let mut set = |name: String, value: String| {
        out.retain(|(known, _)| *known != name);
        out.push((name, value));
    };
    for source in container.env_from.iter().flatten() {
        let prefix = source.prefix.as_deref().unwrap_or_default();
        if let Some(reference) = &source.config_map_ref {
            match sources.config_map(&Key::new(&namespace, &reference.name)) {
                Some(map) => map.data.iter().flatten().for_each(|(k, v)| set(format!("{prefix}{k}"), v.clone())),
                None if reference.optional == Some(true) => {}
                None => return Err(format!("configmap {:?} not found", reference.name)),
            }
        }
        if let Some(reference) = &source.secret_ref {
            match sources.secret(&Key::new(&namespace, &reference.name)) {
                Some(secret) => secret.data.iter().flatten().for_each(|(k, v)| {
                    set(format!("{prefix}{k}"), String::from_utf8_lossy(&v.0).into_owned());
                }),
                None if reference.optional == Some(true) => {}
                None => return Err(format!("secret {:?} not found", reference.name)),
            }
        }
    }
    for variable in container.env.iter().flatten() {
        let value = match (&variable.value, &variable.value_from) {
            (_, Some(source)) => match referred(pod, container, source, sources, addresses)? {
                Some(value) => value,
                None => continue,
            },
            (value, None) => {
                let known = |name: &str| out.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
                expand(value.as_deref().unwrap_or_default(), known)
            }
        };
        out.retain(|(known, _)| *known != variable.name);
        out.push((variable.name.clone(), value));
    }
    Ok(out)
}

/// What a variable refers to; nothing when it is optional and not there.
fn referred(
    pod: &Pod,
    container: &Container,
    source: &EnvVarSource,
    sources: &dyn Sources,
    addresses: &Addresses,
) -> Result<Option<String>, String> {
    let namespace = pod.namespace().unwrap_or_default();
    if let Some(selector) = &source.field_ref {
        let value = field(pod, &selector.field_path, addresses);
        return value.map(Some).ok_or_else(|| format!("unsupported fieldPath: {}", selector.field_path));
    }
    if let Some(selector) = &source.resource_field_ref {
        let containers = pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default();
        return Ok(resource(containers, &container.name, selector));
    }
    if let Some(selector) = &source.secret_key_ref {
        let optional = selector.optional == Some(true);
        let Some(secret) = sources.secret(&Key::new(&namespace, &selector.name)) else {
            return if optional { Ok(None) } else { Err(format!("secret {:?} not found", selector.name)) };
        };
        return match secret.data.as_ref().and_then(|data| data.get(&selector.key)) {
            Some(value) => Ok(Some(String::from_utf8_lossy(&value.0).into_owned())),
            None if optional => Ok(None),
            None => Err(format!("couldn't find key {} in Secret {namespace}/{}", selector.key, selector.name)),
        };
    }
    if let Some(selector) = &source.config_map_key_ref {
        let optional = selector.optional == Some(true);
        let Some(map) = sources.config_map(&Key::new(&namespace, &selector.name)) else {
            return if optional { Ok(None) } else { Err(format!("configmap {:?} not found", selector.name)) };
        };
        return match map.data.as_ref().and_then(|data| data.get(&selector.key)) {
            Some(value) => Ok(Some(value.clone())),
            None if optional => Ok(None),
            None => Err(format!("couldn't find key {} in ConfigMap {namespace}/{}", selector.key, selector.name)),
        };
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::agent::sources::Fixed;

    fn variables(container: Value) -> Result<Vec<String>, String> {
        let sources = Fixed {
            secrets: vec![
                serde_json::from_value(json!({"metadata": {"name": "s", "namespace": "n"}, "data": {"k": "djE="}}))
                    .unwrap(),
            ],
            config_maps: vec![
                serde_json::from_value(json!({"metadata": {"name": "m", "namespace": "n"}, "data": {"k": "v2"}}))
                    .unwrap(),
            ],
            ..Fixed::default()
        };
        let pod = json!({"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": [container]}});
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let addresses = Addresses {
            pod: "10.0.0.1".parse().unwrap(),
            host: "10.0.0.2".parse().unwrap(),
            bound: "10.0.0.1".parse().unwrap(),
        };
        let container = &pod.spec.as_ref().unwrap().containers[0];
        let found = environment(&pod, container, &sources, &addresses)?;
        Ok(found.into_iter().map(|(name, value)| format!("{name}={value}")).collect())
    }

    #[test]
    fn variables_come_from_everywhere_in_order_and_see_those_before_them() {
        let container = json!({
            "name": "c",
            "envFrom": [{"prefix": "S_", "secretRef": {"name": "s"}}, {"configMapRef": {"name": "m"}},
                        {"configMapRef": {"name": "none", "optional": true}}],
            "env": [
                {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                {"name": "URL", "value": "https://$(IP):$(PORT)"},
                {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                {"name": "MAP", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}},
                {"name": "NONE", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "x", "optional": true}}},
                {"name": "k", "value": "again"},
            ],
        });
        let expected = ["S_k=v1", "IP=10.0.0.1", "URL=https://10.0.0.1:$(PORT)", "SECRET=v1", "MAP=v2", "k=again"];
        assert_eq!(variables(container).unwrap(), expected);
    }

    #[test]
    fn what_is_missing_is_told_as_a_kubelet_tells_it() {
        let from = |source: Value| variables(json!({"name": "c", "env": [{"name": "A", "valueFrom": source}]}));
        for (source, message) in [
            (json!({"secretKeyRef": {"name": "x", "key": "k"}}), "secret \"x\" not found"),
            (json!({"secretKeyRef": {"name": "s", "key": "x"}}), "couldn't find key x in Secret n/s"),
            (json!({"configMapKeyRef": {"name": "x", "key": "k"}}), "configmap \"x\" not found"),
            (json!({"configMapKeyRef": {"name": "m", "key": "x"}}), "couldn't find key x in ConfigMap n/m"),
        ] {
            assert_eq!(from(source).unwrap_err(), message);
        }
        let whole = variables(json!({"name": "c", "envFrom": [{"secretRef": {"name": "x"}}]}));
        assert_eq!(whole.unwrap_err(), "secret \"x\" not found");
    }
}
