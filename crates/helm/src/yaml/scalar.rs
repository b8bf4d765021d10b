//! Texts and other scalars: which style they can have, and writing them in it.

use super::resolve::is_ambiguous;
use super::{Dialect, Writer};
use crate::template::print::{json_float, shortest};
use crate::template::{Fault, Value, fits, json};

/// The letters in a line of bytes that are no text.
const BINARY_LINE: usize = 70;

/// How many letters an escaped one has at most.
const ESCAPED: usize = 4;

/// Of a shorter text it does not matter how many lines it has.
const SHORT: usize = 4096;

/// Columns after which a text is folded at its next space.
const WIDTH: usize = 80;

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// What a text allows.
struct Analysis {
    plain: bool,
    single: bool,
    block: bool,
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_blank(c: Option<char>) -> bool {
    c.is_none_or(|c| c == ' ' || c == '\t' || is_break(c))
}

fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && c != '\u{feff}'
}

fn analyse(text: &str) -> Analysis {
    let mut indicators = text.starts_with("---") || text.starts_with("...");
    let (mut breaks, mut special) = (false, false);
    let (mut space_break, mut break_space) = (false, false);
    let mut before = None;
    let mut chars = text.chars().enumerate().peekable();
    while let Some((index, c)) = chars.next() {
        let blank_follows = is_blank(chars.peek().map(|(_, next)| *next));
        indicators |= match (c, index) {
            ('#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`', 0) => true,
            ('?' | '-', 0) | (':', _) => blank_follows,
            ('#', _) => is_blank(before),
            _ => false,
        };
        special |= !is_printable(c);
        breaks |= is_break(c);
        space_break |= is_break(c) && before == Some(' ');
        break_space |= c == ' ' && before.is_some_and(is_break);
        before = Some(c);
    }
    let whole = !space_break && !special;
    Analysis {
        plain: whole && !breaks && !indicators && !text.starts_with(' ') && !text.ends_with(' '),
        single: whole && !break_space,
        block: whole && !text.ends_with(' ') && !text.is_empty(),
    }
}

impl Writer<'_> {
    /// A scalar whose lines go on at `indent`, or a collection of nothing.
    pub(super) fn scalar(&mut self, value: &Value, indent: usize) -> Result<(), Fault> {
        match value {
            Value::Nil => self.push("null"),
            Value::Bool(value) => self.push(if *value { "true" } else { "false" }),
            Value::Int(bits, kind) => self.push(&kind.number(*bits).to_string()),
            Value::Float(number) if !number.is_finite() => match self.dialect {
                Dialect::Plain => return Err(json::unsupported(*number).into()),
                Dialect::Pretty if number.is_nan() => self.push(".nan"),
                Dialect::Pretty => self.push(if *number < 0.0 { "-.inf" } else { ".inf" }),
            },
            Value::Float(number) => {
                let text = self.float(*number);
                self.push(&text);
            }
            Value::Str(text) => self.text(text, indent, false)?,
            Value::Raw(bytes) if self.dialect == Dialect::Pretty => self.binary(bytes, indent)?,
            Value::Raw(bytes) => self.text(&String::from_utf8_lossy(bytes), indent, false)?,
            Value::Bytes(bytes) => self.text(&json::encoded(bytes), indent, false)?,
            list if list.is_nil_list() && self.dialect == Dialect::Plain => self.push("null"),
            Value::List(_) => self.push("[]"),
            Value::Map(_) => self.push("{}"),
            Value::Native(native) => {
                if let Value::Str(text) = native.plain() {
                    self.push(&text);
                }
            }
        }
        Ok(())
    }

    /// `toYaml` goes through JSON, where what reads as an integer is one, however it was made.
    fn float(&self, number: f64) -> String {
        let text = json_float(number);
        match (text.parse::<i64>(), text.parse::<u64>()) {
            _ if self.dialect == Dialect::Pretty => shortest(number),
            (Ok(whole), _) => whole.to_string(),
            (_, Ok(whole)) => whole.to_string(),
            _ => shortest(number),
        }
    }

    /// Bytes that are no text.
    fn binary(&mut self, bytes: &[u8], indent: usize) -> Result<(), Fault> {
        self.push("!!binary ");
        let encoded = json::encoded(bytes);
        if encoded.len() <= BINARY_LINE {
            self.push(&encoded);
            return Ok(());
        }
        let lines = encoded.as_bytes().chunks(BINARY_LINE).filter_map(|line| std::str::from_utf8(line).ok());
        let lines = lines.fold(String::with_capacity(encoded.len() + 1), |text, line| text + line + "\n");
        self.fit_text(&lines, indent)?;
        self.literal(&lines, indent);
        Ok(())
    }

    /// Fails if a text would be too large, however it is written: letters are escaped, and lines are indented.
    fn fit_text(&self, text: &str, indent: usize) -> Result<(), Fault> {
        let lines = match text.len() {
            ..SHORT => text.len(),
            _ => text.chars().filter(|c| *c == ' ' || is_break(*c)).count(),
        };
        let size = text.len().saturating_mul(ESCAPED).saturating_add(lines.saturating_mul(indent));
        fits(self.out.len().saturating_add(size))
    }

    pub(super) fn text(&mut self, text: &str, indent: usize, is_key: bool) -> Result<(), Fault> {
        self.fit_text(text, indent)?;
        let analysis = analyse(text);
        let wanted = if text.contains('\n') {
            Style::Literal
        } else if is_ambiguous(text) {
            Style::Double
        } else {
            Style::Plain
        };
        let style = match wanted {
            Style::Literal if !analysis.block || is_key => Style::Double,
            Style::Plain if !analysis.plain && analysis.single => Style::Single,
            Style::Plain if !analysis.plain => Style::Double,
            style => style,
        };
        let folds = !is_key && self.dialect == Dialect::Plain;
        match style {
            Style::Plain => self.folded(text, indent, folds, false),
            Style::Single => {
                self.put('\'');
                self.folded(text, indent, folds, true);
                self.put('\'');
            }
            Style::Double => self.double(text, indent, folds),
            Style::Literal => self.literal(text, indent),
        }
        Ok(())
    }

    /// Plain or single-quoted text, cut at single spaces once the line is long.
    fn folded(&mut self, text: &str, indent: usize, folds: bool, quoted: bool) {
        if !text.contains(|c| c == ' ' || c == '\'' || is_break(c)) {
            return self.push(text);
        }
        let chars: Vec<char> = text.chars().collect();
        let mut after_space = false;
        let mut after_break = false;
        for (index, c) in chars.iter().copied().enumerate() {
            let inner = !quoted || (index > 0 && index + 1 < chars.len());
            if c == ' ' {
                if folds && !after_space && self.column > WIDTH && inner && chars.get(index + 1) != Some(&' ') {
                    self.line(indent);
                } else {
                    self.put(' ');
                }
                after_space = true;
                continue;
            }
            if is_break(c) {
                if !after_break && c == '\n' {
                    self.newline();
                }
                self.out.push(c);
                self.column = 0;
                after_break = true;
                continue;
            }
            if after_break {
                self.pad(indent);
            }
            if quoted && c == '\'' {
                self.put('\'');
            }
            self.put(c);
            after_space = false;
            after_break = false;
        }
    }

    fn double(&mut self, text: &str, indent: usize, folds: bool) {
        let chars: Vec<char> = text.chars().collect();
        self.put('"');
        let mut after_space = false;
        for (index, c) in chars.iter().copied().enumerate() {
            if !is_printable(c) || is_break(c) || c == '"' || c == '\\' {
                let escaped = escape(c);
                self.push(&escaped);
                after_space = false;
            } else if c == ' ' {
                let inner = index > 0 && index + 1 < chars.len();
                if folds && !after_space && self.column > WIDTH && inner {
                    self.line(indent);
                    if chars.get(index + 1) == Some(&' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(' ');
                }
                after_space = true;
            } else {
                self.put(c);
                after_space = false;
            }
        }
        self.put('"');
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.put('|');
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.push(&super::INDENT.to_string());
        }
        let mut last = text.chars().rev();
        match (last.next().map(is_break), last.next().map(is_break)) {
            (Some(false), _) => self.put('-'),
            (Some(true), None | Some(true)) => self.put('+'),
            _ => {}
        }
        self.newline();
        let mut after_break = true;
        for c in text.chars() {
            if is_break(c) {
                self.out.push(c);
                self.column = 0;
                after_break = true;
                continue;
            }
            if after_break {
                self.pad(indent);
            }
            self.put(c);
            after_break = false;
        }
        // What follows begins a line of its own.
        if after_break {
            self.out.pop();
        }
    }
}

fn escape(c: char) -> String {
    let simple = match c {
        '\0' => "\\0",
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\t' => "\\t",
        '\n' => "\\n",
        '\u{b}' => "\\v",
        '\u{c}' => "\\f",
        '\r' => "\\r",
        '\u{1b}' => "\\e",
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{85}' => "\\N",
        '\u{a0}' => "\\_",
        '\u{2028}' => "\\L",
        '\u{2029}' => "\\P",
        _ => {
            let code = u32::from(c);
            return match code {
                0..=0xff => format!("\\x{code:02X}"),
                0x100..=0xffff => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            };
        }
    };
    simple.to_owned()
}
