//! YAML as Helm's `toYaml` writes it: what a chart prints is compared byte by byte, by digests and by people.

mod resolve;
mod scalar;
mod sort;

use serde_json::Value as Json;

/// Indentation of a nested mapping or of text that goes on.
const INDENT: usize = 2;

/// Keys longer than this are written with a question mark.
const LONGEST_KEY: usize = 128;

/// Most values of charts take less.
const USUAL: usize = 256;

/// How the library behind a function writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `toYaml`: lists stand at the indentation of their key, long texts are folded.
    Plain,
    /// `toYamlPretty`: lists are indented, nothing is folded.
    Pretty,
}

/// One document, without the newline at its end.
pub(crate) fn write(json: &Json, dialect: Dialect) -> String {
    let mut writer = Writer { out: String::with_capacity(USUAL), column: 0, dialect };
    writer.node(json, None, false);
    writer.out
}

struct Writer {
    out: String,
    column: usize,
    dialect: Dialect,
}

impl Writer {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn newline(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    /// A new line, indented.
    fn line(&mut self, indent: usize) {
        self.newline();
        self.pad(indent);
    }

    fn pad(&mut self, indent: usize) {
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.column += indent;
    }

    /// A node inside a collection at `indent`; at the root there is none. `in_place` means that a collection goes on in
    /// this line, after a dash.
    fn node(&mut self, json: &Json, indent: Option<usize>, in_place: bool) {
        match json {
            Json::Object(fields) if fields.is_empty() => self.push("{}"),
            Json::Array(items) if items.is_empty() => self.push("[]"),
            Json::Object(fields) => {
                self.mapping(fields, indent.map_or(0, |indent| indent + INDENT), in_place || indent.is_none())
            }
            Json::Array(items) => {
                self.sequence(items, indent.map_or(0, |indent| indent + INDENT), in_place || indent.is_none())
            }
            scalar => self.scalar(scalar, indent.map_or(INDENT, |indent| indent + INDENT), false),
        }
    }

    fn mapping(&mut self, fields: &serde_json::Map<String, Json>, indent: usize, in_place: bool) {
        let mut sorted: Vec<(&String, &Json)> = fields.iter().collect();
        sorted.sort_by(|(a, _), (b, _)| sort::compare(a, b, self.dialect));
        for (index, (key, value)) in sorted.into_iter().enumerate() {
            if index > 0 || !in_place {
                self.line(indent);
            }
            self.entry(key, value, indent);
        }
    }

    fn entry(&mut self, key: &str, value: &Json, indent: usize) {
        if key.len() > LONGEST_KEY || key.contains('\n') {
            self.push("? ");
            self.text(key, indent + INDENT, false);
            if !self.out.ends_with('\n') {
                self.newline();
            }
            self.pad(indent);
            self.push(":");
        } else {
            self.text(key, indent, true);
            self.push(":");
        }
        match value {
            // Lists of a mapping stand where the mapping stands, in the older dialect.
            Json::Array(items) if !items.is_empty() => {
                let indent = if self.dialect == Dialect::Pretty { indent + INDENT } else { indent };
                self.sequence(items, indent, false);
            }
            Json::Object(fields) if !fields.is_empty() => self.mapping(fields, indent + INDENT, false),
            other => {
                self.put(' ');
                self.node(other, Some(indent), false);
            }
        }
    }

    fn sequence(&mut self, items: &[Json], indent: usize, in_place: bool) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 || !in_place {
                self.line(indent);
            }
            self.push("- ");
            self.node(item, Some(indent), true);
        }
    }
}
