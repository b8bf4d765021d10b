//! What is fuzzed, each with its beginnings and its laws.

mod apply;
mod cel;
mod patches;
mod paths;
mod quantities;
mod selectors;
mod templates;
mod yaml;

use crate::mutate::Form;

/// Something that takes any bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// Runs it on one input; the error says which law does not hold.
    pub run: fn(&[u8]) -> Result<(), String>,
    /// What an input is made of.
    pub form: Form,
    /// Words that mean something to it.
    pub words: &'static [&'static str],
    /// Inputs to begin with.
    pub seeds: fn() -> anyhow::Result<Vec<Vec<u8>>>,
}

/// All targets.
pub const TARGETS: [Target; 8] = [
    paths::TARGET,
    selectors::TARGET,
    patches::TARGET,
    apply::TARGET,
    yaml::TARGET,
    cel::TARGET,
    quantities::TARGET,
    templates::TARGET,
];

/// The target of a name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}

/// Runs `on` with the input if it is text: nobody hands on what is not.
fn with_text(input: &[u8], on: impl FnOnce(&str) -> Result<(), String>) -> Result<(), String> {
    std::str::from_utf8(input).map_or(Ok(()), on)
}

fn owned<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Vec<u8>> {
    texts.into_iter().map(|text| text.as_bytes().to_vec()).collect()
}
