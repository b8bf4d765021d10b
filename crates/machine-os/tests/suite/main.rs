//! Bootstrap documents: their exact text, the rules of their languages, and what is refused.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod check;
mod golden;
mod hostile;
mod pool;
mod refused;
mod versions;
