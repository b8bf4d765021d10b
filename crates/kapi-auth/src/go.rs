//! Texts as Go's `%q` writes them, for messages that clients compare.

/// A quoted string.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if c.is_ascii_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            // What Rust escapes beyond ASCII is what Go calls unprintable.
            c if !c.is_ascii() && c.escape_debug().count() > 1 => match u32::from(c) {
                code @ ..=0xffff => out.push_str(&format!("\\u{code:04x}")),
                code => out.push_str(&format!("\\U{code:08x}")),
            },
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A list of quoted strings: `["a" "b"]`.
pub(crate) fn quote_list<S: AsRef<str>>(texts: &[S]) -> String {
    let quoted: Vec<_> = texts.iter().map(|t| quote(t.as_ref())).collect();
    format!("[{}]", quoted.join(" "))
}

/// Several errors as one: alone, or `[a, b]` without repetition.
pub(crate) fn aggregate(errors: &[String]) -> String {
    let mut distinct: Vec<&str> = Vec::new();
    for error in errors {
        if !distinct.contains(&error.as_str()) {
            distinct.push(error);
        }
    }
    match distinct.as_slice() {
        [one] => (*one).to_owned(),
        many => format!("[{}]", many.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_is_that_of_go() {
        for (text, expected) in [
            ("a", r#""a""#),
            ("a\"b\\", r#""a\"b\\""#),
            ("tab\tnl\n", r#""tab\tnl\n""#),
            ("\u{1}", r#""\x01""#),
            ("ü", "\"ü\""),
            ("\u{200b}", r#""\u200b""#),
            ("it's", "\"it's\""),
        ] {
            assert_eq!(quote(text), expected);
        }
        assert_eq!(quote_list(&["a", "b"]), r#"["a" "b"]"#);
        assert_eq!(quote_list::<&str>(&[]), "[]");
    }

    #[test]
    fn errors_are_listed_once() {
        let list = |texts: &[&str]| aggregate(&texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>());
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "a"]), "a");
        assert_eq!(list(&["a", "b", "a"]), "[a, b]");
    }
}
