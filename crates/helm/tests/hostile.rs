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
        (
            "{{ $d := dict }}{{ range until 64 }}{{ $d = dict \"a\" $d \"b\" $d }}{{ end }}{{ mustToJson $d }}",
            "too large",
        ),
    ] {
        let told = outcome(template).unwrap_err();
        assert!(told.contains(words), "{template}: {}", told.chars().take(300).collect::<String>());
    }
}

/// A large text, and a list that has it so often that all of it is too large.
const LARGE: &str = "{{ $s := repeat 17000000 \"a\" }}{{ $l := list }}{{ range 4 }}{{ $l = append $l $s }}{{ end }}";

/// A text that is not large.
const SMALL: &str = "{{ $t := repeat 9000 \"a\" }}";

/// A map that is two to the power of sixty-four maps to whoever follows every way.
const SHARED: &str = "{{ $d := dict }}{{ range until 64 }}{{ $d = dict \"a\" $d \"b\" $d }}{{ end }}";

#[test]
fn much_is_not_made_out_of_little() {
    let large = [
        "join \",\" $l",
        "join $s (until 100)",
        "toStrings $l",
        "sortAlpha $l",
        "quote $l",
        "squote $l",
        "cat $l $l",
        "print $l",
        "println $l",
        "printf \"%v\" $l",
        "printf (repeat 100 \"%[1]1000000d\") 1",
        "printf \"\" $l $l",
        "html $l",
        "js $l",
        "urlquery $l",
        "toString $l",
        "dict $l 1",
        "urlJoin (dict \"host\" $l)",
        "genSelfSignedCert \"a\" nil $l 1",
        "toYaml $l",
        "toYaml (dict \"a\" $l)",
        "mustToYaml $l",
        "toYamlPretty $l",
        "toJson $l",
        "mustToJson $l",
        "toRawJson $l",
        "toPrettyJson $l",
        "toToml (dict \"a\" $l)",
        "mustToToml (dict \"a\" $l)",
        "replace \"a\" $t $t",
        "replace \"\" $t $t",
        "regexReplaceAll \"a\" $t $t",
        "regexReplaceAll \"a+\" $t (repeat 9000 \"$0\")",
        "regexReplaceAllLiteral \"a\" $t $t",
        "splitList \"a\" (repeat 2000000 \"a\")",
        "split \"\" (repeat 2000000 \"a\")",
        "splitn \"\" 2000000 (repeat 2000000 \"a\")",
        "wrapWith 1 $t $t",
        "chunk 1 (until 2000000)",
        "seq 9000000",
        "indent 100 (repeat 1000000 \"\\n\")",
        "clean (repeat 5000000 \"a/\")",
        "fromJson (repeat 5000000 \"1\")",
        "fromYaml (repeat 5000000 \"1\")",
        "semverCompare (repeat 2000000 \">1\") \"1\"",
    ];
    let shared = ["mustDeepCopy $d", "deepEqual $d $d", "toToml $d"];
    let large = large.map(|call| (LARGE, call)).into_iter();
    for (before, call) in large.chain(shared.map(|call| (SHARED, call))) {
        let told = outcome(&format!("{SMALL}{before}{{{{ $x := {call} }}}}")).unwrap_err();
        assert!(told.ends_with("the result is too large"), "{call}: {}", told.chars().take(300).collect::<String>());
    }
    let lines = "{{ $d := repeat 200000 \"a\\n\" }}{{ range 400 }}{{ $d = dict \"a\" $d }}{{ end }}{{ toYaml $d }}";
    assert!(outcome(lines).unwrap_err().ends_with("the result is too large"));
    assert!(peak_megabytes() < 1024, "{}", peak_megabytes());
}

/// The most memory that this process has had so far.
fn peak_megabytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB"));
    peak.unwrap().trim().parse::<usize>().unwrap() / 1024
}

#[test]
fn work_is_counted_by_its_size() {
    for (template, words) in [
        ("{{ $s := \"aaaa\" }}{{ range 150 }}{{ $s = b64enc $s }}{{ end }}", "rendering takes too long"),
        ("{{ $s := \"\\\\\" }}{{ range 150 }}{{ $s = quote $s }}{{ end }}", "the result is too large"),
        ("{{ $s := repeat 60000000 \"a\" }}{{ range 100 }}{{ $x := trunc 9 $s }}{{ end }}", "rendering takes too long"),
        (
            "{{ $s := repeat 9000000 \"a\" }}{{ range 100 }}{{ $x := sha256sum $s }}{{ end }}",
            "rendering takes too long",
        ),
        ("{{ regexFindAll \"\" (repeat 2000000 \"a\") -1 }}", "rendering takes too long"),
        ("{{ regexSplit \"a\" (repeat 2000000 \"a\") -1 }}", "rendering takes too long"),
        ("{{ $s := repeat 1000000 \"a\" }}{{ trimAll (print \"b\" $s) $s }}", "rendering takes too long"),
        ("{{ $l := until 100000 }}{{ range 1000 }}{{ $x := has -1 $l }}{{ end }}", "rendering takes too long"),
        ("{{ range 9999 }}{{ $x := lookup \"v1\" \"Pod\" \"\" \"\" }}{{ end }}", "rendering takes too long"),
        (
            "{{ $s := repeat 1000000 \"a\" }}{{ range until 99 }}{{ $x := tpl (printf \"%s{{ %d }}\" $s .) 1 }}{{ end }}",
            "rendering takes too long",
        ),
        ("{{ regexMatch (repeat 99999 \"a\") \"a\" }}", "the expression is too large"),
        ("{{ regexMatch \"\\\\pL{1000}\" \"a\" }}", "the expression is too large"),
        ("{{ now | date (repeat 9999 \"1\") }}", "the layout is too large"),
        ("{{ now.Format (repeat 9999 \"1\") }}", "the layout is too large"),
        ("{{ .Files.Glob (repeat 9999 \"?\") }}", "the pattern is too large"),
    ] {
        let told = outcome(template).unwrap_err();
        assert!(told.ends_with(words), "{template}: {}", told.chars().take(300).collect::<String>());
    }
}

#[test]
fn no_more_is_printed_than_a_cluster_takes() {
    let megabyte = "text ".repeat(200_000);
    let endless = format!("{{{{ range 4000000 }}}}{megabyte}{{{{ end }}}}");
    assert!(outcome(&endless).unwrap_err().ends_with("the output is too large"));
    assert!(outcome(&format!("{LARGE}{{{{ $l }}}}")).unwrap_err().ends_with("the output is too large"));

    // Nor by many templates together.
    let template = format!("{{{{ range 20 }}}}{megabyte}{{{{ end }}}}");
    let templates = (0..4).map(|index| file(&format!("templates/{index}.txt"), &template));
    let files = std::iter::once(file("Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n")).chain(templates);
    let told = run_ours(&Chart::from_files(files.collect()).unwrap(), &Values::new()).unwrap_err().to_string();
    assert!(told.ends_with("the output is too large"), "{told}");
}

#[test]
fn what_is_told_can_be_read() {
    let told = outcome("{{ fail (repeat 99999 \"ä\") }}").unwrap_err();
    let begins = "execution error at (c/templates/a.txt:1:3): ää";
    assert!(told.starts_with(begins) && told.contains("ä … ä") && told.ends_with("ää"), "{}", told.len());
    assert!((131_000..132_000).contains(&told.len()), "{}", told.len());
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
