//! Simple paths into a schema, as rules and selectable fields name them: `.spec.foo`, `.labels['a.b']`.

use crate::field::Path;
use crate::schema::{Additional, SchemaRef};

/// The place a path names and its schema, or why it names none.
pub(crate) fn resolve<'a>(
    text: &str,
    schema: SchemaRef<'a>,
    allow_brackets: bool,
) -> Result<(Path, SchemaRef<'a>), String> {
    let mut path = Path::root();
    let mut at = schema;
    let mut tokens = tokens(text).into_iter();
    while let Some(token) = tokens.next() {
        let bracket = match token.as_str() {
            "[" if !allow_brackets => return Err("array notation is not allowed".into()),
            "[" => true,
            "." => false,
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        let Some(token) = tokens.next() else { return Err("unexpected end of JSON path".into()) };
        let name = if bracket { unquote(&token)? } else { token };
        if !at.node().properties.is_empty() {
            path = path.child(&name);
            at = at.property(&name).ok_or("does not refer to a valid field")?;
        } else if let Additional::Of(id) = at.node().additional {
            path = path.key(&name);
            at = at.at(id);
        } else {
            return Err("does not refer to a valid field".into());
        }
        if bracket {
            match tokens.next() {
                Some(close) if close == "]" => {}
                Some(other) => return Err(format!("expected ] but got {other}")),
                None => return Err("unexpected end of JSON path".into()),
            }
        }
    }
    Ok((path, at))
}

/// `.`, `[` and `]` alone, everything between them together, quoted strings whole.
fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut current = String::new();
    let mut quoted = false;
    let mut escaped = false;
    for c in text.chars() {
        match c {
            '\'' if current.is_empty() => {
                quoted = true;
                current.push(c);
            }
            '\'' if quoted && !escaped => {
                quoted = false;
                current.push(c);
                out.push(std::mem::take(&mut current));
            }
            '.' | '[' | ']' if !quoted => {
                if !current.is_empty() {
                    out.push(std::mem::take(&mut current));
                }
                out.push(c.into());
            }
            c => current.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    if !current.is_empty() {
        out.push(current);
    }
    out
}

fn unquote(token: &str) -> Result<String, String> {
    let inside = token.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).filter(|_| token.len() >= 2);
    let Some(inside) = inside else { return Err(format!("expected single quoted string but got {token}")) };
    let mut out = String::with_capacity(inside.len());
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next() {
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some(c @ ('\'' | '\\')) => c,
            Some(c) => return Err(format!("invalid string literal: invalid escape char \\{c}")),
            None => '\\',
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Schema;

    #[test]
    fn paths_are_followed() {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "object", "properties": {"b": {"type": "string"}, "x.y": {"type": "string"}}},
            "m": {"type": "object", "additionalProperties": {"type": "string"}},
        }});
        let schema = Schema::parse(&schema).unwrap();
        let cases = [
            (".a.b", Ok("a.b")),
            (".a['x.y']", Ok("a.x.y")),
            (".m['k']", Ok("m[k]")),
            (".m.k", Ok("m[k]")),
            (".a.c", Err("does not refer to a valid field")),
            ("a", Err("expected [ or . but got: a")),
            (".a[", Err("unexpected end of JSON path")),
            (".a[b]", Err("expected single quoted string but got b")),
        ];
        for (text, expected) in cases {
            let found = resolve(text, schema.root(), true).map(|(path, _)| path.as_str().to_owned());
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
    }
}
