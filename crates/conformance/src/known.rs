//! The differences between the embedded API and the real one that are known and accepted. docs/differences.md tells
//! the same for readers. An entry that no longer differs fails the suite, so this list cannot rot.

use crate::transcript::Difference;

/// An accepted difference.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// `area/case name`.
    pub case: &'static str,
    /// The step, counted from 0.
    pub step: usize,
    /// The place in the step, or the start of it.
    pub pointer: &'static str,
    /// Why it is accepted.
    pub reason: &'static str,
}

/// All accepted differences.
pub const KNOWN: &[Known] = &[
    at("patch_strategic/an element without its merge key", 1, "/body", GO_WORDS),
    at("bad_input/odd numbers and strings", 1, "/body", GO_WORDS),
    at("builtin_validation/volume claim updates", 1, "/body", GO_WORDS),
    at("builtin_validation/volumes of the cluster", 0, "/body", GO_WORDS),
    at("secrets_configmaps/types with required keys", 3, "/body", GO_WORDS),
    at("field_validation/duplicate keys in YAML", 0, "/body/message", YAML_WORDS),
    at("field_validation/duplicate keys in YAML", 1, "/headers/warning", YAML_WORDS),
    at("bad_input/malformed YAML", 1, "/body/message", YAML_WORDS),
    at("bad_input/malformed YAML", 2, "/body/message", YAML_WORDS),
    at("bad_input/malformed YAML", 4, "/body/message", YAML_WORDS),
    at("serviceaccount_tokens/bound to a pod", 0, "/body/metadata/managedFields", TOKEN_OWNER),
];

const GO_WORDS: &str = "Refused on both sides, in the words of another reader or printer.";
const YAML_WORDS: &str = "Refused or warned of on both sides; another YAML reader, other words for what is wrong.";
const TOKEN_OWNER: &str = "A token request is not stored; whose its empty parts are matters to nobody.";

const fn at(case: &'static str, step: usize, pointer: &'static str, reason: &'static str) -> Known {
    Known { case, step, pointer, reason }
}

impl Known {
    /// Whether this entry speaks of that difference.
    pub fn covers(&self, case: &str, difference: &Difference) -> bool {
        self.case == case
            && self.step == difference.step
            && difference
                .pointer
                .strip_prefix(self.pointer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::{KNOWN, Known};
    use crate::transcript::Difference;

    #[test]
    fn an_entry_covers_its_place_and_what_is_below() {
        let known = Known { case: "a/b", step: 1, pointer: "/body/x", reason: "r" };
        for (case, step, pointer, covered) in [
            ("a/b", 1, "/body/x", true),
            ("a/b", 1, "/body/x/y", true),
            ("a/b", 1, "/body/xy", false),
            ("a/b", 2, "/body/x", false),
            ("a/c", 1, "/body/x", false),
        ] {
            let difference = Difference { step, pointer: pointer.to_owned(), expected: None, got: None };
            assert_eq!(known.covers(case, &difference), covered, "{case} {step} {pointer}");
        }
    }

    #[test]
    fn every_entry_has_a_case_and_a_reason() {
        let cases: Vec<String> = crate::cases::all().iter().map(crate::case::Case::id).collect();
        for known in KNOWN {
            assert!(cases.iter().any(|id| id == known.case), "no case {}", known.case);
            assert!(!known.reason.is_empty());
        }
    }
}
