//! Field selectors, as far as authorisation looks at them.

/// One requirement of a field selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldMatch {
    /// The field, such as `spec.nodeName`.
    pub field: String,
    /// The value compared with.
    pub value: String,
    /// Whether the field must equal the value, or must not.
    pub equal: bool,
}

/// Parses `a=b,c!=d`, with `\` escaping `,`, `=` and itself; none when it is malformed.
pub fn parse_field_selector(selector: &str) -> Option<Vec<FieldMatch>> {
    split_terms(selector).into_iter().filter(|term| !term.is_empty()).map(parse_term).collect()
}

fn split_terms(selector: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, c) in selector.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.extend(selector.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.extend(selector.get(start..));
    terms
}

fn parse_term(term: &str) -> Option<FieldMatch> {
    let at = term.find(['=', '!'])?;
    let (field, rest) = term.split_at(at);
    let (value, equal) = if let Some(value) = rest.strip_prefix("!=") {
        (value, false)
    } else {
        (rest.strip_prefix("==").or_else(|| rest.strip_prefix('='))?, true)
    };
    Some(FieldMatch { field: field.to_owned(), value: unescape(value)?, equal })
}

fn unescape(value: &str) -> Option<String> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.push(chars.next().filter(|next| ['\\', ',', '='].contains(next))?),
            '=' => return None,
            c => out.push(c),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_parse() {
        let equal =
            |field: &str, value: &str, equal| FieldMatch { field: field.to_owned(), value: value.to_owned(), equal };
        for (selector, expected) in [
            ("", Some(vec![])),
            ("spec.nodeName=n1", Some(vec![equal("spec.nodeName", "n1", true)])),
            ("spec.nodeName==n1", Some(vec![equal("spec.nodeName", "n1", true)])),
            ("a!=b,c=d", Some(vec![equal("a", "b", false), equal("c", "d", true)])),
            (r"a=b\,c\=d", Some(vec![equal("a", "b,c=d", true)])),
            ("a=", Some(vec![equal("a", "", true)])),
            ("a", None),
            ("a!b", None),
            (r"a=\x", None),
            ("a=b=c", None),
        ] {
            assert_eq!(parse_field_selector(selector), expected, "{selector}");
        }
    }
}
