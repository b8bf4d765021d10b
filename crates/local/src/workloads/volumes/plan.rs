//! The next step of a claim and of a volume.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{
    HostPathVolumeSource, ObjectReference, PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::core::{ObjectMeta, Selector, SelectorExt};
use kube::{Resource, ResourceExt};

use super::{CLAIM_PROTECTION, VOLUME_PROTECTION};

/// The class whose volumes are folders of this machine.
pub(super) const CLASS: &str = "local";
/// Who makes them.
const PROVISIONER: &str = "butler.butlerlabs.dev/local";
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// A claim that was bound once never looks for another volume.
pub(super) const BOUND: &str = "pv.kubernetes.io/bind-completed";
pub(super) const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// What a claim needs next.
#[derive(Debug, PartialEq)]
pub(super) enum ClaimStep {
    Rest,
    /// It is deleted: let it go when no pod uses it.
    Protect,
    /// It named no class when there was no default.
    UseClass(String),
    /// A volume of its own.
    Provision(Box<PersistentVolume>),
    /// A volume that is there becomes its own.
    Reserve(Arc<PersistentVolume>, Box<ObjectReference>),
    /// It learns of its volume.
    Bind(String),
    Report(Box<PersistentVolumeClaimStatus>),
}

/// What a volume needs next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum VolumeStep {
    Rest,
    Report(&'static str),
    Delete,
    /// It is deleted and nothing is bound to it.
    Release,
}

/// The class as it is there from the start.
pub(super) fn class() -> StorageClass {
    StorageClass {
        metadata: ObjectMeta {
            name: Some(CLASS.into()),
            annotations: Some(BTreeMap::from([(DEFAULT_CLASS.into(), "true".into())])),
            ..ObjectMeta::default()
        },
        provisioner: PROVISIONER.into(),
        reclaim_policy: Some("Delete".into()),
        volume_binding_mode: Some("Immediate".into()),
        ..StorageClass::default()
    }
}

/// The phase of a claim.
pub(super) fn phase(claim: &PersistentVolumeClaim) -> &str {
    claim.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending")
}

pub(super) fn claim(
    claim: &PersistentVolumeClaim,
    bound: Option<&PersistentVolume>,
    classes: &[Arc<StorageClass>],
    volumes: &[Arc<PersistentVolume>],
    folder: &Path,
) -> ClaimStep {
    if claim.metadata.deletion_timestamp.is_some() {
        let held = claim.finalizers().iter().any(|known| known == CLAIM_PROTECTION);
        return if held { ClaimStep::Protect } else { ClaimStep::Rest };
    }
    let Some(spec) = &claim.spec else { return ClaimStep::Rest };
    if spec.volume_name.as_ref().is_some_and(|name| !name.is_empty()) {
        return settle(claim, bound);
    }
    if let Some(own) = volumes.iter().find(|volume| refers_to(volume, claim)) {
        return ClaimStep::Bind(own.name_any());
    }
    let Some(class) = &spec.storage_class_name else {
        let default =
            classes.iter().find(|class| class.annotations().get(DEFAULT_CLASS).is_some_and(|yes| yes == "true"));
        return default.map_or(ClaimStep::Rest, |class| ClaimStep::UseClass(class.name_any()));
    };
    let mut fitting: Vec<_> = volumes.iter().filter(|volume| fits(volume, claim, class)).collect();
    fitting.sort_by_key(|volume| (capacity(volume), volume.name_any()));
    if let Some(smallest) = fitting.first() {
        return ClaimStep::Reserve(Arc::clone(smallest), Box::new(reference(claim)));
    }
    match classes.iter().find(|known| known.name_any() == *class && known.provisioner == PROVISIONER) {
        Some(class) => ClaimStep::Provision(Box::new(provisioned(claim, class, folder))),
        None => ClaimStep::Rest,
    }
}

/// What is left to say of a claim that has a volume.
fn settle(claim: &PersistentVolumeClaim, volume: Option<&PersistentVolume>) -> ClaimStep {
    let was_bound = claim.annotations().contains_key(BOUND);
    let status = match volume {
        Some(volume) if refers_to(volume, claim) => PersistentVolumeClaimStatus {
            phase: Some("Bound".into()),
            access_modes: volume.spec.as_ref().and_then(|spec| spec.access_modes.clone()),
            capacity: volume.spec.as_ref().and_then(|spec| spec.capacity.clone()),
            ..claim.status.clone().unwrap_or_default()
        },
        None if was_bound => PersistentVolumeClaimStatus {
            phase: Some("Lost".into()),
            access_modes: None,
            capacity: None,
            ..claim.status.clone().unwrap_or_default()
        },
        _ => return ClaimStep::Rest,
    };
    if claim.status.as_ref() == Some(&status) { ClaimStep::Rest } else { ClaimStep::Report(Box::new(status)) }
}

pub(super) fn volume(volume: &PersistentVolume, claim: Option<&PersistentVolumeClaim>) -> VolumeStep {
    let spec = volume.spec.as_ref();
    let reference = spec.and_then(|spec| spec.claim_ref.as_ref());
    let bound = claim.is_some_and(|claim| refers_to(volume, claim));
    let deleting = volume.metadata.deletion_timestamp.is_some();
    if deleting && !bound {
        let held = volume.finalizers().iter().any(|known| known == VOLUME_PROTECTION);
        return if held { VolumeStep::Release } else { VolumeStep::Rest };
    }
    let phase = match reference {
        None => "Available",
        Some(_) if bound => "Bound",
        // Reserved by its maker for a claim that is still to come.
        Some(reference) if reference.uid.is_none() => "Available",
        Some(_) => "Released",
    };
    if volume.status.as_ref().and_then(|status| status.phase.as_deref()) != Some(phase) {
        return VolumeStep::Report(phase);
    }
    let ours = volume.annotations().get(PROVISIONED_BY).is_some_and(|by| by == PROVISIONER);
    let policy = spec.and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref());
    match phase == "Released" && ours && policy == Some("Delete") && !deleting {
        true => VolumeStep::Delete,
        false => VolumeStep::Rest,
    }
}

/// Whether a volume is of this very claim.
fn refers_to(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let reference = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
    reference.is_some_and(|reference| reference.uid.is_some() && reference.uid == claim.metadata.uid)
}

/// Whether a free volume has what a claim asks for.
fn fits(volume: &PersistentVolume, claim: &PersistentVolumeClaim, class: &str) -> bool {
    let (Some(has), Some(wants)) = (&volume.spec, &claim.spec) else { return false };
    let free = match &has.claim_ref {
        None => true,
        Some(reference) => {
            let named = reference.namespace == claim.metadata.namespace && reference.name == claim.metadata.name;
            reference.uid.is_none() && named
        }
    };
    let modes = has.access_modes.as_deref().unwrap_or_default();
    let selected = wants
        .selector
        .clone()
        .is_none_or(|selector| Selector::try_from(selector).is_ok_and(|selector| selector.matches(volume.labels())));
    free && volume.metadata.deletion_timestamp.is_none()
        && has.storage_class_name.as_deref().unwrap_or_default() == class
        && wants.access_modes.iter().flatten().all(|mode| modes.contains(mode))
        && capacity(volume) >= parsed(requested(claim).as_ref())
        && selected
}

fn capacity(volume: &PersistentVolume) -> kernel::quantity::Quantity {
    parsed(volume.spec.as_ref().and_then(|spec| spec.capacity.as_ref()?.get("storage")))
}

fn requested(claim: &PersistentVolumeClaim) -> Option<Quantity> {
    claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?.get("storage").cloned()
}

fn parsed(quantity: Option<&Quantity>) -> kernel::quantity::Quantity {
    quantity.and_then(|quantity| quantity.0.parse().ok()).unwrap_or(kernel::quantity::Quantity::ZERO)
}

fn reference(claim: &PersistentVolumeClaim) -> ObjectReference {
    ObjectReference { resource_version: None, ..claim.object_ref(&()) }
}

/// A folder of this machine as a volume of one claim.
fn provisioned(claim: &PersistentVolumeClaim, class: &StorageClass, folder: &Path) -> PersistentVolume {
    let uid = claim.uid().unwrap_or_default();
    let spec = claim.spec.clone().unwrap_or_default();
    PersistentVolume {
        metadata: ObjectMeta {
            name: Some(format!("pvc-{uid}")),
            annotations: Some(BTreeMap::from([(PROVISIONED_BY.into(), PROVISIONER.into())])),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeSpec {
            access_modes: spec.access_modes,
            capacity: requested(claim).map(|size| BTreeMap::from([("storage".to_owned(), size)])),
            claim_ref: Some(reference(claim)),
            host_path: Some(HostPathVolumeSource {
                path: folder.join(&uid).display().to_string(),
                type_: Some("DirectoryOrCreate".into()),
            }),
            persistent_volume_reclaim_policy: class.reclaim_policy.clone().or(Some("Delete".into())),
            storage_class_name: Some(class.name_any()),
            volume_mode: spec.volume_mode,
            ..PersistentVolumeSpec::default()
        }),
        status: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn a_claim(spec: Value, more: Value) -> PersistentVolumeClaim {
        let mut all = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
        spec.as_object().unwrap().iter().for_each(|(name, value)| all[name] = value.clone());
        let mut meta = json!({"name": "data", "namespace": "d", "uid": "u"});
        more.as_object().unwrap().iter().for_each(|(name, value)| meta[name] = value.clone());
        serde_json::from_value(json!({"metadata": meta, "spec": all})).unwrap()
    }

    fn a_volume(name: &str, size: &str, claim_ref: Value) -> Arc<PersistentVolume> {
        Arc::new(
            serde_json::from_value(json!({"metadata": {"name": name}, "spec": {
                "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local",
                "claimRef": claim_ref}}))
            .unwrap(),
        )
    }

    fn step(
        one: &PersistentVolumeClaim,
        bound: Option<&PersistentVolume>,
        volumes: &[Arc<PersistentVolume>],
    ) -> ClaimStep {
        claim(one, bound, &[Arc::new(class())], volumes, Path::new("/volumes"))
    }

    #[test]
    fn a_claim_gets_its_folder_step_by_step() {
        let unclassed = a_claim(json!({}), json!({}));
        assert_eq!(step(&unclassed, None, &[]), ClaimStep::UseClass("local".into()));
        let classed = a_claim(json!({"storageClassName": "local"}), json!({}));
        let ClaimStep::Provision(made) = step(&classed, None, &[]) else { panic!("it is not provisioned") };
        let spec = made.spec.clone().unwrap();
        assert_eq!(spec.host_path.unwrap().path, "/volumes/u");
        assert_eq!(
            (made.name_any().as_str(), spec.persistent_volume_reclaim_policy.as_deref()),
            ("pvc-u", Some("Delete"))
        );
        let made: Arc<PersistentVolume> = Arc::from(made);
        assert_eq!(step(&classed, None, std::slice::from_ref(&made)), ClaimStep::Bind("pvc-u".into()));
        let named = a_claim(json!({"storageClassName": "local", "volumeName": "pvc-u"}), json!({}));
        let ClaimStep::Report(status) = step(&named, Some(&made), std::slice::from_ref(&made)) else {
            panic!("no status")
        };
        assert_eq!(
            (status.phase.as_deref(), status.capacity.as_ref().unwrap()["storage"].0.as_str()),
            (Some("Bound"), "1Gi")
        );
        let bound = PersistentVolumeClaim { status: Some(*status), ..named };
        assert_eq!(step(&bound, Some(&made), std::slice::from_ref(&made)), ClaimStep::Rest);
    }

    #[test]
    fn a_volume_that_is_there_is_taken_first() {
        let classed = a_claim(json!({"storageClassName": "local"}), json!({}));
        let volumes = [
            a_volume("large", "8Gi", Value::Null),
            a_volume("fitting", "2Gi", Value::Null),
            a_volume("small", "500Mi", Value::Null),
            a_volume("taken", "1Gi", json!({"name": "other", "namespace": "d", "uid": "x"})),
        ];
        let ClaimStep::Reserve(volume, reference) = step(&classed, None, &volumes) else { panic!("none is taken") };
        assert_eq!((volume.name_any().as_str(), reference.uid.as_deref()), ("fitting", Some("u")));
    }

    #[test]
    fn other_cases_of_claims() {
        let deleted = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [CLAIM_PROTECTION]});
        assert_eq!(step(&a_claim(json!({}), deleted), None, &[]), ClaimStep::Protect);
        assert_eq!(step(&a_claim(json!({"storageClassName": "other"}), json!({})), None, &[]), ClaimStep::Rest);
        let lost = a_claim(json!({"volumeName": "v"}), json!({"annotations": {BOUND: "yes"}}));
        assert!(matches!(step(&lost, None, &[]), ClaimStep::Report(status) if status.phase.as_deref() == Some("Lost")));
    }

    #[test]
    fn volumes_follow_their_claims() {
        let theirs = a_claim(json!({}), json!({}));
        let by_us = json!({PROVISIONED_BY: PROVISIONER});
        let reference = json!({"name": "data", "namespace": "d", "uid": "u"});
        for (why, annotations, deleted, claim_ref, phase, claim, expected) in [
            ("new", json!({}), false, Value::Null, "", None, VolumeStep::Report("Available")),
            ("bound", json!({}), false, reference.clone(), "", Some(&theirs), VolumeStep::Report("Bound")),
            ("rests", json!({}), false, reference.clone(), "Bound", Some(&theirs), VolumeStep::Rest),
            ("released", json!({}), false, reference.clone(), "Bound", None, VolumeStep::Report("Released")),
            ("kept", json!({}), false, reference.clone(), "Released", None, VolumeStep::Rest),
            ("ours goes", by_us.clone(), false, reference.clone(), "Released", None, VolumeStep::Delete),
            ("gone", by_us.clone(), true, reference.clone(), "Released", None, VolumeStep::Release),
            ("bound ones stay", by_us, true, reference, "Bound", Some(&theirs), VolumeStep::Rest),
        ] {
            let deleted = if deleted { json!("2026-01-01T00:00:00Z") } else { Value::Null };
            let one: PersistentVolume = serde_json::from_value(json!({
                "metadata": {"name": "v", "annotations": annotations, "deletionTimestamp": deleted,
                    "finalizers": [VOLUME_PROTECTION]},
                "spec": {"claimRef": claim_ref, "persistentVolumeReclaimPolicy": "Delete"},
                "status": {"phase": phase}}))
            .unwrap();
            assert_eq!(volume(&one, claim), expected, "{why}");
        }
    }
}
