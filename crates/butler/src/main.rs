//! crates/butler
fn main() {}
