//! Real etcd servers on free loopback ports, with TLS and client certificates, for tests.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use jiff::{SignedDuration, Timestamp};
use pki::{Authority, ClientProfile, Leaf, ServerProfile, Subject, SubjectAltNames, SystemKeys, Validity};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::{Access, Client, DEADLINE, ROOT, Tenancy};

/// The release tests are made for; `scripts/etcd` brings it.
const VERSION: &str = "v3.6.16";

/// A running etcd of one or more members. Dropping it ends them and removes their data.
pub struct Etcd {
    authority: Authority,
    endpoints: Vec<String>,
    // Dropped before the folder they write to.
    members: Vec<Child>,
    folder: TempDir,
}

/// The folder that keeps downloaded and built programs.
pub fn cache() -> PathBuf {
    if let Some(folder) = std::env::var_os("BUTLER_CACHE") {
        return folder.into();
    }
    PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/butler")
}

/// Finds a program in the cache, or says in one sentence what is missing.
pub fn find(path: &str, script: &str) -> Result<PathBuf, String> {
    let program = cache().join(path);
    if program.is_file() {
        Ok(program)
    } else {
        Err(format!("{} is not there ({script} brings it)", program.display()))
    }
}

/// Where etcd is, or what is missing.
pub fn program() -> Result<PathBuf, String> {
    find(&format!("etcd/{VERSION}/etcd"), "scripts/etcd")
}

impl Etcd {
    /// Starts one member with authentication on.
    pub async fn start(program: &Path) -> anyhow::Result<Self> {
        let etcd = Self::start_open(program, 1, &[]).await?;
        Tenancy::new(etcd.client(ROOT)?)?.bootstrap_auth().await?;
        Ok(etcd)
    }

    /// Starts some members with further arguments, where everybody with a certificate may do everything.
    pub async fn start_open(program: &Path, members: usize, arguments: &[&str]) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("etcd-").tempdir()?;
        let authority = Authority::new(&Subject::named("etcd-ca"), validity(), &SystemKeys)?;
        let profile = ServerProfile {
            subject: Subject::named("etcd"),
            hosts: SubjectAltNames::from_hosts(["127.0.0.1", "localhost"]),
            validity: validity(),
        };
        fs::write(folder.path().join("ca.crt"), authority.certificate_pem())?;
        write_leaf(folder.path(), "server", &authority.issue_peer(&profile, &SystemKeys)?)?;

        let ports = free_ports(2 * members)?;
        let (client_ports, peer_ports) = ports.split_at(members);
        let names = || (0..members).map(|member| format!("member-{member}")).zip(peer_ports);
        let cluster: Vec<String> = names().map(|(name, port)| format!("{name}=http://127.0.0.1:{port}")).collect();
        let cluster = format!("--initial-cluster={}", cluster.join(","));
        let mut etcd = Self { authority, endpoints: Vec::new(), members: Vec::new(), folder };
        for ((name, peer_port), client_port) in names().zip(client_ports) {
            let (client, peer) = (format!("https://127.0.0.1:{client_port}"), format!("http://127.0.0.1:{peer_port}"));
            let flags = [
                ("--name", name.as_str()),
                ("--data-dir", &name),
                ("--listen-client-urls", &client),
                ("--advertise-client-urls", &client),
                ("--listen-peer-urls", &peer),
                ("--initial-advertise-peer-urls", &peer),
                ("--trusted-ca-file", "ca.crt"),
                ("--cert-file", "server.crt"),
                ("--key-file", "server.key"),
            ];
            let mut command: Vec<String> = flags.iter().map(|(flag, value)| format!("{flag}={value}")).collect();
            // Nothing here outlives the process.
            command.extend(["--client-cert-auth", "--unsafe-no-fsync", &cluster].map(str::to_owned));
            command.extend(arguments.iter().map(|argument| (*argument).to_owned()));
            etcd.members.push(start(program, etcd.folder.path(), &format!("{name}.log"), &command)?);
            etcd.endpoints.push(format!("127.0.0.1:{client_port}"));
        }
        etcd.wait().await?;
        Ok(etcd)
    }

    /// Where its members listen, as `host:port`.
    pub fn endpoints(&self) -> &[String] {
        &self.endpoints
    }

    /// The authority of servers and clients.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// A folder for other files of the test.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What a user needs to come in.
    pub fn access(&self, user: &str) -> anyhow::Result<Access> {
        access(&self.authority, &self.authority, user, &self.endpoints)
    }

    /// A client of a user.
    pub fn client(&self, user: &str) -> anyhow::Result<Client> {
        Ok(Client::new(&self.access(user)?)?)
    }

    /// Ends a member.
    pub async fn stop(&mut self, member: usize) -> anyhow::Result<()> {
        Ok(self.members.get_mut(member).context("no such member")?.kill().await?)
    }

    async fn wait(&mut self) -> anyhow::Result<()> {
        let begun = Instant::now();
        for endpoint in self.endpoints.clone() {
            let client = Client::new(&access(&self.authority, &self.authority, ROOT, &[endpoint])?)?;
            while let Err(error) = client.status().await {
                for member in &mut self.members {
                    if let Some(status) = member.try_wait()? {
                        bail!("etcd ended with {status}: {}", self.log());
                    }
                }
                if begun.elapsed() > Duration::from_secs(60) {
                    bail!("{error}: {}", self.log());
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        Ok(())
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("member-0.log")).unwrap_or_default()
    }
}

/// Access of a user whose certificate is signed by `client_ca` to servers trusted by `server_ca`.
pub fn access(
    server_ca: &Authority,
    client_ca: &Authority,
    user: &str,
    endpoints: &[String],
) -> anyhow::Result<Access> {
    let leaf =
        client_ca.issue_client(&ClientProfile { subject: Subject::named(user), validity: validity() }, &SystemKeys)?;
    Ok(Access {
        endpoints: endpoints.to_vec(),
        ca: server_ca.certificate_pem(),
        certificate: leaf.certificate_pem(),
        key: leaf.key_pem().clone(),
        deadline: DEADLINE,
    })
}

/// A validity longer than any test.
pub fn validity() -> Validity {
    pki::validity_from(Timestamp::now(), SignedDuration::from_hours(24))
}

/// Ports that nobody uses at the moment.
pub fn free_ports(count: usize) -> anyhow::Result<Vec<u16>> {
    // All are held until all are known, so that they differ.
    let held = (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<Vec<_>, _>>()?;
    held.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

/// Writes `<name>.crt` and `<name>.key`.
pub fn write_leaf(folder: &Path, name: &str, leaf: &Leaf) -> anyhow::Result<()> {
    fs::write(folder.join(format!("{name}.crt")), leaf.certificate_pem())?;
    Ok(fs::write(folder.join(format!("{name}.key")), leaf.key_pem().expose())?)
}

/// Starts a program that ends when dropped.
pub fn start(program: &Path, folder: &Path, log: &str, arguments: &[String]) -> anyhow::Result<Child> {
    let log = fs::File::create(folder.join(log))?;
    Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))
}
