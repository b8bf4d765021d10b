//! The head of a plain document, without a YAML reader.
//!
//! Nearly all that charts print is plain: mappings and lists in block style, scalars on one line, literals. A document is
//! scanned line by line; whatever could mean more than it seems to (anchors, tags, flow over several lines, scalars over
//! several lines, anything that is not ASCII) gives nothing, and the reader decides. So a scan never finds fault with a
//! document, and never finds a head in one that the reader would refuse.

use super::head::Head;

/// Larger documents are left to the reader, which has limits of its own.
const MAX_BYTES: usize = 512 << 10;
/// Deeper ones too.
const MAX_DEPTH: usize = 48;
/// And longer keys.
const MAX_KEY: usize = 128;
/// What YAML takes for something else than a text.
const WORDS: [&str; 12] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity"];

/// Which mapping of an object a key is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Object,
    Metadata,
    Annotations,
    Elsewhere,
}

/// A mapping or list that is not closed yet.
struct Level {
    indent: usize,
    is_list: bool,
    place: Place,
    /// What its latest entry leads to, as long as that has no value.
    open: Option<Place>,
}

struct Scan {
    head: Head,
    levels: Vec<Level>,
    /// There is but one object.
    has_begun: bool,
    /// Parts of the head that were seen, to find doubled ones.
    seen: Vec<String>,
}

/// What stands behind a key or a dash.
enum Value<'a> {
    /// A text for sure.
    Text(&'a str),
    /// Some other scalar or collection.
    Other,
    /// A literal or folded text, in the lines below.
    Block,
}

/// The head of a document that is plain enough.
pub(super) fn scan(text: &str) -> Option<Head> {
    if text.len() > MAX_BYTES || !text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)) {
        return None;
    }
    let mut scan = Scan { head: Head::default(), levels: Vec::new(), has_begun: false, seen: Vec::new() };
    let mut lines = crate::text::lines(text).peekable();
    while let Some(line) = lines.next() {
        let indent = indent(line);
        let content = without_trailing(line.get(indent..)?);
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        if let Some(parent) = scan.entry(indent, content)? {
            skip_block(&mut lines, parent)?;
        }
    }
    scan.has_begun.then_some(scan.head)
}

fn indent(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b' ').count()
}

fn without_trailing(text: &str) -> &str {
    let spaces = text.bytes().rev().take_while(|byte| *byte == b' ').count();
    text.get(..text.len() - spaces).unwrap_or_default()
}

fn without_leading(text: &str) -> &str {
    text.get(indent(text)..).unwrap_or_default()
}

/// Where two bytes stand for the first time: lines are too short to prepare a search.
fn find(text: &str, pair: &[u8; 2]) -> Option<usize> {
    text.as_bytes().windows(2).position(|two| two == pair)
}

/// Reads over a literal or folded text below a mapping or list with this indentation.
fn skip_block<'a>(lines: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>, parent: usize) -> Option<()> {
    let (mut own, mut widest) = (None, 0);
    while let Some(line) = lines.peek() {
        let indent = indent(line);
        let is_blank = indent == line.len();
        match own {
            None if is_blank => widest = widest.max(indent),
            None if widest > indent.max(parent) => return None,
            None if indent <= parent => return Some(()),
            None => own = Some(indent),
            Some(own) if is_blank || indent >= own => {}
            Some(_) if indent <= parent => return Some(()),
            Some(_) => return None,
        }
        lines.next();
    }
    Some(())
}

impl Scan {
    /// Takes up an entry of a mapping or list. Gives the indentation of what a literal below belongs to, if there is one.
    fn entry(&mut self, indent: usize, content: &str) -> Option<Option<usize>> {
        let item = (content == "-").then_some("").or_else(|| content.strip_prefix("- "));
        self.level(indent, item.is_some())?;
        match item {
            Some(rest) => self.item(indent, content, without_leading(rest)),
            None => self.pair(indent, content),
        }
    }

    /// Closes what ended, and opens what begins, so that the last level is the one of an entry at this indentation.
    fn level(&mut self, indent: usize, is_list: bool) -> Option<()> {
        while self.levels.last().is_some_and(|level| level.indent > indent) {
            self.levels.pop();
        }
        // A list may stand right below its key.
        if let [.., key, list] = self.levels.as_slice()
            && !is_list
            && list.is_list
            && key.indent == indent
        {
            self.levels.pop();
        }
        let place = match self.levels.last_mut() {
            Some(level) if level.indent == indent && level.is_list == is_list => return Some(()),
            Some(level) if level.indent < indent || (is_list && !level.is_list) => level.open.take()?,
            None if !is_list && !self.has_begun => Place::Object,
            _ => return None,
        };
        if self.levels.len() >= MAX_DEPTH || (is_list && place != Place::Elsewhere) {
            return None;
        }
        self.has_begun = true;
        self.levels.push(Level { indent, is_list, place, open: None });
        Some(())
    }

    fn item(&mut self, indent: usize, content: &str, rest: &str) -> Option<Option<usize>> {
        let level = self.levels.last_mut()?;
        if rest.is_empty() || rest.starts_with('#') {
            level.open = Some(Place::Elsewhere);
            return Some(None);
        }
        if rest == "-" || rest.starts_with("- ") || key(rest).is_some() {
            level.open = Some(Place::Elsewhere);
            return self.entry(indent + content.len() - rest.len(), rest);
        }
        level.open = None;
        Some(matches!(value(rest)?, Value::Block).then_some(indent))
    }

    fn pair(&mut self, indent: usize, content: &str) -> Option<Option<usize>> {
        let (key, rest) = key(content)?;
        let level = self.levels.last_mut()?;
        level.open = None;
        let leads_to = match (level.place, key) {
            (Place::Object, "metadata") => Place::Metadata,
            (Place::Metadata, "annotations") => Place::Annotations,
            _ => Place::Elsewhere,
        };
        let wanted = match (level.place, key) {
            (Place::Object, "apiVersion" | "kind") | (Place::Metadata, "name") => true,
            (Place::Annotations, key) => key.starts_with("helm.sh/hook"),
            _ => false,
        };
        let is_annotation = level.place == Place::Annotations;
        if wanted || leads_to != Place::Elsewhere {
            if self.seen.iter().any(|seen| seen == key) {
                return None;
            }
            self.seen.push(key.to_owned());
        }
        if rest.is_empty() || rest.starts_with('#') {
            // Nothing, or what is below; no value of the head is written like this.
            level.open = Some(leads_to);
            return (!wanted && !is_annotation).then_some(None);
        }
        if leads_to != Place::Elsewhere {
            return (rest == "{}").then_some(None);
        }
        match value(rest)? {
            Value::Text(text) if wanted => self.set(key, text),
            Value::Text(_) => {}
            Value::Block if !wanted => return Some(Some(indent)),
            Value::Other if !wanted && !is_annotation => {}
            Value::Block | Value::Other => return None,
        }
        Some(None)
    }

    fn set(&mut self, key: &str, text: &str) {
        let text = text.to_owned();
        match key {
            "apiVersion" => self.head.api_version = text,
            "kind" => self.head.kind = text,
            "name" => self.head.name = text,
            _ => drop(self.head.annotations.insert(key.to_owned(), text)),
        }
    }
}

/// A key and what stands behind its colon.
fn key(content: &str) -> Option<(&str, &str)> {
    let (key, rest) = match content.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').filter(|(key, _)| !key.contains('\\'))?,
        None => {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte);
            let end = content.bytes().position(|byte| !is_plain(byte))?;
            content.split_at(end)
        }
    };
    let rest = rest.strip_prefix(':')?;
    let is_key = !key.is_empty()
        && key.len() <= MAX_KEY
        && !key.starts_with(['-', '.'])
        && !key.eq_ignore_ascii_case("null")
        && (rest.is_empty() || rest.starts_with(' '));
    is_key.then(|| (key, without_leading(rest)))
}

fn value(rest: &str) -> Option<Value<'_>> {
    match rest.as_bytes().first()? {
        b'"' => {
            let (text, behind) = quoted(rest)?;
            ends(behind)?;
            Some(if text.contains('\\') { Value::Other } else { Value::Text(text) })
        }
        b'\'' => {
            let (text, behind) = rest.get(1..)?.split_once('\'')?;
            // Two are one, within.
            ends(behind)?;
            Some(Value::Text(text))
        }
        b'|' | b'>' => matches!(rest.get(1..)?, "" | "-" | "+").then_some(Value::Block),
        b'{' | b'[' => {
            ends(flow(rest, 0)?)?;
            Some(Value::Other)
        }
        _ => plain(rest),
    }
}

/// A text in double quotes, as it is written, and what stands behind.
fn quoted(rest: &str) -> Option<(&str, &str)> {
    let inner = rest.get(1..)?;
    let mut is_escaped = false;
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            _ if is_escaped => {
                is_escaped = false;
                if !b"\"\\/nt".contains(&byte) {
                    return None;
                }
            }
            b'\\' => is_escaped = true,
            b'"' => return Some((inner.get(..at)?, inner.get(at + 1..)?)),
            _ => {}
        }
    }
    None
}

/// Only a comment may stand behind a value that has an end of its own.
fn ends(behind: &str) -> Option<()> {
    (behind.is_empty()
        || behind.trim_start_matches(' ').is_empty()
        || behind.trim_start().starts_with('#') && behind.starts_with(' '))
    .then_some(())
}

fn plain(rest: &str) -> Option<Value<'_>> {
    let mut bytes = rest.bytes();
    let begins = match bytes.next()? {
        b'-' => bytes.next().is_some_and(|byte| byte != b' '),
        byte => byte.is_ascii_alphanumeric() || b"/._+($~".contains(&byte),
    };
    let text = without_trailing(find(rest, b" #").map_or(rest, |end| rest.get(..end).unwrap_or_default()));
    if !begins || find(text, b": ").is_some() || text.ends_with(':') || is_no_number(text) {
        return None;
    }
    let is_text = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(text));
    Some(if is_text { Value::Text(text) } else { Value::Other })
}

/// Whether it is a number for YAML and none for JSON, as `.nan` is.
fn is_no_number(text: &str) -> bool {
    let word = text.trim_start_matches(['-', '+']).strip_prefix('.');
    word.is_some_and(|word| word.eq_ignore_ascii_case("nan") || word.eq_ignore_ascii_case("inf"))
}

/// Reads over a collection in flow style on one line; what stands behind it.
fn flow(text: &str, depth: usize) -> Option<&str> {
    if depth > 8 {
        return None;
    }
    let (is_map, close) = if text.starts_with('{') { (true, '}') } else { (false, ']') };
    let mut rest = text.get(1..)?.trim_start_matches(' ');
    if let Some(behind) = rest.strip_prefix(close) {
        return Some(behind);
    }
    loop {
        if is_map {
            let (_, behind) = flow_scalar(rest)?;
            rest = behind.strip_prefix(':')?.strip_prefix(' ')?.trim_start_matches(' ');
        }
        rest = if rest.starts_with(['{', '[']) { flow(rest, depth + 1)? } else { flow_scalar(rest)?.1 };
        rest = rest.trim_start_matches(' ');
        if let Some(behind) = rest.strip_prefix(close) {
            return Some(behind);
        }
        rest = rest.strip_prefix(',')?.trim_start_matches(' ');
    }
}

/// A scalar of few characters within a flow, and what stands behind it.
fn flow_scalar(text: &str) -> Option<(&str, &str)> {
    if text.starts_with('"') {
        return quoted(text);
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte);
    let end = text.bytes().position(|byte| !is_plain(byte)).unwrap_or(text.len());
    let (scalar, behind) = text.split_at(end);
    (!scalar.is_empty() && !scalar.starts_with('-') && !is_no_number(scalar)).then_some((scalar, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plain_has_a_head() {
        let text = "# a comment\napiVersion: apps/v1\nkind: \"Deployment\"\nmetadata:\n  name: a-b # note\n  annotations:\n    \
                    helm.sh/hook: pre-install\n    helm.sh/hook-weight: '5'\n    other: x\n  labels: {a: b, c: [d, \"e\"]}\nspec:\n  \
                    list:\n  - one\n  - key: |\n      text: [\n\n      more\n    other: 1\n  empty: {}\n";
        let head = scan(text).unwrap();
        assert_eq!(
            (head.api_version.as_str(), head.kind.as_str(), head.name.as_str()),
            ("apps/v1", "Deployment", "a-b")
        );
        let annotations: Vec<_> = head.annotations.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(annotations, ["helm.sh/hook=pre-install", "helm.sh/hook-weight=5"]);
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_reader() {
        for text in [
            "",
            "# nothing",
            "just words",
            "- a",
            "a: b: c",
            "a: b\n  more",
            "a: [1,\n  2]",
            "a: &x b",
            "a: *x",
            "a: !!str 5",
            "a: \"b",
            "a: 'b' c",
            "a: \"\\q\"",
            "a:b",
            "a:\n  b: 1\n c: 2",
            "a:\n  - 1\n  b: 2",
            "a: 1\n  b: 2",
            "a: -",
            "a: - b",
            "a: |2\n   x",
            "a: |\n   x\n  y",
            "? a\n: b",
            "a: b\tc",
            "kind: 5",
            "kind: yes",
            "kind: a\nkind: b",
            "metadata: 5",
            "metadata:\n- a",
            "metadata: {name: x}",
            "metadata:\n  annotations:\n    helm.sh/hook:",
            "metadata:\n  annotations:\n    helm.sh/hook-weight: 5",
            "a: é",
            "{a: b}",
            "a: {b: c,}",
            "a: {b:c}",
            "a: .nan",
            "a: -.Inf",
            "a: [.inf]",
            "- .NaN",
            "null: 5",
            "a: b\n...\nc: {",
        ] {
            assert_eq!(scan(text), None, "{text:?}");
        }
    }
}
