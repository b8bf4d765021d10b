//! Arguments of the programs.

use std::collections::BTreeSet;

/// The arguments of one program. Some are Steward's business and others a default that a user may replace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    set: Vec<Flag>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Flag {
    name: &'static str,
    value: String,
    /// A user may replace it.
    replaceable: bool,
}

/// Arguments a user gave for flags that only Steward can set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub Vec<String>);

impl Flags {
    /// Sets what nothing else can be right for.
    #[must_use]
    pub fn fixed(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.set.push(Flag { name, value: value.into(), replaceable: false });
        self
    }

    /// Sets what a user may replace.
    #[must_use]
    pub fn preset(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.set.push(Flag { name, value: value.into(), replaceable: true });
        self
    }

    /// All arguments with those of the user, in a stable order: ours by name, then the user's as they were given.
    pub fn with_extra(mut self, extra: &[String]) -> Result<Vec<String>, Refused> {
        let names: BTreeSet<&str> = extra.iter().map(|argument| flag_name(argument)).collect();
        let is_fixed = |name: &str| self.set.iter().any(|flag| !flag.replaceable && flag.name == name);
        let refused: Vec<String> = names.iter().filter(|name| is_fixed(name)).map(|name| format!("--{name}")).collect();
        if !refused.is_empty() {
            return Err(Refused(refused));
        }
        self.set.retain(|flag| !names.contains(flag.name));
        self.set.sort_by_key(|flag| flag.name);
        let ours = self.set.into_iter().map(|flag| format!("--{}={}", flag.name, flag.value));
        Ok(ours.chain(extra.iter().cloned()).collect())
    }
}

fn flag_name(argument: &str) -> &str {
    let name = argument.trim_start_matches('-');
    name.split_once('=').map_or(name, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_replace_defaults_and_nothing_else() {
        let flags = Flags::default().fixed("secure-port", "6443").preset("profiling", "false");
        let extra = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(flags.clone().with_extra(&[]).unwrap(), ["--profiling=false", "--secure-port=6443"]);
        assert_eq!(
            flags.clone().with_extra(&extra(&["--profiling", "--v=2", "--v=3"])).unwrap(),
            ["--secure-port=6443", "--profiling", "--v=2", "--v=3"]
        );
        assert_eq!(
            flags.with_extra(&extra(&["--secure-port=1", "--v=2"])).unwrap_err(),
            Refused(vec!["--secure-port".into()])
        );
    }
}
