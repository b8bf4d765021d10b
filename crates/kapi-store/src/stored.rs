//! An object as a collection keeps it.
//!
//! Every API begins with the same objects, which differ in little more than their revisions and uids, and these stand
//! near the beginning. So what a document has in common with the end of its namesake in the first collection of the
//! same resource is kept once.

use bytes::{BufMut, Bytes, BytesMut};

use crate::collection::Entry;

/// Shorter ends are not worth being told apart.
const WORTH_SHARING: usize = 128;

/// An object in memory.
pub(crate) struct Stored {
    revision: u64,
    splice: u32,
    text: Text,
}

enum Text {
    Whole(Bytes),
    Shared { begins: Box<[u8]>, ends: Bytes },
}

impl Stored {
    /// Keeps an object, whose namesake elsewhere may be `like` it.
    pub(crate) fn new(entry: Entry, like: Option<&Self>) -> Self {
        let Entry { revision, bytes, splice } = entry;
        let text = match like.map(|like| &like.text) {
            Some(Text::Whole(other)) => shared(bytes, other),
            _ => Text::Whole(bytes),
        };
        Self { revision, splice, text }
    }

    pub(crate) fn entry(&self) -> Entry {
        Entry { revision: self.revision, bytes: self.bytes(), splice: self.splice }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn bytes(&self) -> Bytes {
        match &self.text {
            Text::Whole(bytes) => bytes.clone(),
            Text::Shared { begins, ends } => {
                let mut out = BytesMut::with_capacity(begins.len() + ends.len());
                out.put_slice(begins);
                out.put_slice(ends);
                out.freeze()
            }
        }
    }
}

fn shared(bytes: Bytes, other: &Bytes) -> Text {
    let common = bytes.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    if common < WORTH_SHARING {
        return Text::Whole(bytes);
    }
    let (begins, _) = bytes.split_at(bytes.len() - common);
    Text::Shared { begins: begins.into(), ends: other.slice(other.len() - common..) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(text: &str, like: Option<&Stored>) -> Stored {
        Stored::new(Entry { revision: 1, bytes: Bytes::copy_from_slice(text.as_bytes()), splice: 0 }, like)
    }

    #[test]
    fn equal_ends_are_kept_once_and_read_as_before() {
        let end = "x".repeat(WORTH_SHARING);
        let first = stored(&format!("first{end}"), None);
        let second = stored(&format!("second {end}"), Some(&first));
        let third = stored(&end, Some(&first));
        let short = stored("short x", Some(&first));
        for (stored, is_shared, text) in [
            (&first, false, format!("first{end}")),
            (&second, true, format!("second {end}")),
            (&third, true, end.clone()),
            (&short, false, "short x".to_owned()),
        ] {
            assert_eq!(matches!(stored.text, Text::Shared { .. }), is_shared, "{text}");
            assert_eq!(stored.bytes(), text);
        }
    }
}
