//! The first document of a text, as Go's reader takes it into JSON, with its words for what JSON cannot have.

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_saphyr::options::{MergeKeyPolicy, NonFiniteFloatPolicy};

use super::{YamlError, key_text, reading, unreadable, whole_floats};

/// Reads the first document and takes no notice of what follows, however broken. None is null.
pub fn first_value(text: &str) -> Result<Value, YamlError> {
    let text = first_document(text);
    if let Some(line) = begins_with_tab(text) {
        let place = if line == 1 { String::new() } else { format!("line {line}: ") };
        return Err(YamlError(format!("yaml: {place}found character that cannot start any token")));
    }
    let mut options = reading();
    options.non_finite_float_policy = NonFiniteFloatPolicy::PassThrough;
    // The reader does not tell what is quoted; with `"<<"` in sight, its own order of merging has to do.
    let merges = !text.contains("\"<<\"") && !text.contains("'<<'");
    options.merge_keys = if merges { MergeKeyPolicy::AsOrdinary } else { MergeKeyPolicy::Merge };
    let mut node: Node = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| YamlError(format!("yaml: {}", unreadable(&error))))?;
    let last_line = text.get(text.rfind('\n').map_or(0, |end| end + 1)..).unwrap_or_default().trim_start();
    if !last_line.is_empty() {
        end_with(&mut node, last_line);
    }
    let mut value = json(node, merges).map_err(YamlError)?;
    whole_floats(&mut value);
    Ok(value)
}

/// What is before the second document, or before a line that ends the first.
fn first_document(text: &str) -> &str {
    let mut has_begun = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let rest = line.trim_end();
        let is_mark =
            |mark: &str| rest.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
        let is_content = !rest.is_empty() && !rest.trim_start().starts_with('#') && !rest.starts_with('%');
        if has_begun && (is_mark("---") || is_mark("...")) {
            return text.get(..at).unwrap_or(text);
        }
        has_begun |= is_content;
        at += line.len();
    }
    text
}

/// The line of a tab before anything else.
fn begins_with_tab(text: &str) -> Option<usize> {
    for (line, number) in text.split('\n').zip(1..) {
        let rest = line.trim_start_matches(' ');
        match rest.as_bytes().first() {
            Some(b'\t') => return Some(number),
            None | Some(b'#' | b'\r') => {}
            Some(_) => return None,
        }
    }
    None
}

/// Takes the newline off a block of text that the document ends with: what ends without a newline has none in Go.
fn end_with(node: &mut Node, last_line: &str) {
    match node {
        Node::List(items) => items.last_mut().into_iter().for_each(|item| end_with(item, last_line)),
        Node::Map(pairs) => pairs.last_mut().into_iter().for_each(|(_, value)| end_with(value, last_line)),
        Node::Plain(Value::String(text)) => {
            let ended = text.trim_end_matches('\n');
            if ended.ends_with(last_line) {
                text.truncate(ended.len());
            }
        }
        _ => {}
    }
}

/// A document before keys are texts.
enum Node {
    Plain(Value),
    /// What JSON has no number for.
    NoNumber(f64),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

/// Makes JSON of it, with `<<` as a key that merges or as any other.
fn json(node: Node, merges: bool) -> Result<Value, String> {
    match node {
        Node::Plain(value) => Ok(value),
        Node::NoNumber(number) if number.is_nan() => Err("json: unsupported value: NaN".to_owned()),
        Node::NoNumber(number) => Err(format!("json: unsupported value: {}Inf", if number > 0.0 { '+' } else { '-' })),
        Node::List(items) => {
            items.into_iter().map(|item| json(item, merges)).collect::<Result<_, _>>().map(Value::Array)
        }
        Node::Map(pairs) => {
            let mut fields = serde_json::Map::new();
            for (key, node) in pairs {
                match key {
                    Node::Plain(Value::String(key)) if merges && key == "<<" => merge(&mut fields, node)?,
                    Node::Plain(Value::Null) => {
                        let value = json(node, merges)?;
                        return Err(format!("unsupported map key of type: %!s(<nil>), key: <nil>, value: {value}"));
                    }
                    Node::Plain(key) => drop(fields.insert(key_text(key), json(node, merges)?)),
                    _ => return Err(format!("yaml: invalid map key: {}", go_syntax(&key))),
                }
            }
            Ok(Value::Object(fields))
        }
    }
}

/// Lays what is merged over the fields before it. Of several, the first counts.
fn merge(fields: &mut serde_json::Map<String, Value>, merged: Node) -> Result<(), String> {
    let maps = match merged {
        Node::List(items) => items,
        one => vec![one],
    };
    for map in maps.into_iter().rev() {
        match map {
            Node::Map(_) => {
                if let Value::Object(other) = json(map, true)? {
                    fields.extend(other);
                }
            }
            _ => return Err("yaml: map merge requires map or sequence of maps as the value".to_owned()),
        }
    }
    Ok(())
}

fn go_syntax(node: &Node) -> String {
    let all = |parts: Vec<String>| parts.join(", ");
    match node {
        Node::Plain(Value::Null) => "interface {}(nil)".to_owned(),
        Node::Plain(value) => value.to_string(),
        Node::NoNumber(number) => number.to_string(),
        Node::List(items) => format!("[]interface {{}}{{{}}}", all(items.iter().map(go_syntax).collect())),
        Node::Map(pairs) => {
            let pair = |(key, value): &(Node, Node)| format!("{}:{}", go_syntax(key), go_syntax(value));
            format!("map[interface {{}}]interface {{}}{{{}}}", all(pairs.iter().map(pair).collect()))
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Plain(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Plain(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Plain(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(if value.is_finite() { Node::Plain(value.into()) } else { Node::NoNumber(value) })
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Plain(value.into()))
    }

    fn visit_string<E>(self, value: String) -> Result<Node, E> {
        Ok(Node::Plain(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Plain(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Plain(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = items.next_element()? {
            nodes.push(node);
        }
        Ok(Node::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Node, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = fields.next_entry()? {
            pairs.push(pair);
        }
        Ok(Node::Map(pairs))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_document_is_read() {
        for (text, expected) in [
            ("a: 1\n---\nb: {", json!({"a": 1})),
            ("# c\n---\na: 1\n...\nb: 2", json!({"a": 1})),
            ("%YAML 1.1\n---\na: 1\n--- # c\nb: 2", json!({"a": 1})),
            ("--- {a: 1}\n--- {b: 1}", json!({"a": 1})),
            ("---\n---\na: 1", json!(null)),
            ("a: |\n  x\n  ---\n  y\n", json!({"a": "x\n---\ny\n"})),
            ("a: |\n  x\n  y", json!({"a": "x\ny"})),
            ("- a: >\n    x\n    y", json!([{"a": "x y"}])),
            ("a: \"x\\n\"", json!({"a": "x\n"})),
            ("a: &b |\n  x\nc: *b", json!({"a": "x\n", "c": "x\n"})),
            ("a: ---", json!({"a": "---"})),
            ("", json!(null)),
        ] {
            assert_eq!(first_value(text).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn merges_count_where_they_stand() {
        let maps = "x: &x {b: 1, c: 1}\nz: &z {b: 3, d: 3}\n";
        for (text, expected) in [
            ("v: {b: 2, <<: *x}", json!({"b": 1, "c": 1})),
            ("v: {<<: *x, b: 2}", json!({"b": 2, "c": 1})),
            ("v: {c: 2, <<: [*x, *z]}", json!({"b": 1, "c": 1, "d": 3})),
            ("v: {<<: *x, <<: *z}", json!({"b": 3, "c": 1, "d": 3})),
            ("v: {b: 2, <<: {<<: *x, c: 5}}", json!({"b": 1, "c": 5})),
            ("v: {\"<<\": {a: 1}}", json!({"<<": {"a": 1}})),
        ] {
            assert_eq!(first_value(&format!("{maps}{text}")).unwrap()["v"], expected, "{text}");
        }
    }

    #[test]
    fn what_json_cannot_have_is_refused_in_gos_words() {
        for (text, expected) in [
            ("? {a: 1}\n: 2", r#"yaml: invalid map key: map[interface {}]interface {}{"a":1}"#),
            ("[a, ~]: 2", r#"yaml: invalid map key: []interface {}{"a", interface {}(nil)}"#),
            ("~: 2", "unsupported map key of type: %!s(<nil>), key: <nil>, value: 2"),
            ("a: .nan", "json: unsupported value: NaN"),
            ("a: [-.inf]", "json: unsupported value: -Inf"),
            ("d: {<<: 5}", "yaml: map merge requires map or sequence of maps as the value"),
            ("d: {<<: [1]}", "yaml: map merge requires map or sequence of maps as the value"),
            ("\ta: 2", "yaml: found character that cannot start any token"),
            ("# c\n \ta: 2", "yaml: line 2: found character that cannot start any token"),
        ] {
            assert_eq!(first_value(text).unwrap_err().to_string(), expected, "{text:?}");
        }
    }
}
