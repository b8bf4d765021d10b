//! ResourceQuotas: a write that would use more than a namespace may have is refused; one that fits is booked at once,
//! in the quota's status. A controller counts anew what goes.

mod scopes;
mod usage;

use kapi_store::{Action, CommitError, Expect, Op};
use kernel::quantity::Quantity;
use serde_json::Value;

use super::Operation;
use super::fields::{child, forbid};
use super::pods::{Amounts, amounts};
use crate::call::Call;
use crate::object;
use crate::status::Status;

const QUOTAS: &str = "resourcequotas.";
/// How often booking is tried when others book at the same time.
const ATTEMPTS: usize = 64;

/// Refuses what exceeds a quota; books what does not.
pub(super) async fn check(
    call: &Call,
    operation: Operation,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    let collection = call.api.collection_named(QUOTAS);
    if collection.is_empty() || !usage::is_counted(call, operation) {
        return Ok(());
    }
    let prefix = format!("{}/", call.target.namespace);
    for _ in 0..ATTEMPTS {
        let mut ops = Vec::new();
        for item in collection.list(&prefix, None, usize::MAX).items {
            let quota = object::parse(&item.bytes())?;
            let Some(used) = used_after(call, &quota, object, old).map_err(|why| forbid(call, object, why))? else {
                continue;
            };
            let mut quota = quota;
            if let Some(status) = child(&mut quota, "status") {
                let used: serde_json::Map<String, Value> =
                    used.iter().map(|(name, amount)| (name.clone(), amount.to_string().into())).collect();
                status.insert("used".into(), used.into());
            }
            ops.push(Op {
                collection: collection.clone(),
                key: item.key,
                expect: Expect::Revision(item.revision),
                action: Action::Put(object::encode(&quota)),
            });
        }
        if ops.is_empty() || call.dry_run()? {
            return Ok(());
        }
        match call.api.store.commit(ops).await {
            Ok(_) => return Ok(()),
            Err(CommitError::Conflict { .. }) => {}
            Err(CommitError::Store(error)) => return Err(error.into()),
        }
    }
    Err(Status::modified(call.served.named(), object::name(object)))
}

/// What the quota has in use after the write; none when the write does not touch it. The error is why it is refused.
fn used_after(call: &Call, quota: &Value, object: &Value, old: Option<&Value>) -> Result<Option<Amounts>, String> {
    let hard = amounts(quota.pointer("/status/hard"));
    let (group, plural) = (&*call.served.resource.group, &*call.served.resource.plural);
    let concerned: Vec<&String> = hard.keys().filter(|name| usage::concerns(group, plural, name)).collect();
    if concerned.is_empty() || !scopes::match_all(group, plural, quota, object) {
        return Ok(None);
    }
    let name = object::name(quota);
    if (group, plural) == ("", "pods") {
        usage::require_amounts(&concerned, object).map_err(|why| format!("failed quota: {name}: {why}"))?;
    }
    let used = amounts(quota.pointer("/status/used"));
    if concerned.iter().any(|name| !used.contains_key(*name)) {
        let names: Vec<&str> = concerned.iter().map(|name| name.as_str()).collect();
        return Err(format!("status unknown for quota: {name}, resources: {}", names.join(",")));
    }
    let mut asked = usage::of(group, plural, object);
    if let Some(old) = old.filter(|old| scopes::match_all(group, plural, quota, old)) {
        subtract(&mut asked, &usage::of(group, plural, old));
    }
    asked.retain(|name, amount| hard.contains_key(name) && *amount > Quantity::ZERO);
    if asked.is_empty() {
        return Ok(None);
    }
    let mut after = used.clone();
    let mut exceeded = Vec::new();
    for (name, amount) in &asked {
        let sum = used.get(name).copied().unwrap_or(Quantity::ZERO).plus(*amount);
        if hard.get(name).is_some_and(|most| sum > *most) {
            exceeded.push(name);
        }
        after.insert(name.clone(), sum);
    }
    if exceeded.is_empty() {
        return Ok(Some(after));
    }
    let print = |amounts: &Amounts| {
        let shown = exceeded.iter().filter_map(|name| Some(format!("{name}={}", amounts.get(*name)?)));
        shown.collect::<Vec<_>>().join(",")
    };
    Err(format!(
        "exceeded quota: {name}, requested: {}, used: {}, limited: {}",
        print(&asked),
        print(&used),
        print(&hard)
    ))
}

fn subtract(from: &mut Amounts, amounts: &Amounts) {
    for (name, amount) in from.iter_mut() {
        if let Some(before) = amounts.get(name) {
            *amount = amount.minus(*before);
        }
    }
}
