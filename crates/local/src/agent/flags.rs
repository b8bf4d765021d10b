//! Command lines of Kubernetes' programs.

/// The flags of a command line, in order, each with its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(Vec<(String, String)>);

impl Flags {
    /// Reads `--name=value`, `--name value` and `--name` alone, which means true. Anything else is passed over.
    pub(crate) fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut out = Vec::new();
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            let Some(flag) = word.strip_prefix("--").filter(|flag| !flag.is_empty()) else { continue };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, value),
                None => (flag, words.next_if(|next| !next.starts_with("--")).unwrap_or("true")),
            };
            out.push((name.to_owned(), value.to_owned()));
        }
        Self(out)
    }

    /// The value of a flag; of several, the last counts.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).last()
    }

    /// All values of a flag that may be given several times.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The names given, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_in_all_their_forms() {
        let words = ["kube-apiserver", "--a=1", "--b", "2", "--c", "--d=x=y", "--a=3", "--e=", "--f"];
        let flags = Flags::parse(words);
        for (name, value) in [
            ("a", Some("3")),
            ("b", Some("2")),
            ("c", Some("true")),
            ("d", Some("x=y")),
            ("e", Some("")),
            ("f", Some("true")),
            ("kube-apiserver", None),
        ] {
            assert_eq!(flags.get(name), value, "{name}");
        }
        assert_eq!(flags.all("a").collect::<Vec<_>>(), ["1", "3"]);
        assert_eq!(flags.names().collect::<Vec<_>>(), ["a", "b", "c", "d", "a", "e", "f"]);
    }
}
