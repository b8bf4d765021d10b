//! How a broken law is told.

use std::fmt::{Debug, Display};
use std::str::FromStr;

/// Two ways that must lead to the same.
pub(crate) fn same<T: PartialEq + Debug>(law: &str, one: &T, other: &T) -> Result<(), String> {
    if one == other { Ok(()) } else { Err(format!("{law}:\n  {one:?}\n  {other:?}")) }
}

/// What is printed reads back as the same, and prints the same again.
pub(crate) fn reads_back<T: FromStr + Display>(what: &str, value: &T) -> Result<(), String>
where
    T::Err: Display,
{
    let printed = value.to_string();
    match printed.parse::<T>() {
        Ok(read) => same(&format!("a {what} prints as it was read"), &printed, &read.to_string()),
        Err(error) => Err(format!("a {what} is printed as {printed:?}, which cannot be read: {error}")),
    }
}
