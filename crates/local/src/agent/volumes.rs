//! What is behind a pod's volumes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::{
    DownwardAPIVolumeFile, KeyToPath, PersistentVolume, Pod, ServiceAccountTokenProjection, Volume as Declared,
};
use kube::ResourceExt;
use runtime::Key;

use super::fields::{Addresses, field, resource};
use super::sources::Sources;

/// What is behind a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Volume {
    /// Files made from objects, by their paths below the volume.
    Files(Files),
    /// A directory of this machine.
    Directory {
        /// Where.
        path: PathBuf,
        /// Whether it is made if it is not there.
        made: bool,
    },
}

/// Files by their paths.
pub(crate) type Files = BTreeMap<String, File>;

/// A file made from an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) bytes: Vec<u8>,
    pub(crate) mode: u32,
}

/// A token that a volume wants, of the pod's own account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TokenWish {
    pub(crate) audience: Option<String>,
    pub(crate) expiration_seconds: i64,
}

/// What a pod was given beside objects.
pub(crate) struct Given<'a> {
    pub(crate) addresses: Addresses,
    /// Tokens by wish. A token that was not asked for is left out of its volume.
    pub(crate) tokens: &'a BTreeMap<TokenWish, String>,
    /// Where empty directories are.
    pub(crate) directory: &'a Path,
}

/// The mode of files whose volume names none.
const DEFAULT_MODE: i32 = 0o644;

/// What is behind each volume of a pod, or why one cannot be had, in a kubelet's words.
pub(crate) fn resolve(pod: &Pod, sources: &dyn Sources, given: &Given<'_>) -> Result<BTreeMap<String, Volume>, String> {
    let declared = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    declared
        .map(|volume| match behind(pod, volume, sources, given) {
            Ok(found) => Ok((volume.name.clone(), found)),
            Err(cause) => Err(format!("MountVolume.SetUp failed for volume {:?} : {cause}", volume.name)),
        })
        .collect()
}

/// The tokens that a pod's volumes want.
pub(crate) fn token_wishes(pod: &Pod) -> Vec<TokenWish> {
    let declared = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let sources = declared.filter_map(|volume| volume.projected.as_ref()).flat_map(|p| p.sources.iter().flatten());
    sources.filter_map(|source| source.service_account_token.as_ref()).map(wish).collect()
}

fn wish(projection: &ServiceAccountTokenProjection) -> TokenWish {
    TokenWish {
        audience: projection.audience.clone().filter(|audience| !audience.is_empty()),
        expiration_seconds: projection.expiration_seconds.unwrap_or(3600),
    }
}

fn behind(pod: &Pod, volume: &Declared, sources: &dyn Sources, given: &Given<'_>) -> Result<Volume, String> {
    let resolver = Resolver { pod, sources, given, namespace: pod.namespace().unwrap_or_default() };
    if let Some(secret) = &volume.secret {
        let name = secret.secret_name.as_deref().unwrap_or_default();
        let mode = secret.default_mode.unwrap_or(DEFAULT_MODE);
        let optional = secret.optional == Some(true);
        return resolver.secret(name, secret.items.as_deref(), optional, mode).map(Volume::Files);
    }
    if let Some(map) = &volume.config_map {
        let mode = map.default_mode.unwrap_or(DEFAULT_MODE);
        let optional = map.optional == Some(true);
        return resolver.config_map(&map.name, map.items.as_deref(), optional, mode).map(Volume::Files);
    }
    if let Some(downward) = &volume.downward_api {
        let mode = downward.default_mode.unwrap_or(DEFAULT_MODE);
        return resolver.downward(downward.items.as_deref().unwrap_or_default(), mode).map(Volume::Files);
    }
    if let Some(projected) = &volume.projected {
        let mode = projected.default_mode.unwrap_or(DEFAULT_MODE);
        let mut files = Files::new();
        for source in projected.sources.iter().flatten() {
            if let Some(secret) = &source.secret {
                let optional = secret.optional == Some(true);
                files.extend(resolver.secret(&secret.name, secret.items.as_deref(), optional, mode)?);
            }
            if let Some(map) = &source.config_map {
                let optional = map.optional == Some(true);
                files.extend(resolver.config_map(&map.name, map.items.as_deref(), optional, mode)?);
            }
            if let Some(downward) = &source.downward_api {
                files.extend(resolver.downward(downward.items.as_deref().unwrap_or_default(), mode)?);
            }
            if let Some(projection) = &source.service_account_token
                && let Some(token) = given.tokens.get(&wish(projection))
            {
                let file = File { bytes: token.clone().into_bytes(), mode: mode.unsigned_abs() };
                files.insert(projection.path.clone(), file);
            }
        }
        return Ok(Volume::Files(files));
    }
    if let Some(host) = &volume.host_path {
        let made = host.type_.as_deref() == Some("DirectoryOrCreate");
        return Ok(Volume::Directory { path: host.path.clone().into(), made });
    }
    if let Some(claim) = &volume.persistent_volume_claim {
        return resolver.claim(&claim.claim_name).map(|path| Volume::Directory { path, made: true });
    }
    if volume.empty_dir.is_some() {
        return Ok(Volume::Directory { path: given.directory.join(&volume.name), made: true });
    }
    Err("no volume plugin matched; this node knows secret, configMap, projected, downwardAPI, emptyDir, hostPath and \
         persistentVolumeClaim"
        .into())
}

struct Resolver<'a> {
    pod: &'a Pod,
    sources: &'a dyn Sources,
    given: &'a Given<'a>,
    namespace: String,
}

impl Resolver<'_> {
    fn secret(&self, name: &str, items: Option<&[KeyToPath]>, optional: bool, mode: i32) -> Result<Files, String> {
        let found = self.sources.secret(&Key::new(&self.namespace, name));
        let data = match &found {
            Some(secret) => secret.data.iter().flatten().map(|(key, value)| (key.as_str(), value.0.as_slice())),
            None if optional => return Ok(Files::new()),
            None => return Err(format!("secret {name:?} not found")),
        };
        files(data.collect(), items, optional, mode).map_err(|key| format!("references non-existent secret key: {key}"))
    }

    fn config_map(&self, name: &str, items: Option<&[KeyToPath]>, optional: bool, mode: i32) -> Result<Files, String> {
        let found = self.sources.config_map(&Key::new(&self.namespace, name));
        let map = match &found {
            Some(map) => map,
            None if optional => return Ok(Files::new()),
            None => return Err(format!("configmap {name:?} not found")),
        };
        let texts = map.data.iter().flatten().map(|(key, value)| (key.as_str(), value.as_bytes()));
        let binary = map.binary_data.iter().flatten().map(|(key, value)| (key.as_str(), value.0.as_slice()));
        files(texts.chain(binary).collect(), items, optional, mode)
            .map_err(|key| format!("references non-existent config key: {key}"))
    }

    fn downward(&self, items: &[DownwardAPIVolumeFile], mode: i32) -> Result<Files, String> {
        let containers = self.pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default();
        let file = |item: &DownwardAPIVolumeFile| {
            let value = match (&item.field_ref, &item.resource_field_ref) {
                (Some(selector), _) => field(self.pod, &selector.field_path, &self.given.addresses)
                    .ok_or_else(|| format!("unsupported fieldPath: {}", selector.field_path))?,
                (None, Some(selector)) => resource(containers, "", selector)
                    .ok_or_else(|| format!("unsupported resource: {}", selector.resource))?,
                (None, None) => String::new(),
            };
            let mode = item.mode.unwrap_or(mode).unsigned_abs();
            Ok((item.path.clone(), File { bytes: value.into_bytes(), mode }))
        };
        items.iter().map(file).collect()
    }

    fn claim(&self, name: &str) -> Result<PathBuf, String> {
        let claim = self.sources.claim(&Key::new(&self.namespace, name));
        let claim = claim.ok_or_else(|| format!("persistentvolumeclaim {name:?} not found"))?;
        let bound = claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).filter(|name| !name.is_empty());
        let volume = bound.ok_or_else(|| format!("persistentvolumeclaim {name:?} is not bound yet"))?;
        let found = self.sources.volume(volume).ok_or_else(|| format!("persistentvolume {volume:?} not found"))?;
        directory(&found).ok_or_else(|| format!("persistentvolume {volume:?} is no directory of this node"))
    }
}

fn directory(volume: &PersistentVolume) -> Option<PathBuf> {
    let spec = volume.spec.as_ref()?;
    let host = spec.host_path.as_ref().map(|host| host.path.as_str());
    host.or_else(|| spec.local.as_ref().map(|local| local.path.as_str())).map(PathBuf::from)
}

/// Keys as files: all of them, or those named, under the paths named. Gives back a key that is not there.
fn files(data: BTreeMap<&str, &[u8]>, items: Option<&[KeyToPath]>, optional: bool, mode: i32) -> Result<Files, String> {
    let file = |bytes: &[u8], mode: i32| File { bytes: bytes.to_vec(), mode: mode.unsigned_abs() };
    let Some(items) = items.filter(|items| !items.is_empty()) else {
        return Ok(data.into_iter().map(|(key, bytes)| (key.to_owned(), file(bytes, mode))).collect());
    };
    let mut out = Files::new();
    for item in items {
        match data.get(item.key.as_str()) {
            Some(bytes) => {
                out.insert(item.path.clone(), file(bytes, item.mode.unwrap_or(mode)));
            }
            None if optional => {}
            None => return Err(item.key.clone()),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::agent::sources::Fixed;

    fn sources() -> Fixed {
        let object = |value: Value| value;
        Fixed {
            secrets: vec![
                serde_json::from_value(object(
                    json!({"metadata": {"name": "s", "namespace": "n"}, "data": {"tls.crt": "Yw==", "tls.key": "aw=="}}),
                ))
                .unwrap(),
            ],
            config_maps: vec![
                serde_json::from_value(json!({"metadata": {"name": "m", "namespace": "n"},
                    "data": {"a": "1"}, "binaryData": {"b": "AA=="}}))
                .unwrap(),
            ],
            claims: vec![
                serde_json::from_value(json!({"metadata": {"name": "c", "namespace": "n"}, "spec": {"volumeName": "v"}}))
                    .unwrap(),
                serde_json::from_value(json!({"metadata": {"name": "pending", "namespace": "n"}, "spec": {}})).unwrap(),
            ],
            volumes: vec![
                serde_json::from_value(json!({"metadata": {"name": "v"}, "spec": {"hostPath": {"path": "/volumes/v"}}}))
                    .unwrap(),
            ],
        }
    }

    fn one(volume: Value) -> Result<String, String> {
        let mut named = volume;
        named["name"] = "x".into();
        let pod = json!({"metadata": {"name": "p", "namespace": "n", "labels": {"l": "1"}},
            "spec": {"containers": [], "volumes": [named]}});
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let wish = TokenWish { audience: Some("etcd".into()), expiration_seconds: 600 };
        let given = Given {
            addresses: Addresses {
                pod: "10.0.0.1".parse().unwrap(),
                host: "10.0.0.2".parse().unwrap(),
                bound: "10.0.0.1".parse().unwrap(),
            },
            tokens: &BTreeMap::from([(wish, "token".to_owned())]),
            directory: Path::new("/pods/u/volumes"),
        };
        let shown = match &resolve(&pod, &sources(), &given)?["x"] {
            Volume::Directory { path, .. } => path.display().to_string(),
            Volume::Files(files) => {
                let text = |(path, file): (&String, &File)| {
                    format!("{path}:{:o}={}", file.mode, String::from_utf8_lossy(&file.bytes).escape_debug())
                };
                files.iter().map(text).collect::<Vec<_>>().join(" ")
            }
        };
        Ok(shown)
    }

    #[test]
    fn volumes_are_files_and_directories() {
        for (volume, shown) in [
            (json!({"secret": {"secretName": "s"}}), "tls.crt:644=c tls.key:644=k"),
            (
                json!({"secret": {"secretName": "s", "defaultMode": 0o400,
                    "items": [{"key": "tls.key", "path": "pki/ca.key"}]}}),
                "pki/ca.key:400=k",
            ),
            (json!({"secret": {"secretName": "none", "optional": true}}), ""),
            (json!({"configMap": {"name": "m"}}), "a:644=1 b:644=\\0"),
            (
                json!({"projected": {"sources": [
                    {"secret": {"name": "s", "items": [{"key": "tls.crt", "path": "ca.crt", "mode": 0o600}]}},
                    {"configMap": {"name": "m", "items": [{"key": "a", "path": "a"}]}},
                    {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
                    {"serviceAccountToken": {"path": "token", "audience": "etcd", "expirationSeconds": 600}},
                    {"serviceAccountToken": {"path": "unasked"}},
                ]}}),
                "a:644=1 ca.crt:600=c labels:644=l=\\\"1\\\" token:644=token",
            ),
            (
                json!({"downwardAPI": {"items": [{"path": "ip", "fieldRef": {"fieldPath": "status.podIP"}}]}}),
                "ip:644=10.0.0.1",
            ),
            (json!({"emptyDir": {}}), "/pods/u/volumes/x"),
            (json!({"hostPath": {"path": "/etc/ssl"}}), "/etc/ssl"),
            (json!({"persistentVolumeClaim": {"claimName": "c"}}), "/volumes/v"),
        ] {
            assert_eq!(one(volume.clone()).as_deref(), Ok(shown), "{volume}");
        }
    }

    #[test]
    fn what_is_missing_is_told_as_a_kubelet_tells_it() {
        for (volume, cause) in [
            (json!({"secret": {"secretName": "none"}}), "secret \"none\" not found"),
            (
                json!({"secret": {"secretName": "s", "items": [{"key": "x", "path": "x"}]}}),
                "references non-existent secret key: x",
            ),
            (json!({"configMap": {"name": "none"}}), "configmap \"none\" not found"),
            (
                json!({"projected": {"sources": [{"configMap": {"name": "m", "items": [{"key": "x", "path": "x"}]}}]}}),
                "references non-existent config key: x",
            ),
            (json!({"persistentVolumeClaim": {"claimName": "none"}}), "persistentvolumeclaim \"none\" not found"),
            (
                json!({"persistentVolumeClaim": {"claimName": "pending"}}),
                "persistentvolumeclaim \"pending\" is not bound yet",
            ),
        ] {
            let expected = format!("MountVolume.SetUp failed for volume \"x\" : {cause}");
            assert_eq!(one(volume).unwrap_err(), expected);
        }
    }
}
