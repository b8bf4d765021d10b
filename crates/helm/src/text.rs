//! Lines of texts.

/// What stands between newlines, the last line included even if it is empty.
///
/// Lines of charts are short, and a search that begins at once is quicker at them than that of [`str::split`].
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = memchr::memchr(b'\n', text.as_bytes());
        rest = end.and_then(|end| text.get(end + 1..));
        end.map_or(Some(text), |end| text.get(..end))
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn lines_are_what_a_split_gives() {
        for text in ["", "a", "a\n", "\n", "a\nb", "\n\na\n\n", "ä\nö"] {
            assert_eq!(super::lines(text).collect::<Vec<_>>(), text.split('\n').collect::<Vec<_>>(), "{text:?}");
        }
    }
}
