//! The columns of custom resources, from `additionalPrinterColumns`.

use std::sync::Arc;

use serde_json::{Number, Value};

use super::cell::{Row, text};
use super::{AGE, Column, Columns, NAME};

/// The first value a JSONPath finds in an object.
pub type Evaluate = Box<dyn Fn(&Value) -> Option<Value> + Send + Sync>;

/// How a custom resource is printed. `additional` is the version's `additionalPrinterColumns`; without one, objects
/// have an age. `compile` readies a JSONPath such as `.spec.replicas`; columns whose path is none stay empty.
pub fn custom_columns(additional: &Value, compile: impl Fn(&str) -> Option<Evaluate>) -> Columns {
    let mut columns = vec![Column::from(&NAME)];
    let mut cells: Vec<(Arc<str>, Option<Evaluate>)> = Vec::new();
    match additional.as_array().map(Vec::as_slice) {
        None | Some([]) => {
            columns.push(Column { ty: "date".into(), ..Column::from(&AGE) });
            let created: Evaluate = Box::new(|object| object.pointer("/metadata/creationTimestamp").cloned());
            cells.push(("date".into(), Some(created)));
        }
        Some(definitions) => {
            for definition in definitions {
                let path = text(definition, "jsonPath");
                let column = column(definition, path);
                cells.push((Arc::clone(&column.ty), compile(path)));
                columns.push(column);
            }
        }
    }
    let row = move |object: &Value, now: i64| {
        let row = Row::new(object, now);
        let found = |evaluate: &Option<Evaluate>| evaluate.as_ref().and_then(|evaluate| evaluate(object));
        let cells = cells.iter().map(|(ty, evaluate)| found(evaluate).and_then(|value| cell(ty, value, row)));
        std::iter::once(row.name()).chain(cells.map(Option::unwrap_or_default)).collect()
    };
    Columns { columns: columns.into(), is_plain: false, row: Arc::new(row) }
}

fn column(definition: &Value, path: &str) -> Column {
    let description = match text(definition, "description") {
        "" => format!("Custom resource definition column (in JSONPath format): {path}"),
        given => given.to_owned(),
    };
    Column {
        name: text(definition, "name").into(),
        ty: text(definition, "type").into(),
        format: text(definition, "format").into(),
        description: description.into(),
        priority: definition["priority"].as_i64().and_then(|priority| i32::try_from(priority).ok()).unwrap_or_default(),
    }
}

/// A found value as a cell of this type; values of another type are left out.
fn cell(ty: &str, value: Value, row: Row<'_>) -> Option<Value> {
    match (ty, &value) {
        ("string", _) => Some(printed(&value).into()),
        ("integer", Value::Number(number)) => {
            number.as_i64().or_else(|| Some(number.as_f64()? as i64)).map(Value::from)
        }
        ("number", Value::Number(number)) => float(number),
        ("boolean", Value::Bool(_)) => Some(value),
        ("date", Value::String(time)) => Some(age(time, row).into()),
        _ => None,
    }
}

/// Go's encoder writes whole floats without a fraction.
fn float(number: &Number) -> Option<Value> {
    let float = number.as_f64()?;
    let whole = float as i64;
    if whole as f64 == float { Some(whole.into()) } else { Number::from_f64(float).map(Value::Number) }
}

fn age(time: &str, row: Row<'_>) -> String {
    match (time, row.since_text(time)) {
        ("" | "null", unknown) => unknown,
        (_, age) if age == "<unknown>" => "<invalid>".to_owned(),
        (_, age) => age,
    }
}

/// A value as text: composites as JSON, the way Go writes it.
fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<no value>".to_owned(),
        Value::Number(number) if number.is_f64() => float_text(number.as_f64().unwrap_or_default()),
        Value::Object(_) | Value::Array(_) => {
            value.to_string().replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
        }
        scalar => scalar.to_string(),
    }
}

/// A float as Go prints it: with an exponent of two digits where it is very large or small.
fn float_text(float: f64) -> String {
    if float == 0.0 || (1e-4..1e21).contains(&float.abs()) {
        return float.to_string();
    }
    let text = format!("{float:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Enough of JSONPath for these tests: dotted fields.
    fn dotted(path: &str) -> Option<Evaluate> {
        let pointer = path.replace('.', "/");
        Some(Box::new(move |object| object.pointer(&pointer).cloned()))
    }

    #[test]
    fn without_columns_there_is_an_age() {
        let object = json!({"metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:00Z"}});
        for none in [json!(null), json!([])] {
            let columns = custom_columns(&none, dotted);
            let names: Vec<(&str, &str)> = columns.columns.iter().map(|c| (&*c.name, &*c.ty)).collect();
            assert_eq!(names, [("Name", "string"), ("Age", "date")]);
            assert_eq!((columns.row)(&object, 90), [json!("a"), json!("90s")]);
        }
    }

    #[test]
    fn cells_have_the_type_of_their_column() {
        let object = json!({"metadata": {"name": "a"}, "v": {
            "text": "x", "int": 3, "float": 2.5, "whole": 2.0, "big": 1e21, "small": 1.5e-5, "bool": true, "map": {"k": "<"}, "list": [1, "b"],
            "null": null, "time": "1970-01-01T00:00:00Z", "notime": "soon",
        }});
        for (ty, path, expected) in [
            ("string", "text", json!("x")),
            ("string", "int", json!("3")),
            ("string", "float", json!("2.5")),
            ("string", "whole", json!("2")),
            ("string", "big", json!("1e+21")),
            ("string", "small", json!("1.5e-05")),
            ("string", "null", json!("<no value>")),
            ("string", "bool", json!("true")),
            ("string", "map", json!("{\"k\":\"\\u003c\"}")),
            ("string", "list", json!("[1,\"b\"]")),
            ("string", "missing", json!(null)),
            ("integer", "int", json!(3)),
            ("integer", "float", json!(2)),
            ("integer", "text", json!(null)),
            ("number", "int", json!(3)),
            ("number", "float", json!(2.5)),
            ("number", "whole", json!(2)),
            ("boolean", "bool", json!(true)),
            ("boolean", "text", json!(null)),
            ("date", "time", json!("10s")),
            ("date", "notime", json!("<invalid>")),
            ("date", "int", json!(null)),
        ] {
            let columns = custom_columns(&json!([{"name": "C", "type": ty, "jsonPath": format!(".v.{path}")}]), dotted);
            assert_eq!((columns.row)(&object, 10), [json!("a"), expected], "{ty} {path}");
        }
    }

    #[test]
    fn headings_come_from_the_definition() {
        let columns = custom_columns(
            &json!([{"name": "A", "type": "integer", "format": "int32", "priority": 1, "jsonPath": ".a"},
                    {"name": "B", "type": "string", "description": "said", "jsonPath": ".b"}]),
            |_| None,
        );
        let [_, a, b] = &*columns.columns else { panic!() };
        assert_eq!((&*a.format, a.priority), ("int32", 1));
        assert_eq!(&*a.description, "Custom resource definition column (in JSONPath format): .a");
        assert_eq!(&*b.description, "said");
    }
}
