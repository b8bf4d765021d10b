//! Admission by others: webhooks that change or refuse writes.

mod answer;
mod client;
mod endpoint;
mod index;
mod matching;
mod review;
mod rules;

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

pub(super) use client::Pool;
pub(super) use index::Index;

use super::Operation;
use crate::call::Call;
use crate::handlers;
use crate::object;
use crate::read;
use crate::registry::Served;
use crate::status::Status;
use answer::Failure;
use index::Hook;

/// The write that is judged. Objects are in the stored version.
pub(super) struct Subject<'a> {
    pub(super) operation: Operation,
    pub(super) object: Option<&'a Value>,
    pub(super) old: Option<&'a Value>,
    pub(super) namespace: &'a str,
    pub(super) subresource: &'a str,
    pub(super) dry_run: bool,
}

impl Subject<'_> {
    fn name(&self) -> &str {
        self.object.or(self.old).map(object::name).unwrap_or_default()
    }

    /// The new object as a version of its kind shows it; the Scale of it for `/scale`.
    fn object_as(&self, seen: &Served) -> Value {
        self.object.map(|object| self.shown(object, seen)).unwrap_or_default()
    }

    fn old_as(&self, seen: &Served) -> Value {
        self.old.map(|object| self.shown(object, seen)).unwrap_or_default()
    }

    fn shown(&self, object: &Value, seen: &Served) -> Value {
        if posted_kind(self.subresource).is_some() {
            return object.clone();
        }
        let object = read::convert(seen, object.clone(), &seen.api_version);
        match self.subresource {
            "scale" => handlers::scale_of(seen, &object).unwrap_or(object),
            _ => object,
        }
    }
}

/// Which webhooks are called, over both rounds.
pub(super) struct Rounds {
    /// All there were at the beginning: they are told apart by their place, which changes with every configuration.
    hooks: index::Hooks,
    /// Called so far, of those that want to be called again if something changes after them.
    called: Vec<usize>,
    /// To be called again.
    again: HashSet<usize>,
    changed: bool,
}

impl Rounds {
    pub(super) fn of(call: &Call) -> Self {
        let hooks = call.api.admission.webhooks.mutating();
        Self { hooks, called: Vec::new(), again: HashSet::new(), changed: false }
    }

    /// Whether a second round is due.
    pub(super) fn needs_another(&self) -> bool {
        self.changed
    }

    /// Something else than a webhook changed the object between the rounds.
    pub(super) fn changed_between(&mut self) {
        self.again.extend(self.called.drain(..));
    }
}

/// Whether there is a webhook that changes objects: most APIs have none.
pub(super) fn may_mutate(call: &Call) -> bool {
    !call.api.admission.webhooks.mutating().is_empty() && !is_exempt(call)
}

/// Lets webhooks change the object. `second` is the round after something changed.
pub(super) async fn mutate(
    call: &mut Call,
    operation: Operation,
    object: &mut Value,
    old: Option<&Value>,
    rounds: &mut Rounds,
    second: bool,
) -> Result<(), Status> {
    let hooks = Arc::clone(&rounds.hooks);
    let target = call.target.clone();
    let dry_run = call.dry_run()?;
    let binding = posted_binding(call);
    let operation = if binding.is_some() { Operation::Create } else { operation };
    for (i, hook) in hooks.iter().enumerate() {
        let subject = Subject {
            operation,
            object: binding.as_ref().or(Some(object)),
            old: old.filter(|_| binding.is_none()),
            namespace: &target.namespace,
            subresource: &target.subresource,
            dry_run,
        };
        let Some(seen) = matching::seen_as(call, hook, &subject)? else { continue };
        if second && !rounds.again.contains(&i) {
            continue;
        }
        let verdict = answer::ask(call, hook, &subject, &seen, true).await;
        let Some(verdict) = settled(call, hook, verdict)? else { continue };
        if let Some(patch) = verdict.patch.filter(|_| binding.is_none()) {
            let patched = patched(call, &subject, &seen, &patch)?;
            if patched != *object {
                *object = patched;
                rounds.changed_between();
                rounds.changed = true;
            }
        }
        if hook.reinvoked_if_needed {
            rounds.called.push(i);
        }
    }
    keep_place(call, object)
}

/// Lets webhooks judge a deletion: those that change objects first, which can only refuse here.
pub(super) async fn validate(
    call: &mut Call,
    operation: Operation,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<(), Status> {
    if is_exempt(call) {
        return object.map_or(Ok(()), |object| matching::check_conditions(call, object));
    }
    let validating = call.api.admission.webhooks.validating();
    let mutating = if operation == Operation::Delete { call.api.admission.webhooks.mutating() } else { Arc::default() };
    if validating.is_empty() && mutating.is_empty() {
        return Ok(());
    }
    let target = call.target.clone();
    let binding = posted_binding(call);
    let subject = Subject {
        operation: if binding.is_some() { Operation::Create } else { operation },
        object: binding.as_ref().or(object),
        old: old.filter(|_| binding.is_none()),
        namespace: &target.namespace,
        subresource: &target.subresource,
        dry_run: call.dry_run()? || (operation == Operation::Delete && asks_dry_run(call)),
    };
    for hook in mutating.iter() {
        let Some(seen) = matching::seen_as(call, hook, &subject)? else { continue };
        let verdict = answer::ask(call, hook, &subject, &seen, true).await;
        if settled(call, hook, verdict)?.is_some_and(|verdict| verdict.patch.is_some()) {
            return Err(Status::internal(format!(
                "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
                hook.name
            )));
        }
    }
    let mut asked: Vec<(&Arc<Hook>, Arc<Served>)> = Vec::new();
    for hook in validating.iter() {
        if let Some(seen) = matching::seen_as(call, hook, &subject)? {
            asked.push((hook, seen));
        }
    }
    let this: &Call = call;
    let asking = asked.iter().map(|(hook, seen)| answer::ask(this, hook, &subject, seen, false));
    let verdicts = futures::future::join_all(asking).await;
    let mut refusal = None;
    for ((hook, _), verdict) in asked.iter().zip(verdicts) {
        if let Err(status) = settled(call, hook, verdict) {
            refusal.get_or_insert(status);
        }
    }
    refusal.map_or(Ok(()), Err)
}

/// What comes of an answer: nothing when a failure is to be ignored.
fn settled(
    call: &mut Call,
    hook: &Hook,
    verdict: Result<review::Verdict, Failure>,
) -> Result<Option<review::Verdict>, Status> {
    match verdict {
        Ok(mut verdict) => {
            call.warnings.append(&mut verdict.warnings);
            verdict.denial.take().map_or(Ok(Some(verdict)), Err)
        }
        Err(Failure::Refused(status)) => Err(status),
        Err(Failure::Call(why)) if hook.ignores_failure => {
            tracing::warn!(webhook = hook.name, %why, "a webhook failed and is ignored");
            Ok(None)
        }
        Err(Failure::Call(why)) => Err(Status::internal(format!("failed calling webhook {:?}: {why}", hook.name))),
    }
}

/// Applies a webhook's patch and brings the outcome into shape.
fn patched(call: &Call, subject: &Subject<'_>, seen: &Served, patch: &[u8]) -> Result<Value, Status> {
    let shown = subject.object_as(seen);
    let changed = kapi_merge::json_patch(&shown, patch).map_err(|error| match error {
        kapi_merge::PatchError::Unprocessable(why) => Status::internal(answer::explain_patch(&shown, patch, &why)),
        other => Status::internal(other),
    })?;
    if posted_kind(subject.subresource).is_some() {
        return Ok(changed);
    }
    if subject.subresource == "scale" {
        let mut object = subject.object.cloned().unwrap_or_default();
        handlers::set_scale(&call.served, &mut object, &changed);
        return Ok(object);
    }
    crate::write::settle_shape(seen, changed).map_err(Status::internal)
}

/// A webhook cannot move an object elsewhere.
fn keep_place(call: &Call, object: &Value) -> Result<(), Status> {
    if call.served.resource.namespaced && object::namespace(object) != call.target.namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// The kind that is posted to a subresource, where that is another than the resource's: group, version and kind.
pub(super) fn posted_kind(subresource: &str) -> Option<(&'static str, &'static str, &'static str)> {
    match subresource {
        "binding" => Some(("", "v1", "Binding")),
        "eviction" => Some(("policy", "v1", "Eviction")),
        "token" => Some(("authentication.k8s.io", "v1", "TokenRequest")),
        _ => None,
    }
}

/// Putting a pod on a node changes the pod, but what is admitted is the Binding that was posted.
fn posted_binding(call: &Call) -> Option<Value> {
    if call.target.subresource != "binding" {
        return None;
    }
    let format = crate::decode::Format::of(call.header(http::header::CONTENT_TYPE)).ok()?;
    let mut binding = crate::decode::read(&call.body, format).ok()?.value;
    let fields = binding.as_object_mut()?;
    fields.insert("apiVersion".into(), "v1".into());
    fields.insert("kind".into(), "Binding".into());
    object::set_meta(&mut binding, "name", call.target.name.as_str());
    object::set_meta(&mut binding, "namespace", call.target.namespace.as_str());
    Some(binding)
}

fn asks_dry_run(call: &Call) -> bool {
    let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
    !super::fields::list(&body, "/dryRun").is_empty()
}

/// Configurations of admission are beyond its reach, or a bad one could never be removed.
fn is_exempt(call: &Call) -> bool {
    const KINDS: [&str; 6] = [
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    ];
    KINDS.iter().any(|kind| call.served.is("admissionregistration.k8s.io", kind))
}
