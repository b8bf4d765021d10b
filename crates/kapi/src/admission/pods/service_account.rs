//! Every pod has a ServiceAccount, and by default its token at the usual place.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::fields::{forbid, list, list_mut, present, push, push_spec, set_spec, stored, text};
use crate::call::Call;
use crate::status::Status;

const DEFAULT: &str = "default";
const MIRROR: &str = "/metadata/annotations/kubernetes.io~1config.mirror";
const VOLUME_PREFIX: &str = "kube-api-access-";
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const ENFORCE: &str = "/metadata/annotations/kubernetes.io~1enforce-mountable-secrets";
/// A controller makes the default account of a new namespace; it is given a moment to.
const ATTEMPTS: usize = 10;
const PAUSE: Duration = Duration::from_millis(100);

/// Gives a new pod its account, token and pull secrets.
pub(in super::super) async fn admit(call: &Call, pod: &mut Value) -> Result<(), Status> {
    if present(pod, MIRROR).is_some() {
        return check_mirror(call, pod);
    }
    if text(pod, "/spec/serviceAccountName").is_empty() {
        set_spec(pod, "serviceAccountName", DEFAULT);
    }
    let name = text(pod, "/spec/serviceAccountName").to_owned();
    set_spec(pod, "serviceAccount", name.as_str());
    let Some(account) = find(call, &name).await else { return Err(missing(call, pod, &name)) };
    if automounts(pod, &account) {
        mount_token(pod);
    }
    let pull = list(&account, "/imagePullSecrets");
    if list(pod, "/spec/imagePullSecrets").is_empty() && !pull.is_empty() {
        set_spec(pod, "imagePullSecrets", pull.iter().map(|secret| json!({"name": secret["name"]})).collect::<Value>());
    }
    limit_secrets(call, pod, &account)
}

/// Refuses a pod whose account is not there.
pub(in super::super) fn check(call: &Call, pod: &Value) -> Result<(), Status> {
    if present(pod, MIRROR).is_some() {
        return check_mirror(call, pod);
    }
    let name = text(pod, "/spec/serviceAccountName");
    if name.is_empty() {
        let why =
            format!("no service account specified for pod {}/{}", call.target.namespace, text(pod, "/metadata/name"));
        return Err(forbid(call, pod, why));
    }
    match stored(call, "serviceaccounts.", &format!("{}/{name}", call.target.namespace)) {
        Some(account) => limit_secrets(call, pod, &account),
        None => Err(missing(call, pod, name)),
    }
}

fn missing(call: &Call, pod: &Value, name: &str) -> Status {
    let namespace = &call.target.namespace;
    let why = format!("error looking up service account {namespace}/{name}: serviceaccount {name:?} not found");
    forbid(call, pod, why)
}

async fn find(call: &Call, name: &str) -> Option<Value> {
    let key = format!("{}/{name}", call.target.namespace);
    let attempts = if name == DEFAULT { ATTEMPTS } else { 1 };
    for attempt in 0..attempts {
        if attempt > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        let found = stored(call, "serviceaccounts.", &key);
        if found.is_some() {
            return found;
        }
    }
    None
}

/// A mirror pod shows a kubelet's static pod: it can refer to nothing in the API.
fn check_mirror(call: &Call, pod: &Value) -> Result<(), Status> {
    let volumes = list(pod, "/spec/volumes");
    let has_secret = volumes.iter().any(|volume| present(volume, "/secret").is_some())
        || containers(pod).any(|(_, container)| secrets_of(container).next().is_some())
        || !list(pod, "/spec/imagePullSecrets").is_empty();
    let projects_token = volumes
        .iter()
        .flat_map(|volume| list(volume, "/projected/sources"))
        .any(|source| present(source, "/serviceAccountToken").is_some());
    let why = if !text(pod, "/spec/serviceAccountName").is_empty() {
        "a mirror pod may not reference service accounts"
    } else if has_secret {
        "a mirror pod may not reference secrets"
    } else if projects_token {
        "a mirror pod may not use ServiceAccountToken volume projections"
    } else {
        return Ok(());
    };
    Err(forbid(call, pod, why))
}

fn automounts(pod: &Value, account: &Value) -> bool {
    let said = |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_bool);
    said(pod, "/spec/automountServiceAccountToken")
        .or_else(|| said(account, "/automountServiceAccountToken"))
        .unwrap_or(true)
}

fn mount_token(pod: &mut Value) {
    let known = list(pod, "/spec/volumes").iter().map(|volume| text(volume, "/name"));
    let known = known.into_iter().find(|name| name.starts_with(VOLUME_PREFIX)).map(str::to_owned);
    let name = known.clone().unwrap_or_else(|| format!("{VOLUME_PREFIX}{}", crate::write::random_suffix()));
    let mut needed = false;
    for pointer in ["/spec/initContainers", "/spec/containers"] {
        for container in list_mut(pod, pointer) {
            let mounted = list(container, "/volumeMounts").iter().any(|mount| text(mount, "/mountPath") == MOUNT_PATH);
            if let Some(container) = container.as_object_mut().filter(|_| !mounted) {
                push(container, "volumeMounts", json!({"name": name, "readOnly": true, "mountPath": MOUNT_PATH}));
                needed = true;
            }
        }
    }
    if known.is_none() && needed {
        push_spec(pod, "volumes", json!({"name": name, "projected": token_source()}));
    }
}

fn token_source() -> Value {
    json!({
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [
                {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
            ]}},
        ],
    })
}

fn containers(pod: &Value) -> impl Iterator<Item = (&'static str, &Value)> {
    let init = list(pod, "/spec/initContainers").iter().map(|container| ("init container", container));
    init.chain(list(pod, "/spec/containers").iter().map(|container| ("container", container)))
}

/// The Secrets a container's environment names, each with how.
fn secrets_of(container: &Value) -> impl Iterator<Item = (String, &str)> {
    let single = list(container, "/env").iter().filter_map(|env| {
        let secret = present(env, "/valueFrom/secretKeyRef")?;
        Some((format!("envVar {}", text(env, "/name")), text(secret, "/name")))
    });
    let whole = list(container, "/envFrom")
        .iter()
        .filter_map(|env| Some(("envFrom".to_owned(), text(present(env, "/secretRef")?, "/name"))));
    single.chain(whole)
}

/// Accounts can be made to limit the Secrets their pods use.
fn limit_secrets(call: &Call, pod: &Value, account: &Value) -> Result<(), Status> {
    if !matches!(text(account, ENFORCE), "1" | "t" | "T" | "TRUE" | "true" | "True") {
        return Ok(());
    }
    let owner = text(account, "/metadata/name");
    let lists = |pointer: &str, name: &str| list(account, pointer).iter().any(|secret| text(secret, "/name") == name);
    let refuse = |what: String| {
        let why = format!("{what} is not allowed because service account {owner} does not reference that secret");
        Err(forbid(call, pod, why))
    };
    for volume in list(pod, "/spec/volumes").iter().filter_map(|volume| present(volume, "/secret")) {
        let name = text(volume, "/secretName");
        if !lists("/secrets", name) {
            return refuse(format!("volume with secret.secretName=\"{name}\""));
        }
    }
    for (what, container) in containers(pod) {
        if let Some((how, name)) = secrets_of(container).find(|(_, name)| !lists("/secrets", name)) {
            let container = text(container, "/name");
            return refuse(format!("{what} {container} with {how} referencing secret.secretName=\"{name}\""));
        }
    }
    for (i, secret) in list(pod, "/spec/imagePullSecrets").iter().enumerate() {
        let name = text(secret, "/name");
        if !lists("/imagePullSecrets", name) {
            let why = format!(
                "imagePullSecrets[{i}].name=\"{name}\" is not allowed because service account {owner} does not reference \
                 that imagePullSecret"
            );
            return Err(forbid(call, pod, why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_mounted_once_where_nothing_else_is() {
        let mut pod = json!({"spec": {
            "initContainers": [{"name": "i", "volumeMounts": [{"name": "own", "mountPath": MOUNT_PATH}]}],
            "containers": [{"name": "c"}],
        }});
        mount_token(&mut pod);
        let name = text(&pod, "/spec/volumes/0/name").to_owned();
        assert_eq!(name.len(), VOLUME_PREFIX.len() + 5);
        assert_eq!(text(&pod, "/spec/containers/0/volumeMounts/0/name"), name);
        assert_eq!(list(&pod, "/spec/initContainers/0/volumeMounts").len(), 1);
        let before = pod.clone();
        mount_token(&mut pod);
        assert_eq!(pod, before);
    }

    #[test]
    fn the_pod_says_first_whether_to_mount() {
        let rows = [
            (json!({}), json!({}), true),
            (json!({}), json!({"automountServiceAccountToken": false}), false),
            (
                json!({"spec": {"automountServiceAccountToken": true}}),
                json!({"automountServiceAccountToken": false}),
                true,
            ),
        ];
        for (pod, account, expected) in rows {
            assert_eq!(automounts(&pod, &account), expected, "{pod} {account}");
        }
    }
}
