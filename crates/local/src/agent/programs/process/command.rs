//! How a process is put into its own network and file system.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use k8s_openapi::api::core::v1::VolumeMount;
use tokio::process::Command;

use crate::agent::files::place;
use crate::agent::program::Launch;
use crate::agent::volumes::Volume;

/// What is needed beside root.
const TOOLS: [&str; 7] = ["setpriv", "nsenter", "unshare", "mount", "chroot", "sh", "ip"];

/// The programs' path where a container names none.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Run as the first process of its own process and mount namespaces: builds a root of what the container may see and runs
/// the program in it. It stays as the parent, so that everything goes when it is killed.
///
/// Arguments: root, user or nothing, working directory, then source, target and `ro` or `rw` for each mount, `--`, and the
/// program.
const SCRIPT: &str = r#"
exec 2>&1
inner=$PATH; PATH=/usr/sbin:/usr/bin:/sbin:/bin
root=$1 user=$2 directory=$3; shift 3
mount -t tmpfs -o mode=755,size=16m tmpfs "$root"
cd "$root"
mkdir -p proc dev sys etc tmp var/tmp run usr/local/bin
chmod 1777 tmp var/tmp
mount -t proc proc proc
mount --rbind /dev dev
ln -s /run/butler/hosts etc/hosts
echo 'hosts: files dns' > etc/nsswitch.conf
echo 'root:x:0:0:root:/:/bin/sh' > etc/passwd
while [ "$1" != -- ]; do
  target=$root$2
  if [ -d "$1" ]; then mkdir -p "$target"; else mkdir -p "$(dirname "$target")"; : > "$target"; fi
  mount --bind "$1" "$target"
  if [ "$3" = ro ]; then mount -o remount,bind,ro "$target"; fi
  shift 3
done
shift
mkdir -p "$root$directory"
PATH=$inner
"$0" ${user:+--userspec="$user"} "$root" "$@" < /dev/null &
wait $!
"#;

/// Why processes cannot be run on this machine, if so.
pub(super) fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("processes of pods need root; start Butler as root, or with embedded control planes".into());
    }
    let tool = TOOLS.iter().find(|tool| find(tool).is_none())?;
    Some(format!("the program {tool} is missing; install util-linux, coreutils and iproute2"))
}

fn find(tool: &str) -> Option<PathBuf> {
    PATH.split(':').map(|folder| Path::new(folder).join(tool)).find(|path| path.is_file())
}

/// The command that runs a container.
pub(super) fn command_line(launch: &Launch, binary: &Path) -> io::Result<Command> {
    let root = launch.directory.join("roots").join(&launch.container.name);
    std::fs::create_dir_all(&root)?;
    let tool = |name: &str| find(name).ok_or_else(|| io::Error::other(format!("{name} is missing")));
    let mut command = Command::new(tool("setpriv")?);
    command.args(["--pdeathsig", "KILL", "--"]);
    if let Some(namespace) = &launch.namespace {
        command.arg(tool("nsenter")?).arg(format!("--net={namespace}")).arg("--");
    }
    command.arg(tool("unshare")?).args(["--mount", "--pid", "--fork", "--kill-child=KILL", "--"]);
    command.arg(tool("sh")?).args(["-ec", SCRIPT]).arg(tool("chroot")?);
    command.arg(&root).arg(user(launch)).arg(launch.container.working_dir.as_deref().unwrap_or("/"));
    for mount in mounts(launch, binary)? {
        command.arg(mount.source).arg(mount.target).arg(if mount.read_only { "ro" } else { "rw" });
    }
    command.arg("--").args(words(launch));
    command.env_clear().env("PATH", PATH).envs(launch.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    Ok(command)
}

/// The program and its arguments; an image's own program where none is named.
fn words(launch: &Launch) -> Vec<&str> {
    let words = launch.words.iter().map(String::as_str);
    match launch.container.command.as_deref() {
        Some([_, ..]) => words.collect(),
        _ => std::iter::once(launch.image().program).chain(words).collect(),
    }
}

fn user(launch: &Launch) -> String {
    let own = launch.container.security_context.as_ref();
    let pod = launch.pod.spec.as_ref().and_then(|spec| spec.security_context.as_ref());
    let user = own.and_then(|own| own.run_as_user).or_else(|| pod.and_then(|pod| pod.run_as_user));
    let group = own.and_then(|own| own.run_as_group).or_else(|| pod.and_then(|pod| pod.run_as_group));
    match (user, group) {
        (None, None) => String::new(),
        (user, group) => format!("{}:{}", user.unwrap_or(0), group.unwrap_or(0)),
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Mount {
    source: PathBuf,
    target: String,
    read_only: bool,
}

/// What the container sees of this machine, outer places first.
fn mounts(launch: &Launch, binary: &Path) -> io::Result<Vec<Mount>> {
    let fixed =
        |source: &Path, target: &str| Mount { source: source.to_owned(), target: target.into(), read_only: true };
    let mut out =
        vec![fixed(binary, &format!("/usr/local/bin/{}", launch.image().program)), fixed(&launch.names, "/run/butler")];
    let certificates = Path::new("/etc/ssl");
    if certificates.is_dir() {
        out.push(fixed(certificates, "/etc/ssl"));
    }
    for mount in launch.container.volume_mounts.iter().flatten() {
        if let Some(volume) = launch.volumes.get(&mount.name) {
            out.push(volume_mount(launch, mount, volume)?);
        }
    }
    out.sort_by_key(|mount| mount.target.len());
    Ok(out)
}

fn volume_mount(launch: &Launch, mount: &VolumeMount, volume: &Volume) -> io::Result<Mount> {
    let mut source = place(&mount.name, volume, &launch.directory.join("volumes"));
    if let Some(inner) = mount.sub_path.as_deref().filter(|inner| !inner.is_empty()) {
        if Path::new(inner).components().any(|part| !matches!(part, std::path::Component::Normal(_))) {
            return Err(io::Error::other(format!("the path {inner:?} leads out of the volume {}", mount.name)));
        }
        source = source.join(inner);
        if matches!(volume, Volume::Directory { .. }) && !source.exists() {
            std::fs::create_dir_all(&source)?;
        }
    }
    let read_only = mount.read_only == Some(true) || matches!(volume, Volume::Files(_));
    Ok(Mount { source, target: mount.mount_path.clone(), read_only })
}
