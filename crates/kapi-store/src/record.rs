//! One change, in memory and on disk.

use bytes::Bytes;
use lz4_flex::block::{compress_into, decompress, get_maximum_output_size};

const FIELD: &[u8] = b"\"resourceVersion\":\"";

/// A JSON document that lacks only its resourceVersion, and where to put it.
#[derive(Clone, Debug)]
pub struct Body {
    bytes: Vec<u8>,
    splice: u32,
}

impl Body {
    /// `bytes` is the document without resourceVersion; `splice` is the offset just after the `{` of a metadata object
    /// that has at least one other field.
    pub fn new(bytes: Vec<u8>, splice: usize) -> Self {
        let splice = u32::try_from(splice.min(bytes.len())).unwrap_or(u32::MAX);
        Self { bytes, splice }
    }

    pub(crate) fn at(&self, revision: u64) -> Document {
        let at = self.splice as usize;
        Document { bytes: spliced(&self.bytes[..at], revision, &self.bytes[at..]), splice: self.splice }
    }
}

/// A complete document, and where its resourceVersion stands.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) bytes: Bytes,
    pub(crate) splice: u32,
}

impl Document {
    /// The same document at another revision.
    pub(crate) fn moved(&self, from: u64, to: u64) -> Self {
        let at = self.splice as usize;
        let after = at + FIELD.len() + digits(from) + 2;
        let tail = self.bytes.get(after..).unwrap_or_default();
        Self { bytes: spliced(&self.bytes[..at], to, tail), splice: self.splice }
    }
}

fn spliced(head: &[u8], revision: u64, tail: &[u8]) -> Bytes {
    let number = revision.to_string();
    let mut out = Vec::with_capacity(head.len() + FIELD.len() + number.len() + 2 + tail.len());
    out.extend_from_slice(head);
    out.extend_from_slice(FIELD);
    out.extend_from_slice(number.as_bytes());
    out.extend_from_slice(b"\",");
    out.extend_from_slice(tail);
    Bytes::from(out)
}

fn digits(revision: u64) -> usize {
    revision.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It came to be.
    Added,
    /// It changed.
    Modified,
    /// It went.
    Deleted,
}

/// A committed change, shared by all who watch.
#[derive(Debug)]
pub struct Event {
    /// The revision of the change.
    pub revision: u64,
    /// What happened.
    pub change: Change,
    /// The object's key in its collection.
    pub key: Box<str>,
    /// The object after the change; for a deletion its last state, at the deletion's revision.
    pub object: Bytes,
    /// The object before the change.
    pub previous: Option<Bytes>,
}

/// A change as the log keeps it.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    pub(crate) collection: &'a str,
    pub(crate) key: &'a str,
    /// The revision of the former version, 0 if there was none.
    pub(crate) previous: u64,
    pub(crate) deleted: bool,
    pub(crate) splice: u32,
    pub(crate) document: Text<'a>,
}

/// A document in the log.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Text<'a> {
    Plain(&'a [u8]),
    /// An LZ4 block, after the length of what is in it.
    Packed(&'a [u8]),
}

const HEADER: usize = 8 + 1 + 4 + 2 + 2;
const DELETED: u8 = 1;
const PACKED: u8 = 2;

/// Shorter documents are not worth being packed.
const WORTH_PACKING: usize = 256;
/// No byte of an LZ4 block stands for more.
const DENSEST: usize = 255;

impl<'a> Record<'a> {
    /// How long it is on disk, as it was read.
    pub(crate) fn size(&self) -> usize {
        let (Text::Plain(bytes) | Text::Packed(bytes)) = self.document;
        HEADER + self.collection.len() + self.key.len() + bytes.len()
    }

    /// Writes it down, packed where that makes it smaller.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let packed = match self.document {
            Text::Plain(bytes) => packed(bytes),
            Text::Packed(_) => None,
        };
        let (flag, document) = match (&packed, self.document) {
            (Some(packed), _) => (PACKED, packed.as_slice()),
            (None, Text::Packed(bytes)) => (PACKED, bytes),
            (None, Text::Plain(bytes)) => (0, bytes),
        };
        out.clear();
        out.extend_from_slice(&self.previous.to_le_bytes());
        out.push(flag | if self.deleted { DELETED } else { 0 });
        out.extend_from_slice(&self.splice.to_le_bytes());
        out.extend_from_slice(&length(self.collection).to_le_bytes());
        out.extend_from_slice(&length(self.key).to_le_bytes());
        out.extend_from_slice(self.collection.as_bytes());
        out.extend_from_slice(self.key.as_bytes());
        out.extend_from_slice(document);
    }

    pub(crate) fn decode(from: &'a [u8]) -> Option<Self> {
        let (previous, from) = from.split_first_chunk::<8>()?;
        let (flags, from) = from.split_first()?;
        let (splice, from) = from.split_first_chunk::<4>()?;
        let (collection, from) = from.split_first_chunk::<2>()?;
        let (key, from) = from.split_first_chunk::<2>()?;
        let (collection, from) = from.split_at_checked(u16::from_le_bytes(*collection).into())?;
        let (key, document) = from.split_at_checked(u16::from_le_bytes(*key).into())?;
        Some(Self {
            collection: std::str::from_utf8(collection).ok()?,
            key: std::str::from_utf8(key).ok()?,
            previous: u64::from_le_bytes(*previous),
            deleted: flags & DELETED != 0,
            splice: u32::from_le_bytes(*splice),
            document: if flags & PACKED == 0 { Text::Plain(document) } else { Text::Packed(document) },
        })
    }

    pub(crate) fn change(&self) -> Change {
        match (self.deleted, self.previous) {
            (true, _) => Change::Deleted,
            (false, 0) => Change::Added,
            (false, _) => Change::Modified,
        }
    }
}

impl Text<'_> {
    /// The document, if it can be read.
    pub(crate) fn bytes(self) -> Option<Bytes> {
        match self {
            Self::Plain(bytes) => Some(Bytes::copy_from_slice(bytes)),
            Self::Packed(bytes) => {
                let (length, block) = bytes.split_first_chunk::<4>()?;
                let length = u32::from_le_bytes(*length) as usize;
                if length > block.len() * DENSEST {
                    return None;
                }
                let unpacked = decompress(block, length).ok()?;
                (unpacked.len() == length).then(|| unpacked.into())
            }
        }
    }
}

fn packed(bytes: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(bytes.len()).ok().filter(|_| bytes.len() >= WORTH_PACKING)?;
    let mut out = vec![0; 4 + get_maximum_output_size(bytes.len())];
    let (head, block) = out.split_first_chunk_mut::<4>()?;
    *head = length.to_le_bytes();
    let size = compress_into(bytes, block).ok().filter(|size| *size < bytes.len() / 4 * 3)?;
    out.truncate(4 + size);
    Some(out)
}

/// Names are checked against [`crate::writer::MAX_NAME`] before they get here.
fn length(name: &str) -> u16 {
    u16::try_from(name.len()).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARE: &[u8] = br#"{"metadata":{"name":"a"}}"#;

    #[test]
    fn the_revision_is_spliced_in_and_moved() {
        let body = Body::new(BARE.to_vec(), 13);
        let nine = body.at(9);
        assert_eq!(&nine.bytes[..], br#"{"metadata":{"resourceVersion":"9","name":"a"}}"#);
        let ten = nine.moved(9, 10);
        assert_eq!(&ten.bytes[..], br#"{"metadata":{"resourceVersion":"10","name":"a"}}"#);
        assert_eq!(ten.moved(10, 9).bytes, nine.bytes);
    }

    #[test]
    fn records_round_trip_and_short_ones_are_refused() {
        let long = "the same again and again, ".repeat(100);
        for (document, is_packed) in [(&b"{}"[..], false), (long.as_bytes(), true)] {
            let document = Text::Plain(document);
            let record = Record { collection: "a/pods", key: "ns/x", previous: 7, deleted: true, splice: 3, document };
            let mut bytes = Vec::new();
            record.encode(&mut bytes);
            let back = Record::decode(&bytes).unwrap();
            assert_eq!((back.collection, back.key, back.previous, back.splice), ("a/pods", "ns/x", 7, 3));
            assert_eq!(back.document.bytes(), document.bytes());
            assert_eq!((back.change(), back.size()), (Change::Deleted, bytes.len()));
            assert_eq!(matches!(back.document, Text::Packed(_)), is_packed);
            let mut again = Vec::new();
            back.encode(&mut again);
            assert_eq!(again, bytes, "what was read is written as it was");
            let names = HEADER + back.collection.len() + back.key.len();
            for cut in 0..names {
                assert!(Record::decode(&bytes[..cut]).is_none(), "cut at {cut}");
            }
            for cut in names..if is_packed { bytes.len() } else { names } {
                assert_eq!(Record::decode(&bytes[..cut]).unwrap().document.bytes(), None, "cut at {cut}");
            }
        }
    }

    #[test]
    fn a_length_that_no_block_can_have_is_not_believed() {
        let block = [&u32::MAX.to_le_bytes()[..], &[0; 16]].concat();
        assert_eq!(Text::Packed(&block).bytes(), None);
    }
}
