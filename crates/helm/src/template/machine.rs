//! What rendering may use beyond its values, and how much of it.

use std::collections::HashMap;

use regex::{Regex, RegexBuilder};

use super::error::Fault;
use crate::re2;
use crate::render::Surroundings;

/// How many steps a rendering may take: far more than any real chart does, and seconds at most.
const MAX_STEPS: u64 = 5_000_000;

/// What a compiled expression may take.
const MAX_REGEX: usize = 4 << 20;

/// The surroundings of a rendering together with its budget.
pub(crate) struct Machine<'m> {
    pub(crate) surroundings: &'m Surroundings<'m>,
    steps: u64,
    regexes: HashMap<String, Result<Regex, String>>,
}

impl<'m> Machine<'m> {
    pub(crate) fn new(surroundings: &'m Surroundings<'m>) -> Self {
        Self { surroundings, steps: 0, regexes: HashMap::new() }
    }

    /// Counts work; fails once there was too much of it.
    pub(crate) fn spend(&mut self, steps: usize) -> Result<(), Fault> {
        self.steps = self.steps.saturating_add(u64::try_from(steps).unwrap_or(u64::MAX));
        if self.steps > MAX_STEPS { Err("rendering takes too long".into()) } else { Ok(()) }
    }

    /// A compiled expression, compiled once.
    pub(crate) fn regex(&mut self, expression: &str) -> Result<Regex, String> {
        if let Some(known) = self.regexes.get(expression) {
            return known.clone();
        }
        let compiled = re2::translate(expression).and_then(|translated| {
            let built = RegexBuilder::new(&translated.text).size_limit(MAX_REGEX).build();
            built.map_err(|_| format!("error parsing regexp: expression too large: `{expression}`"))
        });
        self.regexes.insert(expression.to_owned(), compiled.clone());
        compiled
    }
}
