//! Names that somebody else has taken.

use std::sync::Arc;

use butler_api::shared::Blocker;
use kube::{Resource, ResourceExt};

use super::{joining, leaves, support};
use crate::credentials::Root;

/// An object where one of a control plane's should be, and not its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// What it belongs to, if that is known.
    pub owner: Option<String>,
}

/// An object that was found under a name of a control plane, if it is the control plane's own; otherwise it is noted.
pub(super) fn own<K>(found: Option<Arc<K>>, uid: &str, taken: &mut Vec<Taken>) -> Option<Arc<K>>
where
    K: Resource<DynamicType = ()>,
{
    let object = found?;
    let Some(owner) = foreign(&*object, uid) else { return Some(object) };
    taken.push(Taken { kind: K::kind(&()).into_owned(), name: object.name_any(), owner });
    None
}

/// Whose an object is, if it is not that of `uid`; nobody's is not that either.
pub(super) fn foreign<K: Resource>(object: &K, uid: &str) -> Option<Option<String>> {
    let owner = object.owner_references().iter().find(|owner| owner.controller == Some(true));
    match owner {
        Some(owner) if owner.uid == uid => None,
        _ => Some(owner.map(|owner| format!("{} {}", owner.kind, owner.name))),
    }
}

/// The names of all Secrets a control plane can have.
pub fn secret_names(tenant: &str) -> Vec<String> {
    let roots = Root::COMMON.into_iter().chain([Root::EtcdCa]);
    let roots = roots.flat_map(|root| [root.secret_name(tenant), root.rescue_name(tenant)]);
    let leaves = leaves::SUFFIXES.into_iter().map(|suffix| format!("{tenant}-{suffix}"));
    roots.chain(leaves).chain([joining::secret_name(tenant)]).collect()
}

/// Nothing is written while one of the names is taken: what is there is somebody's.
pub(super) fn blocker(namespace: &str, taken: &[Taken]) -> Option<Blocker> {
    let [first, ..] = taken else { return None };
    let message = format!("{} {namespace}/{} is there and not its own", first.kind, first.name);
    let evidence = taken.iter().map(|taken| match &taken.owner {
        Some(owner) => format!("{} {} belongs to {owner}", taken.kind, taken.name),
        None => format!("{} {} belongs to nobody", taken.kind, taken.name),
    });
    let remedy = "delete what the evidence names, if nobody needs it, or give the control plane another name";
    Some(support::taken(message, evidence.collect(), remedy))
}
