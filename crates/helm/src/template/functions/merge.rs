//! Merging maps as Sprig's `merge` and `mergeOverwrite` do.

use std::rc::Rc;

use super::Fault;
use super::logic::empty;
use crate::template::value::{Map, Value, Walk};

/// Puts `source` into `target`: what is empty there is filled, or everything is replaced. Maps are merged.
pub(super) fn merge(
    target: &Rc<Map>,
    source: &Rc<Map>,
    overwrite: bool,
    walk: &Walk,
    depth: usize,
) -> Result<(), Fault> {
    if Rc::ptr_eq(target, source) {
        return Ok(());
    }
    for (key, theirs) in source.entries() {
        if !walk.goes_on(depth) {
            return Err(walk.fault("maps are nested too deep"));
        }
        let ours = target.get(&key);
        match (&ours, &theirs) {
            (_, Value::Nil) if !overwrite => {}
            (Some(Value::Map(ours)), Value::Map(theirs)) if ours.len() > 0 => {
                merge(ours, theirs, overwrite, walk, depth + 1)?;
            }
            (Some(ours), _) if !overwrite && !empty(ours) => {}
            _ => target.set(key, theirs),
        }
    }
    Ok(())
}
