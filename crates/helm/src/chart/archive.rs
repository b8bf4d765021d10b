//! Reads archives, which come from anywhere.

use std::io::Read as _;

use super::{ChartError, File};

/// What all files together may have, as in Helm.
const MAX_TOTAL: u64 = 100 << 20;
/// What one file may have, as in Helm.
const MAX_FILE: u64 = 5 << 20;
/// How many files there may be.
const MAX_FILES: usize = 10_000;

pub(super) fn read(bytes: &[u8]) -> Result<Vec<File>, ChartError> {
    let damaged =
        |error: std::io::Error| ChartError::BadFile { file: "the archive".to_owned(), reason: error.to_string() };
    // Whatever the headers say: what is unpacked is counted, padding included.
    let unpacked = flate2::read::GzDecoder::new(bytes).take(MAX_TOTAL + (MAX_FILES as u64 + 2) * 1024);
    let mut archive = tar::Archive::new(unpacked);
    let mut files = Vec::new();
    let mut left = MAX_TOTAL;
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        if files.len() >= MAX_FILES {
            return Err(ChartError::TooLarge(format!("chart has more than {MAX_FILES} files")));
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let name = within_chart(&path)?;
        let mut content = Vec::new();
        let limit = MAX_FILE.min(left);
        entry.by_ref().take(limit + 1).read_to_end(&mut content).map_err(damaged)?;
        let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
        if size > limit {
            let what = if limit == left {
                format!("decompressed chart is larger than the maximum size {MAX_TOTAL}")
            } else {
                format!("decompressed chart file {name:?} is larger than the maximum file size {MAX_FILE}")
            };
            return Err(ChartError::TooLarge(what));
        }
        left -= size;
        if content.starts_with(b"\xef\xbb\xbf") {
            content.drain(..3);
        }
        files.push(File { name, content: content.into() });
    }
    if files.is_empty() {
        return Err(ChartError::BadFile {
            file: "the archive".to_owned(),
            reason: "no files in chart archive".to_owned(),
        });
    }
    Ok(files)
}

/// The path of an entry within its chart: without the folder that every archive has, and without ways out.
fn within_chart(path: &str) -> Result<String, ChartError> {
    let outside = || ChartError::Outside(path.to_owned());
    let slashed = path.replace('\\', "/");
    let mut parts = slashed.split('/');
    let base = parts.next().unwrap_or_default();
    let named_drive = slashed.as_bytes().get(1) == Some(&b':');
    if base.is_empty() || base == ".." || named_drive {
        return Err(outside());
    }
    let mut kept: Vec<&str> = Vec::new();
    for part in parts {
        match part {
            "" | "." => {}
            ".." => return Err(outside()),
            part if part.contains('\0') => return Err(outside()),
            part => kept.push(part),
        }
    }
    if kept.is_empty() {
        if base == "Chart.yaml" {
            let reason = "chart yaml not in base directory".to_owned();
            return Err(ChartError::BadFile { file: base.to_owned(), reason });
        }
        return Err(outside());
    }
    Ok(kept.join("/"))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn packed(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, content) in entries {
            let mut header = tar::Header::new_gnu();
            let name = header.as_old_mut();
            name.name.iter_mut().zip(path.bytes()).for_each(|(to, from)| *to = from);
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append(&header, *content).unwrap();
        }
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&builder.into_inner().unwrap()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn paths_stay_within_the_chart() {
        for (path, expected) in [
            ("c/Chart.yaml", Some("Chart.yaml")),
            ("c/./templates//a.yaml", Some("templates/a.yaml")),
            ("c\\templates\\a.yaml", Some("templates/a.yaml")),
            ("../Chart.yaml", None),
            ("c/../../etc/passwd", None),
            ("/etc/passwd", None),
            ("C:/x/y", None),
            ("Chart.yaml", None),
        ] {
            let read = read(&packed(&[(path, b"x")])).ok();
            assert_eq!(read.as_ref().map(|files| files[0].name.as_str()), expected, "{path}");
        }
    }

    #[test]
    fn bombs_do_not_go_off() {
        let zeros = vec![0; usize::try_from(MAX_FILE).unwrap() + 1];
        assert!(matches!(read(&packed(&[("c/a", &zeros)])), Err(ChartError::TooLarge(_))));
        let large: Vec<String> = (0..21).map(|n| format!("c/{n}")).collect();
        let full = vec![0; usize::try_from(MAX_FILE).unwrap()];
        let entries: Vec<(&str, &[u8])> = large.iter().map(|name| (name.as_str(), full.as_slice())).collect();
        assert!(matches!(read(&packed(&entries)), Err(ChartError::TooLarge(_))));
        assert!(read(b"not gzip").is_err());
        assert!(read(&packed(&[])).is_err());
    }
}
