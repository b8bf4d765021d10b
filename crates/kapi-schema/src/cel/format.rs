//! `'%s is %d'.format([…])`, as cel-go's second string library formats.

use super::ops;
use super::types::Ty;
use super::value::{Error, Evaluated, Val, fail};
use crate::field::go_quote;

/// A piece of a format string.
enum Piece<'t> {
    Text(&'t str),
    Clause { verb: char, precision: Option<usize> },
}

/// Cuts a format string into pieces, as long as there are arguments for them.
fn pieces(format: &str, args: usize) -> Result<Vec<Piece<'_>>, String> {
    let mut out = Vec::new();
    let mut rest = format;
    let mut used = 0;
    while let Some(at) = rest.find('%') {
        out.extend(rest.get(..at).map(Piece::Text));
        rest = rest.get(at + 1..).unwrap_or_default();
        if let Some(after) = rest.strip_prefix('%') {
            out.push(Piece::Text("%"));
            rest = after;
            continue;
        }
        if used >= args {
            return Err(format!("index {used} out of range"));
        }
        used += 1;
        if rest.is_empty() {
            return Err("unexpected end of string".into());
        }
        let mut precision = None;
        if let Some(after) = rest.strip_prefix('.') {
            let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let text = after.get(..digits).unwrap_or_default();
            match text.parse::<usize>() {
                Ok(number) if number <= 100 => precision = Some(number),
                _ => {
                    return Err(format!(
                        "could not parse formatting clause: error while parsing precision: error while converting \
                         precision to integer: strconv.Atoi: parsing \"{text}\": invalid syntax"
                    ));
                }
            }
            rest = after.get(digits..).unwrap_or_default();
        }
        match rest.chars().next() {
            Some(verb @ ('s' | 'd' | 'f' | 'e' | 'b' | 'x' | 'X' | 'o')) => {
                out.push(Piece::Clause { verb, precision });
                rest = rest.get(1..).unwrap_or_default();
            }
            Some(other) => {
                return Err(format!("could not parse formatting clause: unrecognized formatting clause \"{other}\""));
            }
            None => return Err("unexpected end of string".into()),
        }
    }
    out.push(Piece::Text(rest));
    Ok(out)
}

fn misused(verb: char, found: &str) -> String {
    let (clause, on) = match verb {
        'd' => ("decimal", "integers"),
        'f' => ("fixed-point", "doubles"),
        'e' => ("scientific", "doubles"),
        'b' => ("only integers and bools can be formatted as binary", ""),
        'x' | 'X' => ("only integers, byte buffers, and strings can be formatted as hex", ""),
        'o' => ("octal", "integers"),
        _ => ("string", "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"),
    };
    if on.is_empty() {
        return format!("error during formatting: {clause}, was given {found}");
    }
    format!("error during formatting: {clause} clause can only be used on {on}, was given {found}")
}

/// What is wrong with a format string and its arguments, and which argument it is about.
pub(super) fn check(format: &str, args: &[Ty<'_>]) -> Result<(), (Option<usize>, String)> {
    let pieces = pieces(format, args.len()).map_err(|message| (None, message))?;
    let verbs = pieces.iter().filter_map(|piece| match piece {
        Piece::Clause { verb, .. } => Some(*verb),
        Piece::Text(_) => None,
    });
    for (i, (verb, ty)) in verbs.zip(args).enumerate() {
        let fits = match (verb, ty) {
            (_, Ty::Dyn | Ty::Unknown(_)) => true,
            ('d' | 'o', Ty::Int | Ty::Uint) | ('f' | 'e', Ty::Double | Ty::String) => true,
            ('b', Ty::Int | Ty::Uint | Ty::Bool) => true,
            ('x' | 'X', Ty::Int | Ty::Uint | Ty::String | Ty::Bytes) => true,
            ('s', Ty::Object(_) | Ty::Opaque(_) | Ty::Optional(_)) => false,
            ('s', _) => true,
            _ => false,
        };
        if !fits {
            let name = match ty {
                Ty::Optional(_) => "optional_type".to_owned(),
                Ty::List(_) => "list".to_owned(),
                Ty::Map(..) => "map".to_owned(),
                other => other.to_string(),
            };
            return Err((Some(i), misused(verb, &name)));
        }
    }
    Ok(())
}

/// Formats.
pub(super) fn format<'a>(format: &str, args: &[Val<'a>]) -> Evaluated<'a> {
    let mut out = String::new();
    let mut args_left = args.iter();
    for piece in pieces(format, args.len()).map_err(Error::Message)? {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Clause { verb, precision } => {
                let arg = args_left.next().unwrap_or(&Val::Null);
                match clause(verb, precision, arg) {
                    Some(text) => out.push_str(&text),
                    None => return fail(misused(verb, &arg.type_name())),
                }
            }
        }
    }
    Ok(Val::text(out))
}

fn clause(verb: char, precision: Option<usize>, arg: &Val<'_>) -> Option<String> {
    let signed = |value: i64, digits: String| if value < 0 { format!("-{digits}") } else { digits };
    Some(match (verb, arg) {
        ('s', _) => plain(arg)?,
        ('d', Val::Int(int)) => int.to_string(),
        ('d' | 'o', Val::Uint(uint)) => {
            if verb == 'd' {
                uint.to_string()
            } else {
                format!("{uint:o}")
            }
        }
        ('o', Val::Int(int)) => signed(*int, format!("{:o}", int.unsigned_abs())),
        ('b', Val::Bool(b)) => u8::from(*b).to_string(),
        ('b', Val::Int(int)) => signed(*int, format!("{:b}", int.unsigned_abs())),
        ('b', Val::Uint(uint)) => format!("{uint:b}"),
        ('x', Val::Int(int)) => signed(*int, format!("{:x}", int.unsigned_abs())),
        ('X', Val::Int(int)) => signed(*int, format!("{:X}", int.unsigned_abs())),
        ('x', Val::Uint(uint)) => format!("{uint:x}"),
        ('X', Val::Uint(uint)) => format!("{uint:X}"),
        ('x' | 'X', Val::String(text)) => hex(text.as_bytes(), verb),
        ('x' | 'X', Val::Bytes(bytes)) => hex(bytes, verb),
        ('f', Val::Double(double)) => fixed(*double, precision.unwrap_or(6)),
        ('e', Val::Double(double)) => scientific(*double),
        ('f' | 'e', Val::String(text)) => match &**text {
            "NaN" => "NaN".into(),
            "Infinity" => "∞".into(),
            "-Infinity" => "-∞".into(),
            _ => return None,
        },
        _ => return None,
    })
}

fn hex(bytes: &[u8], verb: char) -> String {
    bytes.iter().map(|byte| if verb == 'x' { format!("{byte:02x}") } else { format!("{byte:02X}") }).collect()
}

/// With thousands set off, as the English locale has it.
fn fixed(double: f64, precision: usize) -> String {
    if !double.is_finite() {
        return if double.is_nan() {
            "NaN"
        } else if double > 0.0 {
            "∞"
        } else {
            "-∞"
        }
        .to_owned();
    }
    let printed = format!("{:.precision$}", double.abs());
    let (whole, fraction) = printed.split_once('.').unwrap_or((&printed, ""));
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if double < 0.0 { "-" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{grouped}{point}{fraction}")
}

/// `1.234568×10⁰⁴`; the precision is not heeded, nor is it by the original.
fn scientific(double: f64) -> String {
    let printed = format!("{double:.6e}");
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((&printed, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ("⁻", digits),
        None => ("", exponent),
    };
    let raised: String =
        format!("{digits:0>2}").chars().filter_map(|c| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(c.to_digit(10)? as usize)).collect();
    format!("{mantissa}×10{sign}{raised}")
}

fn plain(value: &Val<'_>) -> Option<String> {
    Some(match value {
        Val::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Val::Duration(nanos) => super::convert::seconds(*nanos),
        Val::List(_) | Val::ObjectList(..) => {
            let items: Option<Vec<String>> = value.items()?.ok()?.iter().map(inner).collect();
            format!("[{}]", items?.join(", "))
        }
        Val::Map(_) | Val::Object(..) => {
            let entries = value.entries()?.ok()?;
            let entries: Option<Vec<String>> =
                entries.iter().map(|(key, value)| Some(format!("{}:{}", inner(key)?, inner(value)?))).collect();
            let mut entries = entries?;
            entries.sort();
            format!("{{{}}}", entries.join(", "))
        }
        Val::Optional(_) | Val::Foreign(_) => return None,
        other => ops::print(other),
    })
}

/// Inside lists and maps values are written as CEL would read them.
fn inner(value: &Val<'_>) -> Option<String> {
    Some(match value {
        Val::String(text) => go_quote(text),
        Val::Bytes(bytes) => format!("b{}", go_quote(&String::from_utf8_lossy(bytes))),
        Val::Double(double) => fixed(*double, 6),
        Val::Duration(_) => format!("duration({})", go_quote(&plain(value)?)),
        Val::Timestamp(_) => format!("timestamp({})", go_quote(&plain(value)?)),
        other => plain(other)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_formatted_as_recorded() {
        let cases: [(&str, Val<'_>, &str); 12] = [
            ("%e", Val::Double(12345.678), "1.234568×10⁰⁴"),
            ("%.2e", Val::Double(12345.678), "1.234568×10⁰⁴"),
            ("%f", Val::Double(12345678.5), "12,345,678.500000"),
            ("%.2f", Val::Double(0.005), "0.01"),
            ("%.0f", Val::Double(2.5), "2"),
            ("%s", Val::Double(1234567.5), "1.2345675e+06"),
            ("%s", Val::list(vec![Val::Double(1.5), Val::Double(2.0)]), "[1.500000, 2.000000]"),
            ("%s", Val::list(vec![Val::Duration(3_600_000_000_000)]), "[duration(\"3600s\")]"),
            ("%s", Val::Duration(3_600_000_000_000), "3600s"),
            ("%x", Val::Int(-255), "-ff"),
            ("%X", Val::text("abc"), "616263"),
            ("%d%%", Val::Int(5), "5%"),
        ];
        for (text, value, expected) in cases {
            match format(text, &[value]) {
                Ok(Val::String(found)) => assert_eq!(&*found, expected, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
