//! A directory that is a repository.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::embedded::MANIFESTS;
use crate::pack::{self, Packed};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    api_version: &'static str,
    entries: BTreeMap<&'static str, Vec<Value>>,
}

/// Writes all charts into a directory, with an index that has their digests, and plain manifests below `manifests/`. What is
/// there already is left as it is; what is half written is written again.
pub fn write_repository(directory: &Path) -> io::Result<()> {
    let mut index = Index { api_version: "v1", entries: BTreeMap::new() };
    for packed in pack::all()? {
        let file = format!("{}-{}.tgz", packed.name, packed.version);
        write(&directory.join(&file), &packed.archive)?;
        index.entries.entry(packed.name).or_default().push(entry(&packed, &file)?);
    }
    for (path, text) in MANIFESTS {
        write(&directory.join("manifests").join(path), text.as_bytes())?;
    }
    // The last: what it names is there.
    let index = kernel::yaml::to_string(&index).map_err(io::Error::other)?;
    write(&directory.join("index.yaml"), index.as_bytes())
}

fn entry(packed: &Packed, file: &str) -> io::Result<Value> {
    let mut entry: Map<String, Value> = kernel::yaml::from_str(&packed.metadata).map_err(io::Error::other)?;
    entry.insert("urls".to_owned(), json!([file]));
    entry.insert("digest".to_owned(), helm::source::sha256(&packed.archive).into());
    Ok(entry.into())
}

/// Writes a file whole or not at all.
fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|found| found == content) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension(format!("{}.part", std::process::id()));
    fs::write(&beside, content)?;
    fs::rename(&beside, path)
}
