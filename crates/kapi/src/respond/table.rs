//! Objects as rows for people.

use kapi_kinds::Columns;
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
    rows_of(&served.resource.columns, options, meta, objects, now)
}

/// A Table of one object of a kind that is served only below others.
pub(super) fn of_columns(columns: &Columns, options: &TableOptions, object: &Value, now: i64) -> Value {
    let meta = json!({"resourceVersion": crate::object::meta(object, "resourceVersion")});
    let mut out = rows_of(columns, options, meta, std::slice::from_ref(object), now);
    out["columnDefinitions"] = definitions_of(columns);
    out
}

fn rows_of(columns: &Columns, options: &TableOptions, meta: Value, objects: &[Value], now: i64) -> Value {
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| {
            let mut row = json!({"cells": (columns.row)(object, now)});
            match options.include {
                Include::None => row["object"] = Value::Null,
                Include::Metadata => row["object"] = partial::object(object.clone(), options.version),
                Include::Object => row["object"] = object.clone(),
            }
            row
        })
        .collect();
    // Kinds without a printer of their own have no rows at all where there are no objects.
    let rows = if rows.is_empty() && columns.is_plain { Value::Null } else { rows.into() };
    json!({
        "kind": "Table", "apiVersion": options.version, "metadata": meta, "columnDefinitions": Value::Null, "rows": rows,
    })
}

fn definitions(served: &Served) -> Value {
    definitions_of(&served.resource.columns)
}

fn definitions_of(columns: &Columns) -> Value {
    let columns = columns.columns.iter();
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
