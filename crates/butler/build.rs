//! Takes the CRDs of `crds/` and `crds/capi/` into the program, as the JSON that is sent to install them.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../crds");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder)?.chain(fs::read_dir(folder.join("capi"))?) {
        files.push(entry?.path());
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let mut entries = String::new();
    for file in files {
        let definition = kernel::yaml::value(&fs::read_to_string(&file)?)?;
        let name = definition["metadata"]["name"].as_str().ok_or_else(|| format!("{} has no name", file.display()))?;
        entries.push_str(&format!("({name:?}, {:?}),\n", definition.to_string()));
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("crds.rs"), format!("&[\n{entries}]"))?;
    Ok(())
}
