//! What the server sets and keeps, whatever the client sent.

use serde_json::Value;

use super::Aspect;
use crate::call::Call;
use crate::object::{self, clear_meta, copy_meta, set_meta};
use crate::registry::Served;

/// Random characters a generated name ends in: no vowels and no look-alikes, as Kubernetes has them.
const SUFFIX_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;
/// A generated name is cut so that with its suffix it still fits a label.
const MAX_GENERATED_BASE: usize = 63 - SUFFIX_LENGTH;

/// Readies an object for creation.
pub(super) fn for_create(call: &Call, object: &mut Value) {
    set_meta(object, "creationTimestamp", call.timestamp());
    set_meta(object, "uid", new_uid());
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        clear_meta(object, field);
    }
}

/// Gives an object that has only a `generateName` a name.
pub(super) fn generate_name(object: &mut Value) {
    let base = object::meta(object, "generateName").to_owned();
    if base.is_empty() || !object::name(object).is_empty() {
        return;
    }
    let cut = base.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|&end| end <= MAX_GENERATED_BASE).last();
    let kept = base.get(..cut.unwrap_or(0)).unwrap_or_default();
    set_meta(object, "name", format!("{kept}{}", random_suffix()));
}

/// What the kind itself does on create; status goes where a subresource owns it.
pub(super) fn kind_on_create(served: &Served, object: &mut Value) {
    (served.resource.behaviour.prepare_create)(object);
    if let Some(custom) = &served.custom
        && custom.status
        && let Some(root) = object.as_object_mut()
    {
        root.remove("status");
    }
    if served.resource.behaviour.generation && served.resource.behaviour.counts_creation {
        set_meta(object, "generation", 1);
    }
}

/// Keeps what an update may not change, and counts generations.
pub(super) fn for_update(served: &Served, object: &mut Value, live: &Value, aspect: Aspect) {
    copy_meta(object, live, "creationTimestamp");
    copy_meta(object, live, "generation");
    if object::uid(object).is_empty() {
        copy_meta(object, live, "uid");
    }
    // A deletion under way is not undone; one made up by the client is refused by validation.
    if object::is_deleting(live) {
        copy_meta(object, live, "deletionTimestamp");
        copy_meta(object, live, "deletionGracePeriodSeconds");
    }
    clear_meta(object, "selfLink");
    set_meta(object, "name", object::name(live).to_owned());
    if served.resource.namespaced {
        set_meta(object, "namespace", object::namespace(live).to_owned());
    }
    match (aspect, &served.custom) {
        (Aspect::Main, Some(custom)) if custom.status => keep_field(object, live, "status"),
        (Aspect::Main, _) => (served.resource.behaviour.prepare_update)(object, live),
        (Aspect::Status, Some(_)) => keep_all_but(object, live, &["status"]),
        (Aspect::Status, None) => (served.resource.behaviour.prepare_status)(object, live),
        (Aspect::Part("ephemeralcontainers"), _) => keep_all_but(object, live, &["spec", "ephemeralContainers"]),
        (Aspect::Part("resize"), _) => keep_all_but_resources(object, live),
        (Aspect::Part("approval"), _) => kapi_kinds::prepare_approval(object, live),
        (Aspect::Part(_), _) => {}
    }
    if served.resource.behaviour.generation && aspect != Aspect::BINDING && counts(served, object, live) {
        let former = object::metadata(live).and_then(|meta| meta.get("generation")).and_then(Value::as_i64);
        set_meta(object, "generation", former.unwrap_or(0) + 1);
    }
}

/// Whether a change is one that generations count. A custom resource without `/status` counts changes of its status too.
fn counts(served: &Served, new: &Value, old: &Value) -> bool {
    let status_counts = served.custom.as_ref().is_some_and(|custom| !custom.status);
    (served.resource.behaviour.changed)(new, old) || status_counts && new.get("status") != old.get("status")
}

fn keep_field(object: &mut Value, live: &Value, field: &str) {
    let Some(root) = object.as_object_mut() else { return };
    match live.get(field) {
        Some(value) => drop(root.insert(field.to_owned(), value.clone())),
        None => drop(root.remove(field)),
    }
}

/// Makes `object` the live one but for the field at `path`, and its managedFields.
fn keep_all_but(object: &mut Value, live: &Value, path: &[&str]) {
    let given = path.iter().try_fold(&*object, |value, step| value.get(step)).cloned();
    become_live(object, live);
    let Some((last, parents)) = path.split_last() else { return };
    let parent = parents.iter().try_fold(object, |value, step| value.get_mut(step)).and_then(Value::as_object_mut);
    if let Some(parent) = parent {
        match given {
            Some(given) => drop(parent.insert((*last).to_owned(), given)),
            None => drop(parent.remove(*last)),
        }
    }
}

/// Makes `object` the live pod but for the resources of its containers, and its managedFields.
fn keep_all_but_resources(object: &mut Value, live: &Value) {
    let wanted: Vec<Value> = object.pointer("/spec/containers").and_then(Value::as_array).cloned().unwrap_or_default();
    become_live(object, live);
    for container in object.pointer_mut("/spec/containers").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(found) = wanted.iter().find(|wanted| wanted["name"] == container["name"]) {
            container["resources"] = found.get("resources").cloned().unwrap_or_else(|| serde_json::json!({}));
        }
    }
}

/// Makes `object` the live one, keeping only its managedFields.
fn become_live(object: &mut Value, live: &Value) {
    let managed = object.pointer("/metadata/managedFields").cloned();
    *object = live.clone();
    match managed {
        Some(managed) => set_meta(object, "managedFields", managed),
        None => clear_meta(object, "managedFields"),
    }
}

fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // The system's generator does not fail once the process runs; zeroes would only make a name clash, which is retried.
    let _ = aws_lc_rs::rand::fill(&mut bytes);
    bytes
}

/// The random end of a generated name.
pub(crate) fn random_suffix() -> String {
    let pick = |byte: u8| SUFFIX_ALPHABET.get(usize::from(byte) % SUFFIX_ALPHABET.len()).copied().unwrap_or(b'x');
    random_bytes::<SUFFIX_LENGTH>().into_iter().map(|byte| char::from(pick(byte))).collect()
}

/// A random (version 4) UUID.
pub(crate) fn new_uid() -> String {
    let mut bytes = random_bytes::<16>();
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn generated_names_fit_and_differ() {
        let mut a = json!({"metadata": {"generateName": "x".repeat(80)}});
        let mut b = a.clone();
        generate_name(&mut a);
        generate_name(&mut b);
        assert_eq!(object::name(&a).len(), 63);
        assert_ne!(a, b);
    }

    #[test]
    fn uids_are_version_four() {
        let uid = new_uid();
        assert_eq!((uid.len(), uid.as_bytes()[14]), (36, b'4'));
    }
}
