//! URLs.

use super::convert::strval;
use super::{Fault, Function, Outcome, f, fits, map, text};
use crate::template::value::Value;

pub(super) static FUNCTIONS: &[Function] =
    &[f("urlParse", "s", |_, a| parse(&text(a, 0))), f("urlJoin", "m", |_, a| join(a))];

/// `url.QueryEscape`
pub(super) fn query_escape(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        match byte {
            b' ' => out.push('+'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(byte.into()),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
        out
    })
}

/// The parts of a URL, cut as RFC 3986 says.
struct Parts<'a> {
    scheme: &'a str,
    userinfo: Option<&'a str>,
    host: &'a str,
    opaque: &'a str,
    path: &'a str,
    query: &'a str,
    fragment: &'a str,
}

fn cut(url: &str) -> Parts<'_> {
    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    let is_scheme = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    let (scheme, rest) = match rest.split_once(':') {
        Some((scheme, after)) if is_scheme(scheme) => (scheme, after),
        _ => ("", rest),
    };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path, opaque) = match rest.strip_prefix("//") {
        Some(after) => {
            let end = after.find('/').unwrap_or(after.len());
            let (authority, path) = after.split_at(end);
            (authority, path, "")
        }
        None if !scheme.is_empty() && !rest.starts_with('/') => ("", "", rest),
        None => ("", rest, ""),
    };
    let (userinfo, host) = match authority.rsplit_once('@') {
        Some((userinfo, host)) => (Some(userinfo), host),
        None => (None, authority),
    };
    Parts { scheme, userinfo, host, opaque, path, query, fragment }
}

fn unescape(text: &str, url: &str) -> Result<String, Fault> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first != b'%' {
            out.push(*first);
            rest = after;
            continue;
        }
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let Some(byte) = byte else {
            let shown: String = text.chars().skip_while(|c| *c != '%').take(3).collect();
            return Err(format!(
                "unable to parse url: parse {}: invalid URL escape {}",
                crate::template::print::quote(url.as_bytes()),
                crate::template::print::quote(shown.as_bytes())
            )
            .into());
        };
        out.push(byte);
        rest = after.get(2..).unwrap_or_default();
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn parse(url: &str) -> Outcome {
    let parts = cut(url);
    let hostname = match parts.host.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => parts.host.split(':').next().unwrap_or_default(),
    };
    let field = |name: &str, value: &str| (name.to_owned(), Value::text(value));
    Ok(Value::map([
        field("scheme", &parts.scheme.to_ascii_lowercase()),
        field("host", parts.host),
        field("hostname", hostname),
        field("path", &unescape(parts.path, url)?),
        field("query", parts.query),
        field("opaque", parts.opaque),
        field("fragment", &unescape(parts.fragment, url)?),
        field("userinfo", parts.userinfo.unwrap_or_default()),
    ]))
}

fn escape_path(path: &str) -> String {
    path.bytes().fold(String::with_capacity(path.len()), |mut out, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out.push(byte.into()),
            _ if b"-_.~/$&+,:;=@!*'()[]".contains(&byte) => out.push(byte.into()),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
        out
    })
}

fn join(a: &[Value]) -> Outcome {
    let mut size = 0_usize;
    let mut field = |name: &str| -> Result<String, Fault> {
        let Some(value) = map(a, 0).and_then(|map| map.get(name)) else { return Ok(String::new()) };
        let text = strval(&value).into_owned();
        // A letter that is escaped becomes three.
        size = size.saturating_add(text.len().saturating_mul(3));
        fits(size)?;
        Ok(text)
    };
    let mut url = String::new();
    let (scheme, host, opaque, userinfo) = (field("scheme")?, field("host")?, field("opaque")?, field("userinfo")?);
    if !scheme.is_empty() {
        url.push_str(&scheme);
        url.push(':');
    }
    if opaque.is_empty() {
        let path = escape_path(&field("path")?);
        if !scheme.is_empty() || !host.is_empty() || !userinfo.is_empty() {
            if !host.is_empty() || !path.is_empty() || !userinfo.is_empty() {
                url.push_str("//");
            }
            if !userinfo.is_empty() {
                url.push_str(&userinfo);
                url.push('@');
            }
            url.push_str(&host);
        }
        if !path.is_empty() && !path.starts_with('/') && !host.is_empty() {
            url.push('/');
        }
        url.push_str(&path);
    } else {
        url.push_str(&opaque);
    }
    let (query, fragment) = (field("query")?, field("fragment")?);
    if !query.is_empty() {
        url.push('?');
        url.push_str(&query);
    }
    if !fragment.is_empty() {
        url.push('#');
        url.push_str(&escape_path(&fragment));
    }
    Ok(Value::text(url))
}
