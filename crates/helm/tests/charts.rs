//! Charts, compared as a whole with what real helm makes of them: its output, or its complaint.
//!
//! `charts/*.txt` has many charts each: a line `==== name | arguments`, then files as `-- path --`. Without a
//! `Chart.yaml` a chart has a plain one. `BLESS=1 cargo test -p helm` records the answers anew.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod common;

use std::fs;
use std::path::Path;

use common::{Case, VERSIONS, blesses, charts, real_helm, run_helm, run_ours, tests};
use helm::chart::Chart;
use helm::values::{self, Values};
use serde_json::{Value, json};

/// Charts on which we differ, and why. One that no longer differs fails.
const KNOWN: [(&str, &str); 0] = [];

fn cases() -> Vec<Case> {
    let mut paths: Vec<_> = fs::read_dir(tests().join("charts")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().flat_map(|path| charts(&fs::read_to_string(path).unwrap())).collect()
}

/// Arguments with files of values as helm finds them.
fn resolved(case: &Case, folder: &Path) -> Vec<String> {
    let mut args = Vec::new();
    for (index, arg) in case.args.iter().enumerate() {
        let is_file = index > 0 && case.args[index - 1] == "-f";
        args.push(if is_file { folder.join(arg).display().to_string() } else { arg.clone() });
    }
    args
}

fn answer((printed, complaint): (String, String)) -> String {
    if complaint.is_empty() { printed } else { format!("Error: {complaint}\n") }
}

fn helm_answers(helm: &Path, case: &Case) -> String {
    let folder = tempfile::tempdir().unwrap();
    case.write(folder.path());
    let answer = answer(run_helm(helm, folder.path(), &resolved(case, folder.path())));
    answer.replace(&folder.path().display().to_string(), "CHART")
}

fn we_answer(case: &Case) -> String {
    let folder = tempfile::tempdir().unwrap();
    case.write(folder.path());
    let outcome = given(case, folder.path()).and_then(|values| {
        let chart = Chart::load(folder.path()).map_err(|error| error.to_string())?;
        let rendered = run_ours(&chart, &values).map_err(|error| error.to_string())?;
        Ok(rendered.manifests().map_err(|error| error.to_string())?.printed(true))
    });
    match outcome {
        Ok(printed) => answer((printed, String::new())),
        Err(complaint) => answer((String::new(), complaint.trim_end().to_owned())),
    }
}

/// The values of arguments: files first, then what is set.
fn given(case: &Case, folder: &Path) -> Result<Values, String> {
    let mut values = Values::new();
    let pairs: Vec<(&str, &str)> = case.args.chunks(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
    for (_, file) in pairs.iter().filter(|(flag, _)| *flag == "-f") {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        values::merge(&mut values, values::from_yaml(&text)?);
    }
    for (wanted, set) in [
        ("--set-json", values::set_json as fn(&mut Values, &str) -> Result<(), values::SetError>),
        ("--set", values::set),
        ("--set-string", values::set_string),
    ] {
        for (_, text) in pairs.iter().filter(|(flag, _)| *flag == wanted) {
            set(&mut values, text).map_err(|error| error.to_string())?;
        }
    }
    Ok(values)
}

#[test]
fn charts_are_rendered_as_helm_renders_them() {
    let cases = cases();
    let golden = tests().join("golden/charts.json");
    let asked: Vec<Option<Vec<String>>> = VERSIONS
        .iter()
        .map(|version| real_helm(version).map(|helm| cases.iter().map(|case| helm_answers(&helm, case)).collect()))
        .collect();
    if blesses()
        && let [Some(new), Some(old)] = asked.as_slice()
    {
        let entry = |((case, new), old): ((&Case, &String), &String)| {
            let mut entry = json!({"chart": case.name, VERSIONS[0]: new});
            if old != new {
                entry[VERSIONS[1]] = old.as_str().into();
            }
            entry
        };
        let recorded: Vec<Value> = cases.iter().zip(new).zip(old).map(entry).collect();
        fs::write(&golden, format!("{}\n", serde_json::to_string_pretty(&recorded).unwrap())).unwrap();
    }
    let recorded: Vec<Value> = serde_json::from_str(&fs::read_to_string(&golden).unwrap()).unwrap();
    let names: Vec<&str> = recorded.iter().map(|entry| entry["chart"].as_str().unwrap()).collect();
    assert_eq!(names, cases.iter().map(|case| case.name.as_str()).collect::<Vec<_>>(), "record with BLESS=1");
    let mut differences = Vec::new();
    for (index, (case, entry)) in cases.iter().zip(&recorded).enumerate() {
        let expected = entry[VERSIONS[0]].as_str().unwrap();
        let ours = we_answer(case);
        let known = KNOWN.iter().any(|(name, _)| *name == case.name);
        if (ours != expected) != known {
            differences.push(format!("{}\n--- helm:\n{expected}\n--- ours:\n{ours}", case.name));
        }
        for (version, asked) in VERSIONS.iter().zip(&asked) {
            let expected = entry.get(version).unwrap_or(&entry[VERSIONS[0]]).as_str().unwrap();
            if let Some(asked) = asked.as_ref().filter(|asked| asked[index] != expected) {
                differences.push(format!("{}\n--- recorded:\n{expected}\n--- {version}:\n{}", case.name, asked[index]));
            }
        }
    }
    let (count, all) = (differences.len(), cases.len());
    assert!(differences.is_empty(), "{count} of {all} differ\n{}", differences.join("\n"));
}
