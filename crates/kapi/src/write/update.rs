//! Changing an object.

use kapi_schema::field::{FieldError, Path};
use kapi_store::Expect;
use serde_json::Value;

use super::commit::{self, Outcome};
use super::{Aspect, input, ownership, prepare, validate};
use crate::admission::{self, Operation};
use crate::call::{Call, Document};
use crate::object;
use crate::read;
use crate::registry::Served;
use crate::status::Status;

/// How often a change that names no revision is made anew when others were faster.
const ATTEMPTS: usize = 16;

/// A change about to be made.
pub(crate) struct Change {
    /// Which part of the object it may touch.
    pub(crate) aspect: Aspect,
    /// How the new state comes about.
    pub(crate) way: Way,
    /// What must be true of the live object.
    pub(crate) preconditions: Preconditions,
}

/// How the new state of an object comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The client sent all of it.
    Replace,
    /// It is the live one, changed.
    Patch,
    /// Like a patch, with managedFields settled already.
    Apply,
}

/// What must be true of the live object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Preconditions {
    pub(crate) uid: Option<String>,
    pub(crate) revision: Option<String>,
}

/// What a change came to.
pub(crate) enum Changed {
    /// The object as it is now.
    Stored(Document),
    /// The last finalizer went: so did the object.
    Deleted(Document),
}

impl Changed {
    pub(crate) fn into_document(self) -> Document {
        match self {
            Self::Stored(document) | Self::Deleted(document) => document,
        }
    }
}

/// Changes the call's object: `next` makes the new state, in the stored version, of the live one.
pub(crate) async fn modify(
    call: &mut Call,
    change: &Change,
    mut next: impl FnMut(&mut Call, &Value) -> Result<Value, Status>,
) -> Result<Changed, Status> {
    let (namespace, name) = (call.target.namespace.clone(), call.target.name.clone());
    for _ in 0..ATTEMPTS {
        let entry = read::required(&call.api, &call.served, &namespace, &name)?;
        let mut live = object::parse(&entry.bytes)?;
        if call.served.custom.is_some() {
            super::reshape(&call.served, &mut live);
        }
        change.preconditions.check(&call.served, &live)?;
        let mut new = next(call, &live)?;
        let conditional = check_revision(call, change, &new, &live, entry.revision)?;
        match modify_once(call, change, &mut new, &live, entry.revision).await? {
            (Outcome::Done(document), deleted) => {
                return Ok(if deleted { Changed::Deleted(document) } else { Changed::Stored(document) });
            }
            (Outcome::Raced, _) if conditional => break,
            (Outcome::Raced, _) => {}
        }
    }
    Err(Status::modified(call.served.named(), &name))
}

async fn modify_once(
    call: &mut Call,
    change: &Change,
    new: &mut Value,
    live: &Value,
    revision: u64,
) -> Result<(Outcome, bool), Status> {
    // Who binds a pod owns nothing of it.
    if change.way != Way::Apply && change.aspect != Aspect::BINDING {
        ownership::track(call, Some(live), new, change.aspect)?;
    }
    prepare::for_update(&call.served, new, live, change.aspect);
    object::set_meta(new, "resourceVersion", revision.to_string());
    if admission::mutate(call, Operation::Update, new, Some(live)).await? {
        // What a webhook changed may count as a generation, or be beyond what this write may change.
        prepare::for_update(&call.served, new, live, change.aspect);
    }
    let reservation = admission::allocate(call, new, Some(live))?;
    validate::changed_object(&call.served, new, live, change.aspect)?;
    call.warnings.extend((call.served.resource.behaviour.warnings)(new));
    admission::validate(call, Operation::Update, Some(new), Some(live)).await?;
    input::settle_stored(&call.served, new);
    kapi_merge::keep_times_of_no_op(live, new);
    let outcome = if new == live {
        (Outcome::Done(Document::Value(live.clone())), false)
    } else if is_done_for(new, live) {
        match commit::delete(call, new, revision).await? {
            // The answer is the object as the client left it.
            Outcome::Done(_) => (Outcome::Done(Document::Value(new.clone())), true),
            Outcome::Raced => (Outcome::Raced, true),
        }
    } else {
        (commit::put(call, new, Expect::Revision(revision)).await?, false)
    };
    drop(reservation);
    Ok(outcome)
}

/// Whether the change took away the last thing that kept a deleted object.
fn is_done_for(new: &Value, live: &Value) -> bool {
    let graceful = object::metadata(new)
        .and_then(|meta| meta.get("deletionGracePeriodSeconds"))
        .and_then(Value::as_i64)
        .unwrap_or(0);
    object::is_deleting(live)
        && graceful == 0
        && object::finalizers(new).is_empty()
        && new.pointer("/spec/finalizers").and_then(Value::as_array).is_none_or(Vec::is_empty)
}

/// Whether the client named a revision; it must be the live one.
fn check_revision(call: &Call, change: &Change, new: &Value, live: &Value, revision: u64) -> Result<bool, Status> {
    let (served, name) = (&call.served, &call.target.name);
    let given = object::meta(new, "resourceVersion");
    if change.way != Way::Replace {
        // What a patch did not touch is the live revision.
        let touched = !matches!(given, "" | "0") && given != object::meta(live, "resourceVersion");
        return if touched { Err(Status::modified(served.named(), name)) } else { Ok(false) };
    }
    let uid = object::uid(new);
    if !uid.is_empty() && uid != object::uid(live) {
        let key = read::registry_key(served, object::namespace(live), name);
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition \
             failed: UID in precondition: {uid}, UID in object meta: {}",
            object::uid(live)
        );
        return Err(Status::conflict(served.named(), name, why));
    }
    let invalid = |kind: &str, value: Value, detail: String| {
        let error = FieldError::invalid(&Path::new("metadata.resourceVersion"), &value, detail);
        Err(Status::invalid(&served.resource.group, kind, name, &[error]))
    };
    match given {
        "" | "0" if !allows_unconditional_update(served) => {
            invalid(&served.resource.plural, 0.into(), "must be specified for an update".into())
        }
        "" | "0" => Ok(false),
        given if given == revision.to_string() => Ok(true),
        given if given.parse::<u64>().is_err() => invalid(
            &served.resource.kind,
            given.into(),
            format!("strconv.ParseUint: parsing {given:?}: invalid syntax"),
        ),
        _ => Err(Status::modified(served.named(), name)),
    }
}

/// Whether a PUT may leave out the resourceVersion, as older kinds allow.
fn allows_unconditional_update(served: &Served) -> bool {
    const CONDITIONAL: [(&str, &str); 12] = [
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("apiregistration.k8s.io", "APIService"),
        ("coordination.k8s.io", "Lease"),
        ("policy", "PodDisruptionBudget"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
        ("storage.k8s.io", "VolumeAttachment"),
        ("storage.k8s.io", "CSINode"),
        ("storage.k8s.io", "CSIDriver"),
        ("node.k8s.io", "RuntimeClass"),
    ];
    served.custom.is_none() && !CONDITIONAL.iter().any(|(group, kind)| served.is(group, kind))
}

impl Preconditions {
    /// Refuses with a conflict when the live object is not the one meant.
    pub(crate) fn check(&self, served: &Served, live: &Value) -> Result<(), Status> {
        let conflict = |why: String| {
            let kind = crate::status::Named { group: &served.resource.group, plural: &served.resource.kind };
            Status::conflict(kind, object::name(live), why)
        };
        if let Some(uid) = &self.uid
            && uid != object::uid(live)
        {
            return Err(conflict(format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been \
                 deleted and then recreated",
                object::uid(live)
            )));
        }
        let found = object::meta(live, "resourceVersion");
        if let Some(revision) = &self.revision
            && revision != found
        {
            return Err(conflict(format!(
                "the ResourceVersion in the precondition ({revision}) does not match the ResourceVersion in record \
                 ({found}). The object might have been modified"
            )));
        }
        Ok(())
    }
}
