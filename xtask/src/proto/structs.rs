//! What the struct tags of Kubernetes' Go types say about JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;

#[derive(Default)]
pub(super) struct GoPackage {
    /// The API group, from the constant `GroupName`.
    pub(super) group: Option<String>,
    pub(super) structs: BTreeMap<String, GoStruct>,
    /// Types that are lists of strings but messages on the wire.
    pub(super) lists: BTreeSet<String>,
    /// Types defined as a type of another package: protobuf package and name of that one.
    pub(super) copies: BTreeMap<String, (String, String)>,
}

#[derive(Default, Clone)]
pub(super) struct GoStruct {
    /// Whether it carries `kind` and `apiVersion`.
    pub(super) is_kind: bool,
    /// By protobuf number.
    pub(super) fields: BTreeMap<u32, GoField>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct GoField {
    pub(super) json_name: String,
    pub(super) inline: bool,
    pub(super) pointer: bool,
    pub(super) omit_empty: bool,
    pub(super) omit_zero: bool,
}

/// Reads every Go file of the folder that people wrote.
pub(super) fn read(folder: &Path) -> Result<GoPackage> {
    let mut package = GoPackage::default();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let generated = name.starts_with("zz_generated") || name.starts_with("generated.");
        if name.ends_with(".go") && !name.ends_with("_test.go") && !generated {
            scan(&std::fs::read_to_string(&path)?, &mut package);
        }
    }
    Ok(package)
}

fn scan(text: &str, package: &mut GoPackage) {
    let mut open: Option<(String, GoStruct)> = None;
    let mut imports: BTreeMap<&str, &str> = BTreeMap::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some((_, body)) = &mut open {
            if line == "}" {
                if let Some((name, body)) = open.take() {
                    package.structs.insert(name, body);
                }
            } else if !trimmed.starts_with("//") {
                field(trimmed, body);
            }
        } else if let Some(group) = trimmed.strip_prefix("const GroupName = ") {
            package.group = Some(group.trim_matches('"').to_owned());
        } else if let Some((name, definition)) = line.strip_prefix("type ").and_then(|rest| rest.split_once(' ')) {
            match definition {
                "struct {" => open = Some((name.to_owned(), GoStruct::default())),
                "[]string" => {
                    package.lists.insert(name.to_owned());
                }
                other => {
                    if let Some((alias, copied)) = other.split_once('.')
                        && let Some(path) = imports.get(alias)
                    {
                        let origin = (path.replace('/', ".").replace('-', "_"), copied.to_owned());
                        package.copies.insert(name.to_owned(), origin);
                    }
                }
            }
        } else if let Some((alias, path)) = import(trimmed) {
            imports.insert(alias, path);
        }
    }
}

/// The name and path of an `import` line.
fn import(line: &str) -> Option<(&str, &str)> {
    let (alias, rest) = line.trim_start_matches("import ").split_once('"')?;
    let path = rest.strip_suffix('"')?;
    let last = path.rsplit('/').next()?;
    Some((if alias.trim().is_empty() { last } else { alias.trim() }, path))
}

fn field(line: &str, body: &mut GoStruct) {
    let Some((declaration, tags)) = line.split_once('`') else { return };
    let words: Vec<&str> = declaration.split_whitespace().collect();
    let kind = words.last().copied().unwrap_or_default();
    let embedded = words.len() == 1;
    let json = tag(tags, "json");
    if embedded && matches!(kind, "TypeMeta" | "metav1.TypeMeta" | "v1.TypeMeta") {
        body.is_kind = true;
        return;
    }
    let Some(number) = tag(tags, "protobuf").and_then(|tag| tag.split(',').find_map(|part| part.parse().ok())) else {
        return;
    };
    let mut options = json.unwrap_or_default().split(',');
    let json_name = options.next().unwrap_or_default().to_owned();
    let options: Vec<&str> = options.collect();
    body.fields.insert(
        number,
        GoField {
            inline: json_name.is_empty() && (embedded || options.contains(&"inline")),
            json_name,
            pointer: kind.starts_with('*'),
            omit_empty: options.contains(&"omitempty"),
            omit_zero: options.contains(&"omitzero"),
        },
    );
}

fn tag<'a>(tags: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tags.split_once(&format!("{name}:\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_tell_names_pointers_and_inlined_structs() {
        let mut package = GoPackage::default();
        scan(
            "const GroupName = \"things.io\"\n\ntype Verbs []string\n\n\
             import other \"k8s.io/some-api/v1\"\ntype Copy other.Original\n\ntype Thing struct {\n\
             \tmetav1.TypeMeta `json:\",inline\"`\n\
             \t// Text about it.\n\
             \tSize *int32 `json:\"size,omitempty\" protobuf:\"varint,3,opt,name=size\"`\n\
             \tSource `json:\",inline\" protobuf:\"bytes,2,opt,name=source\"`\n}\n",
            &mut package,
        );
        assert_eq!(package.group.as_deref(), Some("things.io"));
        assert!(package.lists.contains("Verbs"));
        assert_eq!(package.copies["Copy"], ("k8s.io.some_api.v1".to_owned(), "Original".to_owned()));
        let thing = &package.structs["Thing"];
        assert!(thing.is_kind);
        let size = &thing.fields[&3];
        assert_eq!((size.json_name.as_str(), size.pointer, size.omit_empty, size.inline), ("size", true, true, false));
        assert!(thing.fields[&2].inline);
    }
}
