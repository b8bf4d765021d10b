//! Templates that would not end, or would take the process with them, end with an error or without harm.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod common;

use common::run_ours;
use helm::chart::{Chart, File};
use helm::values::Values;

fn outcome(template: &str) -> Result<String, String> {
    let file = |name: &str, content: &str| File { name: name.to_owned(), content: content.as_bytes().to_vec() };
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
fn what_refers_to_itself_is_printed_to_some_depth() {
    let printed = outcome("{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ printf \"%v\" $d | trunc 20 }}").unwrap();
    assert_eq!(printed, "map[d:map[d:map[d:ma");
    let nested = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(outcome(&format!("{{{{ {nested} }}}}")).unwrap_err().contains("nested too deep"));
}
