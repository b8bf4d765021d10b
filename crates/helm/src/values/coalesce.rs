//! Defaults of a chart and its subcharts below what was given, globals for all, and null to take a default away.

use serde_json::Value as Json;

use super::Values;
use crate::chart::Chart;

/// The key of values that all charts see.
const GLOBAL: &str = "global";

/// What happens to null.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Nulls {
    /// It removes what it stands for.
    Remove,
    /// It is kept, to remove something later.
    Keep,
}

/// The values of a chart and all its subcharts, from what was given and their defaults.
pub fn coalesce(chart: &Chart, given: &Values) -> Result<Values, String> {
    coalesce_with(chart, given, Nulls::Remove)
}

pub(super) fn coalesce_with(chart: &Chart, given: &Values, nulls: Nulls) -> Result<Values, String> {
    let mut values = given.clone();
    chart_values(chart, &mut values, nulls)?;
    Ok(values)
}

fn chart_values(chart: &Chart, values: &mut Values, nulls: Nulls) -> Result<(), String> {
    defaults(chart, values, nulls);
    for subchart in &chart.dependencies {
        let global = values.get(GLOBAL).cloned();
        let inner = values.entry(subchart.name()).or_insert_with(|| Json::Object(Values::new()));
        let Json::Object(inner) = inner else {
            return Err(format!("type mismatch on {}: {}", subchart.name(), type_mismatch(inner)));
        };
        globals(inner, global.as_ref());
        chart_values(subchart, inner, nulls)?;
    }
    Ok(())
}

/// Go's `%t` of what is no truth.
fn type_mismatch(json: &Json) -> String {
    let value = crate::template::Value::from(json);
    match json {
        Json::Bool(value) => value.to_string(),
        _ => crate::template::print::sprintf("%t", &[value]),
    }
}

fn defaults(chart: &Chart, values: &mut Values, nulls: Nulls) {
    for (key, default) in &chart.values {
        let Some(value) = values.get_mut(key) else {
            add(values, key, default, nulls);
            continue;
        };
        match (value, default) {
            (Json::Null, _) if nulls == Nulls::Remove => drop(values.remove(key)),
            (Json::Object(value), Json::Object(default)) => {
                // A subchart's own pass removes its nulls, after its defaults were seen.
                let is_subchart = chart.dependencies.iter().any(|subchart| subchart.name() == key);
                under(value, default, if is_subchart { Nulls::Keep } else { nulls });
            }
            _ => {}
        }
    }
}

/// Fills a table with what another one has below it.
pub(super) fn under(values: &mut Values, defaults: &Values, nulls: Nulls) {
    for (key, default) in defaults {
        match (values.get_mut(key), default) {
            (Some(Json::Null), _) if nulls == Nulls::Remove => drop(values.remove(key)),
            (None, _) => add(values, key, default, nulls),
            (Some(Json::Object(values)), Json::Object(defaults)) => under(values, defaults, nulls),
            _ => {}
        }
    }
}

/// Puts the globals of a chart over those of a subchart.
fn globals(values: &mut Values, from_parent: Option<&Json>) {
    let empty = Values::new();
    let theirs = match from_parent {
        None => &empty,
        Some(Json::Object(global)) => global,
        Some(_) => return,
    };
    let own = values.entry(GLOBAL).or_insert_with(|| Json::Object(Values::new()));
    let Json::Object(own) = own else { return };
    for (key, value) in theirs {
        match (own.get_mut(key), value) {
            (Some(Json::Object(own)), Json::Object(theirs)) => {
                let mut merged = theirs.clone();
                under(&mut merged, own, Nulls::Keep);
                *own = merged;
            }
            (Some(_), Json::Object(_)) | (Some(Json::Object(_)), _) => {}
            _ => drop(own.insert(key.clone(), value.clone())),
        }
    }
}

/// Puts in a default. A null in it stands for nothing that could be taken away, and is left out.
fn add(values: &mut Values, key: &str, default: &Json, nulls: Nulls) {
    let mut default = default.clone();
    if nulls == Nulls::Remove {
        if default.is_null() {
            return;
        }
        remove_nulls(&mut default);
    }
    values.insert(key.to_owned(), default);
}

fn remove_nulls(json: &mut Json) {
    if let Json::Object(fields) = json {
        fields.retain(|_, value| !value.is_null());
        fields.values_mut().for_each(remove_nulls);
    }
}
