//! Repeatable chance.

use std::time::{SystemTime, UNIX_EPOCH};

/// A small generator (splitmix64).
pub(crate) struct Dice(u64);

impl Dice {
    /// One whose seed is printed, or taken from `BUTLER_CRASH_SEED`.
    pub(crate) fn seeded() -> Self {
        let given = std::env::var("BUTLER_CRASH_SEED").ok().and_then(|text| text.parse().ok());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let seed = given.unwrap_or(now.as_secs() ^ u64::from(now.subsec_nanos()));
        println!("BUTLER_CRASH_SEED={seed}");
        Self(seed)
    }

    /// Another one that depends on this one only.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
