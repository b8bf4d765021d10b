//! A `butler` program under test, with a data directory of its own.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// A `butler up` in the foreground. Dropping it kills it.
pub(crate) struct Butler {
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Butler {
    /// Starts one on a free port and reads what it says until it is ready.
    pub(crate) fn up(data: &Path) -> Self {
        let mut child = command(data, "up")
            .args(["--api-port", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("export KUBECONFIG") {
            assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "butler up ended: {said}");
        }
        Self { child, stderr }
    }

    /// Its process.
    pub(crate) fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end: whether it was a success, and the last lines it said.
    pub(crate) fn ended(mut self) -> (bool, String) {
        let mut said = String::new();
        std::io::Read::read_to_string(&mut self.stderr, &mut said).unwrap();
        (self.child.wait().unwrap().success(), said)
    }
}

impl Drop for Butler {
    fn drop(&mut self) {
        // Fails only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `butler <command> --data-dir <data>`.
pub(crate) fn command(data: &Path, command: &str) -> Command {
    let mut butler = Command::new(env!("CARGO_BIN_EXE_butler"));
    butler.arg(command).arg("--data-dir").arg(data);
    butler
}

/// Runs a command to its end.
pub(crate) fn run(data: &Path, name: &str, arguments: &[&str]) -> Output {
    command(data, name).args(arguments).output().unwrap()
}

/// An administrator's client that asks everything once: a retry could hide a lost answer.
pub(crate) async fn client(data: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(data.join("kubeconfig")).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    config.default_retry = false;
    Client::try_from(config).unwrap()
}
