//! Claims and volumes: protected while in use, and of the default class when they name none.

use serde_json::Value;

use super::fields::{forbid, present, set_spec, stored, stored_all, text};
use crate::call::Call;
use crate::object;
use crate::status::Status;

/// Keeps a claim, volume or class until what uses it is gone.
pub(super) fn protect(call: &Call, object: &mut Value) {
    let finalizer = match (&*call.served.resource.group, &*call.served.resource.plural) {
        ("", "persistentvolumeclaims") => "kubernetes.io/pvc-protection",
        ("", "persistentvolumes") => "kubernetes.io/pv-protection",
        ("storage.k8s.io", "volumeattributesclasses") => "kubernetes.io/vac-protection",
        _ => return,
    };
    let mut finalizers: Vec<String> = object::finalizers(object).into_iter().map(str::to_owned).collect();
    if finalizers.iter().all(|known| known != finalizer) {
        finalizers.push(finalizer.to_owned());
        object::set_meta(object, "finalizers", finalizers);
    }
}

/// Gives a claim that names no class the default one.
pub(super) fn default_storage_class(call: &Call, claim: &mut Value) {
    let legacy = "/metadata/annotations/volume.beta.kubernetes.io~1storage-class";
    if present(claim, "/spec/storageClassName").is_some() || present(claim, legacy).is_some() {
        return;
    }
    let marks = ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
    if let Some(class) = newest_marked(stored_all(call, "storageclasses.storage.k8s.io", ""), &marks) {
        set_spec(claim, "storageClassName", object::name(&class));
    }
}

/// Gives an ingress that names no class the default one.
pub(super) fn default_ingress_class(call: &Call, ingress: &mut Value) {
    let legacy = "/metadata/annotations/kubernetes.io~1ingress.class";
    if present(ingress, "/spec/ingressClassName").is_some() || present(ingress, legacy).is_some() {
        return;
    }
    let marks = ["ingressclass.kubernetes.io/is-default-class"];
    if let Some(class) = newest_marked(stored_all(call, "ingressclasses.networking.k8s.io", ""), &marks) {
        set_spec(ingress, "ingressClassName", object::name(&class));
    }
}

/// The class annotated as the default; of several the newest, then the first by name.
fn newest_marked(classes: Vec<Value>, marks: &[&str]) -> Option<Value> {
    let marked = |class: &Value| {
        let annotations = class.pointer("/metadata/annotations");
        marks.iter().any(|mark| annotations.and_then(|all| all.get(mark)).is_some_and(|value| value == "true"))
    };
    let order = |class: &Value| {
        (std::cmp::Reverse(object::meta(class, "creationTimestamp").to_owned()), object::name(class).to_owned())
    };
    classes.into_iter().filter(marked).min_by_key(order)
}

/// Refuses to grow a claim whose class does not allow it.
pub(super) fn check_resize(call: &Call, claim: &Value, old: &Value) -> Result<(), Status> {
    let size = |claim: &Value| {
        text(claim, "/spec/resources/requests/storage").parse().unwrap_or(kernel::quantity::Quantity::ZERO)
    };
    if size(claim) <= size(old) {
        return Ok(());
    }
    if text(old, "/status/phase") != "Bound" {
        return Err(forbid(call, claim, "only bound persistent volume claims can be expanded"));
    }
    let class = match text(claim, "/metadata/annotations/volume.beta.kubernetes.io~1storage-class") {
        "" => text(claim, "/spec/storageClassName"),
        legacy => legacy,
    };
    let expands = stored(call, "storageclasses.storage.k8s.io", class)
        .is_some_and(|class| class.get("allowVolumeExpansion").and_then(Value::as_bool).unwrap_or(false));
    if expands {
        return Ok(());
    }
    let why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";
    Err(forbid(call, claim, why))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_newest_default_wins() {
        let class = |name: &str, at: &str, default: &str| json!({"metadata": {"name": name, "creationTimestamp": at, "annotations": {"is-default": default}}});
        let classes = vec![
            class("old", "2020-01-01T00:00:00Z", "true"),
            class("b", "2021-01-01T00:00:00Z", "true"),
            class("a", "2021-01-01T00:00:00Z", "true"),
            class("no", "2022-01-01T00:00:00Z", "false"),
        ];
        let found = newest_marked(classes, &["is-default"]).unwrap();
        assert_eq!(object::name(&found), "a");
    }
}
