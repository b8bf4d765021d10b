//! Printing as Go's fmt and strconv do.

use std::fmt::Write as _;

use super::value::{IntType, MAX_DEPTH, Value};

/// A value as `%v` prints it.
pub(crate) fn display(value: &Value) -> String {
    let mut out = String::new();
    write_plain(&mut out, value, 0);
    out
}

/// Appends a value as `%v` prints it. Once there is more than may be printed it stops, and whoever asked sees that.
pub(crate) fn write_plain(out: &mut String, value: &Value, depth: usize) {
    if depth > MAX_DEPTH || out.len() > super::MAX_OUTPUT {
        return;
    }
    match value {
        Value::Nil => out.push_str("<nil>"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Int(bits, kind) => drop(write!(out, "{}", kind.number(*bits))),
        Value::Float(number) => out.push_str(&shortest(*number)),
        Value::Str(text) => out.push_str(text),
        Value::Raw(bytes) => out.push_str(&String::from_utf8_lossy(bytes)),
        Value::Native(native) => out.push_str(&native.display()),
        Value::Bytes(_) | Value::List(_) | Value::Map(_) => nested(out, value, &mut |out, item| {
            write_plain(out, item, depth + 1);
        }),
    }
}

/// A list or map with its parts printed by `print`.
fn nested(out: &mut String, value: &Value, print: &mut dyn FnMut(&mut String, &Value)) {
    if let Value::Map(map) = value {
        out.push_str("map[");
        for (index, (key, field)) in map.entries().iter().enumerate() {
            if out.len() > super::MAX_OUTPUT {
                return;
            }
            if index > 0 {
                out.push(' ');
            }
            print(out, &Value::Str(key.clone()));
            out.push(':');
            print(out, field);
        }
        out.push(']');
    } else if let Some(items) = value.as_items() {
        out.push('[');
        for (index, item) in items.iter().enumerate() {
            if out.len() > super::MAX_OUTPUT {
                return;
            }
            if index > 0 {
                out.push(' ');
            }
            print(out, item);
        }
        out.push(']');
    }
}

/// `fmt.Sprint`: spaces between neighbours of which neither is a string.
pub(crate) fn sprint(values: &[Value]) -> String {
    let mut out = String::new();
    let mut before_is_text = true;
    for (index, value) in values.iter().enumerate() {
        let is_text = matches!(value, Value::Str(_) | Value::Raw(_));
        if index > 0 && !is_text && !before_is_text {
            out.push(' ');
        }
        write_plain(&mut out, value, 0);
        before_is_text = is_text;
    }
    out
}

/// `fmt.Sprintln`
pub(crate) fn sprintln(values: &[Value]) -> String {
    let mut out = String::new();
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        write_plain(&mut out, value, 0);
    }
    out.push('\n');
    out
}

/// `strconv.Quote`
pub(crate) fn quote(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|c| escape(&mut out, c, '"'));
        chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
    }
    out.push('"');
    out
}

fn escape(out: &mut String, c: char, quote: char) {
    match c {
        '\\' => out.push_str("\\\\"),
        _ if c == quote => {
            out.push('\\');
            out.push(c);
        }
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        '\0'..=' ' | '\u{7f}' if c != ' ' => drop(write!(out, "\\x{:02x}", u32::from(c))),
        _ if is_printable(c) => out.push(c),
        _ if u32::from(c) < 0x1_0000 => drop(write!(out, "\\u{:04x}", u32::from(c))),
        _ => drop(write!(out, "\\U{:08x}", u32::from(c))),
    }
}

/// Letters, marks, numbers, punctuation, symbols and the space, as far as that can be told without tables.
fn is_printable(c: char) -> bool {
    let invisible = matches!(u32::from(c),
        0x80..=0xa0 | 0xad | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x1680 | 0x180e | 0x2000..=0x200f
        | 0x2028..=0x202f | 0x205f..=0x206f | 0x3000 | 0xe000..=0xf8ff | 0xfeff | 0xfff0..=0xfffb | 0xfffe..=0xffff
        | 0xe0000..=0x10_ffff);
    !c.is_control() && !invisible
}

/// A float in the shortest form that reads back the same, as `%v` prints it.
pub(crate) fn shortest(number: f64) -> String {
    general(number, None, 'e')
}

/// Digits and decimal exponent of a finite float: `d.ddd × 10^exponent`.
fn digits(number: f64, precision: Option<usize>) -> (String, i32) {
    let text = match precision {
        Some(precision) => format!("{:.*e}", precision, number.abs()),
        None => format!("{:e}", number.abs()),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.replace('.', ""), exponent.parse().unwrap_or_default())
}

fn special(number: f64) -> Option<&'static str> {
    if number.is_nan() {
        Some("NaN")
    } else if number.is_infinite() {
        Some(if number > 0.0 { "+Inf" } else { "-Inf" })
    } else {
        None
    }
}

fn exponent_form(negative: bool, digits: &str, exponent: i32, e: char) -> String {
    let (first, rest) = digits.split_at(digits.len().min(1));
    let sign = if negative { "-" } else { "" };
    let point = if rest.is_empty() { "" } else { "." };
    let direction = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{first}{point}{rest}{e}{direction}{:02}", exponent.unsigned_abs())
}

/// `%g`
fn general(number: f64, precision: Option<usize>, e: char) -> String {
    if let Some(special) = special(number) {
        return special.to_owned();
    }
    let (mut digits, exponent) = digits(number, precision.map(|precision| precision.max(1) - 1));
    digits.truncate(digits.trim_end_matches('0').len().max(1));
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let limit = match precision {
        // With the fewest digits that read back the same, the choice is made as if there were six.
        None => 6,
        Some(precision) => {
            let precision = i32::try_from(precision.max(1)).unwrap_or(i32::MAX);
            if precision > count && count > exponent { count } else { precision }
        }
    };
    let negative = number.is_sign_negative();
    if exponent < -4 || exponent >= limit {
        return exponent_form(negative, &digits, exponent, e);
    }
    positional(negative, &digits, exponent)
}

/// Digits without an exponent.
fn positional(negative: bool, digits: &str, exponent: i32) -> String {
    let sign = if negative { "-" } else { "" };
    if exponent < 0 {
        let zeros = "0".repeat(usize::try_from(-exponent - 1).unwrap_or_default());
        return format!("{sign}0.{zeros}{digits}");
    }
    let whole = usize::try_from(exponent + 1).unwrap_or_default();
    if digits.len() <= whole {
        return format!("{sign}{digits}{}", "0".repeat(whole - digits.len()));
    }
    let (whole, fraction) = digits.split_at(whole);
    format!("{sign}{whole}.{fraction}")
}

/// A float as Go's encoding/json writes it.
pub(crate) fn json_float(number: f64) -> String {
    let magnitude = number.abs();
    let (digits, exponent) = digits(number, None);
    let negative = number.is_sign_negative();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let text = exponent_form(negative, &digits, exponent, 'e');
        // e-09 becomes e-9.
        return match text.split_once("e-0") {
            Some((mantissa, digit)) => format!("{mantissa}e-{digit}"),
            None => text,
        };
    }
    positional(negative, &digits, exponent)
}

/// `fmt.Sprintf`
pub(crate) fn sprintf(format: &str, values: &[Value]) -> String {
    // Most arguments are names.
    let out = String::with_capacity(format.len() + 16 * values.len());
    let mut printer = Printer { out, values, next: 0, reordered: false };
    printer.run(format);
    printer.out
}

#[derive(Default, Clone, Copy)]
struct Spec {
    plus: bool,
    minus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

/// Wider than any text is meant to be; Go's limit is the same.
const MAX_WIDTH: usize = 1_000_000;

struct Printer<'a> {
    out: String,
    values: &'a [Value],
    next: usize,
    reordered: bool,
}

impl Printer<'_> {
    fn run(&mut self, format: &str) {
        let mut chars = format.chars().peekable();
        while let Some(c) = chars.next() {
            if c != '%' {
                self.out.push(c);
                continue;
            }
            let mut spec = Spec::default();
            while let Some(flag) = chars.peek() {
                match flag {
                    '+' => spec.plus = true,
                    '-' => spec.minus = true,
                    '#' => spec.sharp = true,
                    ' ' => spec.space = true,
                    '0' => spec.zero = true,
                    _ => break,
                }
                chars.next();
            }
            self.index(&mut chars);
            spec.width = self.number(&mut chars, &mut spec.minus);
            if chars.peek() == Some(&'.') {
                chars.next();
                self.index(&mut chars);
                let mut ignored = false;
                spec.precision = Some(self.number(&mut chars, &mut ignored).unwrap_or(0));
            }
            self.index(&mut chars);
            match chars.next() {
                None => self.out.push_str("%!(NOVERB)"),
                Some('%') => self.out.push('%'),
                Some(verb) => self.argument(verb, spec),
            }
        }
        if !self.reordered && self.next < self.values.len() {
            self.out.push_str("%!(EXTRA ");
            for (index, value) in self.values.iter().skip(self.next).enumerate() {
                if index > 0 {
                    self.out.push_str(", ");
                }
                if !matches!(value, Value::Nil) {
                    self.out.push_str(value.type_name());
                    self.out.push('=');
                }
                write_plain(&mut self.out, value, 0);
            }
            self.out.push(')');
        }
    }

    /// `[n]`: which argument comes next.
    fn index(&mut self, chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
        if chars.peek() != Some(&'[') {
            return;
        }
        let mut ahead = chars.clone();
        let digits: String = ahead.by_ref().skip(1).take_while(|c| *c != ']').collect();
        if let Ok(index) = digits.parse::<usize>()
            && index > 0
        {
            self.next = index - 1;
            self.reordered = true;
            *chars = ahead;
        }
    }

    fn number(&mut self, chars: &mut std::iter::Peekable<std::str::Chars<'_>>, minus: &mut bool) -> Option<usize> {
        if chars.peek() == Some(&'*') {
            chars.next();
            let Some(Value::Int(width, _)) = self.values.get(self.next) else { return None };
            self.next += 1;
            *minus |= *width < 0;
            return Some(usize::try_from(width.unsigned_abs()).unwrap_or(MAX_WIDTH).min(MAX_WIDTH));
        }
        let mut number = None;
        while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
            chars.next();
            let before: usize = number.unwrap_or(0);
            number = Some((before * 10 + digit as usize).min(MAX_WIDTH));
        }
        number
    }

    fn argument(&mut self, verb: char, spec: Spec) {
        let Some(value) = self.values.get(self.next) else {
            let _ = write!(self.out, "%!{verb}({})", if self.reordered { "BADINDEX" } else { "MISSING" });
            return;
        };
        self.next += 1;
        if self.out.len() > super::MAX_OUTPUT {
            return;
        }
        let spec = if verb == 'v' { Spec { plus: false, ..spec } } else { spec };
        match verb {
            'v' if spec.sharp && value.as_bytes().is_some() => {
                pad(&mut self.out, &quote(value.as_bytes().unwrap_or_default()), spec);
            }
            'T' => pad(&mut self.out, value.type_name(), spec),
            _ => verb_value(&mut self.out, value, verb, spec, 0),
        }
    }
}

fn verb_value(out: &mut String, value: &Value, verb: char, spec: Spec, depth: usize) {
    if depth > MAX_DEPTH || out.len() > super::MAX_OUTPUT {
        return;
    }
    match (value, verb) {
        (Value::Nil, 'v') => pad(out, "<nil>", spec),
        (Value::Nil, _) if depth > 0 => out.push_str("<nil>"),
        (Value::Nil, _) => drop(write!(out, "%!{verb}(<nil>)")),
        (Value::Bool(value), 't' | 'v') => pad(out, if *value { "true" } else { "false" }, spec),
        (Value::Int(bits, kind), _) => integer(out, kind.number(*bits), *kind, verb, spec),
        (Value::Float(number), 'v' | 'g' | 'G' | 'e' | 'E' | 'f' | 'F') => {
            let text = match (verb, spec.precision) {
                ('e' | 'E', precision) => match special(*number) {
                    Some(special) => special.to_owned(),
                    None => {
                        let (digits, exponent) = digits(*number, Some(precision.unwrap_or(6)));
                        exponent_form(number.is_sign_negative(), &digits, exponent, verb)
                    }
                },
                ('f' | 'F', precision) => match special(*number) {
                    Some(special) => special.to_owned(),
                    None => format!("{:.*}", precision.unwrap_or(6), number),
                },
                (_, precision) => general(*number, precision, if verb == 'G' { 'E' } else { 'e' }),
            };
            signed(out, &text, spec);
        }
        (Value::Str(_) | Value::Raw(_), 'v' | 's' | 'q' | 'x' | 'X') => {
            bytes(out, value.as_bytes().unwrap_or_default(), verb, spec);
        }
        (Value::Bytes(content), 's' | 'q' | 'x' | 'X') => bytes(out, content, verb, spec),
        (Value::Native(native), 'v' | 's') => pad(out, &native.display(), spec),
        (Value::List(_) | Value::Map(_) | Value::Bytes(_), _) => {
            nested(out, value, &mut |out, item| verb_value(out, item, verb, spec, depth + 1));
        }
        _ => drop(write!(out, "%!{verb}({}={})", value.type_name(), display(value))),
    }
}

fn integer(out: &mut String, number: i128, kind: IntType, verb: char, spec: Spec) {
    let sign = if number < 0 { "-" } else { "" };
    let magnitude = number.unsigned_abs();
    let rune = u32::try_from(number).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
    let text = match verb {
        'v' | 'd' => number.to_string(),
        'b' => format!("{sign}{magnitude:b}"),
        'o' => format!("{sign}{}{magnitude:o}", if spec.sharp { "0" } else { "" }),
        'O' => format!("{sign}0o{magnitude:o}"),
        'x' => format!("{sign}{}{magnitude:x}", if spec.sharp { "0x" } else { "" }),
        'X' => format!("{sign}{}{magnitude:X}", if spec.sharp { "0X" } else { "" }),
        'c' => return pad(out, &rune.to_string(), spec),
        'U' => return pad(out, &format!("U+{magnitude:04X}"), spec),
        'q' => {
            let mut quoted = String::from("'");
            escape(&mut quoted, rune, '\'');
            quoted.push('\'');
            return pad(out, &quoted, spec);
        }
        _ => {
            let _ = write!(out, "%!{verb}({}={number})", kind.name());
            return;
        }
    };
    match spec.precision {
        Some(precision) => {
            let digits = text.trim_start_matches('-');
            let zeros = "0".repeat(precision.saturating_sub(digits.len()));
            signed(out, &format!("{sign}{zeros}{digits}"), Spec { zero: false, ..spec });
        }
        None => signed(out, &text, spec),
    }
}

/// A number with its sign, filled up with zeros behind it or spaces before it.
fn signed(out: &mut String, text: &str, spec: Spec) {
    let mut text = text.to_owned();
    let has_sign = text.starts_with(['-', '+']);
    if !spec.plus && text == "+Inf" && !spec.space {
        // Infinity keeps its sign, as %v shows it.
    } else if !has_sign && spec.plus {
        text.insert(0, '+');
    } else if !has_sign && spec.space {
        text.insert(0, ' ');
    }
    let finite = text.chars().any(|c| c.is_ascii_digit());
    if let Some(width) = spec.width.filter(|_| spec.zero && !spec.minus && finite) {
        let at = usize::from(text.starts_with(['-', '+', ' ']));
        let missing = width.saturating_sub(text.len());
        text.insert_str(at, &"0".repeat(missing));
        out.push_str(&text);
        return;
    }
    pad(out, &text, spec);
}

fn bytes(out: &mut String, content: &[u8], verb: char, spec: Spec) {
    let text = String::from_utf8_lossy(content);
    let text: String = match spec.precision {
        Some(precision) if verb != 'x' && verb != 'X' => text.chars().take(precision).collect(),
        _ => text.into_owned(),
    };
    match verb {
        'q' if spec.sharp && !text.contains('`') => pad(out, &format!("`{text}`"), spec),
        'q' if spec.precision.is_none() => pad(out, &quote(content), spec),
        'q' => pad(out, &quote(text.as_bytes()), spec),
        'x' => pad(out, &content.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), spec),
        'X' => pad(out, &content.iter().map(|byte| format!("{byte:02X}")).collect::<String>(), spec),
        _ => pad(out, &text, spec),
    }
}

fn pad(out: &mut String, text: &str, spec: Spec) {
    let missing = spec.width.unwrap_or(0).saturating_sub(text.chars().count());
    if spec.minus {
        out.push_str(text);
    }
    let filler = if spec.zero && !spec.minus { '0' } else { ' ' };
    out.extend(std::iter::repeat_n(filler, missing));
    if !spec.minus {
        out.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_in_go() {
        for (number, plain, json) in [
            (0.0, "0", "0"),
            (1.0, "1", "1"),
            (1.5, "1.5", "1.5"),
            (100_000.0, "100000", "100000"),
            (1_000_000.0, "1e+06", "1000000"),
            (123_456_789.0, "1.23456789e+08", "123456789"),
            (1e21, "1e+21", "1e+21"),
            (0.0001, "0.0001", "0.0001"),
            (0.000_01, "1e-05", "0.00001"),
            (1e-7, "1e-07", "1e-7"),
            (-2.5, "-2.5", "-2.5"),
        ] {
            assert_eq!((shortest(number).as_str(), json_float(number).as_str()), (plain, json));
        }
    }
}
