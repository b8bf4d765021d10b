//! Makes transcripts of two servers comparable: what a server chooses freely becomes a placeholder.
//!
//! Placeholders keep what matters. `<rv2>` is the second smallest resourceVersion among the case's objects, so order
//! and equality stay visible; `<uid1>` is the first uid seen. A list's resourceVersion depends on what else happens on
//! the server, so only "at least as new as everything seen before" (`<rv>`) against `<rv-old>` is kept.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

use crate::transcript::{Entry, Transcript};

/// Patterns of what servers choose freely.
pub struct Normalizer {
    uid: Regex,
    time: Regex,
    token: Regex,
    certificate_hash: Regex,
    service_ip: Regex,
    too_old: Regex,
    current_version: Regex,
    age: Regex,
    plumbing_port: Regex,
    quoted_version: Regex,
    quoted_object: Regex,
    recorded_version: Regex,
    token_volume: Regex,
    spoken_time: Regex,
    column_age: Regex,
    diff_folder: Regex,
    spoken_version: Regex,
}

impl Normalizer {
    /// Compiles the patterns.
    pub fn new() -> Result<Self, regex::Error> {
        Ok(Self {
            uid: Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")?,
            time: Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")?,
            token: Regex::new(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")?,
            certificate_hash: Regex::new("X509SHA256=[0-9a-f]{64}")?,
            service_ip: Regex::new(r"\b10\.(9[6-9]|10\d|11[01])\.\d{1,3}\.\d{1,3}\b")?,
            too_old: Regex::new(r"too old resource version: (\d+) \(\d+\)")?,
            current_version: Regex::new(r"current: \d+")?,
            age: Regex::new(r"^(\d+s|\d+m(\d+s)?)$")?,
            plumbing_port: Regex::new(r"127\.0\.0\.1:\d{4,5}->127\.0\.0\.1")?,
            quoted_version: Regex::new(r#"(resourceVersion\\*"?: ?\\*)"\d+"#)?,
            recorded_version: Regex::new(r"in record \(\d+\)")?,
            spoken_time: Regex::new(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}")?,
            column_age: Regex::new(r"(^|  )(\d+s|\d+m\d*s?)($|  )")?,
            spoken_version: Regex::new(r"Resource Version: +\d+")?,
            diff_folder: Regex::new(r"(LIVE|MERGED)-\d+")?,
            token_volume: Regex::new("kube-api-access-[a-z0-9]{5}")?,
            quoted_object: Regex::new(r#"Invalid value: "\{\\".*\}": "#)?,
        })
    }

    /// Replaces the `fixed` texts and all that servers choose freely.
    pub fn normalize(&self, entries: Vec<Entry>, fixed: &[(String, String)]) -> Transcript {
        let mut case = CaseNames { patterns: self, fixed: fixed.to_vec(), ..CaseNames::empty(self) };
        for entry in &entries {
            case.learn(&entry.body, false);
        }
        // Longer texts first: a generated name may contain the namespace's.
        case.fixed.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        entries.into_iter().map(|entry| case.entry(entry)).collect()
    }
}

struct CaseNames<'a> {
    patterns: &'a Normalizer,
    fixed: Vec<(String, String)>,
    versions: BTreeSet<u64>,
    newest_seen: u64,
    uids: HashMap<String, usize>,
    service_ips: HashMap<String, usize>,
    node_ports: HashMap<u64, usize>,
    generated: usize,
}

impl<'a> CaseNames<'a> {
    fn empty(patterns: &'a Normalizer) -> Self {
        Self {
            patterns,
            fixed: Vec::new(),
            versions: BTreeSet::new(),
            newest_seen: 0,
            uids: HashMap::new(),
            service_ips: HashMap::new(),
            node_ports: HashMap::new(),
            generated: 0,
        }
    }

    /// Collects the versions of objects and the names the server generated.
    fn learn(&mut self, value: &Value, is_bookmark: bool) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.learn(item, is_bookmark)),
            Value::Object(map) => {
                let bookmark = map.get("type").and_then(Value::as_str) == Some("BOOKMARK");
                if let Some(version) = object_version(map).filter(|_| !is_bookmark) {
                    self.versions.insert(version);
                }
                self.versions.extend(map.get(PICKED_VERSION).and_then(version_of));
                let text = |key: &str| map.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
                if let (Some(prefix), Some(name)) = (text("generateName"), text("name"))
                    && name.len() > prefix.len()
                    && name.starts_with(prefix)
                    && !self.fixed.iter().any(|(known, _)| known == name)
                {
                    self.generated += 1;
                    self.fixed.push((name.to_owned(), format!("<generated{}>", self.generated)));
                }
                for key in sorted(map) {
                    self.learn(&map[key], is_bookmark || (bookmark && key == "object"));
                }
            }
            _ => {}
        }
    }

    fn entry(&mut self, entry: Entry) -> Value {
        let mut line = json!({"step": entry.step});
        if let Some(status) = entry.status {
            line["status"] = json!(status);
        }
        let headers = Value::Object(entry.headers);
        // Nearly all answers carry these; leaving them out keeps the files short.
        let usual = json!({"cache-control": "no-cache, private", "content-type": "application/json"});
        if entry.status.is_some() && headers != usual {
            line["headers"] = self.value(headers, false);
        }
        let mut body = self.value(entry.body, false);
        for pointer in entry.unordered {
            body.pointer_mut(pointer).into_iter().for_each(sort);
        }
        if !body.is_null() {
            line["body"] = body;
        }
        line
    }

    fn value(&mut self, value: Value, is_bookmark: bool) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.value(item, is_bookmark)).collect(),
            Value::Object(map) => self.object(map, is_bookmark),
            other => other,
        }
    }

    fn object(&mut self, map: Map<String, Value>, is_bookmark: bool) -> Value {
        let version = object_version(&map).filter(|_| !is_bookmark);
        let bookmark = map.get("type").and_then(Value::as_str) == Some("BOOKMARK");
        let mut out = Map::new();
        let keys: Vec<String> = sorted(&map).into_iter().cloned().collect();
        let mut map = map;
        for key in keys {
            let Some(value) = map.remove(&key) else { continue };
            let value = match (key.as_str(), value) {
                ("metadata", Value::Object(metadata)) => self.metadata(metadata, version),
                (PICKED_VERSION, value) => version_of(&value).map_or(value, |version| self.object_rank(version).into()),
                ("storageVersionHash", Value::String(_)) => "<hash>".into(),
                ("columnDefinitions" | "/columnDefinitions", Value::Array(columns)) => {
                    columns.into_iter().map(undescribed).collect()
                }
                ("/metadata/continue", Value::String(token)) if !token.is_empty() => "<continue>".into(),
                ("nodePort" | "healthCheckNodePort", Value::Number(port)) => self.node_port(port),
                ("cells", Value::Array(cells)) => cells.into_iter().map(|cell| self.cell(cell)).collect(),
                ("managedFields" | "/metadata/managedFields", Value::Array(entries)) => self.owners(entries),
                (_, value) => self.value(value, is_bookmark || (bookmark && key == "object")),
            };
            out.insert(self.text(&key), value);
        }
        Value::Object(out)
    }

    fn metadata(&mut self, mut metadata: Map<String, Value>, version: Option<u64>) -> Value {
        let seen = metadata.get("resourceVersion").and_then(Value::as_str).map(str::to_owned);
        if let Some(seen) = seen.filter(|seen| !seen.is_empty()) {
            let text = match (version, seen.parse::<u64>()) {
                (Some(version), _) => self.object_rank(version),
                (None, Ok(0)) => "0".to_owned(),
                (None, Ok(version)) if version < self.newest_seen => "<rv-old>".to_owned(),
                (None, Ok(_)) => "<rv>".to_owned(),
                (None, Err(_)) => seen,
            };
            metadata.insert("resourceVersion".to_owned(), text.into());
        }
        if let Some(Value::String(token)) = metadata.get_mut("continue")
            && !token.is_empty()
        {
            *token = "<continue>".to_owned();
        }
        self.object(metadata, false)
    }

    /// The server orders its entries by time, in whole seconds: what falls into one second is chance.
    fn owners(&mut self, entries: Vec<Value>) -> Value {
        let mut entries: Vec<Value> = entries.into_iter().map(|entry| self.value(entry, false)).collect();
        let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        entries.sort_by_key(|entry| ["operation", "manager", "subresource", "apiVersion"].map(|key| text(entry, key)));
        Value::Array(entries)
    }

    fn object_rank(&mut self, version: u64) -> String {
        self.newest_seen = self.newest_seen.max(version);
        format!("<rv{}>", self.versions.range(..=version).count())
    }

    fn node_port(&mut self, port: serde_json::Number) -> Value {
        match port.as_u64() {
            Some(port @ 30000..=32767) => Value::from(format!("<port{}>", ordinal(&mut self.node_ports, port))),
            _ => Value::Number(port),
        }
    }

    fn cell(&mut self, cell: Value) -> Value {
        match cell {
            Value::String(text) if self.patterns.age.is_match(&text) => Value::from("<age>"),
            other => self.value(other, false),
        }
    }

    fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (from, to) in &self.fixed {
            text = text.replace(from, to);
        }
        let patterns = self.patterns;
        text = patterns.token.replace_all(&text, "<token>").into_owned();
        text = patterns
            .uid
            .replace_all(&text, |found: &Captures<'_>| format!("<uid{}>", ordinal(&mut self.uids, found[0].to_owned())))
            .into_owned();
        text = patterns
            .service_ip
            .replace_all(&text, |found: &Captures<'_>| {
                format!("<ip{}>", ordinal(&mut self.service_ips, found[0].to_owned()))
            })
            .into_owned();
        text = patterns.time.replace_all(&text, |found: &Captures<'_>| time(&found[0])).into_owned();
        text = patterns.certificate_hash.replace_all(&text, "X509SHA256=<hash>").into_owned();
        text = patterns.too_old.replace_all(&text, "too old resource version: $1 (<rv>)").into_owned();
        text = patterns.current_version.replace_all(&text, "current: <rv>").into_owned();
        text = patterns.quoted_object.replace_all(&text, r#"Invalid value: "<object>": "#).into_owned();
        text = patterns.quoted_version.replace_all(&text, r#"$1"<rv>"#).into_owned();
        text = patterns.recorded_version.replace_all(&text, "in record (<rv>)").into_owned();
        text = patterns.token_volume.replace_all(&text, "kube-api-access-<generated>").into_owned();
        text = patterns.spoken_time.replace_all(&text, "<time>").into_owned();
        text = patterns.column_age.replace_all(&text, "$1<age>$3").into_owned();
        text = patterns.spoken_version.replace_all(&text, "Resource Version:  <rv>").into_owned();
        text = patterns.diff_folder.replace_all(&text, "$1").into_owned();
        patterns.plumbing_port.replace_all(&text, "127.0.0.1:<port>->127.0.0.1").into_owned()
    }
}

/// The key under which a step that records only parts of an answer keeps the version of an object.
const PICKED_VERSION: &str = "/metadata/resourceVersion";

fn version_of(value: &Value) -> Option<u64> {
    value.as_str()?.parse().ok().filter(|version| *version > 0)
}

/// The resourceVersion of an object, not of a list.
fn object_version(map: &Map<String, Value>) -> Option<u64> {
    if ["items", "rows"].iter().any(|key| map.contains_key(*key)) {
        return None;
    }
    if map.get("kind").and_then(Value::as_str) == Some("Status") {
        return None;
    }
    map.get("metadata")?.get("resourceVersion").and_then(version_of)
}

fn sorted(map: &Map<String, Value>) -> Vec<&String> {
    let mut keys: Vec<&String> = map.keys().collect();
    keys.sort();
    keys
}

fn ordinal<K: std::hash::Hash + Eq>(known: &mut HashMap<K, usize>, key: K) -> usize {
    let next = known.len() + 1;
    *known.entry(key).or_insert(next)
}

/// A time near now was made by the server; one far away was given by the case.
fn time(text: &str) -> String {
    let Ok(at) = text.parse::<Timestamp>() else { return text.to_owned() };
    let away = at.as_second().abs_diff(Timestamp::now().as_second());
    match (away < 3 * 24 * 3600, text.contains('.')) {
        (false, _) => text.to_owned(),
        (true, false) => "<time>".to_owned(),
        (true, true) => "<microtime>".to_owned(),
    }
}

fn sort(value: &mut Value) {
    match value {
        Value::Array(items) => items.sort_by_key(Value::to_string),
        Value::String(text) => {
            let mut parts: Vec<&str> = text.split([',', '[', ']']).map(str::trim).filter(|p| !p.is_empty()).collect();
            parts.sort_unstable();
            *text = parts.join(", ");
        }
        _ => {}
    }
}

/// A column without its description: each server explains its columns in its own words.
fn undescribed(mut column: Value) -> Value {
    if let Value::Object(map) = &mut column {
        map.remove("description");
    }
    column
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::Normalizer;
    use crate::transcript::Entry;

    fn normalized(bodies: Vec<Value>) -> Vec<Value> {
        let entries = bodies
            .into_iter()
            .map(|body| Entry { step: "s".into(), status: None, headers: Map::new(), body, unordered: vec![] })
            .collect();
        let lines = Normalizer::new().unwrap().normalize(entries, &[("ns-1".to_owned(), "{ns}".to_owned())]);
        lines.into_iter().map(|line| line["body"].clone()).collect()
    }

    #[test]
    fn versions_keep_their_order_and_lists_only_their_age() {
        let seen = normalized(vec![
            json!({"metadata": {"resourceVersion": "70"}}),
            json!({"metadata": {"resourceVersion": "9"}}),
            json!({"items": [{"metadata": {"resourceVersion": "70"}}], "metadata": {"resourceVersion": "100"}}),
            json!({"items": [], "metadata": {"resourceVersion": "60", "continue": "abc"}}),
            json!([{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "80"}}}]),
        ]);
        assert_eq!(seen[0]["metadata"]["resourceVersion"], "<rv2>");
        assert_eq!(seen[1]["metadata"]["resourceVersion"], "<rv1>");
        assert_eq!(seen[2]["metadata"]["resourceVersion"], "<rv>");
        assert_eq!(seen[2]["items"][0]["metadata"]["resourceVersion"], "<rv2>");
        assert_eq!(seen[3]["metadata"], json!({"resourceVersion": "<rv-old>", "continue": "<continue>"}));
        assert_eq!(seen[4][0]["object"]["metadata"]["resourceVersion"], "<rv>");
    }

    #[test]
    fn free_choices_become_placeholders_and_inputs_stay() {
        let seen = normalized(vec![json!({
            "metadata": {"name": "a-x7k2p", "generateName": "a-", "namespace": "ns-1"},
            "uid": "0a1b2c3d-0000-1111-2222-333344445555",
            "again": "a-x7k2p of 0a1b2c3d-0000-1111-2222-333344445555",
            "then": "2020-01-01T00:00:00Z",
            "now": jiff::Timestamp::now().to_string(),
            "clusterIP": "10.96.3.4",
            "other": "10.112.3.4",
            "nodePort": 30123,
        })]);
        assert_eq!(
            seen[0],
            json!({
                "metadata": {"name": "<generated1>", "generateName": "a-", "namespace": "{ns}"},
                "uid": "<uid1>",
                "again": "<generated1> of <uid1>",
                "then": "2020-01-01T00:00:00Z",
                "now": "<microtime>",
                "clusterIP": "<ip1>",
                "other": "10.112.3.4",
                "nodePort": "<port1>",
            })
        );
    }
}
