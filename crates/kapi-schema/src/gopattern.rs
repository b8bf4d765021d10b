//! Regular expressions as Go reads them: RE2 syntax with ASCII classes.

use std::sync::OnceLock;

use regex::Regex;

/// A pattern compiled when it is first used.
#[derive(Clone, Debug, Default)]
pub struct LazyPattern(OnceLock<Option<Regex>>);

impl LazyPattern {
    /// Whether `text` has a match; none if the pattern is no pattern.
    pub fn is_match(&self, pattern: &str, text: &str) -> Option<bool> {
        self.0.get_or_init(|| compile(pattern).ok()).as_ref().map(|regex| regex.is_match(text))
    }
}

/// What a pattern compiles to follows from its text, which is compared beside it.
impl PartialEq for LazyPattern {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Compiles a Go pattern; the error is worded as Go words it where it can be told.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    Regex::new(&translate(pattern)).map_err(|error| describe(pattern, &error))
}

/// Go's classes are ASCII only, and a class holds plain characters where Rust knows set operations.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut chars = pattern.chars().peekable();
    let mut in_class = false;
    let mut class_start = false;
    while let Some(c) = chars.next() {
        let at_start = std::mem::take(&mut class_start);
        match c {
            '\\' => match chars.next() {
                Some('Q') => quote_literal(&mut chars, &mut out),
                Some(class @ ('d' | 'w' | 's' | 'D' | 'W' | 'S')) => out.push_str(ascii_class(class, in_class)),
                Some('b') if !in_class => out.push_str("(?-u:\\b)"),
                Some('z') => out.push_str("\\z"),
                Some(other) => {
                    out.push('\\');
                    out.push(other);
                }
                None => out.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                class_start = true;
                out.push('[');
                if chars.peek() == Some(&'^') {
                    chars.next();
                    out.push('^');
                }
            }
            '[' if chars.peek() == Some(&':') => {
                out.push('[');
                for c in chars.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            '[' => out.push_str("\\["),
            ']' if in_class && at_start => out.push_str("\\]"),
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            '-' if in_class && chars.peek() == Some(&'-') => out.push_str("\\-"),
            c => out.push(c),
        }
    }
    out
}

fn quote_literal(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    while let Some(c) = chars.next() {
        if c == '\\' && chars.peek() == Some(&'E') {
            chars.next();
            return;
        }
        out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
    }
}

fn ascii_class(class: char, in_class: bool) -> &'static str {
    match (class, in_class) {
        ('d', true) => "0-9",
        ('d', false) => "[0-9]",
        ('w', true) => "0-9A-Za-z_",
        ('w', false) => "[0-9A-Za-z_]",
        ('s', true) => "\\t\\n\\f\\r ",
        ('s', false) => "[\\t\\n\\f\\r ]",
        ('D', _) => "[^0-9]",
        ('W', _) => "[^0-9A-Za-z_]",
        _ => "[^\\t\\n\\f\\r ]",
    }
}

fn describe(pattern: &str, error: &regex::Error) -> String {
    let text = error.to_string();
    let reason = |known: &str| text.contains(known);
    if reason("unclosed group") {
        format!("error parsing regexp: missing closing ): `{pattern}`")
    } else if reason("unopened group") {
        format!("error parsing regexp: unexpected ): `{pattern}`")
    } else if reason("unclosed character class") {
        let rest = pattern.rfind('[').and_then(|at| pattern.get(at..)).unwrap_or(pattern);
        format!("error parsing regexp: missing closing ]: `{rest}`")
    } else if reason("repetition operator missing expression") {
        let operator = pattern.chars().find(|c| matches!(c, '*' | '+' | '?')).unwrap_or('*');
        format!("error parsing regexp: missing argument to repetition operator: `{operator}`")
    } else if reason("look-around") {
        let at = pattern.find("(?").unwrap_or(0);
        let rest: String = pattern.chars().skip(at).take(3).collect();
        format!("error parsing regexp: invalid or unsupported Perl syntax: `{rest}`")
    } else {
        format!("error parsing regexp: invalid syntax: `{pattern}`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_patterns_mean_what_they_mean_in_go() {
        let cases = [
            (r"^\d+$", "12", true),
            (r"^\d+$", "१२", false),
            (r"^[\w.-]+$", "a_b.c-d", true),
            (r"^[[a]$", "[", true),
            (r"^[]a]$", "]", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            (r"^[[:alpha:]]+$", "abc", true),
            (r"^[a&&b]+$", "a&b", true),
            (r"\bfoo\b", "a foo b", true),
            (r"^[^\s]+$", "a b", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(LazyPattern::default().is_match(pattern, text), Some(expected), "{pattern} on {text}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_explained() {
        let cases = [
            ("(a", "error parsing regexp: missing closing ): `(a`"),
            ("a)", "error parsing regexp: unexpected ): `a)`"),
            ("[a", "error parsing regexp: missing closing ]: `[a`"),
            ("*a", "error parsing regexp: missing argument to repetition operator: `*`"),
            ("(?=a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(compile(pattern).unwrap_err(), expected);
        }
    }
}
