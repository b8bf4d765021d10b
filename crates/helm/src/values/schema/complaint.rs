//! What is wrong, where, and what that consists of.

/// The words for several complaints of one schema.
const FAILED: &str = "validation failed";

/// A complaint with those below it.
pub(super) struct Complaint {
    path: String,
    words: String,
    causes: Vec<Complaint>,
}

impl Complaint {
    pub(super) fn new(path: &str, words: impl Into<String>) -> Self {
        Self::of(path, words, Vec::new())
    }

    pub(super) fn of(path: &str, words: impl Into<String>, causes: Vec<Self>) -> Self {
        Self { path: path.to_owned(), words: words.into(), causes }
    }

    /// One complaint stands for itself; several are a validation that failed.
    pub(super) fn grouped(path: &str, mut complaints: Vec<Self>) -> Option<Self> {
        match complaints.len() {
            0 | 1 => complaints.pop(),
            _ => Some(Self::of(path, FAILED, complaints)),
        }
    }

    /// Of several complaints only they are told, and not that there are several.
    pub(super) fn write_top(&self, out: &mut String) {
        if self.words == FAILED {
            self.causes.iter().for_each(|cause| cause.write(out, 0));
        } else {
            self.write(out, 0);
        }
    }

    pub(super) fn write(&self, out: &mut String, depth: usize) {
        out.push_str(&format!("{}- at '{}': {}\n", "  ".repeat(depth), self.path, self.words));
        self.causes.iter().for_each(|cause| cause.write(out, depth + 1));
    }
}
