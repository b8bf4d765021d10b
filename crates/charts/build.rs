//! Puts the files of `charts/`, `definitions/` and `manifests/` into the crate, by name, in order.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut code = String::new();
    for (list, folder) in [("CHARTS", "../../charts"), ("DEFINITIONS", "definitions"), ("MANIFESTS", "manifests")] {
        let folder = here.join(folder).canonicalize()?;
        let mut files = Vec::new();
        collect(&folder, &mut files)?;
        files.sort();
        let _ = writeln!(code, "pub(crate) static {list}: &[(&str, &str)] = &[");
        for file in files {
            let name = file.strip_prefix(&folder).unwrap_or(&file).to_string_lossy().replace('\\', "/");
            let _ = writeln!(code, "    ({name:?}, include_str!({:?})),", file.display().to_string());
        }
        code.push_str("];\n");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("embedded.rs"), code)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    // Of a folder, cargo looks at what is in it now and later.
    let mut out = io::stdout();
    io::Write::write_all(&mut out, format!("cargo::rerun-if-changed={}\n", folder.display()).as_bytes())?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
