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
    let mut out = String::with_capacity(text.len());
    let mut missing = Vec::new();
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
        let path = &after[2..end];
        match at(values, path) {
            // Never a value, which may be anything, while a version is one.
            _ if path == "version" => out.push_str(version),
            Some(Value::String(value)) => out.push_str(value),
            Some(Value::Null) | None => missing.push(path.to_owned()),
            // JSON is YAML.
            Some(value) => out.push_str(&value.to_string()),
        }
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    missing.sort();
    missing.dedup();
    if missing.is_empty() { Ok(out) } else { Err(missing) }
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
    fn documents_become_a_chart_of_their_own() {
        let documents = "kind: A\nx: '{{ untouched }}'\n---\nkind: B\n";
        let made = chart("kube-vip", "latest", documents).unwrap();
        assert_eq!((made.name(), made.metadata.version.as_str()), ("kube-vip", "0.0.0"));
        assert_eq!(chart("kube-vip", "v0.8.7", documents).unwrap().metadata.version, "v0.8.7");
        let other = chart("kube-vip", "latest", "kind: C\n").unwrap();
        assert_ne!(made.metadata.annotations, other.metadata.annotations);
    }
}
