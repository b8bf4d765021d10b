//! Which nodes need which objects: kept from pods, volumes and attachments.

use std::collections::{HashMap, HashSet};

use parking_lot::RwLock;
use serde_json::Value;

use super::pod::visit_references;
use crate::objects::{at, text};

/// The kinds of object a node may read because of its pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Pod,
    Secret,
    ConfigMap,
    Claim,
    ServiceAccount,
    ResourceClaim,
    Attachment,
    Slice,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    kind: Kind,
    namespace: Box<str>,
    name: Box<str>,
}

/// A node, and what it may read because of one object.
struct Holder {
    node: Box<str>,
    references: Vec<Key>,
}

/// A volume: readable by the nodes of its claim, together with its Secrets.
struct Volume {
    claim: Key,
    secrets: Vec<SecretKey>,
}

/// Namespace and name.
type SecretKey = (Box<str>, Box<str>);

#[derive(Default)]
struct State {
    holders: HashMap<Key, Holder>,
    /// For every object the nodes that need it, with the number of reasons.
    nodes_of: HashMap<Key, HashMap<Box<str>, u32>>,
    volumes: HashMap<Box<str>, Volume>,
    volumes_by_secret: HashMap<SecretKey, Vec<Box<str>>>,
}

/// Which objects each node may read, kept current by [`apply_event`](Self::apply_event).
#[derive(Default)]
pub struct NodeGraph {
    state: RwLock<State>,
}

impl NodeGraph {
    /// A graph that knows of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes over the current state of one object of the kinds Pod, PersistentVolume, VolumeAttachment and
    /// ResourceSlice; none means that it was deleted. Other kinds are ignored.
    pub fn apply_event(&self, kind: &str, namespace: &str, name: &str, object: Option<&Value>) {
        match kind {
            "Pod" => self.put_holder(Kind::Pod, namespace, name, object, &["spec", "nodeName"]),
            "VolumeAttachment" => self.put_holder(Kind::Attachment, "", name, object, &["spec", "nodeName"]),
            "ResourceSlice" => self.put_holder(Kind::Slice, "", name, object, &["spec", "nodeName"]),
            "PersistentVolume" => self.put_volume(name, object),
            _ => {}
        }
    }

    fn put_holder(&self, kind: Kind, namespace: &str, name: &str, object: Option<&Value>, node_path: &[&str]) {
        let key = Key { kind, namespace: namespace.into(), name: name.into() };
        let holder = object.and_then(|object| {
            let node = text(object, node_path);
            (!node.is_empty()).then(|| Holder { node: node.into(), references: references(&key, object) })
        });
        let mut state = self.state.write();
        state.release(&key);
        if let Some(holder) = holder {
            state.hold(key, holder);
        }
    }

    fn put_volume(&self, name: &str, object: Option<&Value>) {
        let volume = object.and_then(read_volume);
        let mut state = self.state.write();
        if let Some(old) = state.volumes.remove(name) {
            for secret in old.secrets {
                if let Some(volumes) = state.volumes_by_secret.get_mut(&secret) {
                    volumes.retain(|v| v.as_ref() != name);
                    if volumes.is_empty() {
                        state.volumes_by_secret.remove(&secret);
                    }
                }
            }
        }
        if let Some(volume) = volume {
            for secret in &volume.secrets {
                state.volumes_by_secret.entry(secret.clone()).or_default().push(name.into());
            }
            state.volumes.insert(name.into(), volume);
        }
    }

    /// Whether the node needs this object.
    pub(super) fn relates(&self, node: &str, kind: Kind, namespace: &str, name: &str) -> bool {
        let key = Key { kind, namespace: namespace.into(), name: name.into() };
        let state = self.state.read();
        if state.needs(node, &key) {
            return true;
        }
        if kind != Kind::Secret {
            return false;
        }
        let volumes = state.volumes_by_secret.get(&(key.namespace, key.name));
        volumes.into_iter().flatten().any(|volume| state.needs_volume(node, volume))
    }

    /// Whether the node needs this volume.
    pub(super) fn relates_to_volume(&self, node: &str, volume: &str) -> bool {
        self.state.read().needs_volume(node, volume)
    }
}

impl State {
    fn needs(&self, node: &str, key: &Key) -> bool {
        self.nodes_of.get(key).is_some_and(|nodes| nodes.contains_key(node))
    }

    fn needs_volume(&self, node: &str, volume: &str) -> bool {
        self.volumes.get(volume).is_some_and(|volume| self.needs(node, &volume.claim))
    }

    fn hold(&mut self, key: Key, holder: Holder) {
        for reference in &holder.references {
            *self.nodes_of.entry(reference.clone()).or_default().entry(holder.node.clone()).or_default() += 1;
        }
        self.holders.insert(key, holder);
    }

    fn release(&mut self, key: &Key) {
        let Some(holder) = self.holders.remove(key) else { return };
        for reference in &holder.references {
            let Some(nodes) = self.nodes_of.get_mut(reference) else { continue };
            match nodes.get_mut(&holder.node) {
                Some(count) if *count > 1 => *count -= 1,
                _ => {
                    nodes.remove(&holder.node);
                }
            }
            if nodes.is_empty() {
                self.nodes_of.remove(reference);
            }
        }
    }
}

/// The object itself, and for a pod all it refers to. The kubelet makes mirror pods itself, so they open nothing.
fn references(key: &Key, object: &Value) -> Vec<Key> {
    let mut all = HashSet::from([key.clone()]);
    let is_mirror = at(object, &["metadata", "annotations", "kubernetes.io/config.mirror"]).is_some();
    if key.kind == Kind::Pod && !is_mirror {
        visit_references(object, |kind, name| {
            all.insert(Key { kind, namespace: key.namespace.clone(), name: name.as_ref().into() });
        });
    }
    all.into_iter().collect()
}

fn read_volume(object: &Value) -> Option<Volume> {
    let claim = at(object, &["spec", "claimRef"])?;
    let claim_namespace = text(claim, &["namespace"]);
    let claim = Key { kind: Kind::Claim, namespace: claim_namespace.into(), name: text(claim, &["name"]).into() };
    let spec = object.get("spec")?;
    let mut secrets = Vec::new();
    let mut add = |reference: Option<&Value>, namespace_field: &str, name_field: &str| {
        let Some(reference) = reference else { return };
        let name = text(reference, &[name_field]);
        let own = text(reference, &[namespace_field]);
        if !name.is_empty() {
            secrets.push((if own.is_empty() { claim_namespace } else { own }.into(), name.into()));
        }
    };
    add(spec.get("azureFile"), "secretNamespace", "secretName");
    for source in ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"] {
        add(at(spec, &[source, "secretRef"]), "namespace", "name");
    }
    for reference in ["nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"] {
        add(at(spec, &["csi", reference]), "namespace", "name");
    }
    Some(Volume { claim, secrets })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(node: &str) -> Value {
        json!({"metadata": {"name": "p", "namespace": "ns"}, "spec": {
            "nodeName": node, "serviceAccountName": "bot", "imagePullSecrets": [{"name": "pull"}],
            "initContainers": [{"envFrom": [{"secretRef": {"name": "from"}}, {"configMapRef": {"name": "cfrom"}}]}],
            "containers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "env"}}},
                {"valueFrom": {"configMapKeyRef": {"name": "cenv"}}}]}],
            "volumes": [{"secret": {"secretName": "vol"}}, {"configMap": {"name": "cvol"}},
                {"projected": {"sources": [{"secret": {"name": "proj"}}, {"configMap": {"name": "cproj"}}]}},
                {"persistentVolumeClaim": {"claimName": "claim"}}, {"name": "eph", "ephemeral": {}},
                {"csi": {"nodePublishSecretRef": {"name": "csi"}}}],
            "resourceClaims": [{"resourceClaimName": "gpu"}]}})
    }

    #[test]
    fn pods_open_what_they_refer_to() {
        let graph = NodeGraph::new();
        graph.apply_event("Pod", "ns", "p", Some(&pod("n1")));
        let rows = [
            (Kind::Pod, "p"),
            (Kind::ServiceAccount, "bot"),
            (Kind::Secret, "pull"),
            (Kind::Secret, "from"),
            (Kind::Secret, "env"),
            (Kind::Secret, "vol"),
            (Kind::Secret, "proj"),
            (Kind::Secret, "csi"),
            (Kind::ConfigMap, "cfrom"),
            (Kind::ConfigMap, "cenv"),
            (Kind::ConfigMap, "cvol"),
            (Kind::ConfigMap, "cproj"),
            (Kind::Claim, "claim"),
            (Kind::Claim, "p-eph"),
            (Kind::ResourceClaim, "gpu"),
        ];
        for (kind, name) in rows {
            assert!(graph.relates("n1", kind, "ns", name), "{kind:?} {name}");
            assert!(!graph.relates("n2", kind, "ns", name), "{kind:?} {name}");
            assert!(!graph.relates("n1", kind, "other", name), "{kind:?} {name}");
        }
        graph.apply_event("Pod", "ns", "p", None);
        for (kind, name) in rows {
            assert!(!graph.relates("n1", kind, "ns", name), "{kind:?} {name}");
        }
        assert!(graph.state.read().nodes_of.is_empty());
    }

    #[test]
    fn two_pods_are_two_reasons() {
        let graph = NodeGraph::new();
        graph.apply_event("Pod", "ns", "p", Some(&pod("n1")));
        graph.apply_event("Pod", "ns", "q", Some(&pod("n1")));
        graph.apply_event("Pod", "ns", "q", Some(&pod("n2")));
        assert!(graph.relates("n1", Kind::Secret, "ns", "env") && graph.relates("n2", Kind::Secret, "ns", "env"));
        graph.apply_event("Pod", "ns", "p", Some(&pod("")));
        assert!(!graph.relates("n1", Kind::Secret, "ns", "env") && graph.relates("n2", Kind::Secret, "ns", "env"));
    }

    #[test]
    fn mirror_pods_open_nothing_but_themselves() {
        let graph = NodeGraph::new();
        let mut mirror = pod("n1");
        mirror["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
        graph.apply_event("Pod", "ns", "p", Some(&mirror));
        assert!(graph.relates("n1", Kind::Pod, "ns", "p"));
        assert!(!graph.relates("n1", Kind::Secret, "ns", "env"));
    }

    #[test]
    fn volumes_follow_their_claim() {
        let graph = NodeGraph::new();
        graph.apply_event("Pod", "ns", "p", Some(&pod("n1")));
        let volume = |claim: &str| {
            json!({"spec": {"claimRef": {"namespace": "ns", "name": claim},
                "csi": {"nodeStageSecretRef": {"namespace": "storage", "name": "stage"},
                    "controllerExpandSecretRef": {"namespace": "storage", "name": "expand"}}}})
        };
        for (claim, expected) in [("claim", true), ("other", false), ("claim", true)] {
            graph.apply_event("PersistentVolume", "", "pv", Some(&volume(claim)));
            assert_eq!(graph.relates_to_volume("n1", "pv"), expected);
            assert_eq!(graph.relates("n1", Kind::Secret, "storage", "stage"), expected);
            assert!(!graph.relates("n1", Kind::Secret, "storage", "expand"));
        }
        graph.apply_event("PersistentVolume", "", "pv", None);
        assert!(!graph.relates_to_volume("n1", "pv"));
        assert!(graph.state.read().volumes_by_secret.is_empty());
        graph.apply_event("VolumeAttachment", "", "va", Some(&json!({"spec": {"nodeName": "n1"}})));
        assert!(graph.relates("n1", Kind::Attachment, "", "va") && !graph.relates("n2", Kind::Attachment, "", "va"));
    }
}
