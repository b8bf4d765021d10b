//! `$1`, `${1}` and `${name}` in what replaces a match.

use regex::Captures;

/// Writes a replacement by Go's rules: a name is as long as it can be, one that no group has stands for nothing, and a
/// dollar without a name for itself.
pub(crate) fn expand(found: &Captures<'_>, names: &[Option<String>], with: &str, out: &mut String) {
    let mut rest = with;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some((name, after)) = reference(after) {
            out.push_str(group(found, names, name));
            rest = after;
        } else {
            out.push('$');
            rest = after;
        }
    }
    out.push_str(rest);
}

fn reference(text: &str) -> Option<(&str, &str)> {
    let braced = text.strip_prefix('{');
    let text = braced.unwrap_or(text);
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(end).filter(|(name, _)| !name.is_empty())?;
    Some((name, if braced.is_some() { rest.strip_prefix('}')? } else { rest }))
}

fn group<'t>(found: &Captures<'t>, names: &[Option<String>], name: &str) -> &'t str {
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit()) && (name == "0" || !name.starts_with('0'));
    let found = match name.parse().ok().filter(|_| is_number) {
        Some(number) => found.get(number),
        None => {
            let same = names.iter().enumerate().filter(|(_, other)| other.as_deref() == Some(name));
            same.filter_map(|(number, _)| found.get(number)).next()
        }
    };
    found.map_or("", |found| found.as_str())
}
