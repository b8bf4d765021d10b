//! Values on the command line: files first, then `--set`, as helm takes them.

use std::path::PathBuf;

use clap::Args;
use helm::values::{self, Values};

use crate::failure::{Failure, Outcome};

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Given {
    /// Values, as helm takes them: a.b=1,c={x,y}
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// A file of values; - is standard input
    #[arg(short = 'f', long, value_name = "FILE")]
    values: Vec<PathBuf>,
}

impl Given {
    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.values.is_empty()
    }

    /// What is given, over `base`.
    pub(crate) fn over(&self, mut base: Values) -> Outcome<Values> {
        for file in &self.values {
            let place = file.display();
            let text = match file.as_os_str() == "-" {
                true => std::io::read_to_string(std::io::stdin()),
                false => std::fs::read_to_string(file),
            };
            let text = text.map_err(|error| Failure::usage(format!("cannot read {place}: {error}")))?;
            let read = kernel::yaml::value(&text).map_err(|error| Failure::usage(format!("{place}: {error}")))?;
            match read {
                serde_json::Value::Null => {}
                serde_json::Value::Object(read) => values::merge(&mut base, read),
                _ => return Err(Failure::usage(format!("{place}: values are no mapping"))),
            }
        }
        for set in &self.set {
            values::set(&mut base, set).map_err(|error| Failure::usage(format!("--set {set}: {error}")))?;
        }
        Ok(base)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_is_set_wins_over_files_and_what_there_was() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a: {b: 2}\nd: 4\n").unwrap();
        let given = Given { set: vec!["a.b=3,e={x,y}".into()], values: vec![file.path().to_owned()] };
        let base = json!({"a": {"b": 1, "c": 1}, "d": 1}).as_object().unwrap().clone();
        let expected = json!({"a": {"b": 3, "c": 1}, "d": 4, "e": ["x", "y"]});
        assert_eq!(Value::Object(given.over(base).unwrap()), expected);
        let broken = Given { set: vec!["a[".into()], ..Given::default() };
        assert!(broken.over(Values::new()).is_err());
    }
}
