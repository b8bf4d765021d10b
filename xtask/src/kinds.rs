//! `cargo xtask kinds`: reads the built-in kinds off a real kube-apiserver and writes the tables of `kapi-kinds`.
//!
//! Everything is sorted and one entry fills one line, so that the same server always gives the same files and a newer
//! one gives a readable diff. Prose is left out: schemas come without descriptions, objects without their comments.

mod described;
mod objects;
mod server;
mod tables;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use server::Server;

/// Runs the command with the arguments after its name.
pub(crate) fn run(mut args: impl Iterator<Item = String>) -> Result<()> {
    let (mut url, mut token, mut ca) = (None, None, None);
    while let Some(flag) = args.next() {
        let slot = match flag.as_str() {
            "--server" => &mut url,
            "--token" => &mut token,
            "--ca" => &mut ca,
            other => bail!("unknown flag {other}"),
        };
        *slot = Some(args.next().with_context(|| format!("{flag} needs a value"))?);
    }
    let server = Server {
        url: url.context("--server URL is missing")?,
        token: token.context("--token TOKEN is missing")?,
        ca: ca.map(PathBuf::from),
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/kapi-kinds/src/generated");

    let version = server.get("/version")?["gitVersion"].as_str().context("the server gives no version")?.to_owned();
    let discovery = tables::discover(&server)?;
    let documents = tables::documents(&server, &discovery)?;
    let schemas = tables::schemas(&documents);
    let resources = tables::resources(&server, &discovery, &documents, &schemas)?;

    let mut text = format!("{{\n\"kubernetes\":{},\n", Value::from(version));
    text += &format!("\"groups\":[\n{}\n],\n", lines(&tables::groups(&discovery)));
    text += &format!("\"resources\":[\n{}\n]\n}}\n", lines(&resources));
    write(&folder, "resources.json", &text)?;

    let schemas: Vec<String> =
        schemas.iter().map(|(name, schema)| format!("{}:{schema}", Value::from(name.as_str()))).collect();
    write(&folder, "schemas.json", &format!("{{\n{}\n}}\n", schemas.join(",\n")))?;

    write(&folder, "rbac.json", &format!("[\n{}\n]\n", lines(&objects::rbac(&server)?)))?;
    write(&folder, "objects.json", &format!("[\n{}\n]\n", lines(&objects::others(&server)?)))?;
    write(&folder, "described.rs", &described::source(&resources))
}

fn lines(values: &[Value]) -> String {
    values.iter().map(Value::to_string).collect::<Vec<_>>().join(",\n")
}

fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    let path = folder.join(name);
    std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
}
