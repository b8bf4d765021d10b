//! Key usages by the names of the certificates API.

use yasna::DERWriterSeq;

use crate::{PkiError, der, leaf::write_extension};

/// A key usage or extended key usage; both share one list in the certificates API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Usage {
    /// A bit of the key usage extension, counted from the most significant one.
    Key(u8),
    /// A purpose of the extended key usage extension, as index into the table of object identifiers.
    Extended(u8),
}

impl Usage {
    /// `digital signature`.
    pub const DIGITAL_SIGNATURE: Self = Self::Key(0);
    /// `key encipherment`.
    pub const KEY_ENCIPHERMENT: Self = Self::Key(2);
    /// `cert sign`.
    pub const CERT_SIGN: Self = Self::Key(5);
    /// `crl sign`.
    pub const CRL_SIGN: Self = Self::Key(6);
    /// `server auth`.
    pub const SERVER_AUTH: Self = Self::Extended(1);
    /// `client auth`.
    pub const CLIENT_AUTH: Self = Self::Extended(2);

    /// The usage with this name in `spec.usages` of a CertificateSigningRequest.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, usage)| *usage)
    }

    /// Translates a whole list, or names those that do not exist.
    pub fn from_names<S: AsRef<str>>(names: &[S]) -> Result<Vec<Self>, PkiError> {
        let unknown: Vec<_> = names
            .iter()
            .map(AsRef::as_ref)
            .filter(|n| Self::from_name(n).is_none())
            .map(|n| format!("{n:?}"))
            .collect();
        if unknown.is_empty() {
            Ok(names.iter().filter_map(|n| Self::from_name(n.as_ref())).collect())
        } else {
            Err(PkiError::UnknownUsage(format!("[{}]", unknown.join(" "))))
        }
    }
}

const NAMES: &[(&str, Usage)] = &[
    ("signing", Usage::Key(0)),
    ("digital signature", Usage::Key(0)),
    ("content commitment", Usage::Key(1)),
    ("key encipherment", Usage::Key(2)),
    ("data encipherment", Usage::Key(3)),
    ("key agreement", Usage::Key(4)),
    ("cert sign", Usage::Key(5)),
    ("crl sign", Usage::Key(6)),
    ("encipher only", Usage::Key(7)),
    ("decipher only", Usage::Key(8)),
    ("any", Usage::Extended(0)),
    ("server auth", Usage::Extended(1)),
    ("client auth", Usage::Extended(2)),
    ("code signing", Usage::Extended(3)),
    ("email protection", Usage::Extended(4)),
    ("s/mime", Usage::Extended(4)),
    ("ipsec end system", Usage::Extended(5)),
    ("ipsec tunnel", Usage::Extended(6)),
    ("ipsec user", Usage::Extended(7)),
    ("timestamping", Usage::Extended(8)),
    ("ocsp signing", Usage::Extended(9)),
    ("microsoft sgc", Usage::Extended(10)),
    ("netscape sgc", Usage::Extended(11)),
];

/// Object identifiers of the extended usages, in the order Go sorts them.
const PURPOSES: &[&[u64]] = &[
    &[2, 5, 29, 37, 0],
    &[1, 3, 6, 1, 5, 5, 7, 3, 1],
    &[1, 3, 6, 1, 5, 5, 7, 3, 2],
    &[1, 3, 6, 1, 5, 5, 7, 3, 3],
    &[1, 3, 6, 1, 5, 5, 7, 3, 4],
    &[1, 3, 6, 1, 5, 5, 7, 3, 5],
    &[1, 3, 6, 1, 5, 5, 7, 3, 6],
    &[1, 3, 6, 1, 5, 5, 7, 3, 7],
    &[1, 3, 6, 1, 5, 5, 7, 3, 8],
    &[1, 3, 6, 1, 5, 5, 7, 3, 9],
    &[1, 3, 6, 1, 4, 1, 311, 10, 3, 3],
    &[2, 16, 840, 1, 113730, 4, 1],
];

const KEY_USAGE: &[u64] = &[2, 5, 29, 15];
const EXTENDED_KEY_USAGE: &[u64] = &[2, 5, 29, 37];

/// Writes the extensions that the usages need, each only when it says something.
pub(crate) fn write_usage_extensions(writer: &mut DERWriterSeq<'_>, usages: &[Usage]) {
    let mut bits: u16 = 0;
    let mut purposes: Vec<u8> = Vec::new();
    for usage in usages {
        match usage {
            Usage::Key(bit) => bits |= 0x8000_u16.checked_shr(u32::from(*bit)).unwrap_or(0),
            Usage::Extended(index) => purposes.push(*index),
        }
    }
    purposes.sort_unstable();
    purposes.dedup();
    if bits != 0 {
        // A named bit list is written without trailing zero bits.
        let length = 16 - bits.trailing_zeros() as usize;
        let bytes = bits.to_be_bytes();
        let used = bytes.get(..length.div_ceil(8)).unwrap_or(&bytes);
        write_extension(writer, KEY_USAGE, true, |writer| writer.write_bitvec_bytes(used, length));
    }
    if !purposes.is_empty() {
        write_extension(writer, EXTENDED_KEY_USAGE, false, |writer| {
            writer.write_sequence(|writer| {
                for id in purposes.iter().filter_map(|index| PURPOSES.get(usize::from(*index))) {
                    der::write_oid(writer.next(), id);
                }
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_api() {
        for (names, expected) in [
            (vec!["digital signature", "client auth"], Ok(2)),
            (vec!["signing", "s/mime", "any", "decipher only"], Ok(4)),
            (vec!["client auth", "wings", "fins"], Err("unrecognized usage values: [\"wings\" \"fins\"]")),
        ] {
            let got = Usage::from_names(&names).map(|u| u.len()).map_err(|e| e.to_string());
            assert_eq!(got, expected.map_err(str::to_owned));
        }
    }
}
