//! Templates, one construct or function each, compared with what real helm makes of them (`tests/golden`).
//!
//! `cases/*.txt` has one case in a line, or between `<<<` and `>>>`. Those of a file share one chart, so that one run of
//! helm answers all of them; those that fail are run one by one. `BLESS=1 cargo test -p helm` records the answers anew.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use common::{VERSIONS, blesses, real_helm, run_helm, run_ours, tests};
use helm::chart::{Chart, File};
use helm::values::Values;
use serde_json::{Value, json};

/// Cases on which we differ, by a part of their text, and why. One that no longer differs fails.
const KNOWN: [(&str, &str); 2] = [
    ("tRUE", "`kernel::yaml` takes truths and nulls in any mixture of cases, Go only in three"),
    ("a: b: c", "`kernel::yaml` complains of broken YAML in other words"),
];

fn cases(family: &str) -> Vec<String> {
    let text = fs::read_to_string(tests().join(format!("cases/{family}.txt"))).unwrap();
    let mut cases: Vec<String> = Vec::new();
    let mut block: Option<String> = None;
    for line in text.lines() {
        match (line, &mut block) {
            ("<<<", _) => block = Some(String::new()),
            (">>>", Some(_)) => cases.extend(block.take()),
            (line, Some(block)) => {
                block.push_str(line);
                block.push('\n');
            }
            ("", None) => {}
            (line, None) => cases.push(line.to_owned()),
        }
    }
    cases
}

/// A chart whose templates are these.
fn chart(templates: &[String]) -> Vec<File> {
    let file = |name: &str, content: &str| File { name: name.to_owned(), content: content.to_owned().into() };
    let mut files = vec![
        file("Chart.yaml", "apiVersion: v2\nname: t\nversion: 1.2.3\nappVersion: \"4.5\"\n"),
        file("values.yaml", &fs::read_to_string(tests().join("cases/values.yaml")).unwrap()),
        file("data.txt", "first\nsecond\n"),
        file("templates/_helpers.tpl", &fs::read_to_string(tests().join("cases/_helpers.tpl")).unwrap()),
    ];
    files.extend(templates.iter().enumerate().map(|(index, text)| file(&format!("templates/c{index:03}.txt"), text)));
    files
}

fn write(files: &[File], folder: &Path) {
    for file in files {
        let path = folder.join(&file.name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &file.content).unwrap();
    }
}

/// Marks keep whitespace at the ends, and make the output no manifest, so that `--debug` prints it as it is.
fn marked(cases: &[String]) -> Vec<String> {
    cases.iter().map(|case| format!("[{case}]")).collect()
}

/// What real helm prints for each case, or its complaint where one fails. Cases that fail are found by halving.
fn helm_prints(helm: &Path, cases: &[String]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    write(&chart(&marked(cases)), folder.path());
    let (printed, told) = run_helm(helm, folder.path(), &["--debug".to_owned()]);
    let mut answers: BTreeMap<usize, String> = BTreeMap::new();
    for part in printed.split("---\n# Source: t/templates/c").skip(1) {
        let (name, content) = part.split_once(".txt\n").unwrap();
        answers.insert(name.parse().unwrap(), content.strip_suffix('\n').unwrap_or(content).to_owned());
    }
    if answers.len() == cases.len() {
        return answers.into_values().collect();
    }
    if cases.len() == 1 {
        return vec![format!("Error: {}", told.lines().next().unwrap_or_default())];
    }
    let (first, second) = cases.split_at(cases.len() / 2);
    [helm_prints(helm, first), helm_prints(helm, second)].concat()
}

fn we_print(cases: &[String]) -> Vec<String> {
    let chart = Chart::from_files(chart(&marked(cases))).unwrap();
    let rendered = run_ours(&chart, &Values::new()).unwrap();
    (0..cases.len()).map(|index| rendered.files[&format!("t/templates/c{index:03}.txt")].clone()).collect()
}

/// What real helm complains of when a chart has this one template.
fn helm_complains(helm: &Path, cases: &[String]) -> Vec<String> {
    let one = |case: &String| {
        let folder = tempfile::tempdir().unwrap();
        write(&chart(std::slice::from_ref(case)), folder.path());
        run_helm(helm, folder.path(), &[]).1
    };
    cases.iter().map(one).collect()
}

fn we_complain(cases: &[String]) -> Vec<String> {
    let one = |case: &String| {
        let chart = Chart::from_files(chart(std::slice::from_ref(case))).unwrap();
        match run_ours(&chart, &Values::new()).and_then(|rendered| rendered.manifests().map(drop)) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        }
    };
    cases.iter().map(one).collect()
}

type Answers<'a> = &'a dyn Fn(&Path, &[String]) -> Vec<String>;

/// Compares our answers with the recorded ones, and the recorded ones with real helm where it is at hand.
fn compare(family: &str, ours: &[String], cases: &[String], ask: Answers<'_>) {
    let golden = tests().join(format!("golden/{family}.json"));
    let asked: Vec<Option<Vec<String>>> =
        VERSIONS.iter().map(|version| real_helm(version).map(|helm| ask(&helm, cases))).collect();
    if blesses()
        && let [Some(new), Some(old)] = asked.as_slice()
    {
        let entry = |((case, new), old): ((&String, &String), &String)| {
            let mut entry = json!({"case": case, VERSIONS[0]: new});
            if old != new {
                entry[VERSIONS[1]] = old.as_str().into();
            }
            entry
        };
        let recorded: Vec<Value> = cases.iter().zip(new).zip(old).map(entry).collect();
        fs::write(&golden, format!("{}\n", serde_json::to_string_pretty(&recorded).unwrap())).unwrap();
    }
    let recorded: Vec<Value> = serde_json::from_str(&fs::read_to_string(&golden).unwrap()).unwrap();
    let recorded_cases: Vec<&str> = recorded.iter().map(|entry| entry["case"].as_str().unwrap()).collect();
    assert_eq!(recorded_cases, cases, "{family}: record the cases with BLESS=1");
    let mut differences = Vec::new();
    for (index, entry) in recorded.iter().enumerate() {
        let expected = entry[VERSIONS[0]].as_str().unwrap();
        let known = KNOWN.iter().any(|(part, _)| cases[index].contains(part));
        if (ours[index] != expected) != known {
            differences.push(format!("{}\n  helm: {expected:?}\n  ours: {:?}", cases[index], ours[index]));
        }
        for (version, asked) in VERSIONS.iter().zip(&asked) {
            let expected = entry.get(version).unwrap_or(&entry[VERSIONS[0]]).as_str().unwrap();
            if let Some(asked) = asked.as_ref().filter(|asked| asked[index] != expected) {
                differences
                    .push(format!("{}\n  recorded: {expected:?}\n  {version}: {:?}", cases[index], asked[index]));
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{family}: {} of {} differ\n{}",
        differences.len(),
        cases.len(),
        differences.join("\n")
    );
}

fn printed(family: &str) {
    let cases = cases(family);
    compare(family, &we_print(&cases), &cases, &helm_prints);
}

#[test]
fn language() {
    printed("language");
}

#[test]
fn strings() {
    printed("strings");
}

#[test]
fn collections() {
    printed("collections");
}

#[test]
fn data() {
    printed("data");
}

#[test]
fn errors() {
    let cases = cases("errors");
    compare("errors", &we_complain(&cases), &cases, &helm_complains);
}
