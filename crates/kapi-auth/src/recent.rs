//! A bounded memory of what was verified lately, so that a busy client costs one signature check and not thousands.

use std::collections::HashMap;

use aws_lc_rs::digest;
use parking_lot::Mutex;

/// Enough for every client of a large cluster; beyond it everything is forgotten, which costs only time.
const CAPACITY: usize = 4096;

/// Results by the hash of what they are about.
pub(crate) struct Recent<V> {
    entries: Mutex<HashMap<[u8; 32], V>>,
}

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self { entries: Mutex::default() }
    }
}

impl<V: Clone> Recent<V> {
    pub(crate) fn get(&self, key: &[u8; 32]) -> Option<V> {
        self.entries.lock().get(key).cloned()
    }

    pub(crate) fn put(&self, key: [u8; 32], value: V) {
        let mut entries = self.entries.lock();
        if entries.len() >= CAPACITY {
            entries.clear();
        }
        entries.insert(key, value);
    }
}

impl<V> std::fmt::Debug for Recent<V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recent").finish_non_exhaustive()
    }
}

/// The hash of several byte strings; their lengths are part of it, so that moving a boundary changes it.
pub(crate) fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> [u8; 32] {
    let mut context = digest::Context::new(&digest::SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    let mut out = [0; 32];
    out.copy_from_slice(context.finish().as_ref());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded() {
        let recent = Recent::default();
        for number in 0..CAPACITY as u64 + 10 {
            recent.put(hash([&number.to_be_bytes()[..]]), number);
        }
        assert!(recent.entries.lock().len() <= CAPACITY);
        assert_ne!(hash([&b"ab"[..], b"c"]), hash([&b"a"[..], b"bc"]));
    }
}
