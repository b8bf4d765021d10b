//! Go's text/template with the functions that Helm gives it.

mod constant;
mod error;
mod exec;
mod functions;
mod glob;
pub(crate) mod json;
mod lex;
mod machine;
mod methods;
mod native;
mod node;
mod parse;
pub(crate) mod print;
mod toml;
mod value;

pub(crate) use error::Fault;
pub(crate) use exec::Executor;
pub(crate) use functions::fits;
pub(crate) use machine::Machine;
pub(crate) use native::{HelmVersion, Native};
pub(crate) use parse::{ParseError, parse};
pub(crate) use value::{Element, Map, Value, Walk};

/// The stack that executing templates may need: as many frames as [`exec`] allows, each as large as they get.
pub(crate) const STACK: usize = 256 << 20;

/// More output than this, no cluster takes.
pub(crate) const MAX_OUTPUT: usize = 64 << 20;

/// More than this no function makes or is given: what is printed comes from there.
pub(crate) const MAX_MADE: usize = MAX_OUTPUT;
