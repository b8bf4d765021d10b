//! Puts charts together from files.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{Chart, ChartError, File, Metadata, archive};
use crate::values;

/// How deep charts may contain charts.
const MAX_DEPTH: usize = 32;

pub(super) fn chart(files: Vec<File>, depth: usize) -> Result<Chart, ChartError> {
    if depth > MAX_DEPTH {
        return Err(ChartError::TooLarge("subcharts are nested too deep".to_owned()));
    }
    let described = files.iter().find(|file| file.name == "Chart.yaml").ok_or(ChartError::NoMetadata)?;
    let mut chart = Chart {
        metadata: Metadata::read(&text(described)?).map_err(|reason| bad("Chart.yaml", reason))?,
        values: values::Values::new(),
        schema: None,
        schema_file: None,
        templates: Vec::new(),
        files: Vec::new(),
        lock: None,
        dependencies: Vec::new(),
    };
    let mut subcharts: BTreeMap<String, Vec<File>> = BTreeMap::new();
    for file in files {
        match file.name.as_str() {
            "Chart.yaml" => {}
            "Chart.lock" => chart.lock = Some(file.content),
            "values.yaml" => {
                chart.values = values::from_yaml(&text(&file)?).map_err(|reason| bad("values.yaml", reason))?;
            }
            "values.schema.json" => {
                let schema = serde_json::from_slice::<Json>(&file.content);
                chart.schema = Some(schema.map_err(|error| bad("values.schema.json", error.to_string()))?);
                chart.schema_file = Some(file.content);
            }
            "requirements.yaml" => {
                let dependencies = Metadata::read_requirements(&text(&file)?);
                let dependencies = dependencies.map_err(|reason| bad("requirements.yaml", reason))?;
                chart.metadata.dependencies.extend(dependencies);
                chart.keep_if_old(file);
            }
            "requirements.lock" => {
                chart.lock = Some(file.content.clone());
                chart.keep_if_old(file);
            }
            name if name.starts_with("templates/") => chart.templates.push(file),
            name if name.starts_with("charts/") => {
                let within = name.trim_start_matches("charts/").to_owned();
                if within.ends_with(".prov") {
                    chart.files.push(file);
                } else if let Some((folder, _)) = within.split_once('/') {
                    let renamed = within.get(folder.len() + 1..).unwrap_or_default().to_owned();
                    subcharts.entry(folder.to_owned()).or_default().push(File { name: renamed, content: file.content });
                } else {
                    subcharts.entry(within.clone()).or_default().push(File { name: within, content: file.content });
                }
            }
            _ => chart.files.push(file),
        }
    }
    chart.metadata.validate().map_err(ChartError::Invalid)?;
    for (name, files) in subcharts {
        if name.starts_with(['_', '.']) {
            continue;
        }
        let failed = |error: ChartError| ChartError::Subchart {
            name: name.clone(),
            parent: chart.name().to_owned(),
            source: Box::new(error),
        };
        if let Some(subchart) = subchart(&name, files, depth + 1).map_err(failed)? {
            chart.dependencies.push(subchart);
        }
    }
    Ok(chart)
}

fn subchart(name: &str, files: Vec<File>, depth: usize) -> Result<Option<Chart>, ChartError> {
    if name.ends_with(".tgz") {
        let Some(archive) = files.into_iter().find(|file| file.name == name) else { return Ok(None) };
        return chart(archive::read(&archive.content)?, depth).map(Some);
    }
    // A file that lies about, and is no chart.
    if files.iter().any(|file| file.name == name) {
        return Ok(None);
    }
    chart(files, depth).map(Some)
}

impl Chart {
    /// What charts of the first version had beside `Chart.yaml` is a file of theirs.
    fn keep_if_old(&mut self, file: File) {
        if self.metadata.api_version == "v1" {
            self.files.push(file);
        }
    }
}

fn bad(file: &str, reason: impl Into<String>) -> ChartError {
    ChartError::BadFile { file: file.to_owned(), reason: reason.into() }
}

fn text(file: &File) -> Result<String, ChartError> {
    let content = file.content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&file.content);
    String::from_utf8(content.to_vec()).map_err(|_| bad(&file.name, "it is not UTF-8"))
}
