//! Charts: what they are made of, and reading them.

mod archive;
pub(crate) mod directory;
mod files;
mod ignore;
mod metadata;

use std::path::Path;

use bytes::Bytes;
use serde_json::Value as Json;

use crate::values::Values;
pub use metadata::{Dependency, Maintainer, Metadata};

/// A chart with its subcharts, in memory.
#[derive(Debug, Clone)]
pub struct Chart {
    /// `Chart.yaml`
    pub metadata: Metadata,
    /// The default values.
    pub values: Values,
    /// `values.schema.json`, if there is one.
    pub schema: Option<Json>,
    /// The same, as it is written.
    pub schema_file: Option<Bytes>,
    /// What is under `templates/`.
    pub templates: Vec<File>,
    /// Everything else: what `.Files` shows, custom resource definitions among it.
    pub files: Vec<File>,
    /// `Chart.lock` or `requirements.lock`, as it is written.
    pub lock: Option<Bytes>,
    /// Charts under `charts/`.
    pub dependencies: Vec<Chart>,
}

/// A file of a chart, named by its path within it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path, with `/`.
    pub name: String,
    /// What is in it.
    pub content: Bytes,
}

/// Why a chart cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ChartError {
    /// A file or folder cannot be read.
    #[error("cannot read {path}")]
    Unreadable {
        /// Which one.
        path: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// There is no `Chart.yaml`.
    #[error("Chart.yaml file is missing")]
    NoMetadata,
    /// A file is not what it should be.
    #[error("cannot load {file}: {reason}")]
    BadFile {
        /// Which one.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// `Chart.yaml` says something that cannot be.
    #[error("validation: {0}")]
    Invalid(String),
    /// The chart is larger than any chart has reason to be.
    #[error("{0}")]
    TooLarge(String),
    /// A path that leads out of the chart.
    #[error("chart illegally contains content outside the base directory: {0}")]
    Outside(String),
    /// A subchart cannot be read.
    #[error("error unpacking subchart {name} in {parent}")]
    Subchart {
        /// The subchart.
        name: String,
        /// The chart it is in.
        parent: String,
        /// Why not.
        #[source]
        source: Box<ChartError>,
    },
    /// `Chart.yaml` names subcharts that are not there.
    #[error(
        "an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' to fetch missing dependencies: found in Chart.yaml, but missing in charts/ directory: {}",
        .0.join(", ")
    )]
    MissingDependencies(Vec<String>),
}

impl Chart {
    /// Reads a chart: a directory, or an archive.
    pub fn load(path: &Path) -> Result<Self, ChartError> {
        let unreadable = |source| ChartError::Unreadable { path: path.display().to_string(), source };
        if std::fs::metadata(path).map_err(unreadable)?.is_dir() {
            return Self::from_files(directory::read(path)?);
        }
        Self::from_archive(&std::fs::read(path).map_err(unreadable)?)
    }

    /// Reads an archive.
    pub fn from_archive(bytes: &[u8]) -> Result<Self, ChartError> {
        files::chart(archive::read(bytes)?, 0)
    }

    /// Puts a chart together from its files, named by their paths within it.
    pub fn from_files(files: Vec<File>) -> Result<Self, ChartError> {
        files::chart(files, 0)
    }

    /// Its name; under an alias, that.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// Whether it only defines templates for others.
    pub fn is_library(&self) -> bool {
        self.metadata.kind.eq_ignore_ascii_case("library")
    }

    /// The files under `crds/` of this chart and its subcharts, named with the path of their chart.
    pub fn crds(&self) -> Vec<File> {
        let mut found = Vec::new();
        self.collect_crds(self.name(), &mut found);
        found
    }

    fn collect_crds(&self, path: &str, found: &mut Vec<File>) {
        let is_manifest =
            |name: &str| [".yaml", ".yml", ".json"].iter().any(|ending| name.to_ascii_lowercase().ends_with(ending));
        let own = self.files.iter().filter(|file| file.name.starts_with("crds/") && is_manifest(&file.name));
        found.extend(own.map(|file| File { name: format!("{path}/{}", file.name), content: file.content.clone() }));
        for dependency in &self.dependencies {
            dependency.collect_crds(&format!("{path}/charts/{}", dependency.name()), found);
        }
    }

    /// Fails if `Chart.yaml` names subcharts that are not there.
    pub fn check_dependencies(&self) -> Result<(), ChartError> {
        let there = |wanted: &Dependency| self.dependencies.iter().any(|chart| chart.name() == wanted.name);
        let missing: Vec<String> = self
            .metadata
            .dependencies
            .iter()
            .filter(|wanted| !there(wanted))
            .map(|wanted| wanted.name.clone())
            .collect();
        if missing.is_empty() { Ok(()) } else { Err(ChartError::MissingDependencies(missing)) }
    }
}
