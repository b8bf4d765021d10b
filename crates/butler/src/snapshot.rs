//! `butler snapshot`: the Butler that runs copies its own store, asked through a socket in its data directory.
//!
//! The client sends the path of the file to write and closes its half; the answer is [`DONE`] or why not.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use kapi_store::Store;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

use crate::data_dir::DataDir;
use crate::{Place, tell};

const DONE: &[u8] = b"done";
/// No path is longer; nobody may make Butler read for ever.
const LONGEST_REQUEST: u64 = 4096;

#[derive(Args)]
pub(crate) struct SnapshotArgs {
    #[command(flatten)]
    place: Place,
    /// The file to write; it must not exist. `butler up --restore FILE` starts from it. Keys (pki/) are not in it
    file: PathBuf,
}

impl SnapshotArgs {
    pub(crate) async fn run(self) -> Result<()> {
        let data = DataDir::of(&self.place)?;
        if data.running()?.is_none() {
            let (path, store) = (data.path().display(), data.store());
            bail!("Butler does not run in {path}; start it first, or copy {}", store.display());
        }
        let file =
            std::path::absolute(&self.file).with_context(|| format!("cannot resolve {}", self.file.display()))?;
        let answer = ask(&data, file.as_os_str().as_bytes()).await;
        let answer = answer.with_context(|| format!("cannot ask the Butler that runs in {}", data.path().display()))?;
        if answer != DONE {
            bail!("no snapshot was made: {}", String::from_utf8_lossy(&answer));
        }
        tell(&format!("The snapshot is in {}", file.display()));
        Ok(())
    }
}

async fn ask(data: &DataDir, request: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(data.socket()).await?;
    stream.write_all(request).await?;
    stream.shutdown().await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(answer)
}

/// Answers requests for snapshots as long as the process lives. The caller holds the data directory, so a socket that is
/// there already is a dead one's.
pub(crate) fn serve(data: &DataDir, store: Store) -> Result<()> {
    let path = data.socket();
    let _ = fs::remove_file(&path);
    let listener = UnixListener::bind(&path).with_context(|| format!("cannot listen on {}", path.display()))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))
        .with_context(|| format!("cannot close {} to others", path.display()))?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Err(error) = answer(stream, store.clone()).await {
                tracing::warn!(%error, "a request for a snapshot ended early");
            }
        }
    });
    Ok(())
}

async fn answer(stream: UnixStream, store: Store) -> Result<()> {
    let (reading, mut writing) = stream.into_split();
    let mut request = Vec::new();
    reading.take(LONGEST_REQUEST).read_to_end(&mut request).await?;
    let file = PathBuf::from(OsString::from_vec(request));
    let made = tokio::task::spawn_blocking(move || store.snapshot(&file).map_err(anyhow::Error::from)).await?;
    let answer = made.map_or_else(|error| format!("{error:#}").into_bytes(), |()| DONE.to_vec());
    writing.write_all(&answer).await?;
    Ok(())
}
