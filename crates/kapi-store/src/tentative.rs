//! A file that stays as it is until it is known to be sound.
//!
//! The engine writes as soon as it opens a file: it marks it as in use and mends what a crash left. On a damaged file
//! that would destroy what could still be saved, so what it writes is held back here until everything has been read.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::RwLock;
use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};

/// The unit in which changes are held back. The engine's header is the first one.
const BLOCK: u64 = 4096;

/// A file that holds changes back until [`Tentative::trust`]. Clones are the same file.
#[derive(Clone, Debug)]
pub(crate) struct Tentative {
    file: Arc<FileBackend>,
    held: Arc<RwLock<Option<Held>>>,
}

/// The file as it would be.
#[derive(Debug)]
struct Held {
    /// Its length.
    length: u64,
    /// Up to here the bytes of the file count, unless a block is changed.
    kept: u64,
    /// Changed blocks, by number.
    blocks: BTreeMap<u64, Vec<u8>>,
}

impl Tentative {
    pub(crate) fn new(file: FileBackend) -> Result<Self> {
        let length = file.len()?;
        let held = Held { length, kept: length, blocks: BTreeMap::new() };
        Ok(Self { file: Arc::new(file), held: Arc::new(RwLock::new(Some(held))) })
    }

    /// Writes what was held back, and from now on everything at once.
    pub(crate) fn trust(&self) -> Result<()> {
        let mut held = self.held.write();
        let Some(Held { length, kept, blocks }) = held.as_ref() else { return Ok(()) };
        if *kept < self.file.len()? {
            self.file.set_len(*kept)?;
        }
        self.file.set_len(*length)?;
        // The engine never changes a page that the header on disk leads to. So with the header last, after all it leads
        // to is safe, a crash in between leaves the file as it was or as it shall be.
        for (number, block) in blocks.iter().rev() {
            if *number == 0 {
                self.file.sync_data()?;
            }
            let start = number * BLOCK;
            let end = block.len().min(usize::try_from(length.saturating_sub(start)).unwrap_or(usize::MAX));
            self.file.write(start, block.get(..end).unwrap_or_default())?;
        }
        self.file.sync_data()?;
        *held = None;
        Ok(())
    }
}

impl Held {
    fn read(&self, file: &FileBackend, offset: u64, out: &mut [u8]) -> Result<()> {
        let end = offset + out.len() as u64;
        if end > self.length {
            return Err(Error::new(ErrorKind::UnexpectedEof, "the file ends before"));
        }
        let from_file = usize::try_from(self.kept.clamp(offset, end) - offset).unwrap_or(usize::MAX);
        let (there, beyond) = out.split_at_mut(from_file);
        file.read(offset, there)?;
        beyond.fill(0);
        for (number, block) in self.blocks.range(offset / BLOCK..end.div_ceil(BLOCK)) {
            let (in_out, in_block) = overlap(offset, out.len(), *number);
            if let (Some(out), Some(changed)) = (out.get_mut(in_out), block.get(in_block)) {
                out.copy_from_slice(changed);
            }
        }
        Ok(())
    }

    fn write(&mut self, file: &FileBackend, offset: u64, data: &[u8]) -> Result<()> {
        let end = offset + data.len() as u64;
        self.length = self.length.max(end);
        for number in offset / BLOCK..end.div_ceil(BLOCK) {
            if !self.blocks.contains_key(&number) {
                let start = number * BLOCK;
                let there = self.length.min(start + BLOCK) - start;
                let mut block = vec![0; usize::try_from(BLOCK).unwrap_or_default()];
                self.read(
                    file,
                    start,
                    block.get_mut(..usize::try_from(there).unwrap_or_default()).unwrap_or_default(),
                )?;
                self.blocks.insert(number, block);
            }
            let (in_data, in_block) = overlap(offset, data.len(), number);
            let block = self.blocks.get_mut(&number).and_then(|block| block.get_mut(in_block));
            if let (Some(block), Some(data)) = (block, data.get(in_data)) {
                block.copy_from_slice(data);
            }
        }
        Ok(())
    }

    fn set_length(&mut self, length: u64) {
        self.length = length;
        self.kept = self.kept.min(length);
        self.blocks.split_off(&length.div_ceil(BLOCK));
        if let Some(last) = self.blocks.get_mut(&(length / BLOCK)) {
            last.iter_mut().skip(usize::try_from(length % BLOCK).unwrap_or_default()).for_each(|byte| *byte = 0);
        }
    }
}

/// Where `length` bytes at `offset` and a block overlap: the range of those bytes, and the range in the block.
fn overlap(offset: u64, length: usize, number: u64) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
    let start = (number * BLOCK).max(offset);
    let end = ((number + 1) * BLOCK).min(offset + length as u64);
    let from = |origin: u64| {
        usize::try_from(start.saturating_sub(origin)).unwrap_or_default()
            ..usize::try_from(end.saturating_sub(origin)).unwrap_or_default()
    };
    (from(offset), from(number * BLOCK))
}

impl StorageBackend for Tentative {
    fn len(&self) -> Result<u64> {
        match &*self.held.read() {
            Some(held) => Ok(held.length),
            None => self.file.len(),
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        match &*self.held.read() {
            Some(held) => held.read(&self.file, offset, out),
            None => self.file.read(offset, out),
        }
    }

    fn set_len(&self, length: u64) -> Result<()> {
        match &mut *self.held.write() {
            Some(held) => {
                held.set_length(length);
                Ok(())
            }
            None => self.file.set_len(length),
        }
    }

    fn sync_data(&self) -> Result<()> {
        if self.held.read().is_some() { Ok(()) } else { self.file.sync_data() }
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        if self.held.read().is_none() {
            return self.file.write(offset, data);
        }
        match &mut *self.held.write() {
            Some(held) => held.write(&self.file, offset, data),
            None => self.file.write(offset, data),
        }
    }

    fn close(&self) -> Result<()> {
        self.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> std::result::Result<bool, BackendError> {
        self.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> std::result::Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> std::result::Result<(), BackendError> {
        self.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> std::result::Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> std::result::Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> std::result::Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Write(u64, Vec<u8>),
        SetLength(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..20_000_u64, prop::collection::vec(any::<u8>(), 0..9000)).prop_map(|(at, data)| Step::Write(at, data)),
            (0..30_000_u64).prop_map(Step::SetLength),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn changes_are_seen_at_once_and_made_only_when_trusted(before in 0..20_000_usize, steps in prop::collection::vec(step(), 0..8)) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("file");
            let original: Vec<u8> = (0..before).map(|at| u8::try_from(at % 251).unwrap()).collect();
            std::fs::write(&path, &original).unwrap();
            let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
            let tentative = Tentative::new(FileBackend::new(file).unwrap()).unwrap();
            let mut expected = original.clone();
            for step in steps {
                match step {
                    Step::Write(at, data) => {
                        let (at, end) = (usize::try_from(at).unwrap(), usize::try_from(at).unwrap() + data.len());
                        expected.resize(expected.len().max(end), 0);
                        expected[at..end].copy_from_slice(&data);
                        tentative.write(at as u64, &data).unwrap();
                    }
                    Step::SetLength(length) => {
                        expected.resize(usize::try_from(length).unwrap(), 0);
                        tentative.set_len(length).unwrap();
                    }
                }
            }
            let mut seen = vec![0; expected.len()];
            prop_assert_eq!(tentative.len().unwrap(), expected.len() as u64);
            tentative.read(0, &mut seen).unwrap();
            prop_assert!(seen == expected);
            prop_assert!(tentative.read(0, &mut vec![0; expected.len() + 1]).is_err());
            prop_assert!(std::fs::read(&path).unwrap() == original);
            tentative.trust().unwrap();
            prop_assert!(std::fs::read(&path).unwrap() == expected);
        }
    }
}
