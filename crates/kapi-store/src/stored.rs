//! An object as a collection keeps it.
//!
//! Objects of a kind differ in little: names, uids, times. Every API begins with the same objects, which differ in even
//! less, and that stands near their beginning. So what a document has in common with the end of its namesake in the first
//! collection of the same resource is kept once; of others, what they have in common with a model of their kind.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use lz4_flex::block::{compress_with_dict, decompress_with_dict};

use crate::collection::Entry;

/// Shorter ends are not worth being told apart.
const WORTH_SHARING: usize = 128;
/// Shorter documents are not worth being packed.
const WORTH_PACKING: usize = 256;
/// A model is gone through for every document that is packed by it.
const LONGEST_MODEL: usize = 32 * 1024;

/// What objects of one kind look like: one of them.
pub(crate) type Model = Arc<[u8]>;

/// An object in memory. Clones share all of it.
#[derive(Clone)]
pub(crate) struct Stored {
    revision: u64,
    splice: u32,
    text: Text,
}

/// A document in memory. Clones share all of it.
#[derive(Clone)]
pub(crate) enum Text {
    Whole(Bytes),
    Shared { begins: Arc<[u8]>, ends: Bytes },
    Packed { packed: Arc<[u8]>, length: u32, model: Model },
}

impl Stored {
    /// Keeps an object, whose namesake elsewhere may be `like` it, and which may be of the kind of a model.
    pub(crate) fn new(entry: Entry, like: Option<&Bytes>, model: Option<&Model>) -> Self {
        let Entry { revision, bytes, splice } = entry;
        let shared = like.and_then(|like| shared(&bytes, like));
        let text = match shared {
            Some(text) if text.own() <= bytes.len() / 4 => text,
            shared => {
                let packed = model.and_then(|model| packed(&bytes, model));
                shared.into_iter().chain(packed).min_by_key(Text::own).unwrap_or(Text::Whole(bytes))
            }
        };
        Self { revision, splice, text }
    }

    pub(crate) fn entry(&self) -> Entry {
        Entry { revision: self.revision, bytes: self.text.bytes(), splice: self.splice }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn text(&self) -> &Text {
        &self.text
    }

    /// The document if it is kept as it is.
    pub(crate) fn whole(&self) -> Option<&Bytes> {
        match &self.text {
            Text::Whole(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Keeps the document as it is from now on, for others to be like it.
    pub(crate) fn make_whole(&mut self) -> Bytes {
        let bytes = self.text.bytes();
        self.text = Text::Whole(bytes.clone());
        bytes
    }
}

impl Text {
    /// The document.
    pub(crate) fn bytes(&self) -> Bytes {
        match self {
            Self::Whole(bytes) => bytes.clone(),
            Self::Shared { begins, ends } => {
                let mut out = BytesMut::with_capacity(begins.len() + ends.len());
                out.put_slice(begins);
                out.put_slice(ends);
                out.freeze()
            }
            // It was unpacked once when it was packed, from bytes that nobody can change.
            Self::Packed { packed, length, model } => {
                decompress_with_dict(packed, *length as usize, model).unwrap_or_default().into()
            }
        }
    }

    /// How long the document is.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Whole(bytes) => bytes.len(),
            Self::Shared { begins, ends } => begins.len() + ends.len(),
            Self::Packed { length, .. } => *length as usize,
        }
    }

    /// How much of it is its own.
    fn own(&self) -> usize {
        match self {
            Self::Whole(bytes) => bytes.len(),
            Self::Shared { begins, .. } => begins.len(),
            Self::Packed { packed, .. } => packed.len(),
        }
    }
}

/// A document as a model for others of its kind, if it may be one.
pub(crate) fn model(bytes: &Bytes) -> Option<Model> {
    (WORTH_PACKING..=LONGEST_MODEL).contains(&bytes.len()).then(|| Model::from(&**bytes))
}

fn shared(bytes: &Bytes, other: &Bytes) -> Option<Text> {
    let common = bytes.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    if common < WORTH_SHARING {
        return None;
    }
    let (begins, _) = bytes.split_at(bytes.len() - common);
    Some(Text::Shared { begins: begins.into(), ends: other.slice(other.len() - common..) })
}

fn packed(bytes: &Bytes, model: &Model) -> Option<Text> {
    let length = u32::try_from(bytes.len()).ok().filter(|_| bytes.len() >= WORTH_PACKING)?;
    let packed = compress_with_dict(bytes, model);
    let is_smaller = packed.len() < bytes.len() / 4 * 3;
    let is_right = || decompress_with_dict(&packed, bytes.len(), model).is_ok_and(|unpacked| unpacked == *bytes);
    (is_smaller && is_right()).then(|| Text::Packed { packed: packed.into(), length, model: Arc::clone(model) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(text: &str, like: Option<&Stored>, model: Option<&Model>) -> Stored {
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        Stored::new(Entry { revision: 1, bytes, splice: 0 }, like.and_then(Stored::whole), model)
    }

    #[test]
    fn equal_ends_are_kept_once_and_read_as_before() {
        let end = "x".repeat(WORTH_SHARING);
        let first = stored(&format!("first{end}"), None, None);
        let second = stored(&format!("second {end}"), Some(&first), None);
        let third = stored(&end, Some(&first), None);
        let short = stored("short x", Some(&first), None);
        for (stored, is_shared, text) in [
            (&first, false, format!("first{end}")),
            (&second, true, format!("second {end}")),
            (&third, true, end.clone()),
            (&short, false, "short x".to_owned()),
        ] {
            assert_eq!(matches!(stored.text, Text::Shared { .. }), is_shared, "{text}");
            assert_eq!((stored.text().bytes(), stored.text().size()), (Bytes::from(text.clone()), text.len()));
        }
    }

    #[test]
    fn documents_are_packed_where_that_makes_them_smaller_and_read_as_before() {
        let document = |name: &str| format!(r#"{{"kind":"Thing","metadata":{{"name":"{name}"}},"spec":{SPEC}}}"#);
        let kind = model(&Bytes::from(document("model"))).unwrap();
        // Nothing in it is found anywhere else.
        let numbers =
            std::iter::successors(Some(1_u32), |n| Some(n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)));
        let noise: String = numbers.take(400).map(|n| char::from(b'!' + (n >> 24) as u8 % 90)).collect();
        for (text, most) in [(document("one"), Some(60)), (document(&"x".repeat(1000)), Some(90)), (noise, None)] {
            let mut stored = stored(&text, None, Some(&kind));
            let length = match &stored.text {
                Text::Packed { packed, .. } => Some(packed.len()),
                _ => None,
            };
            assert_eq!(length.is_some(), most.is_some(), "{text}");
            assert!(length <= most, "{length:?} {text}");
            assert_eq!((stored.text().bytes(), stored.text().size()), (Bytes::from(text.clone()), text.len()));
            assert_eq!(stored.make_whole(), text);
            assert!(stored.whole().is_some());
        }
        assert!(packed(&Bytes::from("x".repeat(WORTH_PACKING - 1)), &kind).is_none());
        // A short end in common is no reason not to pack the rest.
        let like = stored(&format!("like{}", &document("x")[SPEC.len() - WORTH_SHARING..]), None, None);
        let both = stored(&document(&"y".repeat(500)), Some(&like), Some(&kind));
        assert!(both.text.own() < 100, "{}", both.text.own());
        assert!(model(&Bytes::from("x".repeat(LONGEST_MODEL + 1))).is_none());
    }

    const SPEC: &str = r#"{"template":{"metadata":{"labels":{"app":"web","tier":"front"}},"spec":{"containers":[{"name":"main","image":"registry.example/web:1","resources":{"limits":{"memory":"64Mi"}}}],"restartPolicy":"Always","terminationGracePeriodSeconds":30}}}"#;
}
