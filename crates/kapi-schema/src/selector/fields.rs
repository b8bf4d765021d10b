//! Field selectors: `metadata.name=a,status.phase!=Failed`.

use std::fmt;

/// A field selector that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FieldSelectorError(String);

/// One term of a field selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The field, such as `metadata.name`.
    pub field: String,
    /// What the field is compared with.
    pub value: String,
    /// Whether the field must have the value, or must not.
    pub equal: bool,
}

/// A field selector: all terms must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// The terms, sorted as they were written.
    pub terms: Vec<Term>,
}

impl Selector {
    /// Reads a selector. Nothing selects everything.
    pub fn parse(text: &str) -> Result<Self, FieldSelectorError> {
        let mut parts = split_terms(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let (field, equal, value) = split_term(part)
                .ok_or_else(|| FieldSelectorError(format!("invalid selector: '{text}'; can't understand '{part}'")))?;
            terms.push(Term { field: field.to_owned(), value: unescape(value)?, equal });
        }
        Ok(Self { terms })
    }

    /// Whether everything is selected.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether an object is selected; `field` gives the value of a field, absent ones being empty.
    pub fn matches<'a>(&self, field: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.terms.iter().all(|term| (field(&term.field).unwrap_or_default() == term.value) == term.equal)
    }

    /// The value this field must have, if the selector demands one.
    pub fn required(&self, field: &str) -> Option<&str> {
        self.terms.iter().find(|term| term.field == field && term.equal).map(|term| term.value.as_str())
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, term) in self.terms.iter().enumerate() {
            let separator = if i > 0 { "," } else { "" };
            let operator = if term.equal { "=" } else { "!=" };
            write!(f, "{separator}{}{operator}{}", term.field, escape(&term.value))?;
        }
        Ok(())
    }
}

fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.extend(text.get(start..));
    terms
}

fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    let at = term
        .char_indices()
        .map(|(at, _)| at)
        .find(|at| term.get(*at..).is_some_and(|rest| rest.starts_with("!=") || rest.starts_with('=')))?;
    let (field, rest) = term.split_at(at);
    if let Some(value) = rest.strip_prefix("!=") {
        return Some((field, false, value));
    }
    let value = rest.strip_prefix("==").or_else(|| rest.strip_prefix('='))?;
    Some((field, true, value))
}

fn unescape(value: &str) -> Result<String, FieldSelectorError> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                other => {
                    let sequence: String = std::iter::once('\\').chain(other).collect();
                    return Err(FieldSelectorError(format!(
                        "invalid field selector: invalid escape sequence: {sequence}"
                    )));
                }
            },
            ',' | '=' => {
                let text = format!("invalid field selector: unescaped character in value: {}", c as u32);
                return Err(FieldSelectorError(text));
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_read_and_printed() {
        let cases = [
            ("", Ok("")),
            ("metadata.name=a", Ok("metadata.name=a")),
            ("metadata.name==a,status.phase!=Failed", Ok("metadata.name=a,status.phase!=Failed")),
            ("a=b\\,c\\=d\\\\", Ok("a=b\\,c\\=d\\\\")),
            ("a=", Ok("a=")),
            ("a", Err("invalid selector: 'a'; can't understand 'a'")),
            ("a=b=c", Err("invalid field selector: unescaped character in value: 61")),
            ("a=\\x", Err("invalid field selector: invalid escape sequence: \\x")),
        ];
        for (text, expected) in cases {
            let found = Selector::parse(text).map(|selector| selector.to_string()).map_err(|error| error.to_string());
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn absent_fields_are_empty() {
        let field = |name: &str| (name == "metadata.name").then_some("a");
        let cases =
            [("metadata.name=a", true), ("metadata.name!=a", false), ("x=", true), ("x!=y", true), ("x=y", false)];
        for (text, expected) in cases {
            assert_eq!(Selector::parse(text).unwrap().matches(field), expected, "{text}");
        }
    }
}
