//! `cargo xtask proto`: writes the message table of `kapi-proto` from the Kubernetes Go modules.
//!
//! A `generated.proto` file gives the numbers and types of the fields on the wire; the struct tags of the Go types next
//! to it give their JSON names, which fields are inlined, which are pointers and which zero values are left out. Both
//! are read and must agree field by field. Only names and numbers are taken, no prose.

mod idl;
mod structs;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use idl::{Field, Label, Message};
use structs::{GoField, GoPackage};

/// The Go modules read, at the release whose API the project serves.
const MODULES: [&str; 4] = ["api", "apimachinery", "apiextensions-apiserver", "kube-aggregator"];
const RELEASE: &str = "v0.34.4";

/// Packages without kinds or types of the served API.
const LEFT_OUT: [&str; 2] = ["k8s.io.apimachinery.pkg.apis.testapigroup.v1", "k8s.io.apimachinery.pkg.runtime.schema"];

/// Messages that no API object holds: the envelope around objects, which `kapi-proto` knows by itself, and Go's flags.
const NOT_IN_OBJECTS: [&str; 3] = [
    "k8s.io.apimachinery.pkg.api.resource.QuantityValue",
    "k8s.io.apimachinery.pkg.runtime.TypeMeta",
    "k8s.io.apimachinery.pkg.runtime.Unknown",
];

/// Messages whose JSON is not an object of their fields, and the shape it has instead.
/// Names that begin with a dot are those of `apiextensions`, in any version.
const SHAPES: [(&str, &str); 11] = [
    ("k8s.io.apimachinery.pkg.api.resource.Quantity", "quantity"),
    ("k8s.io.apimachinery.pkg.apis.meta.v1.Duration", "duration"),
    ("k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1", "raw"),
    ("k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime", "microtime"),
    ("k8s.io.apimachinery.pkg.apis.meta.v1.Time", "time"),
    ("k8s.io.apimachinery.pkg.runtime.RawExtension", "raw"),
    ("k8s.io.apimachinery.pkg.util.intstr.IntOrString", "int-or-string"),
    (".JSON", "raw"),
    (".JSONSchemaPropsOrBool", "schema-or-bool"),
    (".JSONSchemaPropsOrArray", "schema-or-list"),
    (".JSONSchemaPropsOrStringArray", "schema-or-strings"),
];

/// Runs the command with the arguments after its name.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let modules = match args {
        [] => module_cache()?,
        ["--modules", folder] => PathBuf::from(folder),
        _ => bail!("usage: cargo xtask proto [--modules DIR]"),
    };
    let mut packages = BTreeMap::new();
    for module in MODULES {
        let folder = modules.join(format!("{module}@{RELEASE}"));
        ensure!(folder.is_dir(), "{} is missing: fetch it with `go mod download`", folder.display());
        collect(&folder, &mut packages)?;
    }
    let mut text = String::new();
    for (name, package) in &packages {
        write_package(&mut text, name, package, &packages).with_context(|| format!("package {name}"))?;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/kapi-proto/src/generated/messages.txt");
    std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
}

fn module_cache() -> Result<PathBuf> {
    let output = Command::new("go").args(["env", "GOMODCACHE"]).output().context("running go env GOMODCACHE")?;
    ensure!(output.status.success(), "go env GOMODCACHE failed");
    Ok(Path::new(String::from_utf8(output.stdout)?.trim()).join("k8s.io"))
}

/// One folder with a `generated.proto`.
struct Package {
    messages: BTreeMap<String, Message>,
    go: GoPackage,
    api_version: String,
}

fn collect(folder: &Path, packages: &mut BTreeMap<String, Package>) -> Result<()> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    entries.sort();
    for path in &entries {
        if path.is_dir() {
            collect(path, packages)?;
        } else if path.ends_with("generated.proto") {
            let file = idl::parse(&std::fs::read_to_string(path)?).with_context(|| path.display().to_string())?;
            if LEFT_OUT.contains(&file.package.as_str()) {
                continue;
            }
            let go = structs::read(folder)?;
            let version = file.package.rsplit('.').next().unwrap_or_default();
            let api_version = match go.group.as_deref() {
                None => "-".to_owned(),
                Some("") => version.to_owned(),
                Some(group) => format!("{group}/{version}"),
            };
            packages.insert(file.package, Package { messages: file.messages, go, api_version });
        }
    }
    Ok(())
}

/// Writes `# package apiVersion` and then one line per message, in the format that `kapi-proto` describes in `table.rs`.
fn write_package(
    text: &mut String,
    package: &str,
    content: &Package,
    packages: &BTreeMap<String, Package>,
) -> Result<()> {
    writeln!(text, "# {package} {}", content.api_version)?;
    for (name, message) in &content.messages {
        let full_name = format!("{package}.{name}");
        if NOT_IN_OBJECTS.contains(&full_name.as_str()) {
            continue;
        }
        let go = content.go.structs.get(name).or_else(|| {
            let (origin, copied) = content.go.copies.get(name)?;
            packages.get(origin)?.go.structs.get(copied)
        });
        if go.is_some_and(|go| go.is_kind) {
            text.push('+');
        }
        text.push_str(name);
        let shape = shape_of(&full_name);
        if let Some(shape) = shape {
            write!(text, " ={shape}")?;
        } else if content.go.lists.contains(name) {
            text.push_str(" =list");
        }
        let needs_tags = shape.is_none() && !content.go.lists.contains(name);
        for field in &message.fields {
            let tag = go.and_then(|go| go.fields.get(&field.number));
            ensure!(tag.is_some() || !needs_tags, "{name}.{} has no Go field", field.name);
            let written = write_field(field, tag, package, needs_tags);
            text.push_str(&written.with_context(|| format!("{name}.{}", field.name))?);
        }
        if let Some(go) = go.filter(|_| needs_tags) {
            ensure!(go.fields.len() == message.fields.len(), "{name} has Go fields that are not in the .proto file");
        }
        text.push('\n');
    }
    Ok(())
}

fn shape_of(full_name: &str) -> Option<&'static str> {
    let matches = |pattern: &str| match pattern.strip_prefix('.') {
        Some(name) => full_name.contains(".apiextensions.") && full_name.rsplit('.').next() == Some(name),
        None => full_name == pattern,
    };
    SHAPES.iter().find(|(pattern, _)| matches(pattern)).map(|(_, shape)| *shape)
}

fn write_field(field: &Field, tag: Option<&GoField>, package: &str, needs_tags: bool) -> Result<String> {
    let (mark, plain) = match field.label {
        Label::Repeated => ("[]", false),
        Label::Map => ("{}", false),
        Label::Optional => (if tag.is_some_and(|tag| tag.pointer) { "*" } else { "" }, true),
    };
    let scalar = idl::SCALARS.contains(&field.kind.as_str());
    let name = match tag.filter(|_| needs_tags) {
        Some(tag) if tag.inline => {
            ensure!(plain && !tag.pointer && !scalar, "inlined, but not a plain struct");
            ""
        }
        Some(tag) => {
            ensure!(!tag.json_name.is_empty(), "no JSON name");
            &tag.json_name
        }
        None => &field.name,
    };
    // Structs, lists, maps and pointers need no mark: Go never omits the first, and null stands for the others.
    let omitted = scalar && plain && mark.is_empty() && tag.is_some_and(|tag| tag.omit_empty);
    if tag.is_some_and(|tag| tag.omit_zero) {
        ensure!(field.kind.ends_with(".Time") || field.kind == "Time", "omitzero is only understood on Time");
    }
    let kind = field.kind.trim_start_matches('.');
    let kind = kind.strip_prefix(package).and_then(|rest| rest.strip_prefix('.')).unwrap_or(kind);
    Ok(format!(" {}:{name}:{mark}{kind}{}", field.number, if omitted { "?" } else { "" }))
}
