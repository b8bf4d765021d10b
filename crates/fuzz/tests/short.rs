//! The short pass of `make test`: every recorded input, and some changes of them that are the same each time.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fuzz::{Random, TARGETS, mutate::mutate, target};

/// How many changed inputs a target gets: together they take some seconds.
const CHANGED: u64 = 1000;
/// Longer than any input may take, even on a busy machine with unoptimised code.
const LONGEST: Duration = Duration::from_secs(10);

/// Where the input that is being run is kept: no panic tells of a stack overflow.
fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}"))
}

fn pass(name: &str) {
    let target = target(name).unwrap();
    let seeds = (target.seeds)().unwrap();
    assert!(!seeds.is_empty());
    let run = |input: &[u8]| {
        std::fs::write(kept(name), input).unwrap();
        let begun = Instant::now();
        let shown = String::from_utf8_lossy(input);
        let outcome = std::panic::catch_unwind(|| (target.run)(input));
        assert!(matches!(outcome, Ok(Ok(()))), "{name}: {outcome:?}, on {}:\n{shown}", kept(name).display());
        assert!(begun.elapsed() < LONGEST, "{name}: took {:?}, on {}:\n{shown}", begun.elapsed(), kept(name).display());
    };
    seeds.iter().for_each(|seed| run(seed));
    for seed in 0..CHANGED {
        let mut random = Random::new(seed);
        let before = random.pick(&seeds).unwrap().clone();
        run(&mutate(&before, target.form, target.words, &mut random));
    }
}

/// One test each, so that they run side by side and say by their name what failed.
macro_rules! passes {
    ($($name:ident),*) => {
        $(#[test] fn $name() { pass(stringify!($name)); })*

        #[test]
        fn every_target_has_a_pass() {
            assert_eq!(TARGETS.map(|target| target.name), [$(stringify!($name)),*]);
        }
    };
}

passes!(paths, selectors, patches, apply, yaml, cel, quantities, templates);
