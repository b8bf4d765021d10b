//! Objects as rows for people.

use serde_json::{Value, json};

use super::negotiate::{Include, TableOptions};
use super::partial;
use crate::registry::Served;

/// A Table of these objects. `now` is seconds since the epoch, for ages.
pub(super) fn table(served: &Served, options: &TableOptions, meta: Value, objects: &[Value], now: i64) -> Value {
    let mut out = rows(served, options, meta, objects, now);
    out["columnDefinitions"] = definitions(served);
    out
}

/// A Table without headings, as later events of a watch carry it.
pub(super) fn rows(served: &Served, options: &TableOptions, meta: Value, objects: &[Value], now: i64) -> Value {
    let columns = &served.resource.columns;
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| {
            let mut row = json!({"cells": (columns.row)(object, now)});
            match options.include {
                Include::None => row["object"] = Value::Null,
                Include::Metadata => row["object"] = partial::object(object.clone()),
                Include::Object => row["object"] = object.clone(),
            }
            row
        })
        .collect();
    json!({
        "kind": "Table", "apiVersion": options.version, "metadata": meta, "columnDefinitions": Value::Null, "rows": rows,
    })
}

fn definitions(served: &Served) -> Value {
    let columns = served.resource.columns.columns.iter();
    columns
        .map(|column| {
            json!({
                "name": &*column.name,
                "type": &*column.ty,
                "format": &*column.format,
                "description": &*column.description,
                "priority": column.priority,
            })
        })
        .collect()
}
