//! A thread that all processes are children of.

use std::io;
use std::sync::mpsc;

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Starts processes from one thread that lives as long as this. They ask the kernel to be killed when the thread that made
/// them ends, and threads of the runtime come and go.
pub(super) struct Spawner {
    requests: mpsc::Sender<(Command, oneshot::Sender<io::Result<Child>>)>,
}

impl Spawner {
    /// Starts the thread; within a runtime.
    pub(super) fn start() -> Self {
        let (requests, received) = mpsc::channel::<(Command, oneshot::Sender<io::Result<Child>>)>();
        let runtime = Handle::current();
        // Without the thread nobody receives, and every start fails with that.
        let _ = std::thread::Builder::new().name("processes".into()).spawn(move || {
            let _runtime = runtime.enter();
            for (mut command, reply) in received {
                let _ = reply.send(command.spawn());
            }
        });
        Self { requests }
    }

    /// Starts a process.
    pub(super) async fn spawn(&self, command: Command) -> io::Result<Child> {
        let gone = || io::Error::other("the thread of processes is gone");
        let (reply, answer) = oneshot::channel();
        self.requests.send((command, reply)).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}
