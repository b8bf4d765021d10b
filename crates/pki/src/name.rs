//! X.509 names as Kubernetes reads them: `CN` is the user, every `O` a group.

use yasna::{DERWriter, DERWriterSeq};

use crate::der;

const COMMON_NAME: &[u64] = &[2, 5, 4, 3];
const ORGANIZATION: &[u64] = &[2, 5, 4, 10];

/// The subject of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subject {
    /// `CN`: the user name of a client certificate.
    pub common_name: String,
    /// `O`, any number of times: the groups of a client certificate.
    pub organizations: Vec<String>,
}

impl Subject {
    /// A subject of a common name alone.
    pub fn named(common_name: impl Into<String>) -> Self {
        Self { common_name: common_name.into(), organizations: Vec::new() }
    }

    /// Adds one organization.
    #[must_use]
    pub fn organization(mut self, name: impl Into<String>) -> Self {
        self.organizations.push(name.into());
        self
    }

    /// The DER `Name`: one set per organization, because the values of a common set would be sorted.
    pub(crate) fn to_der(&self) -> Vec<u8> {
        yasna::construct_der(|writer| {
            writer.write_sequence(|writer| {
                for organization in &self.organizations {
                    write_attribute(writer, ORGANIZATION, organization);
                }
                if !self.common_name.is_empty() {
                    write_attribute(writer, COMMON_NAME, &self.common_name);
                }
            });
        })
    }
}

fn write_attribute(writer: &mut DERWriterSeq<'_>, attribute: &[u64], value: &str) {
    writer.next().write_set(|set| {
        set.next().write_sequence(|pair| {
            der::write_oid(pair.next(), attribute);
            write_text(pair.next(), value);
        });
    });
}

fn write_text(writer: DERWriter<'_>, text: &str) {
    let printable = |c: char| c.is_ascii_alphanumeric() || " '()+,-./:=?".contains(c);
    if text.chars().all(printable) { writer.write_printable_string(text) } else { writer.write_utf8_string(text) }
}
