//! Rules about single files: size, unfinished work, crate documentation, links.

use std::collections::BTreeSet;

use super::File;

/// A file longer than this is hard to find one's way in; most are under 300.
const MOST_LINES: usize = 700;

/// Recorded or generated data, which nobody reads from top to bottom.
const DATA: [&str; 6] = ["Cargo.lock", "crds/", "/generated/", "/golden/", "/tests/oracle/", "/behaviour/shapes.txt"];

/// Long by being a list, one entry after the other, of what is recorded from a real server.
const LISTS: [&str; 1] = ["crates/kapi-merge/tests/record/scenarios.py"];

/// Words for work left undone, and why each may not land. In two halves, so that this file is clean itself.
const UNFINISHED: [(&str, &str, &str); 5] = [
    ("TO", "DO", "open an issue, or do it"),
    ("FIX", "ME", "open an issue, or fix it"),
    ("todo", "!(", "what is not there must not compile"),
    ("unimplemented", "!(", "what is not there must not compile"),
    ("#[igno", "re", "a test that does not run proves nothing"),
];

pub(super) fn complaints(file: &File) -> Vec<String> {
    let path = &file.path;
    if DATA.iter().any(|data| path.starts_with(data) || data.starts_with('/') && path.contains(data)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let lines = file.text.lines().count();
    if lines > MOST_LINES && !LISTS.contains(&path.as_str()) {
        found.push(format!("{path}: {lines} lines, more than {MOST_LINES}: split it"));
    }
    for (number, line) in file.text.lines().enumerate() {
        for (word, reason) in unfinished(line) {
            found.push(format!("{path}:{}: {word}: {reason}", number + 1));
        }
    }
    if is_crate_root(path) && !file.text.starts_with("//!") {
        found.push(format!("{path}: begin with `//!`: what the crate owns, and what it must not know"));
    }
    found
}

fn unfinished(line: &str) -> impl Iterator<Item = (String, &'static str)> {
    UNFINISHED
        .iter()
        .map(|(one, two, reason)| (format!("{one}{two}"), *reason))
        .filter(|(word, _)| line.contains(word.as_str()))
}

fn is_crate_root(path: &str) -> bool {
    path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs")
}

/// Links of Markdown files to files that are not there.
pub(super) fn broken_links(files: &[File]) -> Vec<String> {
    let mut known = BTreeSet::new();
    for file in files {
        // A link may also name a directory.
        known.extend(file.path.match_indices('/').map(|(end, _)| &file.path[..end]));
        known.insert(file.path.as_str());
    }
    let pages = files.iter().filter(|file| file.path.ends_with(".md"));
    pages
        .flat_map(|page| links(&page.text).map(move |link| (page, link)))
        .filter(|(page, link)| !known.contains(resolve(&page.path, link).as_str()))
        .map(|(page, link)| format!("{}: links to {link}, which is not there", page.path))
        .collect()
}

/// Targets of `](…)` and `src="…"` within the checkout, without their `#section`.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let markdown = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let images = text.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let targets = markdown.chain(images).filter(|target| !target.contains("://"));
    targets.filter_map(|target| target.split('#').next()).filter(|target| !target.is_empty())
}

fn resolve(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn files_are_short_finished_and_introduced() {
        let long = "x\n".repeat(MOST_LINES + 1);
        let unfinished = format!("fn f() {{\n    todo{}\n}}", "!()");
        for (path, text, expected) in [
            ("crates/a/src/x.rs", "fn f() {}", None),
            ("crates/a/src/x.rs", long.as_str(), Some("crates/a/src/x.rs: 701 lines, more than 700: split it")),
            ("crates/a/src/generated/x.rs", long.as_str(), None),
            ("crds/a.yaml", long.as_str(), None),
            (LISTS[0], long.as_str(), None),
            (
                "crates/a/src/x.rs",
                unfinished.as_str(),
                Some(concat!("crates/a/src/x.rs:2: todo", "!(: what is not there must not compile")),
            ),
            ("crates/a/src/lib.rs", "//! All of it.", None),
            (
                "crates/a/src/lib.rs",
                "pub mod x;",
                Some("crates/a/src/lib.rs: begin with `//!`: what the crate owns, and what it must not know"),
            ),
        ] {
            let found = complaints(&file(path, text));
            assert_eq!(found.first().map(String::as_str), expected, "{path}");
            assert!(found.len() < 2, "{found:?}");
        }
    }

    #[test]
    fn links_lead_somewhere() {
        let there = file("docs/adr/0001-storage.md", "[up](../../README.md#status) [self](#x) [web](https://a.b/c)");
        let page =
            file("README.md", "[one](docs/adr/0001-storage.md) [all](docs/adr/) [gone](docs/gone.md) ![](b.svg)");
        let found = broken_links(&[there, page]);
        assert_eq!(
            found,
            ["README.md: links to docs/gone.md, which is not there", "README.md: links to b.svg, which is not there"]
        );
    }
}
