//! Versions.

use super::{Fault, Function, ITEM, f, fits, text};
use crate::semver::{Constraint, Version};
use crate::template::native::Native;
use crate::template::value::Value;

pub(super) static FUNCTIONS: &[Function] = &[
    f("semver", "s", |_, a| Ok(Value::native(Native::Version(version(&text(a, 0))?)))),
    f("semverCompare", "ss", |_, a| {
        // A few letters make an alternative.
        fits(text(a, 0).len().saturating_mul(ITEM))?;
        let constraint = Constraint::parse(&text(a, 0)).map_err(|error| error.to_string())?;
        Ok(Value::Bool(constraint.check(&version(&text(a, 1))?)))
    }),
];

fn version(text: &str) -> Result<Version, Fault> {
    Version::parse(text).map_err(|error| error.to_string().into())
}
