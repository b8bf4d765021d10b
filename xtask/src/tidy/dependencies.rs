//! Rules about manifests: the invariants of ARCHITECTURE.md that show in what a crate depends on.

use super::File;

/// Crates that are pure: bytes and values in, bytes and values out.
const PURE: [&str; 11] = [
    "api",
    "capi",
    "kapi-auth",
    "kapi-kinds",
    "kapi-merge",
    "kapi-proto",
    "kapi-schema",
    "kernel",
    "machine-os",
    "pki",
    "providers",
];

/// What a pure crate has no use for.
const IO: [&str; 8] =
    ["hyper", "hyper-util", "redb", "rustix", "tokio", "tokio-rustls", "tracing-subscriber", "kapi-store"];

/// A dependency, the only crates that may have it, and why.
const OWNED: [(&str, &[&str], &str); 5] = [
    (
        "butler-api",
        &[
            "butler",
            "capi",
            "charts",
            "cli",
            "fleet",
            "local",
            "machine-os",
            "providers",
            "runtime",
            "steward",
            "xtask",
        ],
        "the embedded API knows no Butler kind",
    ),
    ("redb", &["kapi-store"], "only kapi-store touches the disk"),
    ("kube-cel", &["kapi-schema"], "CEL is evaluated in one place"),
    ("serde-saphyr", &["kernel"], "YAML is read in one place, kernel::yaml"),
    ("clap", &["butler", "cli"], "only programs have a command line"),
];

pub(super) fn complaints(manifest: &File) -> Vec<String> {
    let path = &manifest.path;
    let Some(name) = path.strip_suffix("/Cargo.toml").and_then(|folder| folder.rsplit('/').next()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    if !section(&manifest.text, "[lints]").any(|line| line == "workspace = true") {
        found.push(format!("{path}: add `[lints]` with `workspace = true`"));
    }
    for dependency in section(&manifest.text, "[dependencies]").filter_map(|line| line.split([' ', '.', '=']).next()) {
        if PURE.contains(&name) && IO.contains(&dependency) {
            found.push(format!("{path}: {dependency}: {name} does no IO"));
        }
        for (owned, owners, reason) in OWNED {
            if dependency == owned && !owners.contains(&name) {
                found.push(format!("{path}: {dependency}: {reason}"));
            }
        }
    }
    found
}

/// The lines of a section that say something.
fn section<'a>(manifest: &'a str, header: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = manifest.lines().map(str::trim).skip_while(move |line| *line != header).skip(1);
    lines.take_while(|line| !line.starts_with('[')).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_keep_the_invariants() {
        const LINTS: &str = "[lints]\nworkspace = true\n";
        for (path, dependencies, expected) in [
            ("crates/kapi/Cargo.toml", "tokio = { workspace = true }", None),
            ("crates/kapi/Cargo.toml", "# butler-api", None),
            (
                "crates/kapi/Cargo.toml",
                "butler-api = { workspace = true }",
                Some("crates/kapi/Cargo.toml: butler-api: the embedded API knows no Butler kind"),
            ),
            (
                "crates/kapi-merge/Cargo.toml",
                "serde_json.workspace = true\ntokio.workspace = true",
                Some("crates/kapi-merge/Cargo.toml: tokio: kapi-merge does no IO"),
            ),
            ("xtask/Cargo.toml", "butler-api = { workspace = true }", None),
        ] {
            let text = format!("{LINTS}\n[dependencies]\n{dependencies}\n\n[dev-dependencies]\nredb = \"1\"\n");
            let found = complaints(&File { path: path.to_owned(), text });
            assert_eq!(found.first().map(String::as_str), expected, "{path}");
        }
        let bare = File { path: "crates/new/Cargo.toml".to_owned(), text: "[package]\n".to_owned() };
        assert_eq!(complaints(&bare), ["crates/new/Cargo.toml: add `[lints]` with `workspace = true`"]);
    }
}
