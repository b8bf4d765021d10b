//! What admission does to pods.

pub(super) mod limits;
pub(super) mod priority;
mod resources;
pub(super) mod runtime_class;
pub(super) mod service_account;
pub(super) mod tolerations;

pub(super) use resources::{Amounts, amounts, limits_of, requests_of};
