//! The same life with real helm and with this crate leaves the same objects and the same history, after every step.

use serde_json::Value;

use crate::common::{Case, charts, real_helm};
use crate::side::{Side, Unpacked};

/// Charts on which a version of helm does otherwise than we, and why. One that no longer differs fails.
const KNOWN: [(&str, &str, &str); 2] = [
    ("3.17", "kept objects", "it cannot roll back to an object that it has kept; Helm 4 can"),
    ("3.17", "failing hook", "it leaves hooks behind that succeeded before one failed; Helm 4 deletes them"),
];

pub(crate) fn cases() -> Vec<Case> {
    charts(include_str!("charts.txt"))
}

/// The steps of a life: `install / upgrade --set a=b`.
pub(crate) fn steps(case: &Case) -> Vec<String> {
    case.args.join(" ").split(" / ").map(str::to_owned).collect()
}

/// What differs; nothing if helm is not at hand.
async fn live(case: &Case, version: &str) -> Option<Vec<String>> {
    let program = real_helm(version)?;
    let unpacked = Unpacked::new(case);
    let (theirs, ours) = tokio::join!(Side::start(), Side::start());
    let mut differences = Vec::new();
    for step in steps(case) {
        let (helm, us) = tokio::join!(theirs.helm(&program, &unpacked.path, &step), ours.ours(&unpacked.chart, &step));
        let place = format!("helm {version}: {}: {step}", case.name);
        if helm.is_ok() != us.is_ok() {
            differences.push(format!("{place}: helm: {helm:?}, we: {us:?}"));
        }
        let (their, our) = tokio::join!(theirs.objects(), ours.objects());
        compare(&format!("{place}: objects"), &their, &our, &mut differences);
        let (their, our) = tokio::join!(theirs.history(), ours.history());
        let told = |history: Vec<Value>| history.into_iter().map(plainly).collect::<Vec<_>>();
        compare(&format!("{place}: history"), &told(their), &told(our), &mut differences);
    }
    Some(differences)
}

/// Why something failed is told in other words, and Helm 3 drops empty lines where Helm 4 and we keep them.
pub(crate) fn plainly(mut release: Value) -> Value {
    trim(&mut release["manifest"]);
    release["hooks"].as_array_mut().into_iter().flatten().for_each(|hook| trim(&mut hook["manifest"]));
    if let Some((before, _)) = release["info"]["description"].as_str().and_then(|text| text.split_once(" failed: ")) {
        release["info"]["description"] = format!("{before} failed").into();
    }
    release
}

fn trim(text: &mut Value) {
    let lines = text.as_str().unwrap_or_default().lines().filter(|line| !line.is_empty());
    *text = lines.collect::<Vec<_>>().join("\n").into();
}

pub(crate) fn compare(place: &str, theirs: &[Value], ours: &[Value], differences: &mut Vec<String>) {
    let keyed = |values: &[Value]| -> Value {
        let key = |value: &Value| match value["version"].as_u64() {
            Some(revision) => format!("revision {revision}"),
            None => ["kind", "namespace", "name"]
                .map(|field| value.get(field).unwrap_or(&value["metadata"][field]).as_str().unwrap_or_default())
                .join(" "),
        };
        values.iter().map(|value| (key(value), value.clone())).collect::<serde_json::Map<_, _>>().into()
    };
    let mut found = Vec::new();
    paths("", &keyed(theirs), &keyed(ours), &mut found);
    differences.extend(found.into_iter().map(|difference| format!("{place}: {difference}")));
}

/// Where two values differ.
fn paths(path: &str, theirs: &Value, ours: &Value, found: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(their), Value::Object(our)) => {
            let names: std::collections::BTreeSet<&String> = their.keys().chain(our.keys()).collect();
            for name in names {
                let of = |fields: &serde_json::Map<String, Value>| fields.get(name).cloned().unwrap_or_default();
                paths(&format!("{path}/{name}"), &of(their), &of(our), found);
            }
        }
        (Value::Array(their), Value::Array(our)) if their.len() == our.len() => {
            their
                .iter()
                .zip(our)
                .enumerate()
                .for_each(|(index, (a, b))| paths(&format!("{path}/{index}"), a, b, found));
        }
        _ if theirs != ours => found.push(format!("{path}: helm has {theirs}, we have {ours}")),
        _ => {}
    }
}

async fn all(version: &str) {
    let filter = std::env::var("CASE").unwrap_or_default();
    let mut wrong = Vec::new();
    for case in cases().iter().filter(|case| case.name.contains(&filter)) {
        let known = KNOWN.iter().any(|(of, name, _)| (*of, *name) == (version, &case.name));
        match (live(case, version).await, known) {
            (Some(differences), false) => wrong.extend(differences),
            (Some(differences), true) if differences.is_empty() => {
                wrong.push(format!("{}: it is known to differ, and does not", case.name));
            }
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn we_do_as_helm_4_does() {
    all("4.2").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn we_do_as_helm_3_does() {
    all("3.17").await;
}
