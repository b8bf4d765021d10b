//! Machines that are to join: a token in the tenant, and what they need to know in a Secret beside the control plane.

use jiff::Timestamp;

use super::observed::Observed;
use super::plan::{Plan, Step};
use super::support;
use crate::credentials::{ISSUED_FOR, RENEW_AT, digest_of};
use crate::{inside, names};

/// The Secret with what machines need to join.
pub(super) fn secret_name(tenant: &str) -> String {
    format!("{tenant}-join")
}

/// Keeps a token while machines are to join, and none at any other time.
pub(super) fn plan_joining(observed: &Observed, tenant: &inside::Tenant, plan: &mut Plan) {
    let until = match until(observed) {
        Ok(until) => until,
        Err(text) => {
            plan.blockers.push(support::unreadable_time(&text));
            return;
        }
    };
    let secret = observed.secret(&secret_name(observed.name()));
    let annotation = |name: &str| secret?.metadata.annotations.as_ref()?.get(name).map(String::as_str);
    let renew_at = annotation(RENEW_AT).and_then(|text| text.parse::<Timestamp>().ok());
    let until = until.filter(|until| *until > observed.now);
    let current = annotation(ISSUED_FOR) == Some(digest(tenant, until).as_str());
    let due = renew_at.is_none_or(|at| at <= observed.now);
    match until {
        Some(_) if current && !due => {
            plan.next = [plan.next, renew_at].into_iter().flatten().min();
        }
        None if secret.is_none() => {}
        until => plan.steps.push(Step::Join { tenant: Box::new(tenant.clone()), until }),
    }
}

/// A digest of what the Secret was made for.
pub(super) fn digest(tenant: &inside::Tenant, until: Option<Timestamp>) -> String {
    let until = until.map(|until| until.to_string()).unwrap_or_default();
    digest_of([tenant.endpoint().as_bytes(), tenant.ca_pem.as_bytes(), until.as_bytes()])
}

/// Until when machines are expected, or what cannot be read as a time.
fn until(observed: &Observed) -> Result<Option<Timestamp>, String> {
    let annotations = observed.tenant.metadata.annotations.as_ref();
    let Some(text) = annotations.and_then(|all| all.get(names::JOINING_UNTIL)) else { return Ok(None) };
    text.parse().map(Some).map_err(|_| text.clone())
}
