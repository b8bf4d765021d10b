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
    at("get_list/as YAML", 0, "/body", QUOTING),
    at("update/creates some kinds", 2, "/body/metadata/managedFields", NULL_LISTS),
    at("tables/rbac", 0, "/body/rows/0/object/metadata/managedFields", NULL_LISTS),
    at("builtin_defaults/csi node", 0, "/body/metadata/managedFields", NULL_LISTS),
    at("patch_strategic/an element without its merge key", 1, "/body", GO_WORDS),
    at("limit_continue/bad tokens", 0, "/body/message", GO_WORDS),
    at("subresources/that do not exist", 4, "", NO_KUBELET),
    at("crd_schema/embedded resources", 0, "", EMBEDDED_METADATA),
    at("crd_schema/embedded resources", 4, "", EMBEDDED_METADATA),
    at("crd_cel/rules that cost too much", 0, "", CEL_COST),
    at("crd_versions/read and write in both", 3, "/body/metadata/managedFields", OTHER_VERSION),
    at("crd_versions/read and write in both", 4, "/body/metadata/managedFields", OTHER_VERSION),
    at("crd_versions/read and write in both", 5, "", OTHER_VERSION),
    at("tables/autoscalers, budgets, quotas and limits", 3, "/body/rows", EMPTY_TABLE),
    at("field_validation/duplicate keys in YAML", 0, "/body/message", YAML_WORDS),
    at("field_validation/duplicate keys in YAML", 1, "/headers/warning", YAML_WORDS),
    at("bad_input/malformed YAML", 0, "/body/message", YAML_WORDS),
    at("bad_input/malformed YAML", 1, "/body/message", YAML_WORDS),
    at("bad_input/malformed YAML", 2, "/body/message", YAML_WORDS),
    at("bad_input/malformed YAML", 3, "", YAML_STREAM),
    at("bad_input/malformed YAML", 4, "/body/message", YAML_WORDS),
    at("bad_input/patch media types", 3, "/body/message", GO_WORDS),
    at("bad_input/patch media types", 4, "/body/message", YAML_WORDS),
    at("field_validation/deprecated fields warn", 0, "", POD_ANNOTATIONS),
    at("secrets_configmaps/types with required keys", 3, "/body", GO_WORDS),
    at("serviceaccount_tokens/bound to a pod", 0, "/body/metadata/managedFields", TOKEN_OWNER),
    at("webhooks/invalid configurations", 8, "/body", CEL_WORDS),
    at("bad_input/protobuf on a custom resource", 0, "", PROTOBUF_REFUSAL),
    at("bad_input/odd numbers and strings", 1, "/body", GO_WORDS),
    at("builtin_defaults/daemon set", 0, "/body/metadata/managedFields", EARLY_DEFAULT),
    at("builtin_defaults/event of the new group", 0, "/body/metadata/managedFields", EVENT_OWNER),
    at("builtin_defaults/csi driver", 0, "/body/metadata/generation", CSI_GENERATION),
    at("builtin_validation/containers", 16, "/body", PRIVILEGED),
    at("builtin_validation/cron jobs", 3, "", TIME_ZONES),
    at("builtin_validation/volume claim updates", 1, "/body", GO_WORDS),
    at("builtin_validation/volumes of the cluster", 0, "/body", GO_WORDS),
];

const QUOTING: &str = "The same YAML in other quotes: our writer quotes keys such as `f:data`, Go's does not.";
const NULL_LISTS: &str = "A list that is null is owned by its writer in the real server; here null is no value.";
const GO_WORDS: &str = "The words are those of a Go decoder or printer in a corner nobody reads a program by.";
const NO_KUBELET: &str = "Logs come from a kubelet; the embedded API has none to ask yet.";
const EMBEDDED_METADATA: &str = "Metadata of embedded resources is checked but not pruned.";
const CEL_COST: &str = "Costs of rules are limited when they run, not estimated when they are declared.";
const OTHER_VERSION: &str =
    "Ownership through a version other than the stored one is kept by the stored version's fields.";
const EMPTY_TABLE: &str = "No rows are an empty list here, and for some kinds null there.";
const YAML_WORDS: &str = "Another YAML reader, other words for what is wrong; the status is the same.";
const YAML_STREAM: &str = "A body of several documents is refused here; there all but the first are silently dropped.";
const POD_ANNOTATIONS: &str =
    "The old seccomp annotation of pods is not validated; it has no effect in any release still supported.";
const TOKEN_OWNER: &str = "A token request is not stored; whose its empty parts are matters to nobody.";
const CEL_WORDS: &str = "Another CEL parser, other words for an unfinished expression.";
const PROTOBUF_REFUSAL: &str =
    "Who asks for custom resources as protobuf alone is refused in JSON here, in protobuf there.";
const EARLY_DEFAULT: &str = "An annotation the server itself sets is booked on the client there.";
const EVENT_OWNER: &str = "Events of both groups are stored as one kind, which is what ownership is tracked on.";
const CSI_GENERATION: &str = "Generations of CSIDrivers count from their creation here, from their first change there.";
const PRIVILEGED: &str = "Privileged pods are allowed, as in every cluster kubeadm makes.";
const TIME_ZONES: &str = "Time zones are checked for their form only, for there is no zone database to ask.";

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
