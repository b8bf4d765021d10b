//! Runs many cases at once and compares them with their golden transcripts.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use serde_json::Value;

use crate::case::Case;
use crate::known::Known;
use crate::run::Bench;
use crate::target::Target;
use crate::transcript::{Difference, Golden, Transcript, compare, load};

/// How many cases run at the same time.
const PARALLEL: usize = 16;

/// Runs the cases and hands back their transcripts in the order of the cases.
pub async fn run_all(target: Arc<Target>, cases: &[Case]) -> anyhow::Result<Vec<(String, anyhow::Result<Transcript>)>> {
    let bench = Bench::new(target).await?;
    let (alone, together): (Vec<_>, Vec<_>) = cases.iter().partition(|case| case.exclusive);
    let run = |case: &Case| {
        let (case, bench) = (case.clone(), &bench);
        async move { (case.id(), bench.run(&case).await) }
    };
    let mut done: Vec<_> = stream::iter(together).map(run).buffer_unordered(PARALLEL).collect().await;
    done.extend(stream::iter(alone).map(run).buffered(1).collect::<Vec<_>>().await);
    done.sort_by_key(|(id, _)| cases.iter().position(|case| case.id() == *id));
    Ok(done)
}

/// The outcome of comparing a target with the golden transcripts.
#[derive(Debug, Default)]
pub struct Report {
    /// Cases run.
    pub cases: usize,
    /// Steps compared.
    pub steps: usize,
    /// Accepted differences that were met.
    pub accepted: usize,
    /// What went wrong, ready to print.
    pub failures: Vec<String>,
}

/// Runs the cases against a target and compares. `known` are the differences accepted there; entries that were not met
/// count as failures when `complete`, that is when no case was left out.
pub async fn check(target: Arc<Target>, cases: &[Case], known: &[Known], complete: bool) -> anyhow::Result<Report> {
    let mut goldens: BTreeMap<&str, Golden> = BTreeMap::new();
    for case in cases {
        if !goldens.contains_key(case.area) {
            goldens.insert(case.area, load(case.area)?);
        }
    }
    let mut expected = HashMap::new();
    for case in cases {
        if let Some(transcript) = goldens.get(case.area).and_then(|golden| golden.get(case.name)) {
            expected.insert(case.id(), transcript.clone());
        }
    }
    Ok(judge(run_all(target, cases).await?, &expected, known, complete))
}

fn judge(
    outcomes: Vec<(String, anyhow::Result<Transcript>)>,
    expected: &HashMap<String, Transcript>,
    known: &[Known],
    complete: bool,
) -> Report {
    let mut report = Report { cases: outcomes.len(), ..Report::default() };
    let mut met = vec![false; known.len()];
    for (id, outcome) in outcomes {
        let Some(expected) = expected.get(&id) else {
            report.failures.push(format!("{id}: never recorded (cargo run -p conformance --bin record)"));
            continue;
        };
        report.steps += expected.len();
        match outcome {
            Err(error) => report.failures.push(format!("{id}: {error:#}")),
            Ok(got) => {
                let mut differences = compare(expected, &got);
                differences.retain(|difference| {
                    let found = known.iter().position(|known| known.covers(&id, difference));
                    if let Some(at) = found {
                        met[at] = true;
                        report.accepted += 1;
                    }
                    found.is_none()
                });
                report.failures.extend(describe(&id, expected, &differences));
            }
        }
    }
    if complete {
        for (known, _) in known.iter().zip(&met).filter(|(_, met)| !**met) {
            let Known { case, step, pointer, .. } = known;
            report.failures.push(format!("{case}, step {step}, {pointer}: listed as a difference, but it agrees"));
        }
    }
    report
}

/// How many differences of one case are printed.
const SHOWN: usize = 12;

fn describe(id: &str, expected: &[Value], differences: &[Difference]) -> Option<String> {
    if differences.is_empty() {
        return None;
    }
    let show = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
    let mut text = id.to_owned();
    let mut last = usize::MAX;
    for difference in differences.iter().take(SHOWN) {
        if difference.step != last {
            last = difference.step;
            let step = expected.get(last).and_then(|line| line["step"].as_str()).unwrap_or("(no such step)");
            text.push_str(&format!("\n  step {last}: {step}"));
        }
        let (pointer, expected, got) = (&difference.pointer, show(&difference.expected), show(&difference.got));
        text.push_str(&format!("\n    {pointer}\n      expected {expected}\n      got      {got}"));
    }
    if differences.len() > SHOWN {
        text.push_str(&format!("\n  and {} more", differences.len() - SHOWN));
    }
    Some(text)
}

/// Prints a report and says whether all is well.
pub fn print(out: &mut impl Write, target: &str, report: &Report) -> std::io::Result<bool> {
    for failure in &report.failures {
        writeln!(out, "{failure}\n")?;
    }
    let Report { cases, steps, accepted, failures } = report;
    writeln!(out, "{target}: {cases} cases, {steps} steps, {accepted} known differences, {} failures", failures.len())?;
    Ok(failures.is_empty())
}

/// The cases whose `area/name` contains one of the filters; all without filters.
pub fn select(cases: Vec<Case>, filters: &[String]) -> Vec<Case> {
    cases.into_iter().filter(|case| filters.is_empty() || filters.iter().any(|f| case.id().contains(f))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::json;

    use super::judge;
    use crate::known::Known;

    #[test]
    fn differences_fail_unless_known_and_known_ones_must_differ() {
        let expected = HashMap::from([("a/b".to_owned(), vec![json!({"step": "GET", "body": {"x": 1}})])]);
        let known = [Known { case: "a/b", step: 0, pointer: "/body/x", reason: "r" }];
        let seen = |x: i32| vec![("a/b".to_owned(), Ok(vec![json!({"step": "GET", "body": {"x": x}})]))];
        for (x, known, complete, failures) in [
            (1, &[][..], true, 0),
            (2, &[][..], true, 1),
            (2, &known[..], true, 0),
            (1, &known[..], true, 1),
            (1, &known[..], false, 0),
        ] {
            let report = judge(seen(x), &expected, known, complete);
            assert_eq!(report.failures.len(), failures, "{x} {complete} {:?}", report.failures);
        }
        let unknown = judge(vec![("a/new".to_owned(), Ok(Vec::new()))], &expected, &[], true);
        assert!(unknown.failures[0].contains("never recorded"));
    }
}
