//! What an object says of itself first.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::scan::scan;
use crate::values::kind;

/// The parts of an object that decide what becomes of its document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    /// Those of Helm's hooks are here; others may be.
    pub(super) annotations: BTreeMap<String, String>,
}

impl Head {
    /// Reads a document, all of which must be YAML.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        scan(text).map_or_else(|| Self::read_any(text), Ok)
    }

    /// Reads a document that may be anything.
    fn read_any(text: &str) -> Result<Self, String> {
        let json =
            kernel::yaml::first_value(text).map_err(|error| format!("error converting YAML to JSON: {error}"))?;
        Self::of(json).map_err(|reason| format!("error unmarshaling JSON: while decoding JSON: json: {reason}"))
    }

    fn of(json: Json) -> Result<Self, String> {
        let mut object = fields(json, "value", "util.SimpleHead")?;
        let mut take = |name: &str| object.remove(name).unwrap_or_default();
        let api_version = text(take("apiVersion"), "SimpleHead.apiVersion")?;
        let kind = text(take("kind"), "SimpleHead.kind")?;
        let mut metadata = fields(take("metadata"), "struct field SimpleHead.metadata", METADATA)?;
        let mut take = |name: &str| metadata.remove(name).unwrap_or_default();
        let annotations = fields(take("annotations"), "struct field .metadata.annotations", "map[string]string")?;
        let annotations = annotations.into_iter().map(|(key, value)| Ok((key, text(value, ".metadata.annotations")?)));
        let annotations = annotations.collect::<Result<_, String>>()?;
        Ok(Self { api_version, kind, name: text(take("name"), ".metadata.name")?, annotations })
    }
}

/// How Go writes the type of metadata.
const METADATA: &str =
    r#"struct { Name string "json:\"name\""; Annotations map[string]string "json:\"annotations\"" }"#;

/// The fields of an object; nothing has none.
fn fields(json: Json, place: &str, wanted: &str) -> Result<serde_json::Map<String, Json>, String> {
    match json {
        Json::Null => Ok(serde_json::Map::new()),
        Json::Object(fields) => Ok(fields),
        other => Err(format!("cannot unmarshal {} into Go {place} of type {wanted}", kind(&other))),
    }
}

/// A text; numbers and truths are taken for one.
fn text(json: Json, place: &str) -> Result<String, String> {
    match json {
        Json::String(text) => Ok(text),
        Json::Null => Ok(String::new()),
        Json::Array(_) | Json::Object(_) => {
            Err(format!("cannot unmarshal {} into Go struct field {place} of type string", kind(&json)))
        }
        other => Ok(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A head without the annotations that nobody asks for.
    fn essence(head: Head) -> Head {
        let annotations = head.annotations.into_iter().filter(|(key, _)| key.starts_with("helm.sh/hook")).collect();
        Head { annotations, ..head }
    }

    /// What was rendered in all recordings.
    fn documents() -> Vec<String> {
        let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/charts.json");
        let recorded: Vec<Json> = serde_json::from_str(&std::fs::read_to_string(golden).unwrap()).unwrap();
        let printed = recorded.iter().filter_map(|entry| entry["4.2"].as_str());
        printed.flat_map(|text| super::super::split(text)).map(str::to_owned).collect()
    }

    #[test]
    fn a_scan_finds_what_reading_finds() {
        let documents = documents();
        let mut scanned = 0;
        for document in &documents {
            if let Some(head) = scan(document) {
                scanned += 1;
                assert_eq!(Head::read_any(document).map(essence), Ok(essence(head)), "{document}");
            }
        }
        assert!(scanned * 3 > documents.len(), "{scanned} of {} are plain", documents.len());
    }

    #[test]
    fn a_scan_finds_nothing_in_what_cannot_be_read() {
        // Every document with something cut out, doubled, put in or moved, a thousand times over.
        let (documents, mut state) = (documents(), 7_u64);
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below.max(1)
        };
        let bits = [
            " ",
            "  ",
            "\n",
            ":",
            ": ",
            "- ",
            "-",
            "#",
            " #",
            "\"",
            "'",
            "{",
            "}",
            "[",
            "]",
            "|",
            ">",
            "&a ",
            "*a",
            "!!str ",
            "? ",
            ", ",
            "\t",
            "\\",
            "%",
            "@",
            "null",
            "---",
            "...",
            "key: value\n",
            "metadata:\n",
            "kind: 5\n",
            "é",
        ];
        let mut scanned = 0;
        for round in 0..20_000 {
            let mut text = documents[random(documents.len())].clone();
            for _ in 0..=random(3) {
                let at = |random: &mut dyn FnMut(usize) -> usize, text: &str| {
                    let mut at = random(text.len() + 1);
                    while !text.is_char_boundary(at) {
                        at -= 1;
                    }
                    at
                };
                let (one, two) = (at(&mut random, &text), at(&mut random, &text));
                let (from, to) = (one.min(two), one.max(two).min(one.min(two) + 12));
                let to = (from..=to).rev().find(|at| text.is_char_boundary(*at)).unwrap();
                match random(4) {
                    0 => text.replace_range(from..to, ""),
                    1 => text.insert_str(from, bits[random(bits.len())]),
                    doubles_or_moves => {
                        let part = text[from..to].to_owned();
                        if doubles_or_moves == 3 {
                            text.replace_range(from..to, "");
                        }
                        let place = at(&mut random, &text);
                        text.insert_str(place, &part);
                    }
                }
            }
            if let Some(head) = scan(&text) {
                scanned += 1;
                assert_eq!(Head::read_any(&text).map(essence), Ok(essence(head)), "{round}:\n{text}");
            }
        }
        assert!(scanned > 1000, "{scanned}");
    }
}
