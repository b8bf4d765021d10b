//! Templates that would not end, or would take the process with them, end with an error or without harm.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod common;

use common::run_ours;
use helm::chart::{Chart, ChartError, File};
use helm::render::RenderError;
use helm::values::Values;

fn file(name: &str, content: &str) -> File {
    File { name: name.to_owned(), content: content.to_owned().into() }
}

fn outcome(template: &str) -> Result<String, String> {
    let chart = Chart::from_files(vec![
        file("Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n"),
        file("templates/a.txt", template),
    ]);
    let rendered = run_ours(&chart.unwrap(), &Values::new()).map_err(|error| error.to_string())?;
    Ok(rendered.files["c/templates/a.txt"].clone())
}

#[test]
fn what_would_not_end_is_stopped() {
    for (template, words) in [
        ("{{ define \"r\" }}{{ template \"r\" . }}{{ end }}{{ template \"r\" . }}", "exceeded maximum template depth"),
        ("{{ define \"r\" }}{{ include \"r\" . }}{{ end }}{{ include \"r\" . }}", "nested reference name: r"),
        (
            "{{ define \"r\" }}{{ tpl . . }}{{ end }}{{ tpl \"{{ tpl . . }}\" \"{{ tpl . . }}\" }}",
            "exceeded maximum template depth",
        ),
        ("{{ range until 99999 }}{{ range until 99999 }}{{ end }}{{ end }}", "takes too long"),
        ("{{ range 999999999999 }}{{ end }}", "takes too long"),
        ("{{ until 999999999999 }}", "too large"),
        ("{{ repeat 999999999 \"long text\" }}", "too large"),
        ("{{ indent 999999999 \"a\\nb\" }}", "too large"),
        ("{{ randAlphaNum 999999999 }}", "too large"),
        ("{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ mustToYaml $d }}", "cycle"),
        ("{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ mustDeepCopy $d }}", "nested too deep"),
        ("{{ $d := dict }}{{ range until 64 }}{{ $d = dict \"a\" $d \"b\" $d }}{{ end }}{{ mustToJson $d }}", "cycle"),
    ] {
        let told = outcome(template).unwrap_err();
        assert!(told.contains(words), "{template}: {}", told.chars().take(300).collect::<String>());
    }
}

#[test]
fn keys_whose_order_contradicts_itself_are_all_printed() {
    let keys = (1..=60_u32).map(|index| format!("{:08x}", index.wrapping_mul(2_654_435_769)));
    let keys: std::collections::BTreeSet<String> = keys.collect();
    let pairs: String = keys.iter().map(|key| format!(" \"{key}\" \"v\"")).collect();
    for function in ["toYaml", "toYamlPretty"] {
        let object = format!("kind: ConfigMap\ndata:\n{{{{ dict{pairs} | {function} | indent 2 }}}}\n");
        let printed = outcome(&object).unwrap();
        let lines = printed.lines().filter_map(|line| line.strip_prefix("  ")?.strip_suffix(": v"));
        let found: std::collections::BTreeSet<String> = lines.map(|key| key.trim_matches('"').to_owned()).collect();
        assert_eq!(found, keys, "{function}");
        assert_eq!(printed.lines().count(), 62, "{function}: {printed}");
    }
}

#[test]
fn what_refers_to_itself_is_printed_to_some_depth() {
    let printed = outcome("{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ printf \"%v\" $d | trunc 20 }}").unwrap();
    assert_eq!(printed, "map[d:map[d:map[d:ma");
    let nested = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(outcome(&format!("{{{{ {nested} }}}}")).unwrap_err().contains("nested too deep"));
}

#[test]
fn what_is_broken_is_named_with_its_place_and_its_text() {
    for (template, expected) in [
        ("ok\n{{ nothing 1 }}", "c/templates/a.txt:2 | {{ nothing 1 }} | function \"nothing\" not defined"),
        ("ok\n\n{{ if }}x{{ end }}", "c/templates/a.txt:3 | {{ if }}x{{ end }} | missing value for if"),
        ("{{ if true }}\nx", "c/templates/a.txt:2 | x | unexpected EOF"),
        ("x: {{ .Values.a", "c/templates/a.txt:1 | x: {{ .Values.a | unclosed action"),
        ("{{ $x }}", "c/templates/a.txt:1 | {{ $x }} | undefined variable \"$x\""),
        (
            "a\nb: {{ .Values.a.b }}",
            "c/templates/a.txt:2:13 | b: {{ .Values.a.b }} | nil pointer evaluating interface {}.b",
        ),
        ("{{ fail \"no\" }}", "c/templates/a.txt:1:3 | {{ fail \"no\" }} | no"),
        ("{{ include \"gone\" . }}", "c/templates/a.txt:1:3 | {{ include \"gone\" . }} | no template \"gone\""),
    ] {
        let files =
            vec![file("Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n"), file("templates/a.txt", template)];
        let told = match run_ours(&Chart::from_files(files).unwrap(), &Values::new()) {
            Err(RenderError::Parse { location, reason, snippet }) => format!("{location} | {snippet} | {reason}"),
            Err(RenderError::Template { message, location, snippet }) => format!("{location} | {snippet} | {message}"),
            other => format!("{other:?}"),
        };
        let (place, words) = expected.rsplit_once(" | ").unwrap();
        assert!(told.starts_with(&format!("{place} | ")) && told.contains(words), "{template:?}: {told}");
    }
}

#[test]
fn charts_that_are_incomplete_or_lead_elsewhere_are_refused() {
    let needy =
        "apiVersion: v2\nname: c\nversion: 1.0.0\ndependencies:\n- {name: other, version: 1.x, repository: \"\"}\n";
    let chart = Chart::from_files(vec![file("Chart.yaml", needy)]).unwrap();
    let told = run_ours(&chart, &Values::new()).unwrap_err().to_string();
    assert!(told.ends_with("found in Chart.yaml, but missing in charts/ directory: other"), "{told}");

    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("chart");
    std::fs::create_dir_all(root.join("templates")).unwrap();
    std::fs::write(root.join("Chart.yaml"), "apiVersion: v2\nname: c\nversion: 1.0.0\n").unwrap();
    std::fs::write(folder.path().join("secret"), "secret").unwrap();
    std::fs::write(root.join("inside"), "a: b\n").unwrap();
    std::os::unix::fs::symlink(root.join("inside"), root.join("templates/a.yaml")).unwrap();
    assert_eq!(Chart::load(&root).unwrap().templates.len(), 1);
    std::os::unix::fs::symlink(folder.path().join("secret"), root.join("templates/b.yaml")).unwrap();
    assert!(matches!(Chart::load(&root), Err(ChartError::Outside(name)) if name == "templates/b.yaml"));
    std::fs::remove_file(root.join("templates/b.yaml")).unwrap();
    std::os::unix::fs::symlink(&root, root.join("templates/again")).unwrap();
    assert!(matches!(Chart::load(&root), Err(ChartError::TooLarge(_))));
}
