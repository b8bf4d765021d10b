//! Where a walker is. Kept as a list on the stack, so that paths cost nothing until something is wrong.

use std::fmt::Write as _;

use crate::field::Path;

/// One step down from a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    /// A named property.
    Field(&'a str),
    /// An entry of a map, under a key its schema does not name.
    Entry(&'a str),
    /// An item of a list.
    Item(usize),
}

/// The way from the object a walk began at down to a value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trail<'a> {
    last: Option<(&'a Trail<'a>, Step<'a>)>,
}

impl<'a> Trail<'a> {
    pub(crate) fn step(&'a self, step: Step<'a>) -> Trail<'a> {
        Trail { last: Some((self, step)) }
    }

    pub(crate) fn field(&'a self, name: &'a str) -> Trail<'a> {
        self.step(Step::Field(name))
    }

    pub(crate) fn entry(&'a self, key: &'a str) -> Trail<'a> {
        self.step(Step::Entry(key))
    }

    pub(crate) fn item(&'a self, index: usize) -> Trail<'a> {
        self.step(Step::Item(index))
    }

    pub(crate) fn is_root(&self) -> bool {
        self.last.is_none()
    }

    fn steps(&self) -> Vec<Step<'a>> {
        let mut steps = Vec::new();
        let mut at = self.last;
        while let Some((before, step)) = at {
            steps.push(step);
            at = before.last;
        }
        steps.reverse();
        steps
    }

    /// `spec.labels.app`: fields and map keys alike joined by dots.
    pub(crate) fn dotted(&self) -> String {
        let mut out = String::new();
        for step in self.steps() {
            match step {
                Step::Field(name) if out.is_empty() => out.push_str(name),
                Step::Field(name) | Step::Entry(name) => {
                    let _ = write!(out, ".{name}");
                }
                Step::Item(index) => {
                    let _ = write!(out, "[{index}]");
                }
            }
        }
        out
    }

    /// `spec.labels[app]`: map keys in brackets, as most messages have it.
    pub(crate) fn path(&self, root: &Path) -> Path {
        self.steps().into_iter().fold(root.clone(), |path, step| match step {
            Step::Field(name) => path.child(name),
            Step::Entry(key) => path.key(key),
            Step::Item(index) => path.index(index),
        })
    }
}
