//! The subset of the protobuf language that Kubernetes' `generated.proto` files use.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};

/// The scalar types in use.
pub(super) const SCALARS: [&str; 6] = ["bool", "bytes", "double", "int32", "int64", "string"];

pub(super) struct ProtoFile {
    pub(super) package: String,
    pub(super) messages: BTreeMap<String, Message>,
}

#[derive(Default)]
pub(super) struct Message {
    /// Sorted by number.
    pub(super) fields: Vec<Field>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Field {
    pub(super) number: u32,
    pub(super) name: String,
    /// A scalar, a message of the same package, or a full name that begins with a dot.
    pub(super) kind: String,
    pub(super) label: Label,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Label {
    Optional,
    Repeated,
    Map,
}

pub(super) fn parse(text: &str) -> Result<ProtoFile> {
    let mut package = None;
    let mut messages = BTreeMap::new();
    let mut open: Option<(String, Message)> = None;
    for line in text.lines().map(str::trim).skip_while(|line| !line.starts_with("syntax ")) {
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        match &mut open {
            Some((name, _)) if line == "}" => {
                let name = std::mem::take(name);
                if let Some((_, mut message)) = open.take() {
                    message.fields.sort_by_key(|field| field.number);
                    messages.insert(name, message);
                }
            }
            Some((name, message)) => {
                message.fields.push(field(line).with_context(|| format!("message {name}: {line}"))?);
            }
            None => {
                if let Some(name) = line.strip_prefix("message ") {
                    let name = name.strip_suffix('{').context("a message does not open on its own line")?.trim();
                    open = Some((name.to_owned(), Message::default()));
                } else if let Some(name) = line.strip_prefix("package ") {
                    package = Some(name.trim_end_matches(';').to_owned());
                } else if !["syntax ", "import ", "option "].iter().any(|word| line.starts_with(word)) {
                    bail!("not understood: {line}");
                }
            }
        }
    }
    Ok(ProtoFile { package: package.context("no package")?, messages })
}

fn field(line: &str) -> Result<Field> {
    let (left, number) = line.strip_suffix(';').and_then(|line| line.split_once(" = ")).context("not a field")?;
    let (kind, name) = left.rsplit_once(' ').context("no name")?;
    let (label, kind) = if let Some(kind) = kind.strip_prefix("optional ") {
        (Label::Optional, kind)
    } else if let Some(kind) = kind.strip_prefix("repeated ") {
        (Label::Repeated, kind)
    } else {
        let inner = kind.strip_prefix("map<string, ").and_then(|kind| kind.strip_suffix('>'));
        (Label::Map, inner.context("neither optional, repeated nor a map of strings")?)
    };
    let lower_case = kind.starts_with(|c: char| c.is_ascii_lowercase());
    ensure!(!lower_case || SCALARS.contains(&kind), "unknown scalar {kind}");
    Ok(Field { number: number.parse()?, name: name.to_owned(), kind: kind.to_owned(), label })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_label_are_read() {
        let table = [
            ("optional string name = 1;", 1, "name", "string", Label::Optional),
            ("repeated .a.b.Thing things = 12;", 12, "things", ".a.b.Thing", Label::Repeated),
            ("map<string, Thing> byName = 3;", 3, "byName", "Thing", Label::Map),
        ];
        for (line, number, name, kind, label) in table {
            let expected = Field { number, name: name.to_owned(), kind: kind.to_owned(), label };
            assert_eq!(field(line).unwrap(), expected);
        }
        assert!(field("optional fixed32 x = 1;").is_err());
        assert!(field("map<int32, string> x = 1;").is_err());
    }
}
