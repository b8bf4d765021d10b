//! YAML as Helm's `toYaml` writes it: what a chart prints is compared byte by byte, by digests and by people.

mod resolve;
mod scalar;
mod sort;

use crate::template::{Fault, Map, Native, Value, Walk, fits, json};

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

/// One document, without the newline at its end. What `toYaml` is given goes through Go's JSON there, which says
/// something against some values; `toYamlPretty` writes whatever there is.
pub(crate) fn write(value: &Value, dialect: Dialect, walk: &Walk) -> Result<String, Fault> {
    let mut writer = Writer { out: String::with_capacity(USUAL), column: 0, dialect, walk, depth: 0 };
    writer.node(value, None, false)?;
    Ok(writer.out)
}

struct Writer<'w> {
    out: String,
    column: usize,
    dialect: Dialect,
    walk: &'w Walk,
    depth: usize,
}

impl Writer<'_> {
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
    fn node(&mut self, value: &Value, indent: Option<usize>, in_place: bool) -> Result<(), Fault> {
        let (inner, in_place) = (indent.map_or(0, |indent| indent + INDENT), in_place || indent.is_none());
        match value {
            Value::Map(map) if map.len() > 0 => self.mapping(map, inner, in_place),
            Value::List(list) if !list.items.is_empty() => self.sequence(&list.items, inner, in_place),
            other => match self.seen_as(other) {
                Some(seen) => self.node(&seen, indent, in_place),
                None => self.scalar(other, inner.max(INDENT)),
            },
        }
    }

    /// What is inside a collection, each part on a line of its own.
    fn parts<T>(
        &mut self,
        parts: &[T],
        indent: usize,
        in_place: bool,
        write: impl Fn(&mut Self, &T) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.depth += 1;
        for (index, part) in parts.iter().enumerate() {
            if !self.walk.goes_on(self.depth) {
                return Err(self.walk.fault(json::CYCLE));
            }
            fits(self.out.len() + indent)?;
            if index > 0 || !in_place {
                self.line(indent);
            }
            write(self, part)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn mapping(&mut self, map: &Map, indent: usize, in_place: bool) -> Result<(), Fault> {
        let mut fields = map.entries();
        sort::sort(&mut fields, &|(a, _), (b, _)| sort::compare(a, b, self.dialect));
        self.parts(&fields, indent, in_place, |writer, (key, value)| writer.entry(key, value, indent))
    }

    fn entry(&mut self, key: &str, value: &Value, indent: usize) -> Result<(), Fault> {
        if key.len() > LONGEST_KEY || key.contains('\n') {
            self.push("? ");
            self.text(key, indent + INDENT, false)?;
            if !self.out.ends_with('\n') {
                self.newline();
            }
            self.pad(indent);
            self.push(":");
        } else {
            self.text(key, indent, true)?;
            self.push(":");
        }
        self.value(value, indent)
    }

    /// The value behind a key.
    fn value(&mut self, value: &Value, indent: usize) -> Result<(), Fault> {
        match value {
            // Lists of a mapping stand where the mapping stands, in the older dialect.
            Value::List(list) if !list.items.is_empty() => {
                let indent = if self.dialect == Dialect::Pretty { indent + INDENT } else { indent };
                self.sequence(&list.items, indent, false)
            }
            Value::Map(map) if map.len() > 0 => self.mapping(map, indent + INDENT, false),
            other => match self.seen_as(other) {
                Some(seen) => self.value(&seen, indent),
                None => {
                    self.put(' ');
                    self.scalar(other, indent + INDENT)
                }
            },
        }
    }

    /// What a value is to the library behind a function, if that is something else.
    fn seen_as(&self, value: &Value) -> Option<Value> {
        match (value, self.dialect) {
            (Value::Native(native), Dialect::Pretty) if matches!(**native, Native::Time(_)) => None,
            (Value::Native(native), _) => Some(native.plain()),
            (Value::Bytes(_), Dialect::Pretty) => value.as_items().map(|items| Value::list(items.into_owned())),
            _ => None,
        }
    }

    fn sequence(&mut self, items: &[Value], indent: usize, in_place: bool) -> Result<(), Fault> {
        self.parts(items, indent, in_place, |writer, item| {
            writer.push("- ");
            writer.node(item, Some(indent), true)
        })
    }
}
