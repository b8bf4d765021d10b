//! The CRDs as files: `crds/<group>_<plural>.yaml`, and those of Cluster API in `crds/capi/`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use butler_api::CustomResourceDefinition;

use crate::say;

/// Where the CRDs of Cluster API are: elsewhere they come from Cluster API itself.
const CAPI: &str = "capi";

/// Writes every CRD and removes files of kinds that are gone.
pub(crate) fn write() -> anyhow::Result<()> {
    let directory = directory();
    let capi = directory.join(CAPI);
    fs::create_dir_all(&capi).with_context(|| format!("cannot make {}", capi.display()))?;
    let wanted = wanted()?;
    for name in present(&directory)?.into_iter().filter(|name| !wanted.contains_key(name)) {
        let path = directory.join(&name);
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        say(&format!("removed crds/{name}"));
    }
    for (name, text) in &wanted {
        let path = directory.join(name);
        if read(&path)?.as_ref() != Some(text) {
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            say(&format!("wrote crds/{name}"));
        }
    }
    Ok(())
}

/// Fails, naming the files, when the directory is not what [`write()`] would leave.
pub(crate) fn check() -> anyhow::Result<()> {
    let directory = directory();
    let wanted = wanted()?;
    let mut stale: BTreeSet<String> =
        present(&directory)?.into_iter().filter(|name| !wanted.contains_key(name)).collect();
    for (name, text) in wanted {
        if read(&directory.join(&name))?.as_ref() != Some(&text) {
            stale.insert(name);
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    let names = stale.into_iter().collect::<Vec<_>>().join(", ");
    bail!("crds/ is not what crates/api and crates/capi say: run `cargo xtask crds` and commit it ({names})")
}

fn wanted() -> anyhow::Result<BTreeMap<String, String>> {
    let own = butler_api::crds().into_iter().map(|crd| (file_name(&crd), "crates/api", crd));
    let capi = capi::crds().into_iter().map(|crd| (format!("{CAPI}/{}", file_name(&crd)), "crates/capi", crd));
    let file = |(name, source, crd): (_, &str, _)| Ok((name, format!("{}{}", header(source), yaml(&crd)?)));
    own.chain(capi).map(file).collect()
}

fn header(source: &str) -> String {
    format!("# Generated from {source} by `cargo xtask crds`. Do not edit.\n")
}

/// Through a JSON value, so that the order of keys is the alphabet's and not that of some struct.
fn yaml(crd: &CustomResourceDefinition) -> anyhow::Result<String> {
    Ok(kernel::yaml::to_string(&serde_json::to_value(crd)?)?)
}

fn file_name(crd: &CustomResourceDefinition) -> String {
    format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural)
}

/// Names of the YAML files below `directory`, relative to it.
fn present(directory: &Path) -> anyhow::Result<Vec<String>> {
    let below = yaml_files(&directory.join(CAPI))?.into_iter().map(|name| format!("{CAPI}/{name}"));
    Ok(yaml_files(directory)?.into_iter().chain(below).collect())
}

fn yaml_files(directory: &Path) -> anyhow::Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| format!("cannot read {}", directory.display()))?,
    };
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.filter(|name: &anyhow::Result<String>| name.as_ref().map_or(true, |name| name.ends_with(".yaml"))).collect()
}

fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => Ok(Some(text.with_context(|| format!("cannot read {}", path.display()))?)),
    }
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crds")
}
