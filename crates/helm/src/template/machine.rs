//! What rendering may use beyond its values, and how much of it.

use std::collections::HashMap;

use regex::{Regex, RegexBuilder};

use super::error::Fault;
use super::value::BYTES_PER_STEP;
use crate::re2;
use crate::render::Surroundings;

/// How many steps a rendering may take: far more than any real chart does, and seconds at most. A step is a statement,
/// a call, or as many bytes as are handled meanwhile; so what is kept of them is bounded too.
const MAX_STEPS: u64 = 5_000_000;

/// What a compiled expression may take: it is tried with little first, as what it takes is what it costs.
const REGEX_SIZES: [usize; 3] = [64 << 10, 512 << 10, 4 << 20];

/// A longer expression is a hundred times as large before it is known how large it gets.
const MAX_EXPRESSION: usize = 64 << 10;

/// How many expressions are remembered.
const MAX_REGEXES: usize = 200;

/// A compiled expression, and which of [`REGEX_SIZES`] it fits.
type Compiled = Result<(Regex, usize), String>;

/// The surroundings of a rendering together with its budget.
pub(crate) struct Machine<'m> {
    pub(crate) surroundings: &'m Surroundings<'m>,
    steps: u64,
    regexes: HashMap<String, Compiled>,
}

impl<'m> Machine<'m> {
    pub(crate) fn new(surroundings: &'m Surroundings<'m>) -> Self {
        Self { surroundings, steps: 0, regexes: HashMap::new() }
    }

    /// Counts work; fails once there was too much of it.
    pub(crate) fn spend(&mut self, steps: usize) -> Result<(), Fault> {
        self.steps = self.steps.saturating_add(u64::try_from(steps).unwrap_or(u64::MAX));
        if self.steps > MAX_STEPS { Err(Fault::Limit("rendering takes too long")) } else { Ok(()) }
    }

    /// A compiled expression, compiled once, for use on a text of `length`: the larger it is, the longer that takes.
    pub(crate) fn regex(&mut self, expression: &str, length: usize) -> Result<Regex, Fault> {
        let compiled = match self.regexes.get(expression) {
            Some(known) => known.clone(),
            None => self.compile(expression)?,
        };
        let (regex, size) = compiled?;
        self.spend(length.saturating_mul(size / REGEX_SIZES[0]) / 2)?;
        Ok(regex)
    }

    fn compile(&mut self, expression: &str) -> Result<Compiled, Fault> {
        if expression.len() > MAX_EXPRESSION {
            return Err(Fault::Limit("the expression is too large"));
        }
        let compiled = match re2::translate(expression) {
            Ok(translated) => Ok(self.build(&translated.text)?),
            Err(refused) => Err(refused),
        };
        if self.regexes.len() < MAX_REGEXES {
            self.regexes.insert(expression.to_owned(), compiled.clone());
        }
        Ok(compiled)
    }

    fn build(&mut self, translated: &str) -> Result<(Regex, usize), Fault> {
        for size in REGEX_SIZES {
            self.spend(size / BYTES_PER_STEP)?;
            if let Ok(regex) = RegexBuilder::new(translated).size_limit(size).build() {
                return Ok((regex, size));
            }
        }
        Err(Fault::Limit("the expression is too large"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Offline, SystemRandom};

    #[test]
    fn expressions_cost_what_they_take() {
        let surroundings = Surroundings { now: jiff::Timestamp::UNIX_EPOCH, random: &SystemRandom, cluster: &Offline };
        let mut machine = Machine::new(&surroundings);
        let mut cost = |expression: &str, length: usize| {
            let before = machine.steps;
            assert!(machine.regex(expression, length).is_ok(), "{expression}");
            machine.steps - before
        };
        assert_eq!(cost("^[a-z]+$", 0), 1024);
        assert_eq!(cost("^[a-z]+$", 1000), 500, "it is compiled once");
        assert_eq!(cost("[a-z]{1000}[a-z]{1000}[a-z]{1000}", 1000), 1024 + 8192 + 4000);
        assert!(matches!(machine.regex(r"\pL{1000}", 0), Err(Fault::Limit("the expression is too large"))));
        assert!(matches!(machine.regex("(", 0), Err(Fault::Message(_))));
    }
}
