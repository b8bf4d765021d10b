//! Compares our rendering with real helm's on all charts of a directory: `compare DIRECTORY`.
//!
//! Every folder with a `Chart.yaml` and every `.tgz` in it is rendered by both, with default values and every
//! `ci/*values.yaml` of it. All differences are told, and make it fail.

#[path = "../tests/common/mod.rs"]
mod common;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use common::{VERSIONS, real_helm, run_helm, run_ours};
use helm::chart::Chart;
use helm::values::{self, Values};

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn main() -> ExitCode {
    let (Some(folder), Some(helm)) = (std::env::args_os().nth(1), real_helm(VERSIONS[0])) else {
        say("compare DIRECTORY: needs a directory of charts, and the helm that scripts/tools brings");
        return ExitCode::FAILURE;
    };
    let mut charts: Vec<PathBuf> = Vec::new();
    find(Path::new(&folder), &mut charts, 0);
    charts.sort();
    let (mut compared, mut different) = (0, 0);
    for chart in &charts {
        for file in std::iter::once(None).chain(value_files(chart).into_iter().map(Some)) {
            compared += 1;
            let name = match &file {
                Some(file) => format!("{} with {}", chart.display(), file.display()),
                None => chart.display().to_string(),
            };
            match difference(&helm, chart, file.as_deref()) {
                None => say(&format!("same       {name}")),
                Some(words) => {
                    different += 1;
                    say(&format!("DIFFERENT  {name}\n{words}"));
                }
            }
        }
    }
    say(&format!("{compared} renderings of {} charts, {different} different", charts.len()));
    if different == 0 && compared > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Charts in a directory; what is inside of a chart belongs to it.
fn find(folder: &Path, charts: &mut Vec<PathBuf>, depth: usize) {
    if folder.join("Chart.yaml").is_file() {
        return charts.push(folder.to_owned());
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && depth < 6 {
            find(&path, charts, depth + 1);
        } else if path.extension().is_some_and(|ending| ending == "tgz") {
            charts.push(path);
        }
    }
}

fn value_files(chart: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(chart.join("ci")).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().ends_with("values.yaml")).collect();
    files.sort();
    files
}

/// The first lines that differ.
fn difference(helm: &Path, chart: &Path, file: Option<&Path>) -> Option<String> {
    let args: Vec<String> = file.iter().flat_map(|file| ["-f".to_owned(), file.display().to_string()]).collect();
    let (printed, complaint) = run_helm(helm, chart, &args);
    let theirs = if complaint.is_empty() { printed } else { format!("Error: {complaint}") };
    let ours = ours(chart, file).unwrap_or_else(|complaint| format!("Error: {}", complaint.trim_end()));
    if ours == theirs {
        return None;
    }
    let lines = theirs.lines().zip(ours.lines()).enumerate().filter(|(_, (theirs, ours))| theirs != ours).take(5);
    let mut told: Vec<String> = lines
        .map(|(number, (theirs, ours))| format!("  {}: helm {theirs}\n  {}: ours {ours}", number + 1, number + 1))
        .collect();
    told.push(format!("  helm {} lines, ours {}", theirs.lines().count(), ours.lines().count()));
    Some(told.join("\n"))
}

fn ours(chart: &Path, file: Option<&Path>) -> Result<String, String> {
    let values = match file {
        Some(file) => values::from_yaml(&fs::read_to_string(file).map_err(|error| error.to_string())?)?,
        None => Values::new(),
    };
    let chart = Chart::load(chart).map_err(|error| error.to_string())?;
    let rendered = run_ours(&chart, &values).map_err(|error| error.to_string())?;
    Ok(rendered.manifests().map_err(|error| error.to_string())?.printed(true))
}
