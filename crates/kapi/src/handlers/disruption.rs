//! Disruption budgets: how many pods may be evicted at a time.

use kapi_store::{Action, CommitError, Expect, Op};
use serde_json::{Value, json};

use crate::call::Call;
use crate::object;
use crate::status::{Cause, Status};

const BUDGETS: &str = "poddisruptionbudgets.policy";
/// When to try again while a budget is not up to date.
const RETRY_SECONDS: u32 = 10;
const ATTEMPTS: usize = 8;

/// Takes one disruption from the budget that selects the pod, if one does; refuses when there is none left.
pub(super) async fn spend(call: &Call, pod: &Value) -> Result<(), Status> {
    for _ in 0..ATTEMPTS {
        let Some((key, revision, budget)) = budget_of(call, pod)? else { return Ok(()) };
        let spent = spent(&budget, object::name(pod), &call.timestamp())?;
        let op = Op {
            collection: call.api.collection_named(BUDGETS),
            key,
            expect: Expect::Revision(revision),
            action: Action::Put(object::encode(&spent)),
        };
        match call.api.store.commit(vec![op]).await {
            Ok(_) => return Ok(()),
            Err(CommitError::Conflict { .. }) => {}
            Err(CommitError::Store(error)) => return Err(error.into()),
        }
    }
    Err(refused("too many evictions at once".into(), RETRY_SECONDS))
}

fn budget_of(call: &Call, pod: &Value) -> Result<Option<(Box<str>, u64, Value)>, Status> {
    let labels = pod.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut found = Vec::new();
    let prefix = format!("{}/", call.target.namespace);
    for item in call.api.collection_named(BUDGETS).list(&prefix, None, usize::MAX).items {
        let budget = object::parse(&item.bytes())?;
        let selector = kapi_schema::labels::Selector::from_object(budget.pointer("/spec/selector"));
        if selector.is_ok_and(|selector| selector.matches(&labels)) {
            found.push((item.key, item.revision, budget));
        }
    }
    if found.len() > 1 {
        return Err(Status::internal(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        ));
    }
    Ok(found.pop())
}

/// The budget with one disruption less.
fn spent(budget: &Value, pod: &str, now: &str) -> Result<Value, Status> {
    let name = object::name(budget);
    let number = |field: &str| budget.pointer(&format!("/status/{field}")).and_then(Value::as_i64).unwrap_or(0);
    let generation = object::metadata(budget).and_then(|meta| meta.get("generation")).and_then(Value::as_i64);
    if number("observedGeneration") < generation.unwrap_or(0) {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Err(refused(why, RETRY_SECONDS));
    }
    if number("disruptionsAllowed") <= 0 {
        return Err(refused(
            format!(
                "The disruption budget {name} needs {} healthy pods and has {} currently",
                number("desiredHealthy"),
                number("currentHealthy")
            ),
            0,
        ));
    }
    let mut spent = budget.clone();
    spent["status"]["disruptionsAllowed"] = (number("disruptionsAllowed") - 1).into();
    if !spent["status"]["disruptedPods"].is_object() {
        spent["status"]["disruptedPods"] = json!({});
    }
    spent["status"]["disruptedPods"][pod] = now.into();
    Ok(spent)
}

fn refused(why: String, retry_seconds: u32) -> Status {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut status = Status::too_many_requests(message, retry_seconds);
    if let Some(details) = &mut status.details {
        details.causes.push(Cause { reason: "DisruptionBudget".into(), message: why, field: String::new() });
    }
    status
}
