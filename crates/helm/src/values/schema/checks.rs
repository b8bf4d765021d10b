//! Rules that look at a value alone, without further schemas.

use serde_json::Value as Json;

use super::complaint::Complaint;
use crate::template::json::number_text;
use crate::values::Values;

const TYPES: [&str; 7] = ["null", "boolean", "number", "integer", "string", "array", "object"];

fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn is_of(value: &Json, wanted: &str) -> bool {
    let is_whole = || value.as_f64().is_some_and(|number| number.fract() == 0.0);
    type_of(value) == wanted || (wanted == "integer" && is_whole())
}

/// A value as complaints show it.
fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => format!("'{text}'"),
        Json::Number(number) => number_text(number),
        other => other.to_string(),
    }
}

/// Whether two values are the same, however their numbers are kept.
fn is_equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a.as_f64() == b.as_f64(),
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Types, choices, sizes and lengths.
pub(super) fn scalar(rules: &Values, value: &Json, path: &str) -> Vec<Complaint> {
    let mut found = Vec::new();
    let mut complain = |words: String| found.push(Complaint::new(path, words));
    let wanted: Vec<&str> = match rules.get("type") {
        Some(Json::String(one)) => vec![one],
        Some(Json::Array(several)) => several.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    };
    if !wanted.is_empty() && !wanted.iter().any(|wanted| is_of(value, wanted)) {
        let wanted: Vec<&str> = TYPES.into_iter().filter(|known| wanted.contains(known)).collect();
        complain(format!("got {}, want {}", type_of(value), wanted.join(" or ")));
        return found;
    }
    if let Some(wanted) = rules.get("const").filter(|wanted| !is_equal(wanted, value)) {
        complain(format!("value must be {}", shown(wanted)));
    }
    if let Some(choices) = rules.get("enum").and_then(Json::as_array)
        && !choices.iter().any(|choice| is_equal(choice, value))
    {
        let shown: Vec<String> = choices.iter().map(shown).collect();
        complain(match shown.as_slice() {
            [one] => format!("value must be {one}"),
            several => format!("value must be one of {}", several.join(", ")),
        });
    }
    if let Json::Number(number) = value {
        numbers(rules, number).into_iter().for_each(&mut complain);
    }
    if let Json::String(text) = value {
        let length = text.chars().count();
        sizes(rules, length, "minLength", "maxLength").into_iter().for_each(&mut complain);
    }
    found
}

fn numbers(rules: &Values, number: &serde_json::Number) -> Vec<String> {
    let Some(value) = number.as_f64() else { return Vec::new() };
    let limit = |key: &str| rules.get(key).and_then(Json::as_number);
    let is_exclusive = |key: &str| rules.get(key) == Some(&Json::Bool(true));
    let mut found = Vec::new();
    let mut check = |key: &str, breaks: &dyn Fn(f64) -> bool| {
        if let Some(limit) = limit(key).filter(|limit| limit.as_f64().is_some_and(breaks)) {
            found.push(format!("{key}: got {}, want {}", number_text(number), number_text(limit)));
        }
    };
    let (from, to) = (is_exclusive("exclusiveMinimum"), is_exclusive("exclusiveMaximum"));
    check("minimum", &|limit| value < limit || (from && value == limit));
    check("maximum", &|limit| value > limit || (to && value == limit));
    check("exclusiveMinimum", &|limit| value <= limit);
    check("exclusiveMaximum", &|limit| value >= limit);
    check("multipleOf", &|divisor| divisor != 0.0 && (value / divisor).fract() != 0.0);
    found
}

fn sizes(rules: &Values, size: usize, least: &str, most: &str) -> Vec<String> {
    let limit = |key: &str| rules.get(key).and_then(Json::as_f64);
    #[expect(clippy::cast_precision_loss, reason = "sizes are small")]
    let size = size as f64;
    let mut found = Vec::new();
    found.extend(limit(least).filter(|limit| size < *limit).map(|limit| format!("{least}: got {size}, want {limit}")));
    found.extend(limit(most).filter(|limit| size > *limit).map(|limit| format!("{most}: got {size}, want {limit}")));
    found
}

/// Sizes of objects, and properties that must be there.
pub(super) fn object(rules: &Values, fields: &Values, path: &str) -> Vec<Complaint> {
    let mut found: Vec<Complaint> = sizes(rules, fields.len(), "minProperties", "maxProperties")
        .into_iter()
        .map(|words| Complaint::new(path, words))
        .collect();
    let missing = |names: &[Json]| -> Vec<String> {
        let missing = names.iter().filter_map(Json::as_str).filter(|name| !fields.contains_key(*name));
        missing.map(|name| format!("'{name}'")).collect()
    };
    let plural = |count: usize| if count == 1 { "property" } else { "properties" };
    if let Some(required) = rules.get("required").and_then(Json::as_array) {
        let missing = missing(required);
        if !missing.is_empty() {
            found.push(Complaint::new(path, format!("missing {} {}", plural(missing.len()), missing.join(", "))));
        }
    }
    for key in ["dependentRequired", "dependencies"] {
        for (name, wanted) in rules.get(key).and_then(Json::as_object).into_iter().flatten() {
            let Some(wanted) = wanted.as_array().filter(|_| fields.contains_key(name)) else { continue };
            let missing = missing(wanted);
            if !missing.is_empty() {
                let words = format!("properties {} required, if '{name}' exists", missing.join(", "));
                found.push(Complaint::new(path, words));
            }
        }
    }
    found
}

/// Sizes of lists, and items that are there twice.
pub(super) fn array(rules: &Values, items: &[Json], path: &str) -> Vec<Complaint> {
    let mut found: Vec<Complaint> = sizes(rules, items.len(), "minItems", "maxItems")
        .into_iter()
        .map(|words| Complaint::new(path, words))
        .collect();
    if rules.get("uniqueItems") == Some(&Json::Bool(true)) {
        let twice = items.iter().enumerate().find_map(|(second, item)| {
            let first = items.iter().take(second).position(|other| is_equal(other, item))?;
            Some((first, second))
        });
        if let Some((first, second)) = twice {
            found.push(Complaint::new(path, format!("items at {first} and {second} are equal")));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::values::schema::check;

    #[test]
    fn schemas_find_what_is_wrong() {
        for (schema, value, expected) in [
            (json!({"type": "integer"}), json!(1.0), ""),
            (json!({"type": "integer"}), json!("x"), "- at '': got string, want integer\n"),
            (json!({"type": ["string", "null"]}), json!(1), "- at '': got number, want null or string\n"),
            (json!({"enum": ["a", 3]}), json!("b"), "- at '': value must be one of 'a', 3\n"),
            (json!({"maximum": 3}), json!(5), "- at '': maximum: got 5, want 3\n"),
            (json!({"required": ["a", "b"]}), json!({}), "- at '': missing properties 'a', 'b'\n"),
            (
                json!({"properties": {"f": {"minLength": 5, "pattern": "^x"}}}),
                json!({"f": "foo"}),
                "- at '/f': validation failed\n  - at '/f': minLength: got 3, want 5\n  - at '/f': 'foo' does not match pattern '^x'\n",
            ),
            (
                json!({"anyOf": [{"type": "string"}, {"required": ["b"]}]}),
                json!({}),
                "- at '': 'anyOf' failed\n  - at '': got object, want string\n  - at '': missing property 'b'\n",
            ),
            (
                json!({"oneOf": [{"minimum": 1}, {"minimum": 2}]}),
                json!(3),
                "- at '': 'oneOf' failed, subschemas 0, 1 matched\n",
            ),
            (
                json!({"$ref": "#/definitions/i", "definitions": {"i": {"type": "null"}}}),
                json!(1),
                "- at '': got number, want null\n",
            ),
            (json!({"$ref": "#"}), json!(1), "- at '': the schema refers to itself without end\n"),
            (
                json!({"additionalProperties": false}),
                json!({"x": 1}),
                "- at '': additional properties 'x' not allowed\n",
            ),
            (
                json!({"items": {"type": "string"}, "uniqueItems": true}),
                json!(["a", "a"]),
                "- at '': items at 0 and 1 are equal\n",
            ),
            (
                json!({"if": {"type": "string"}, "then": {"minLength": 2}}),
                json!("a"),
                "- at '': minLength: got 1, want 2\n",
            ),
        ] {
            let mut told = String::new();
            check(&schema, &value).iter().for_each(|complaint| complaint.write(&mut told, 0));
            assert_eq!(told, expected, "{schema}");
        }
    }
}
