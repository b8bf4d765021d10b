//! What was rendered, taken apart: documents in the order Helm installs them, hooks, notes, definitions.

mod head;
mod hooks;
mod order;
mod scan;
mod split;

use std::collections::BTreeMap;

use crate::chart::{Chart, File};
use head::Head;
pub use hooks::{DeletePolicy, Event, Hook};
pub use order::{install_order, uninstall_order};
pub use split::split;

/// One document.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The file it is from.
    pub source: String,
    /// Its text.
    pub text: String,
    /// `apiVersion`
    pub api_version: String,
    /// `kind`
    pub kind: String,
    /// `metadata.name`
    pub name: String,
}

/// All that rendering a chart gave.
#[derive(Debug, Clone, Default)]
pub struct Manifests {
    /// Definitions of custom resources, installed before everything else.
    pub crds: Vec<File>,
    /// Documents, in the order of installation.
    pub documents: Vec<Document>,
    /// Hooks, in the order of their kinds.
    pub hooks: Vec<Hook>,
    /// What `NOTES.txt` says.
    pub notes: String,
}

/// What was rendered is not what Kubernetes takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("YAML parse error on {file}: {reason}")]
pub struct ManifestError {
    /// The file.
    pub file: String,
    /// What is wrong, with the line where that is known.
    pub reason: String,
}

/// Where `helm` finds what it prints after an installation.
const NOTES: &str = "NOTES.txt";

impl Manifests {
    /// Takes rendered files apart.
    pub fn new(chart: &Chart, files: &BTreeMap<String, String>) -> Result<Self, ManifestError> {
        let mut manifests = Self { crds: chart.crds(), ..Self::default() };
        for (path, text) in files {
            let base = path.rsplit('/').next().unwrap_or_default();
            if path.ends_with(NOTES) {
                if *path == format!("{}/templates/{NOTES}", chart.name()) {
                    manifests.notes.clone_from(text);
                }
                continue;
            }
            if base.starts_with('_') || text.trim().is_empty() {
                continue;
            }
            for document in split(text) {
                manifests.add(path, document)?;
            }
        }
        manifests.documents.sort_by(|a, b| install_order(&a.kind, &b.kind));
        manifests.hooks.sort_by(|a, b| install_order(&a.document.kind, &b.document.kind));
        Ok(manifests)
    }

    fn add(&mut self, path: &str, text: &str) -> Result<(), ManifestError> {
        let head = Head::read(text).map_err(|reason| ManifestError { file: path.to_owned(), reason })?;
        let document = Document {
            source: path.to_owned(),
            text: text.to_owned(),
            api_version: head.api_version,
            kind: head.kind,
            name: head.name,
        };
        match hooks::annotated(&head.annotations) {
            hooks::Annotated::No => self.documents.push(document),
            hooks::Annotated::Hook(events, weight, delete_policies) => {
                self.hooks.push(Hook { document, events, weight, delete_policies });
            }
            // A hook for an event nobody knows runs never.
            hooks::Annotated::Unknown => {}
        }
        Ok(())
    }

    /// All documents that are no hooks, as records have them.
    pub fn manifest(&self) -> String {
        let mut printed = String::with_capacity(self.documents.iter().map(Document::printed_length).sum());
        self.documents.iter().for_each(|document| document.print(&mut printed));
        printed
    }

    /// All documents as `helm template` prints them.
    pub fn printed(&self, with_crds: bool) -> String {
        let hooks = || self.hooks.iter().map(|hook| &hook.document);
        let length = self.documents.iter().chain(hooks()).map(Document::printed_length).sum();
        let mut printed = String::with_capacity(length);
        for file in self.crds.iter().filter(|_| with_crds) {
            print(&mut printed, &file.name, &String::from_utf8_lossy(&file.content));
        }
        self.documents.iter().for_each(|document| document.print(&mut printed));
        printed.truncate(printed.trim_end().len());
        printed.push('\n');
        hooks().for_each(|document| document.print(&mut printed));
        printed
    }
}

impl Document {
    fn print(&self, printed: &mut String) {
        print(printed, &self.source, &self.text);
    }

    fn printed_length(&self) -> usize {
        HEADING.len() + self.source.len() + self.text.len() + 2
    }
}

/// What stands before the name of a document's file.
const HEADING: &str = "---\n# Source: ";

fn print(printed: &mut String, source: &str, text: &str) {
    for part in [HEADING, source, "\n", text, "\n"] {
        printed.push_str(part);
    }
}
