//! The same life with real helm and with this crate leaves the same objects and the same history, after every step.

use serde_json::Value;

use crate::common::{Case, charts, real_helm};
use crate::side::{Side, Unpacked};

pub(crate) fn cases() -> Vec<Case> {
    charts(include_str!("charts.txt"))
}

/// The steps of a life: `install / upgrade --set a=b`.
pub(crate) fn steps(case: &Case) -> Vec<String> {
    case.args.join(" ").split(" / ").map(str::to_owned).collect()
}

async fn live(case: &Case, version: &str) -> Vec<String> {
    let Some(program) = real_helm(version) else { return Vec::new() };
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
        let told = |history: Vec<Value>| history.into_iter().map(failure_apart).collect::<Vec<_>>();
        compare(&format!("{place}: history"), &told(their), &told(our), &mut differences);
    }
    differences
}

/// Why something failed is told in other words.
fn failure_apart(mut release: Value) -> Value {
    if let Some((before, _)) = release["info"]["description"].as_str().and_then(|text| text.split_once(" failed: ")) {
        release["info"]["description"] = format!("{before} failed").into();
    }
    release
}

fn compare(place: &str, theirs: &[Value], ours: &[Value], differences: &mut Vec<String>) {
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
            their.iter().zip(our).enumerate().for_each(|(index, (a, b))| paths(&format!("{path}/{index}"), a, b, found));
        }
        _ if theirs != ours => found.push(format!("{path}: helm has {theirs}, we have {ours}")),
        _ => {}
    }
}

async fn all(version: &str) {
    let filter = std::env::var("CASE").unwrap_or_default();
    let mut differences = Vec::new();
    for case in cases().iter().filter(|case| case.name.contains(&filter)) {
        differences.extend(live(case, version).await);
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn we_do_as_helm_4_does() {
    all("4.2").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn we_do_as_helm_3_does() {
    all("3.17").await;
}
