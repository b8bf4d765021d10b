//! Removing objects: at once, after their finalizers, or with their dependants.

use kapi_schema::field::{FieldError, Path};
use kapi_store::{Action, CommitError, Expect, Op};
use serde_json::{Value, json};

use crate::admission::{self, Operation};
use crate::call::{Answer, Call, Document, List};
use crate::decode::{self, Format};
use crate::object;
use crate::read;
use crate::registry::Served;
use crate::selection::Selection;
use crate::status::Status;
use crate::write::Preconditions;

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";
const ATTEMPTS: usize = 16;

/// How dependants are dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// What a delete asks for.
#[derive(Clone, Debug, Default)]
struct DeleteOptions {
    grace_seconds: Option<i64>,
    propagation: Option<Propagation>,
    preconditions: Preconditions,
    dry_run: bool,
}

/// What became of the object.
enum Deleted {
    Gone(Document),
    Waiting(Document),
}

pub(crate) async fn delete(call: &mut Call) -> Result<Answer, Status> {
    let options = DeleteOptions::of(call)?;
    let deleted = delete_one(call, &options).await?;
    let (object, gone) = match deleted {
        Deleted::Gone(object) => (object, true),
        Deleted::Waiting(object) => (object, false),
    };
    if !gone || returns_object(&call.served) {
        return Ok(Answer::Object { code: 200, object: read::answered(&call.served, object)? });
    }
    let object = object.into_value()?;
    Ok(Answer::Plain { code: 200, value: success(&call.served, &object) })
}

pub(crate) async fn delete_collection(call: &mut Call) -> Result<Answer, Status> {
    let options = DeleteOptions::of(call)?;
    let selection = Selection::of(call)?;
    let collection = call.api.collection(&call.served);
    let page = collection.list(&selection.prefix, None, usize::MAX);
    let mut items = Vec::new();
    for item in page.items {
        let shown = read::shown(&call.served, item.revision, &item.bytes())?;
        if !selection.matches(&call.served, &shown) {
            continue;
        }
        let parsed = object::parse(&shown)?;
        call.target.name = object::name(&parsed).to_owned();
        call.target.namespace = object::namespace(&parsed).to_owned();
        match delete_one(call, &options).await {
            Ok(_) => items.push(shown),
            // Somebody else was faster.
            Err(status) if status.code == 404 => {}
            Err(status) => return Err(status),
        }
    }
    call.target.name.clear();
    Ok(Answer::List(List { revision: page.revision, next: None, remaining: None, items }))
}

async fn delete_one(call: &mut Call, options: &DeleteOptions) -> Result<Deleted, Status> {
    let (namespace, name) = (call.target.namespace.clone(), call.target.name.clone());
    let mut told = None;
    for _ in 0..ATTEMPTS {
        let entry = match (read::required(&call.api, &call.served, &namespace, &name), &mut told) {
            // Its node was faster to remove it.
            (Err(status), Some(ended)) if status.code == 404 => {
                return Ok(Deleted::Gone(Document::Value(std::mem::take(ended))));
            }
            (found, _) => found?,
        };
        let live = object::parse(&entry.bytes)?;
        options.preconditions.check(&call.served, &live)?;
        // An eviction has been admitted as such.
        if call.target.subresource.is_empty() {
            admission::validate(call, Operation::Delete, None, Some(&live)).await?;
        }
        let next = plan(&call.served, &live, options, &call.timestamp());
        let unmarked = call.served.is("", "Pod") && !object::is_deleting(&live);
        if matches!(next, Next::Remove) && !options.dry_run && (unmarked || waits_gracefully(&live)) {
            // The end of its grace period is told before its end, even if it had none.
            let ended = ended(live, &call.timestamp());
            let op = Op {
                collection: call.api.collection(&call.served),
                key: call.served.key(&namespace, &name),
                expect: Expect::Revision(entry.revision),
                action: Action::Put(object::encode(&ended)),
            };
            match call.api.store.commit(vec![op]).await {
                Ok(_) => {
                    told = Some(ended);
                    continue;
                }
                Err(CommitError::Conflict { .. }) => continue,
                Err(CommitError::Store(error)) => return Err(error.into()),
            }
        }
        let (action, document) = match next {
            Next::Remove if call.served.is("", "Pod") => (Action::Delete, ended(live, &call.timestamp())),
            Next::Remove => (Action::Delete, live),
            Next::Mark(marked) if marked == live => return Ok(Deleted::Waiting(Document::Value(live))),
            Next::Mark(marked) => (Action::Put(object::encode(&marked)), marked),
        };
        let removes = matches!(action, Action::Delete);
        let outcome = |document| if removes { Deleted::Gone(document) } else { Deleted::Waiting(document) };
        if options.dry_run {
            return Ok(outcome(Document::Value(document)));
        }
        let key = call.served.key(&namespace, &name);
        let op =
            Op { collection: call.api.collection(&call.served), key, expect: Expect::Revision(entry.revision), action };
        match call.api.store.commit(vec![op]).await {
            Ok(events) if removes => {
                let mut document = document;
                if let Some(event) = events.first() {
                    object::set_meta(&mut document, "resourceVersion", event.revision.to_string());
                }
                return Ok(outcome(Document::Value(document)));
            }
            Ok(events) => {
                let bytes = events.first().map(|event| event.object.clone()).unwrap_or_default();
                return Ok(outcome(Document::Bytes(bytes)));
            }
            Err(CommitError::Conflict { .. }) => {}
            Err(CommitError::Store(error)) => return Err(error.into()),
        }
    }
    Err(Status::modified(call.served.named(), &name))
}

/// What to do with the object.
enum Next {
    Remove,
    Mark(Value),
}

/// Decides whether an object goes at once or is marked and waits for its finalizers or its grace period.
fn plan(served: &Served, live: &Value, options: &DeleteOptions, now: &str) -> Next {
    let mut marked = live.clone();
    let finalizers = finalizers_for(live, options.propagation);
    let grace = grace_seconds(served, live, options);
    let namespace_content = served.is("", "Namespace")
        && live.pointer("/spec/finalizers").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    if finalizers.is_empty() && grace == 0 && !namespace_content && !is_definition(served) {
        return Next::Remove;
    }
    let finalizers = if is_definition(served) { with_cleanup(finalizers) } else { finalizers };
    match finalizers.is_empty() {
        true => object::clear_meta(&mut marked, "finalizers"),
        false => object::set_meta(&mut marked, "finalizers", finalizers),
    }
    if object::is_deleting(live) {
        shorten_grace(&mut marked, live, grace);
    } else {
        let at = now
            .parse::<jiff::Timestamp>()
            .ok()
            .and_then(|now| now.checked_add(jiff::SignedDuration::from_secs(grace)).ok());
        object::set_meta(&mut marked, "deletionTimestamp", at.map_or(now.to_owned(), |at| at.to_string()));
        object::set_meta(&mut marked, "deletionGracePeriodSeconds", grace);
        if let Some(generation) = object::metadata(live).and_then(|meta| meta.get("generation")).and_then(Value::as_i64)
        {
            object::set_meta(&mut marked, "generation", generation + 1);
        }
    }
    if is_definition(served) && !object::is_deleting(live) {
        crate::crd::mark_terminating(&mut marked, now);
    }
    if served.is("", "Namespace") {
        marked["status"]["phase"] = "Terminating".into();
    }
    Next::Mark(marked)
}

/// Whether a deletion under way still waits for a grace period.
fn waits_gracefully(live: &Value) -> bool {
    let grace = object::metadata(live).and_then(|meta| meta.get("deletionGracePeriodSeconds")).and_then(Value::as_i64);
    object::is_deleting(live) && grace.is_some_and(|grace| grace > 0)
}

fn is_definition(served: &Served) -> bool {
    served.is("apiextensions.k8s.io", "CustomResourceDefinition")
}

/// A definition stays until its objects are gone.
fn with_cleanup(mut finalizers: Vec<String>) -> Vec<String> {
    if !finalizers.iter().any(|name| name == crate::crd::CLEANUP) {
        finalizers.push(crate::crd::CLEANUP.to_owned());
    }
    finalizers
}

/// A pod that goes at once is told as one whose grace period is over.
fn ended(mut pod: Value, now: &str) -> Value {
    if !object::is_deleting(&pod) {
        object::set_meta(&mut pod, "deletionTimestamp", now);
        let generation = object::metadata(&pod).and_then(|meta| meta.get("generation")).and_then(Value::as_i64);
        object::set_meta(&mut pod, "generation", generation.unwrap_or(0) + 1);
    }
    object::set_meta(&mut pod, "deletionGracePeriodSeconds", 0);
    pod
}

/// A second delete may only shorten the wait.
fn shorten_grace(marked: &mut Value, live: &Value, grace: i64) {
    let former = object::metadata(live).and_then(|meta| meta.get("deletionGracePeriodSeconds")).and_then(Value::as_i64);
    if former.is_some_and(|former| grace < former) {
        object::set_meta(marked, "deletionGracePeriodSeconds", grace);
    }
}

fn finalizers_for(live: &Value, propagation: Option<Propagation>) -> Vec<String> {
    let mut finalizers: Vec<String> = object::finalizers(live).into_iter().map(str::to_owned).collect();
    if let Some(propagation) = propagation {
        finalizers.retain(|name| name != FOREGROUND && name != ORPHAN);
        match propagation {
            Propagation::Foreground => finalizers.push(FOREGROUND.into()),
            Propagation::Orphan => finalizers.push(ORPHAN.into()),
            Propagation::Background => {}
        }
    }
    finalizers
}

/// Seconds to wait: pods that run on a node get their grace period, everything else goes at once.
fn grace_seconds(served: &Served, live: &Value, options: &DeleteOptions) -> i64 {
    if !served.is("", "Pod") {
        return 0;
    }
    let scheduled = live.pointer("/spec/nodeName").and_then(Value::as_str).is_some_and(|node| !node.is_empty());
    let finished = matches!(live.pointer("/status/phase").and_then(Value::as_str), Some("Succeeded" | "Failed"));
    if !scheduled || finished {
        return 0;
    }
    let own = live.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(30);
    options.grace_seconds.unwrap_or(own).max(0)
}

/// Whether the kind's deletion answers with the object rather than a Status.
fn returns_object(served: &Served) -> bool {
    served.custom.is_none() && kapi_kinds::delete_returns_object(&served.resource.group, &served.resource.plural)
}

fn success(served: &Served, object: &Value) -> Value {
    let mut details = json!({
        "name": object::name(object),
        "kind": &*served.resource.plural,
        "uid": object::uid(object),
    });
    if !served.resource.group.is_empty() {
        details["group"] = (&*served.resource.group).into();
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

impl DeleteOptions {
    /// Reads the options from the body, or from the query when there is none.
    fn of(call: &Call) -> Result<Self, Status> {
        let body = if call.body.is_empty() { from_query(call)? } else { from_body(call)? };
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let orphan = body.get("orphanDependents").and_then(Value::as_bool);
        let named = body.get("propagationPolicy").and_then(Value::as_str);
        let options = Self {
            grace_seconds: body.get("gracePeriodSeconds").and_then(Value::as_i64),
            propagation: propagation(orphan, named)?,
            preconditions: Preconditions {
                uid: text("/preconditions/uid"),
                revision: text("/preconditions/resourceVersion"),
            },
            dry_run: dry_run(call, &body)?,
        };
        Ok(options)
    }
}

fn from_body(call: &Call) -> Result<Value, Status> {
    let format = Format::of(call.header(http::header::CONTENT_TYPE))?;
    let decoded = decode::read(&call.body, format).map_err(|error| match format {
        Format::Protobuf => Status::unexplained(error),
        Format::Json | Format::Yaml => {
            let text = String::from_utf8_lossy(&call.body);
            Status::bad_request(format!("couldn't get version/kind; json parse error: {error} ({text})"))
        }
    })?;
    check_types(&decoded.value)?;
    match decoded.value.get("kind").and_then(Value::as_str) {
        None | Some("DeleteOptions") => Ok(decoded.value),
        Some(kind) => {
            let version = decoded.value["apiVersion"].as_str().unwrap_or_default();
            Err(Status::unexplained(format!(
                "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:110\""
            )))
        }
    }
}

/// Options that cannot be read are refused: deleting on a guess loses data.
fn check_types(options: &Value) -> Result<(), Status> {
    let found = kapi_schema::go::json_type(options);
    if !options.is_object() && !options.is_null() {
        return Err(Status::unexplained(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type struct {{ \
             APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
        )));
    }
    let fault = kapi_kinds::schema("meta.k8s.io", "v1", "DeleteOptions")
        .or_else(|| kapi_kinds::schema("", "v1", "DeleteOptions"))
        .and_then(|schema| kapi_schema::check_types_as_go(options, schema.root(), "DeleteOptions"));
    match fault {
        Some(fault) => Err(Status::unexplained(fault)),
        None => Ok(()),
    }
}

fn from_query(call: &Call) -> Result<Value, Status> {
    let mut out = json!({});
    if let Some(grace) = call.query.number("gracePeriodSeconds")? {
        out["gracePeriodSeconds"] = grace.into();
    }
    if let Some(policy) = call.query.get("propagationPolicy") {
        out["propagationPolicy"] = policy.into();
    }
    if let Some(orphan) = call.query.get("orphanDependents") {
        out["orphanDependents"] = (orphan == "true" || orphan == "1").into();
    }
    Ok(out)
}

fn propagation(orphan: Option<bool>, named: Option<&str>) -> Result<Option<Propagation>, Status> {
    let path = Path::new("propagationPolicy");
    let invalid = |error: FieldError| Err(Status::invalid("meta.k8s.io", "DeleteOptions", "", &[error]));
    match (orphan, named) {
        (Some(_), Some(policy)) => invalid(FieldError::invalid(
            &path,
            &policy.into(),
            "orphanDependents and deletionPropagation cannot be both set",
        )),
        (Some(true), None) => Ok(Some(Propagation::Orphan)),
        (Some(false), None) => Ok(Some(Propagation::Background)),
        (None, None) => Ok(None),
        (None, Some("Background")) => Ok(Some(Propagation::Background)),
        (None, Some("Foreground")) => Ok(Some(Propagation::Foreground)),
        (None, Some("Orphan")) => Ok(Some(Propagation::Orphan)),
        (None, Some(other)) => {
            invalid(FieldError::not_supported(&path, &other.into(), &["Foreground", "Background", "Orphan", "nil"]))
        }
    }
}

fn dry_run(call: &Call, body: &Value) -> Result<bool, Status> {
    let in_body = body.get("dryRun").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if let Some(other) = in_body.iter().find(|value| *value != "All") {
        let error = FieldError::not_supported(&Path::new("dryRun"), &json!([other]), &["All"]);
        return Err(Status::invalid("meta.k8s.io", "DeleteOptions", "", &[error]));
    }
    Ok(!in_body.is_empty() || call.dry_run()?)
}
