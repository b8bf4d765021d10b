//! `x-kubernetes-validations`: rules in CEL, checked and run as kube-apiserver does.
//!
//! ```text
//!   lexer, parser, ast      from text to trees, with limits on depth and size
//!   types, unify, checker   what a schema declares, and whether a rule fits it
//!   signatures              the functions there are
//!   cost                    what a rule may cost at most
//!   value, eval, ops        evaluation on the object in place, with the work counted
//!   library, strings, format, lists, urls, convert, foreign    the functions themselves
//!   rules, walk             the rules of a schema, compiled once; running them over an object
//!   fieldpath               the `fieldPath` of rules
//! ```
//!
//! Parsing and evaluation are our own, because rules are hostile input: the interpreter beneath `kube-cel` has no
//! limits on depth or work, panics on some inputs and does no type checking. The libraries of Kubernetes are its.

mod ast;
mod checker;
mod condition;
mod convert;
mod cost;
mod eval;
pub(crate) mod fieldpath;
mod foreign;
mod format;
mod lexer;
mod library;
mod lists;
mod ops;
mod parser;
mod rules;
mod signatures;
mod strings;
mod time;
mod types;
mod unify;
mod urls;
mod value;
mod walk;

pub use condition::Condition;
pub use rules::{CelOutcome, CelRules};
pub(crate) use rules::{Checked, check_rules};
