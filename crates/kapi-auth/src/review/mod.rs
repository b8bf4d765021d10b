//! The review kinds: objects that are questions, answered on create and never stored.

mod access;
mod access_validation;
mod rules;
mod subject;
mod token;

pub use access::{local_subject_access_review, self_subject_access_review, subject_access_review};
pub use rules::self_subject_rules_review;
pub use subject::self_subject_review;
pub use token::token_review;
