//! Records as bytes: base64 of gzip of JSON, which a Secret wraps into its own base64.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value as Json;

use super::{Release, chart};

/// The most a record may take: a Secret holds 1 MiB, and hooks write into the record how they went.
pub const MAX_RECORD: usize = (1 << 20) - (16 << 10);

/// The most that is unpacked. Charts that are larger are not read in the first place.
const MAX_UNPACKED: u64 = 256 << 20;

const GZIP: [u8; 3] = [0x1f, 0x8b, 0x08];

/// Why a record cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It is not what Helm writes.
    #[error("it is no record of a release: {0}")]
    Unreadable(String),
    /// It does not fit into a Secret.
    #[error(
        "the record of the release takes {size} bytes, and a Secret holds {MAX_RECORD}: leave large files out of the chart (.helmignore), or split it"
    )]
    TooLarge {
        /// What it takes.
        size: usize,
    },
}

/// The text of a record, if it fits.
pub fn encode(release: &Release) -> Result<String, RecordError> {
    let unreadable = |error: &dyn std::fmt::Display| RecordError::Unreadable(error.to_string());
    let mut json = serde_json::to_value(release).map_err(|error| unreadable(&error))?;
    if let Some(config) = json.get_mut("config") {
        chart::integers(config);
    }
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(json.to_string().as_bytes()).map_err(|error| unreadable(&error))?;
    let text = BASE64_STANDARD.encode(packer.finish().map_err(|error| unreadable(&error))?);
    if text.len() > MAX_RECORD {
        return Err(RecordError::TooLarge { size: text.len() });
    }
    Ok(text)
}

/// Reads a record. Very old ones are not packed.
pub fn decode(text: &[u8]) -> Result<Release, RecordError> {
    let unreadable = |error: &dyn std::fmt::Display| RecordError::Unreadable(error.to_string());
    let mut bytes = BASE64_STANDARD.decode(text).map_err(|error| unreadable(&error))?;
    if bytes.starts_with(&GZIP) {
        let mut unpacked = Vec::new();
        GzDecoder::new(bytes.as_slice())
            .take(MAX_UNPACKED)
            .read_to_end(&mut unpacked)
            .map_err(|error| unreadable(&error))?;
        bytes = unpacked;
    }
    let mut json: Json = serde_json::from_slice(&bytes).map_err(|error| unreadable(&error))?;
    // Templates tell numbers of JSON, which are floats to Go, from others.
    if let Some(config) = json.get_mut("config") {
        crate::values::floats(config);
    }
    serde_json::from_value(json).map_err(|error| unreadable(&error))
}
