//! Fuzzes one target with libFuzzer; `scripts/fuzz` builds and starts it. It reads from the environment:
//! `FUZZ_TARGET`, which target; `FUZZ_CORPUS`, a folder that is filled with the inputs to begin with; and `FUZZ_LAST`, a
//! file that always holds the input being run.

#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use fuzz::{Form, Random, Target, mutate::mutate, target};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

static TARGET: LazyLock<Option<Target>> = LazyLock::new(|| target(&std::env::var("FUZZ_TARGET").ok()?));

fn fill_corpus() -> anyhow::Result<()> {
    let (Some(target), Some(folder)) = (*TARGET, std::env::var_os("FUZZ_CORPUS")) else {
        anyhow::bail!("FUZZ_TARGET names no target, or FUZZ_CORPUS no folder; run scripts/fuzz");
    };
    for (number, seed) in (target.seeds)()?.iter().enumerate() {
        std::fs::write(Path::new(&folder).join(format!("seed-{number}")), seed)?;
    }
    Ok(())
}

fuzz_target!(
    init: {
        let filled = fill_corpus().map_err(|error| format!("{error:#}"));
        assert_eq!(filled, Ok(()));
    },
    |input: &[u8]| {
        if let (Some(target), Some(last)) = (*TARGET, std::env::var_os("FUZZ_LAST")) {
            // Of a stack overflow nothing else is left.
            assert!(std::fs::write(last, input).is_ok());
            let broken = (target.run)(input).err();
            assert!(broken.is_none(), "{}", broken.unwrap_or_default());
        }
    }
);

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = Random::new(seed.into());
    // Of JSON little is left when bytes are changed.
    let Some(target) = TARGET.filter(|target| random.below(if target.form == Form::Json { 16 } else { 2 }) > 0) else {
        return fuzzer_mutate(data, size, max_size);
    };
    let mut changed = mutate(data.get(..size).unwrap_or_default(), target.form, target.words, &mut random);
    changed.truncate(max_size);
    data.iter_mut().zip(&changed).for_each(|(byte, new)| *byte = *new);
    changed.len()
});
