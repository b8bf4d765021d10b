//! Subcharts: which are on, under which name, and what values they hand to their parent.

use serde_json::{Value as Json, json};

use super::coalesce::{Nulls, coalesce_with, under};
use super::{Values, at_path, table};
use crate::chart::{Chart, Dependency};
use crate::semver::{Constraint, Version};

/// Removes subcharts that are off, renames those with an alias, and imports values.
pub fn process_dependencies(chart: &mut Chart, given: &Values) -> Result<(), String> {
    switch(chart, given, "")?;
    import_all(chart)
}

fn is_compatible(range: &str, version: &str) -> bool {
    match (Constraint::parse(range), Version::parse(version)) {
        (Ok(range), Ok(version)) => range.check(&version),
        _ => false,
    }
}

fn fits(chart: &Chart, wanted: &Dependency) -> bool {
    chart.name() == wanted.name && is_compatible(&wanted.version, &chart.metadata.version)
}

fn switch(chart: &mut Chart, given: &Values, path: &str) -> Result<(), String> {
    if chart.metadata.dependencies.is_empty() {
        return Ok(());
    }
    // What Chart.yaml does not mention is there all the same.
    let wanted = &chart.metadata.dependencies;
    let unmentioned = chart.dependencies.iter().filter(|chart| !wanted.iter().any(|wanted| fits(chart, wanted)));
    let mut subcharts: Vec<Chart> = unmentioned.cloned().collect();
    for wanted in wanted {
        let Some(found) = chart.dependencies.iter().find(|chart| fits(chart, wanted)) else { continue };
        let mut subchart = found.clone();
        if !wanted.alias.is_empty() {
            subchart.metadata.name.clone_from(&wanted.alias);
        }
        subcharts.push(subchart);
    }
    chart.dependencies = subcharts;
    for wanted in &mut chart.metadata.dependencies {
        if !wanted.alias.is_empty() {
            wanted.name.clone_from(&wanted.alias);
        }
        wanted.enabled = true;
    }
    let values = coalesce_with(chart, given, Nulls::Remove)?;
    for wanted in &mut chart.metadata.dependencies {
        wanted.enabled = is_enabled(wanted, &values, path);
    }
    let off = |name: &str| chart.metadata.dependencies.iter().any(|wanted| !wanted.enabled && wanted.name == name);
    let kept: Vec<bool> = chart.dependencies.iter().map(|subchart| !off(subchart.name())).collect();
    let mut kept = kept.into_iter();
    chart.dependencies.retain(|_| kept.next().unwrap_or(true));
    chart.metadata.dependencies.retain(|wanted| wanted.enabled);
    for subchart in &mut chart.dependencies {
        let path = format!("{path}{}.", subchart.name());
        switch(subchart, &values, &path)?;
    }
    Ok(())
}

/// The first condition that is there decides; without one, tags do.
fn is_enabled(wanted: &Dependency, values: &Values, path: &str) -> bool {
    let conditions = wanted.condition.trim().split(',').filter(|condition| !condition.is_empty());
    let decided = conditions.filter_map(|condition| at_path(values, &format!("{path}{condition}"))?.as_bool()).next();
    decided.unwrap_or_else(|| {
        let tags = values.get("tags").and_then(Json::as_object);
        let set: Vec<bool> = wanted.tags.iter().filter_map(|tag| tags?.get(tag)?.as_bool()).collect();
        set.is_empty() || set.contains(&true)
    })
}

/// Imports the values of subcharts, innermost first.
fn import_all(chart: &mut Chart) -> Result<(), String> {
    for subchart in &mut chart.dependencies {
        import_all(subchart)?;
    }
    if chart.metadata.dependencies.is_empty() {
        return Ok(());
    }
    let mut values = coalesce_with(chart, &Values::new(), Nulls::Keep)?;
    let mut imported = Values::new();
    for wanted in &mut chart.metadata.dependencies {
        let mut written = Vec::new();
        for import in std::mem::take(&mut wanted.import_values) {
            let (child, parent) = match &import {
                Json::Object(pair) => (shown(pair.get("child")), shown(pair.get("parent"))),
                Json::String(name) => (format!("exports.{name}"), ".".to_owned()),
                _ => continue,
            };
            if let Some(found) = table(&values, &format!("{}.{child}", wanted.name)) {
                under(&mut imported, &at(&parent, found.clone()), Nulls::Keep);
            }
            written.push(json!({"child": child, "parent": parent}));
        }
        wanted.import_values = written;
    }
    under(&mut values, &imported, Nulls::Keep);
    chart.values = values;
    Ok(())
}

fn shown(json: Option<&Json>) -> String {
    json.map_or_else(|| "<nil>".to_owned(), |json| crate::template::print::display(&crate::template::Value::from(json)))
}

/// Values under a path.
fn at(path: &str, values: Values) -> Values {
    if path == "." {
        return values;
    }
    path.split('.').rev().fold(values, |inner, name| Values::from_iter([(name.to_owned(), Json::Object(inner))]))
}
