//! Ranges of keys, and the permission on one.

use bytes::Bytes;

/// The keys from `start` up to, and without, `end`; an empty `end` means the key `start` alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    /// The first key.
    pub start: Bytes,
    /// The first key behind the range.
    pub end: Bytes,
}

impl KeyRange {
    /// One key.
    pub fn key(key: impl Into<Bytes>) -> Self {
        Self { start: key.into(), end: Bytes::new() }
    }

    /// All keys that begin with `prefix`, which must not be empty or end with the byte 0xff.
    pub(crate) fn below(prefix: &str) -> Self {
        let mut end = prefix.as_bytes().to_vec();
        if let Some(last) = end.last_mut() {
            *last = last.saturating_add(1);
        }
        Self { start: Bytes::copy_from_slice(prefix.as_bytes()), end: end.into() }
    }

    /// The part of this range that follows `key`.
    pub(crate) fn after(&self, key: &[u8]) -> Self {
        Self { start: successor(key), end: self.end.clone() }
    }

    /// The part of this range that ends with `key`.
    pub(crate) fn through(&self, key: &[u8]) -> Self {
        Self { start: self.start.clone(), end: successor(key) }
    }
}

/// The next possible key.
fn successor(key: &[u8]) -> Bytes {
    [key, &[0]].concat().into()
}

/// What a role may do with the keys of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// The keys.
    pub range: KeyRange,
    /// Read and write, rather than one of the two.
    pub read_write: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_its_neighbours() {
        let range = KeyRange::below("/abc/");
        assert_eq!((range.start.as_ref(), range.end.as_ref()), (b"/abc/".as_slice(), b"/abc0".as_slice()));
        for (key, inside) in [
            ("/abc/", true),
            ("/abc/pods/x", true),
            ("/abc/\u{10ffff}", true),
            ("/abc", false),
            ("/abc0", false),
            ("/abcd/x", false),
            ("/abc-d/x", false),
            ("/ab/x", false),
        ] {
            assert_eq!((&range.start[..]..&range.end[..]).contains(&key.as_bytes()), inside, "{key}");
        }
    }

    #[test]
    fn a_range_is_cut_at_a_key() {
        let range = KeyRange::below("/a/");
        let (through, after) = (range.through(b"/a/k"), range.after(b"/a/k"));
        assert_eq!(through, KeyRange { start: "/a/".into(), end: "/a/k\0".into() });
        assert_eq!(after, KeyRange { start: "/a/k\0".into(), end: "/a0".into() });
    }
}
