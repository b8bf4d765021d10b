//! Cuts a file into documents.

use std::sync::LazyLock;

use regex::Regex;

/// Three dashes at the beginning of a line, with the empty lines before and all space behind them.
static SEPARATOR: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?:^|\s*\n)---\s*").ok());

/// The documents of a file that are not empty. The last keeps the space behind it.
pub fn split(text: &str) -> Vec<&str> {
    let text = text.trim_start();
    match SEPARATOR.as_ref() {
        Some(separator) => separator.split(text).filter(|document| !document.trim().is_empty()).collect(),
        None => vec![text],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_cut_at_dashes() {
        for (text, expected) in [
            ("a: 1\n---\nb: 2\n", &["a: 1", "b: 2\n"][..]),
            ("---\na: 1\n", &["a: 1\n"]),
            ("\na: |\n  x --- y\n", &["a: |\n  x --- y\n"]),
            ("---\n\n", &[]),
            ("a: 1\n--- # note\nb: 2", &["a: 1", "# note\nb: 2"]),
        ] {
            assert_eq!(split(text), expected);
        }
    }
}
