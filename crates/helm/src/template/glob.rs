//! Patterns of `.Files.Glob`: `*`, `**`, `?`, `[a-z]`, `{a,b}`, with `/` as separator.

use regex::Regex;

/// A compiled pattern.
pub(crate) struct Glob(Regex);

impl Glob {
    /// Compiles a pattern; none if it is no pattern.
    pub(crate) fn new(pattern: &str) -> Option<Self> {
        let mut expression = String::from("(?s)^");
        let mut alternatives = 0_usize;
        let mut chars = pattern.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '*' if chars.peek() == Some(&'*') => {
                    while chars.peek() == Some(&'*') {
                        chars.next();
                    }
                    expression.push_str(".*");
                }
                '*' => expression.push_str("[^/]*"),
                '?' => expression.push_str("[^/]"),
                '[' => {
                    expression.push('[');
                    if chars.peek() == Some(&'!') {
                        chars.next();
                        expression.push('^');
                    }
                    loop {
                        match chars.next()? {
                            ']' => break,
                            '\\' => expression.push_str("\\\\"),
                            other => expression.push(other),
                        }
                    }
                    expression.push(']');
                }
                '{' => {
                    alternatives += 1;
                    expression.push_str("(?:");
                }
                '}' if alternatives > 0 => {
                    alternatives -= 1;
                    expression.push(')');
                }
                ',' if alternatives > 0 => expression.push('|'),
                '\\' => expression.push_str(&regex::escape(&chars.next()?.to_string())),
                other => expression.push_str(&regex::escape(&other.to_string())),
            }
        }
        expression.push('$');
        Regex::new(&expression).ok().map(Self)
    }

    /// Whether a path fits.
    pub(crate) fn matches(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_paths() {
        for (pattern, path, expected) in [
            ("*", "a.txt", true),
            ("*", "d/a.txt", false),
            ("**", "d/a.txt", true),
            ("d/*", "d/a.txt", true),
            ("**.txt", "d/a.txt", true),
            ("{a,b}.txt", "b.txt", true),
            ("[a-c].txt", "d.txt", false),
            ("?.txt", "a.txt", true),
        ] {
            assert_eq!(Glob::new(pattern).unwrap().matches(path), expected, "{pattern} {path}");
        }
        assert!(Glob::new("[a").is_none());
    }
}
