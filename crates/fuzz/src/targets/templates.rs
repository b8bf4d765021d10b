//! Templates, values and `--set` of charts. Whatever they are, there is an end, and twice the same is the same.

use helm::chart::{Chart, File};
use helm::render::{Capabilities, Offline, Random, Release, Surroundings, render};
use helm::values::{self, Values};

use super::{Target, with_text};
use crate::laws::same;
use crate::mutate::Form;

pub(super) const TARGET: Target = Target {
    name: "templates",
    run: |input| with_text(input, run),
    form: Form::Text,
    words: &[
        "{{",
        "}}",
        "{{-",
        "-}}",
        "{{ end }}",
        "{{ if ",
        "{{ range ",
        "{{ with ",
        "{{ define \"x\" }}",
        "include \"x\" .",
        "tpl ",
        "toYaml",
        "fromYaml",
        "printf \"%v %d %s %q\" ",
        "set ",
        "dict ",
        "list ",
        "until 9",
        "repeat 99",
        "nindent 4",
        "merge ",
        "deepCopy ",
        ".Values",
        "$",
        "$x :=",
        "|",
        "(",
        ")",
        "nil",
        "1e99",
        "0x",
        "'a'",
        "`",
        "\"",
        "\\",
        "regexMatch",
        "semverCompare",
        "date \"2006\"",
        "a.b[0]=1",
        "{a,b}",
        "a: &x [*x]",
        "wrap 1",
        "substr 1 2",
        "trunc -1",
        "splitn",
    ],
    seeds: || {
        let cases = [
            include_str!("../../../helm/tests/cases/language.txt"),
            include_str!("../../../helm/tests/cases/strings.txt"),
            include_str!("../../../helm/tests/cases/collections.txt"),
            include_str!("../../../helm/tests/cases/data.txt"),
            include_str!("../../../helm/tests/cases/errors.txt"),
            include_str!("../../../helm/tests/cases/values.yaml"),
        ];
        // Keys and derived passwords take their time, whatever is around them.
        let slow = |line: &&str| ["gen", "derivePassword", "bcrypt", "htpasswd"].iter().any(|word| line.contains(word));
        let lines = cases.iter().flat_map(|case| case.lines()).filter(|line| !slow(line));
        Ok(lines.map(|line| line.as_bytes().to_vec()).collect())
    },
};

/// Always the same bytes.
struct Fixed;

impl Random for Fixed {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), String> {
        buffer.iter_mut().zip(1..).for_each(|(byte, value)| *byte = value);
        Ok(())
    }
}

fn run(text: &str) -> Result<(), String> {
    let mut set = Values::new();
    let _refused = values::set(&mut set, text);
    let given = values::from_yaml(text).unwrap_or(set);
    let file = |name: &str, content: &str| File { name: name.to_owned(), content: content.to_owned().into() };
    let files = vec![
        file("Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n"),
        file("values.yaml", "a: {b: [1, x, null]}\nt: text\n"),
        file("templates/a.yaml", text),
    ];
    let chart = Chart::from_files(files).map_err(|error| error.to_string())?;
    same("a chart renders the same twice", &rendered(&chart, &given), &rendered(&chart, &given))
}

/// Everything that was printed, or the complaint.
fn rendered(chart: &Chart, given: &Values) -> String {
    let release = Release { name: "r".to_owned(), namespace: "n".to_owned(), revision: 1, is_upgrade: false };
    let capabilities = Capabilities { kube_version: "v1.34.0".to_owned(), api_versions: vec!["v1".to_owned()] };
    let surroundings = Surroundings { now: jiff::Timestamp::UNIX_EPOCH, random: &Fixed, cluster: &Offline };
    match render(chart, given, &release, &capabilities, &surroundings) {
        Ok(rendered) => {
            let taken_apart = rendered.manifests().map_or_else(|error| error.to_string(), |all| all.printed(true));
            format!("{:?}\n{taken_apart}", rendered.files)
        }
        Err(error) => error.to_string(),
    }
}
