//! Records as bytes: base64 of gzip of JSON, which a Secret wraps into its own base64.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value as Json;

use super::Release;

/// The most a record may take: a Secret holds 1 MiB, and hooks write into the record how they went.
pub const MAX_RECORD: usize = (1 << 20) - (16 << 10);

/// The most that a record may be when it is unpacked. Whoever may write Secrets of a cluster must not fill our memory.
const MAX_UNPACKED: usize = 32 << 20;

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
    /// It is small only while it is packed.
    #[error("the record of the release is too large: it has more than {MAX_UNPACKED} bytes when it is unpacked")]
    TooLargeUnpacked,
}

/// The text of a record, if it fits.
pub fn encode(release: &Release) -> Result<String, RecordError> {
    let unreadable = |error: &dyn std::fmt::Display| RecordError::Unreadable(error.to_string());
    let mut json = serde_json::to_value(release).map_err(|error| unreadable(&error))?;
    if let Some(config) = json.get_mut("config") {
        crate::values::integers(config);
    }
    let json = json.to_string();
    if json.len() > MAX_UNPACKED {
        return Err(RecordError::TooLargeUnpacked);
    }
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(json.as_bytes()).map_err(|error| unreadable(&error))?;
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
            .take(MAX_UNPACKED as u64 + 1)
            .read_to_end(&mut unpacked)
            .map_err(|error| unreadable(&error))?;
        if unpacked.len() > MAX_UNPACKED {
            return Err(RecordError::TooLargeUnpacked);
        }
        bytes = unpacked;
    }
    let mut json: Json = serde_json::from_slice(&bytes).map_err(|error| unreadable(&error))?;
    // Templates tell numbers of JSON, which are floats to Go, from others.
    if let Some(config) = json.get_mut("config") {
        crate::values::floats(config);
    }
    serde_json::from_value(json).map_err(|error| unreadable(&error))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn packed(json: &Json) -> String {
        let mut packer = GzEncoder::new(Vec::new(), Compression::best());
        packer.write_all(json.to_string().as_bytes()).unwrap();
        BASE64_STANDARD.encode(packer.finish().unwrap())
    }

    fn unpacked(text: &str) -> Json {
        let bytes = BASE64_STANDARD.decode(text).unwrap();
        serde_json::from_reader(GzDecoder::new(bytes.as_slice())).unwrap()
    }

    #[test]
    fn what_helm_wrote_is_written_again() {
        let record = |deleted: Json, run: Json, more: Json| {
            json!({
                "name": "rel", "version": 3, "namespace": "shop",
                "info": {
                    "first_deployed": "2026-11-15T18:44:22.20059852Z", "last_deployed": "2026-11-15T18:44:22.20059852Z",
                    "deleted": deleted, "description": "Install complete", "status": "deployed", "odd": 1,
                },
                "chart": {"metadata": {"name": "shop", "version": "1.2.3"}, "modtime": "2026-11-15T18:43:47Z", "values": {"n": 1}},
                "config": {"whole": 3, "half": 1.5},
                "manifest": "---\na: b\n",
                "hooks": [{"name": "h", "kind": "Job", "path": "p", "manifest": "m", "events": ["test"], "last_run": run,
                           "weight": 2, "delete_policies": ["hook-failed"], "output_log_policies": ["hook-failed"]}],
                "more": more,
            })
        };
        let run = json!({"started_at": "2026-11-15T18:44:22Z", "completed_at": "", "phase": "Running"});
        let third = record("".into(), run, json!({"a": [1, null]}));
        let release = decode(packed(&third).as_bytes()).unwrap();
        assert_eq!((release.chart_name(), release.chart_version(), release.revision), ("shop", "1.2.3", 3));
        assert_eq!(release.config["whole"], json!(3.0), "templates see a float");
        assert_eq!(unpacked(&encode(&release).unwrap()), third);
        // Helm 4 leaves out times that are not there, and others write Go's zero.
        let fourth = record("0001-01-01T00:00:00Z".into(), json!({"phase": ""}), json!(null));
        let release = decode(packed(&fourth).as_bytes()).unwrap();
        assert_eq!((release.info.deleted, release.hooks[0].last_run.started_at), (None, None));
    }

    #[test]
    fn records_that_are_none_are_told() {
        for (text, told) in [
            (&b"%"[..], "it is no record of a release: Invalid symbol 37, offset 0."),
            (b"e30=", "it is no record of a release: missing field `name`"),
        ] {
            assert_eq!(decode(text).unwrap_err().to_string(), told);
        }
    }

    #[test]
    fn records_are_unpacked_up_to_a_size() {
        let sized = |size: usize| {
            let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
            packer.write_all(&vec![b' '; size]).unwrap();
            decode(BASE64_STANDARD.encode(packer.finish().unwrap()).as_bytes())
        };
        assert!(matches!(sized(MAX_UNPACKED), Err(RecordError::Unreadable(_))));
        assert!(matches!(sized(MAX_UNPACKED + 1), Err(RecordError::TooLargeUnpacked)));
    }
}
