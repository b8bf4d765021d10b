//! YAML as users write it, and JSON as the API judges it.

use kapi_merge::go_json;
use kernel::yaml;
use serde_json::Value;

use super::{Target, owned, with_text};
use crate::laws::same;
use crate::mutate::Form;
use crate::recordings;

pub(super) const TARGET: Target = Target {
    name: "yaml",
    run,
    form: Form::Text,
    words: &[
        "- ",
        ": ",
        "\n  ",
        "---\n",
        "...\n",
        "&a ",
        "*a",
        "<<: ",
        "!!str ",
        "!",
        "|\n",
        ">-\n",
        "? ",
        "[",
        "]",
        "{",
        "}",
        "'",
        "\"",
        "#",
        "%YAML 1.2\n",
        "null",
        "~",
        "yes",
        "0x1F",
        "0o7",
        ".inf",
        ".nan",
        "1e3",
        "1_000",
        "\\u0041",
        "\t",
        "\r\n",
    ],
    seeds: || {
        let mut found = owned([
            "a: &x {b: 1}\nc: {<<: *x}\n",
            "a: |\n  text\n   more\nb: >-\n  folded\n  text\n",
            "? complex\n: value\n",
            "---\na: 1\n---\n- b\n- ~\n...\n",
            "\"a\\n\\u00e9\\x41\": 'it''s'\n",
            "{\"a\": [1, -2.5e3, true, null, \"x\"]}",
            "2026-01-01: !!str 0777\n",
        ]);
        // Single documents: long streams only make changes rare.
        let documents = recordings::texts("examples")?;
        found.extend(owned(documents.iter().flat_map(|text| text.split("---\n"))));
        Ok(found)
    },
};

fn run(input: &[u8]) -> Result<(), String> {
    let fault = go_json::syntax_error(input);
    if serde_json::from_slice::<Value>(input).is_ok() {
        same("what is JSON has no fault", &fault, &None)?;
    }
    with_text(input, |text| {
        let _refused = yaml::values(text);
        let Ok(value) = yaml::value(text) else { return Ok(()) };
        let written = yaml::to_string(&value).map_err(|error| format!("{value} cannot be written: {error}"))?;
        let read = yaml::value(&written)
            .map_err(|error| format!("{value} is written as {written:?}, which cannot be read: {error}"))?;
        same("a document reads as it was written", &value, &read)
    })
}
