//! Charts as archives, the same bytes every time.

use std::io::{self, Write as _};

use flate2::{Compression, GzBuilder};

use crate::embedded::CHARTS;

/// Former versions of charts, so that upgrades and ways back can be tried: chart, version, version of the application.
const FORMER: [(&str, &str, &str); 6] = [
    ("cert-manager", "v1.16.1", "v1.16.1"),
    ("cilium", "1.16.6", "1.16.6"),
    ("flux2", "2.14.0", "2.4.0"),
    ("longhorn", "1.7.1", "v1.7.1"),
    ("metallb", "0.14.8", "v0.14.8"),
    ("traefik", "34.2.0", "v3.3.2"),
];

/// A chart in one version.
pub(crate) struct Packed {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// `Chart.yaml` of this version.
    pub(crate) metadata: String,
    pub(crate) archive: Vec<u8>,
}

/// All charts in all versions, the newest of each first.
pub(crate) fn all() -> io::Result<Vec<Packed>> {
    let each = names().flat_map(|name| versions(name).map(move |version| (name, version)));
    each.map(|(name, version)| {
        let metadata = metadata(name, version);
        Ok(Packed { name, version, archive: archive(name, &metadata)?, metadata })
    })
    .collect()
}

/// The versions of a chart, the newest first.
pub(crate) fn versions(name: &str) -> impl Iterator<Item = &'static str> {
    let newest = field(source(name), "version");
    newest.into_iter().chain(FORMER.iter().filter(move |(chart, ..)| *chart == name).map(|(_, version, _)| *version))
}

fn names() -> impl Iterator<Item = &'static str> {
    CHARTS.iter().filter_map(|(path, _)| path.strip_suffix("/Chart.yaml"))
}

/// `Chart.yaml` as it is in the checkout.
fn source(name: &str) -> &'static str {
    let path = format!("{name}/Chart.yaml");
    CHARTS.iter().find(|(file, _)| *file == path).map_or("", |(_, text)| text)
}

/// A line of `Chart.yaml`.
fn field(metadata: &'static str, key: &str) -> Option<&'static str> {
    metadata.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
}

fn metadata(name: &str, version: &str) -> String {
    let source = source(name);
    let former = FORMER.iter().find(|(chart, former, _)| *chart == name && *former == version);
    let Some((_, version, application)) = former else { return source.to_owned() };
    let line = |line: &str| match line.split(": ").next() {
        Some("version") => format!("version: {version}\n"),
        Some("appVersion") => format!("appVersion: {application}\n"),
        _ => format!("{line}\n"),
    };
    source.lines().map(line).collect()
}

fn archive(name: &str, metadata: &str) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    let prefix = format!("{name}/");
    for (path, text) in CHARTS.iter().filter(|(path, _)| path.starts_with(&prefix)) {
        let text = if path.ends_with("/Chart.yaml") { metadata } else { text };
        // Neither time nor owner: only content makes a difference.
        let mut header = tar::Header::new_gnu();
        header.set_size(u64::try_from(text.len()).unwrap_or_default());
        header.set_mode(0o644);
        header.set_cksum();
        archive.append_data(&mut header, path, text.as_bytes())?;
    }
    let mut packed = GzBuilder::new().write(Vec::new(), Compression::default());
    packed.write_all(&archive.into_inner()?)?;
    packed.finish()
}

#[cfg(test)]
mod tests {
    use helm::chart::Chart;

    use super::*;

    #[test]
    fn charts_are_packed_the_same_every_time() {
        let (one, two) = (all().unwrap(), all().unwrap());
        assert!(one.iter().zip(&two).all(|(one, two)| one.archive == two.archive));
        for packed in one {
            let chart = Chart::from_archive(&packed.archive).unwrap();
            assert_eq!((chart.name(), chart.metadata.version.as_str()), (packed.name, packed.version));
            assert!(!chart.templates.is_empty(), "{}", packed.name);
        }
        let traefik = all().unwrap().into_iter().find(|packed| packed.version == "34.2.0").unwrap();
        assert_eq!(Chart::from_archive(&traefik.archive).unwrap().metadata.app_version, "v3.3.2");
    }
}
