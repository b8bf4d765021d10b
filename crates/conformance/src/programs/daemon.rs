//! A program that keeps running next to the test, with a log.

use std::path::{Path, PathBuf};

use crate::real::{Process, start};

/// A running program. Dropping it ends it.
pub(super) struct Daemon {
    _process: Process,
    name: &'static str,
    log: PathBuf,
}

impl Daemon {
    /// Starts a program in a folder that also gets its log.
    pub(super) fn start(name: &'static str, program: &Path, folder: &Path, arguments: &[&str]) -> anyhow::Result<Self> {
        let log = format!("{name}.log");
        let process = start(program, folder, &log, arguments)?;
        Ok(Self { _process: process, name, log: folder.join(log) })
    }

    /// The end of its log, for reports of failures.
    pub(super) fn last_lines(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let mut lines: Vec<&str> = text.lines().rev().take(40).collect();
        lines.push("");
        lines.reverse();
        format!("the last lines of {}:{}", self.name, lines.join("\n"))
    }
}
