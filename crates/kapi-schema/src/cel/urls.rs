//! URLs, read as Go's `url.ParseRequestURI` reads them.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube_cel::cel::Value as Foreign;
use kube_cel::cel::objects::Opaque;

use super::value::{Error, Evaluated, Key, Val, fail};
use crate::field::go_quote;

#[derive(Debug, PartialEq, Eq)]
struct Url {
    scheme: String,
    host: String,
    path: String,
    query: String,
}

impl Opaque for Url {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.URL"
    }
}

/// Calls a URL function; none if the name is not one's.
pub(super) fn call<'a>(name: &str, values: &[Val<'a>]) -> Option<Evaluated<'a>> {
    match (name, values) {
        ("url", [Val::String(text)]) => Some(match parse(text) {
            Ok(url) => Ok(Val::Foreign(Foreign::Opaque(Arc::new(url)))),
            Err(reason) => {
                fail(format!("URL parse error during conversion from string: parse {}: {reason}", go_quote(text)))
            }
        }),
        ("isURL", [Val::String(text)]) => Some(Ok(Val::Bool(parse(text).is_ok()))),
        (
            "getScheme" | "getHost" | "getHostname" | "getPort" | "getEscapedPath" | "getQuery",
            [Val::Foreign(value)],
        ) => Some(match value {
            Foreign::Opaque(opaque) => opaque.downcast_ref().map_or(Err(Error::NoSuchOverload), |url| part(name, url)),
            _ => Err(Error::NoSuchOverload),
        }),
        _ => None,
    }
}

fn part<'a>(name: &str, url: &Url) -> Evaluated<'a> {
    let (hostname, port) = match url.host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (host, port),
        _ => (url.host.as_str(), ""),
    };
    Ok(match name {
        "getScheme" => Val::text(&url.scheme),
        "getHost" => Val::text(&url.host),
        "getHostname" => Val::text(hostname.trim_start_matches('[').trim_end_matches(']')),
        "getPort" => Val::text(port),
        "getEscapedPath" => Val::text(&url.path),
        _ => {
            let mut out: BTreeMap<Key, Vec<Val<'a>>> = BTreeMap::new();
            for pair in url.query.split('&').filter(|pair| !pair.is_empty()) {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                let (Some(key), Some(value)) = (unescape(key), unescape(value)) else { continue };
                out.entry(Key::String(Arc::from(key))).or_default().push(Val::text(value));
            }
            Val::Map(Arc::new(out.into_iter().map(|(key, values)| (key, Val::list(values))).collect()))
        }
    })
}

fn unescape(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let (high, low) = (char::from(bytes.next()?).to_digit(16)?, char::from(bytes.next()?).to_digit(16)?);
                out.push(u8::try_from(high * 16 + low).ok()?);
            }
            byte => out.push(byte),
        }
    }
    String::from_utf8(out).ok()
}

fn parse(text: &str) -> Result<Url, String> {
    if text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return Err("net/url: invalid control character in URL".into());
    }
    if text.is_empty() {
        return Err("empty url".into());
    }
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    let (scheme, rest) = match text.split_once(':') {
        Some(("", _)) => return Err("missing protocol scheme".into()),
        Some((scheme, rest)) if is_scheme(scheme) => (scheme.to_ascii_lowercase(), rest),
        _ => (String::new(), text),
    };
    let rest = rest.split('#').next().unwrap_or_default();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    if !rest.starts_with('/') {
        if scheme.is_empty() {
            return Err("invalid URI for request".into());
        }
        return Ok(Url { scheme, host: String::new(), path: String::new(), query: query.to_owned() });
    }
    let (host, path) = match rest.strip_prefix("//") {
        Some(after) if !scheme.is_empty() || !after.starts_with('/') => {
            let end = after.find('/').unwrap_or(after.len());
            after.split_at(end)
        }
        _ => ("", rest),
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    if let Some((_, port)) = host.rsplit_once(':')
        && !host.ends_with(']')
        && !port.bytes().all(|b| b.is_ascii_digit())
    {
        return Err(format!("invalid port {} after host", go_quote(&format!(":{port}"))));
    }
    if host.contains([' ', '<', '>', '"']) {
        let bad = host.chars().find(|c| " <>\"".contains(*c)).unwrap_or(' ');
        return Err(format!("invalid character {} in host name", go_quote(&bad.to_string())));
    }
    for (at, _) in path.match_indices('%') {
        let code = path.get(at..at + 3).unwrap_or_else(|| path.get(at..).unwrap_or_default());
        if code.len() < 3 || !code.bytes().skip(1).all(|b| b.is_ascii_hexdigit()) {
            return Err(format!("invalid URL escape {}", go_quote(code)));
        }
    }
    Ok(Url { scheme, host: host.to_owned(), path: escape_path(path), query: query.to_owned() })
}

/// Characters a path may not hold as they are.
fn escape_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/%[]".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
