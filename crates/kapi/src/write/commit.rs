//! The last step: into the store, or not when it is a dry run.

use kapi_store::{Action, CommitError, Expect, Op};
use serde_json::Value;

use crate::call::{Call, Document};
use crate::object;
use crate::status::Status;

/// What became of a commit.
pub(super) enum Outcome {
    /// It is done; this is the stored document.
    Done(Document),
    /// Somebody else was there first.
    Raced,
}

/// Writes `object`, expecting what `expect` says.
pub(super) async fn put(call: &Call, object: &Value, expect: Expect) -> Result<Outcome, Status> {
    if call.dry_run()? {
        return Ok(match (expect, current(call, object)) {
            (Expect::Absent, Some(_)) => Outcome::Raced,
            _ => Outcome::Done(Document::Value(object.clone())),
        });
    }
    run(call, object, expect, Action::Put(object::encode(object))).await
}

/// Removes the object, expecting it at `revision`.
pub(super) async fn delete(call: &Call, object: &Value, revision: u64) -> Result<Outcome, Status> {
    if call.dry_run()? {
        return Ok(Outcome::Done(Document::Value(object.clone())));
    }
    run(call, object, Expect::Revision(revision), Action::Delete).await
}

fn current(call: &Call, object: &Value) -> Option<kapi_store::Entry> {
    let key = call.served.key(object::namespace(object), object::name(object));
    call.api.collection(&call.served).get(&key)
}

async fn run(call: &Call, object: &Value, expect: Expect, action: Action) -> Result<Outcome, Status> {
    let key = call.served.key(object::namespace(object), object::name(object));
    let op = Op { collection: call.api.collection(&call.served), key, expect, action };
    match call.api.store.commit(vec![op]).await {
        Ok(events) => {
            let bytes = events.first().map(|event| event.object.clone()).unwrap_or_default();
            Ok(Outcome::Done(Document::Bytes(bytes)))
        }
        Err(CommitError::Conflict { .. }) => Ok(Outcome::Raced),
        Err(CommitError::Store(error)) => Err(error.into()),
    }
}
