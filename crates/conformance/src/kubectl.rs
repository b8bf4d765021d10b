//! Runs the real kubectl in a home of its own against a target.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::real::cache;
use crate::target::Target;

/// The releases the suite runs.
pub const VERSIONS: [&str; 2] = ["1.31", "1.36"];

/// Where the kubectl of a release is, or in one sentence what is missing.
pub fn program(version: &str) -> Result<PathBuf, String> {
    let program = cache().join("tools").join(format!("kubectl-{version}"));
    if program.is_file() {
        Ok(program)
    } else {
        Err(format!("{} is not there (scripts/tools brings it)", program.display()))
    }
}

/// kubectl of one release with its own home, cache and kubeconfig.
pub(crate) struct Kubectl {
    program: PathBuf,
    home: tempfile::TempDir,
}

/// A kubectl that keeps running, such as `get -w`.
pub(crate) struct Running {
    // Ends with the case, also when the case fails.
    _child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Kubectl {
    pub(crate) fn new(version: &str, target: &Target, namespace: &str) -> anyhow::Result<Self> {
        let home = tempfile::Builder::new().prefix("kubectl-").tempdir()?;
        std::fs::write(home.path().join("config"), target.kubeconfig("admin", namespace)?)?;
        Ok(Self { program: program(version).map_err(anyhow::Error::msg)?, home })
    }

    /// The folder that shows up in texts.
    pub(crate) fn home(&self) -> String {
        self.home.path().display().to_string()
    }

    /// Writes a file that later commands name.
    pub(crate) fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        Ok(std::fs::write(self.home.path().join(name), text)?)
    }

    /// Runs a command line to its end.
    pub(crate) async fn run(&self, line: &str, input: &str, patience: Duration) -> anyhow::Result<Value> {
        let mut child = self.command(line)?.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes()).await?;
        }
        let output = tokio::time::timeout(patience, child.wait_with_output())
            .await
            .with_context(|| format!("kubectl {line} does not end"))??;
        let lines = |bytes: &[u8]| -> Vec<String> { String::from_utf8_lossy(bytes).lines().map(squeeze).collect() };
        let mut seen = json!({"exit": output.status.code()});
        for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            if !bytes.is_empty() {
                let lines = lines(bytes);
                seen[name] = json!(if line.trim_start().starts_with("explain") { without_prose(lines) } else { lines });
            }
        }
        Ok(seen)
    }

    /// Starts a command line that does not end by itself.
    pub(crate) fn start(&self, line: &str) -> anyhow::Result<Running> {
        let mut child = self.command(line)?.stdin(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let stdout = child.stdout.take().context("no output")?;
        Ok(Running { _child: child, lines: BufReader::new(stdout).lines() })
    }

    fn command(&self, line: &str) -> anyhow::Result<Command> {
        let mut command = Command::new(&self.program);
        command
            .args(words(line)?)
            .current_dir(self.home.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("TMPDIR", self.home.path())
            .env("KUBECONFIG", self.home.path().join("config"))
            .env("KUBE_EDITOR", "sed -i s/before/after/")
            .env("KUBECTL_EXTERNAL_DIFF", "diff -r")
            .env("TZ", "UTC")
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        Ok(command)
    }
}

impl Running {
    /// The next lines of output.
    pub(crate) async fn lines(&mut self, count: usize, patience: Duration) -> anyhow::Result<Value> {
        let mut seen = Vec::new();
        while seen.len() < count {
            match tokio::time::timeout(patience, self.lines.next_line()).await {
                Ok(line) => seen.push(squeeze(&line?.with_context(|| format!("it ended after {seen:?}"))?)),
                Err(_) => bail!("only {} of {count} lines came: {seen:?}", seen.len()),
            }
        }
        Ok(json!(seen))
    }
}

/// What `kubectl explain` prints, with each paragraph of a description reduced to a number: the sentences are
/// Kubernetes' own and are compared without being kept.
fn without_prose(lines: Vec<String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut paragraph = String::new();
    let is_prose = |line: &str| line.starts_with("    ") && !matches!(line.trim(), "" | "<no description>");
    for line in lines.into_iter().chain(std::iter::once(String::new())) {
        if is_prose(&line) {
            paragraph.push_str(line.trim());
            paragraph.push(' ');
            continue;
        }
        if !paragraph.is_empty() {
            out.push(format!("    <prose {:016x}>", fingerprint(&paragraph)));
            paragraph.clear();
        }
        out.push(line);
    }
    // The line that ended the last paragraph was ours.
    out.pop();
    out
}

/// FNV-1a: stable over releases of the compiler, unlike the standard hasher.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Columns move with the width of ages and generated names: keep that there is a gap, not how wide it is.
fn squeeze(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let (indent, rest) = line.split_at(indent);
    let mut out = indent.to_owned();
    let mut gap = 0;
    for c in rest.trim_end().chars() {
        if c == ' ' {
            gap += 1;
            continue;
        }
        out.push_str(match gap {
            0 => "",
            1 => " ",
            _ => "  ",
        });
        gap = 0;
        out.push(c);
    }
    out
}

/// Splits a command line; single quotes keep words together.
fn words(line: &str) -> anyhow::Result<Vec<String>> {
    let (mut words, mut word, mut quoted, mut begun) = (Vec::new(), String::new(), false, false);
    for c in line.chars() {
        match c {
            '\'' => (quoted, begun) = (!quoted, true),
            ' ' if !quoted => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            c => {
                word.push(c);
                begun = true;
            }
        }
    }
    if quoted {
        bail!("an open quote in {line}");
    }
    if begun {
        words.push(word);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::{squeeze, words};

    #[test]
    fn command_lines_are_split_at_spaces_outside_quotes() {
        assert_eq!(words("get cm  -o 'jsonpath={.a} x' ''").unwrap(), ["get", "cm", "-o", "jsonpath={.a} x", ""]);
        assert!(words("a 'b").is_err());
    }

    #[test]
    fn gaps_between_columns_are_narrowed_and_indents_kept() {
        assert_eq!(squeeze("  NAME    DATA   AGE "), "  NAME  DATA  AGE");
        assert_eq!(squeeze("one word"), "one word");
    }
}
