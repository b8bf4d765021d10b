//! Plain manifests as a chart, so that they are applied, recorded, pruned and rolled back like any other. Pure.

use helm::chart::{Chart, ChartError, File};
use helm::semver::Version;
use helm::values::Values;
use runtime::fingerprint;
use serde_json::{Value, json};

use super::values::at;

/// The name under which manifests stand in their chart.
const NAME: &str = "manifests.yaml";
/// Annotation of a chart of manifests: digest of what it renders to.
pub(crate) const DIGEST: &str = "butler.butlerlabs.dev/digest";
/// Versions of charts are of one form, those of manifests are not.
const UNVERSIONED: &str = "0.0.0";
/// The name that stands for the version.
const VERSION: &str = "version";

/// A chart that renders to exactly these documents.
pub(crate) fn chart(title: &str, version: &str, documents: &str) -> Result<Chart, ChartError> {
    let metadata = json!({
        "apiVersion": "v2", "name": title, "appVersion": version,
        "version": if Version::parse(version).is_ok() { version } else { UNVERSIONED },
        // Other documents of the same version are another chart.
        "annotations": {DIGEST: fingerprint(&json!(documents))},
    });
    let file = |name: &str, content: String| File { name: name.to_owned(), content: content.into() };
    Chart::from_files(vec![
        // JSON is YAML.
        file("Chart.yaml", metadata.to_string()),
        file("templates/manifests.yaml", format!("{{{{ .Files.Get {NAME:?} }}}}\n")),
        file(NAME, documents.to_owned()),
    ])
}

/// Puts values in the place of `${path}`, and the version in that of `${version}`; `$${` stands for `${`. Gives back the
/// paths that have no value.
pub(crate) fn substitute(text: &str, values: &Values, version: &str) -> Result<String, Vec<String>> {
    let mut missing = Vec::new();
    let replaced = replace(text, |path| match at(values, path) {
        // Never a value, which may be anything, while a version is one.
        _ if path == VERSION => version.to_owned(),
        Some(Value::Null) | None => {
            missing.push(path.to_owned());
            String::new()
        }
        Some(value) => written(value),
    });
    missing.sort();
    missing.dedup();
    if missing.is_empty() { Ok(replaced) } else { Err(missing) }
}

/// A value as it stands in a text.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // JSON is YAML.
        other => other.to_string(),
    }
}

/// Whether documents say no more than what their manifests say with a value in the place of each name: a text that ends the
/// one around it, or begins another document, is no value.
pub(crate) fn check(manifests: &str, documents: &str, values: &Values, version: &str) -> Result<(), String> {
    let mut named: Vec<(String, String, Value)> = Vec::new();
    let marked = replace(manifests, |path| {
        // As long as no text has it already, and no mark begins with another.
        let mark = format!("butler{}mark", named.len());
        let value = if path == VERSION { Value::from(version) } else { at(values, path).cloned().unwrap_or_default() };
        named.push((path.to_owned(), mark.clone(), value));
        mark
    });
    if named.is_empty() {
        return Ok(());
    }
    // Manifests that are wrong by themselves are told so where they are taken apart.
    let Ok(expected) = kernel::yaml::values(&marked) else { return Ok(()) };
    let found = kernel::yaml::values(documents).map_err(|error| error.to_string())?;
    if expected.len() != found.len() {
        return Err("they begin or end documents".to_owned());
    }
    expected.iter().zip(&found).try_for_each(|(expected, found)| fits(expected, found, &named))
}

/// Whether what was found is what was expected, with values in the place of marks.
fn fits(expected: &Value, found: &Value, named: &[(String, String, Value)]) -> Result<(), String> {
    let has_mark = |text: &str| named.iter().find(|(_, mark, _)| text.contains(mark.as_str()));
    let filled =
        |text: &str| named.iter().fold(text.to_owned(), |text, (_, mark, value)| text.replace(mark, &written(value)));
    match (expected, found) {
        (Value::String(text), found) => match has_mark(text) {
            None if expected == found => Ok(()),
            None => Err(format!("they change {text:?}")),
            // All of it: whatever the value is. A number may be given as a text.
            Some((_, mark, value)) if text == mark && (found == value || is_plain(found)) => Ok(()),
            Some(_) if found.as_str() == Some(filled(text).as_str()) => Ok(()),
            Some((path, ..)) => Err(format!("{path} has another meaning there than a text")),
        },
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            expected.iter().zip(found).try_for_each(|(expected, found)| fits(expected, found, named))
        }
        (Value::Object(expected), Value::Object(found)) if expected.len() == found.len() => {
            expected.iter().try_for_each(|(key, expected)| {
                let key = filled(key);
                let found = found.get(&key).ok_or_else(|| format!("they change the field {key:?}"))?;
                fits(expected, found, named)
            })
        }
        (expected, found) if expected == found => Ok(()),
        _ => Err("they add fields or items".to_owned()),
    }
}

fn is_plain(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(_) | Value::Number(_))
}

/// Puts something in the place of every name.
fn replace(text: &str, mut of: impl FnMut(&str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, after) = rest.split_at(start);
        if let Some(before) = before.strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = &after[2..];
            continue;
        }
        out.push_str(before);
        let Some(end) = after.find('}').filter(|end| is_path(&after[2..*end])) else {
            out.push_str("${");
            rest = &after[2..];
            continue;
        };
        out.push_str(&of(&after[2..end]));
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    out
}

/// Whether values stand in a text, other than the version.
pub(crate) fn has_values(text: &str) -> bool {
    substitute(text, &Values::new(), "").is_err()
}

fn is_path(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_for_their_names() {
        let values = json!({"a": "x", "b": {"c": 3, "d": [1, 2]}, "n": null, "version": "../of-a-value"});
        let values = values.as_object().unwrap();
        for (text, expected) in [
            ("no names", Ok("no names")),
            ("${a}-${b.c}/${b.d}", Ok("x-3/[1,2]")),
            ("v: ${version}", Ok("v: 1.0")),
            ("echo $${a} $HOME ${not a name} $(x)", Ok("echo ${a} $HOME ${not a name} $(x)")),
            ("${a", Ok("${a")),
            ("${z} ${b.x} ${n} ${z}", Err(vec!["b.x", "n", "z"])),
        ] {
            let expected = expected.map(str::to_owned).map_err(|all| all.into_iter().map(str::to_owned).collect());
            assert_eq!(substitute(text, values, "1.0"), expected, "{text}");
        }
    }

    #[test]
    fn values_are_texts_and_never_more() {
        let manifests = "a: \"${x}\"\nb: ${x}\nc: [v-${n}, ${n}]\n# ${x}\n---\n${k}: ${m}\nv: ${version}\n";
        let plain = json!({"x": "it is so", "n": 3, "k": "key", "m": {"deep": [1]}});
        let with = |name: &str, value: &str| {
            let mut values = plain.as_object().unwrap().clone();
            values.insert(name.to_owned(), value.into());
            values
        };
        for (values, is_taken) in [
            (plain.as_object().unwrap().clone(), true),
            (with("x", "7"), true),
            (with("x", "true"), true),
            (with("x", ""), true),
            (with("x", "a\"\n---\nkind: Secret\nb: \"c"), false),
            (with("x", "a\nd: e"), false),
            (with("x", "{d: e}"), false),
            (with("x", "a # b"), false),
            (with("x", "\""), false),
            (with("n", "a, b"), false),
            (with("k", "a: 1\nb"), false),
        ] {
            let documents = substitute(manifests, &values, "1.0").unwrap();
            let checked = check(manifests, &documents, &values, "1.0");
            assert_eq!(checked.is_ok(), is_taken, "{values:?}: {checked:?}\n{documents}");
        }
        let bare = "a: 'it is ${x}'\n";
        assert!(check(bare, "a: 'it is it is so'\n", plain.as_object().unwrap(), "").is_ok());
    }

    #[test]
    fn documents_become_a_chart_of_their_own() {
        let documents = "kind: A\nx: '{{ untouched }}'\n---\nkind: B\n";
        let made = chart("kube-vip", "latest", documents).unwrap();
        assert_eq!((made.name(), made.metadata.version.as_str()), ("kube-vip", "0.0.0"));
        assert_eq!(chart("kube-vip", "v0.8.7", documents).unwrap().metadata.version, "v0.8.7");
        let other = chart("kube-vip", "latest", "kind: C\n").unwrap();
        assert_ne!(made.metadata.annotations, other.metadata.annotations);
    }
}
