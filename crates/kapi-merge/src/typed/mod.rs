//! Values seen through a schema: what is one leaf, what merges, how list items are told apart.

mod compare;
mod ensure;
mod extract;
mod item;
mod merge;
mod reconcile;
mod remove;
mod shape;
mod validate;
mod zero;

pub(crate) use compare::{Comparison, compare, same};
pub(crate) use ensure::with_named_fields;
pub(crate) use extract::field_set;
pub(crate) use merge::merge;
pub(crate) use reconcile::reconcile;
pub(crate) use remove::remove;
pub(crate) use shape::Shape;
pub(crate) use validate::{Duplicates, validate};
pub(crate) use zero::zero_object;

use std::fmt;

/// What does not fit the schema, each with the path it was found at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mismatches(Vec<(String, String)>);

impl Mismatches {
    fn one(message: impl Into<String>) -> Self {
        Self(vec![(String::new(), message.into())])
    }

    fn add(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    fn under(mut self, element: impl fmt::Display) -> Self {
        for (path, _) in &mut self.0 {
            *path = format!("{element}{path}");
        }
        self
    }

    fn into_result(self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for Mismatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |(path, message): &(String, String)| {
            if path.is_empty() { message.clone() } else { format!("{path}: {message}") }
        };
        if let [only] = self.0.as_slice() {
            return f.write_str(&line(only));
        }
        f.write_str("errors:")?;
        for mismatch in &self.0 {
            write!(f, "\n  {}", line(mismatch))?;
        }
        Ok(())
    }
}
