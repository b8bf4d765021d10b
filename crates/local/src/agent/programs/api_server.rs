//! kube-apiserver as an API in this process.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use kapi::{Api, Identity, Options, Plane, Security, Server};
use kernel::version::Version;
use kube::ResourceExt;
use pki::{Authority, PublicKey, Secret, ServiceAccountKey};
use runtime::Clock;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::controllers::RunningApis;
use crate::agent::flags::Flags;
use crate::agent::program::{Control, Exit, Launch, NotStarted, Place, Program, Running};
use crate::network::Doors;

/// Flags that decide how the API is.
const HONOURED: [&str; 11] = [
    "bind-address",
    "client-ca-file",
    "etcd-prefix",
    "secure-port",
    "service-account-issuer",
    "service-account-key-file",
    "service-account-signing-key-file",
    "service-cluster-ip-range",
    "service-node-port-range",
    "tls-cert-file",
    "tls-private-key-file",
];

/// Flags of every hosted control plane that change nothing here: what they ask for is so anyway, or has no counterpart.
const WITHOUT_EFFECT: [&str; 18] = [
    "advertise-address",
    "egress-selector-config-file",
    "enable-admission-plugins",
    "etcd-cafile",
    "etcd-certfile",
    "etcd-keyfile",
    "etcd-servers",
    "etcd-servers-overrides",
    "kubelet-client-certificate",
    "kubelet-client-key",
    "kubelet-preferred-address-types",
    "proxy-client-cert-file",
    "proxy-client-key-file",
    "requestheader-allowed-names",
    "requestheader-client-ca-file",
    "requestheader-extra-headers-prefix",
    "requestheader-group-headers",
    "requestheader-username-headers",
];

/// Flags that hosted control planes have with these values unless somebody wants others, in vain.
const PRESET: [(&str, &str); 7] = [
    ("allow-privileged", "true"),
    ("authorization-mode", "Node,RBAC"),
    ("enable-bootstrap-token-auth", "true"),
    ("etcd-compaction-interval", "0"),
    ("profiling", "false"),
    ("shutdown-delay-duration", "5s"),
    ("shutdown-send-retry-after", "true"),
];

/// Runs APIs on the store of a plane.
pub(super) struct ApiServers {
    plane: Plane,
    clock: Clock,
    doors: Doors,
    running: RunningApis,
}

impl ApiServers {
    pub(super) fn new(plane: Plane, clock: Clock, doors: Doors) -> Self {
        Self { plane, clock, doors, running: Arc::new(watch::Sender::new(HashMap::new())) }
    }

    /// The APIs that run, by pod.
    pub(super) fn running(&self) -> RunningApis {
        Arc::clone(&self.running)
    }

    async fn run(&self, launch: Launch, control: Control) -> Result<Running, String> {
        let flags = Flags::parse(launch.words.iter().map(String::as_str));
        let ignored = ignored(&flags);
        if !ignored.is_empty() {
            control.warn("FlagsIgnored", format!("flags without effect on the embedded API: {ignored}"));
        }
        let setup = Setup::of(&flags, &launch, &self.clock)?;
        let at = SocketAddr::new(launch.addresses.bound, setup.port);
        let listener = TcpListener::bind(at).await.map_err(|error| format!("failed to listen on {at}: {error}"))?;
        let api = self.plane.api(&setup.name, setup.options).await.map_err(|error| error.to_string())?;
        let pod = launch.pod.uid().unwrap_or_default();
        let open = Open::new(self.plane.clone(), api.clone(), Arc::clone(&self.running), pod);
        let server = Arc::new(Server::new(api, &setup.identity).map_err(|error| error.to_string())?);
        let door = self.doors.open(at, Arc::clone(&server));
        // It answers as soon as it listens.
        control.report(true, true);
        let running = async move {
            let stop = async {
                control.stopping().await;
                // Nobody new is let in while the others finish.
                drop(door);
            };
            server.serve(listener, stop).await;
            drop(open);
            Exit::done()
        };
        Ok(running.boxed())
    }
}

impl Program for ApiServers {
    fn start(&self, launch: Launch, control: Control) -> BoxFuture<'_, Result<Running, NotStarted>> {
        async move {
            if let Some(message) = unreleased(launch.image().version) {
                return Err(NotStarted::Waiting { reason: "ErrImagePull", message });
            }
            self.run(launch, control).await.map_err(|message| NotStarted::Exited(Exit::failed(message)))
        }
        .boxed()
    }
    fn place(&self) -> Place {
        Place::Process
    }
}

/// No minor of Kubernetes has come near so many patches.
const MOST_PATCHES: u32 = 99;

/// Why no registry would have an image of a version: it is a slip.
fn unreleased(version: &str) -> Option<String> {
    let slip = version.parse::<Version>().ok().filter(|version| version.patch > MOST_PATCHES)?;
    Some(format!("there is no Kubernetes {slip}, and so no image of it"))
}

/// A front end that is open. Closed when dropped, however its container ends.
struct Open {
    plane: Plane,
    api: Api,
    running: RunningApis,
    pod: String,
}

impl Open {
    fn new(plane: Plane, api: Api, running: RunningApis, pod: String) -> Self {
        running.send_modify(|running| {
            running.insert(pod.clone(), api.clone());
        });
        Self { plane, api, running, pod }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.running.send_modify(|running| {
            running.remove(&self.pod);
        });
        self.plane.close(&self.api);
    }
}

/// The name, in a plane's store, of the API whose kube-apiserver has this `--etcd-prefix`. It is never the name of an
/// API of the machine's own.
pub fn logical_api(etcd_prefix: &str) -> String {
    // A slash ends the name of an API in the store.
    format!("etcd:{}", etcd_prefix.trim_matches('/').replace('/', ":"))
}

/// The name of the API that the kube-apiserver of a pod serves.
pub(super) fn name_in(launch: &Launch) -> Option<String> {
    let server = launch.neighbour("kube-apiserver")?;
    Some(name(&Flags::parse(server.words.iter().map(String::as_str))))
}

fn name(flags: &Flags) -> String {
    logical_api(flags.get("etcd-prefix").unwrap_or("/registry"))
}

/// Flags that somebody added in vain.
fn ignored(flags: &Flags) -> String {
    let is_preset =
        |name: &str| PRESET.iter().any(|(preset, value)| *preset == name && flags.all(name).all(|v| v == *value));
    let known = |name: &&str| HONOURED.contains(name) || WITHOUT_EFFECT.contains(name) || is_preset(name);
    flags.names().filter(|name| !known(name)).map(|name| format!("--{name}")).collect::<Vec<_>>().join(", ")
}

/// An API as its command line wants it.
struct Setup {
    name: String,
    port: u16,
    options: Options,
    identity: Identity,
}

impl Setup {
    fn of(flags: &Flags, launch: &Launch, clock: &Clock) -> Result<Self, String> {
        let needed = |name: &str| flags.get(name).ok_or_else(|| format!("the flag --{name} is missing"));
        let file = |name: &str| launch.read_text(needed(name)?);
        let number = |name: &str, text: &str| {
            text.parse::<u16>().map_err(|_| format!("invalid argument {text:?} for \"--{name}\" flag"))
        };
        let port = number("secure-port", flags.get("secure-port").unwrap_or("6443"))?;
        let mut options = Options {
            advertised_port: port,
            security: security(flags, launch)?,
            clock: Arc::clone(clock),
            ..Options::default()
        };
        let version = launch.image().version;
        if !version.is_empty() {
            options.version = version.to_owned();
        }
        if let Some(range) = flags.get("service-cluster-ip-range") {
            options.service_cidr = range.to_owned();
        }
        if let Some((first, last)) = flags.get("service-node-port-range").and_then(|range| range.split_once('-')) {
            options.node_ports = number("service-node-port-range", first)?..=number("service-node-port-range", last)?;
        }
        let identity =
            Identity { certificate: file("tls-cert-file")?, key: Secret::new(file("tls-private-key-file")?) };
        Ok(Self { name: name(flags), port, options, identity })
    }
}

fn security(flags: &Flags, launch: &Launch) -> Result<Security, String> {
    let read = |path: &str| launch.read_text(path);
    let signing = flags.get("service-account-signing-key-file").map(read).transpose()?;
    let service_account_key = signing
        .map(|pem| {
            ServiceAccountKey::from_pem(&pem)
                .map(Arc::new)
                .map_err(|error| format!("cannot use the service account signing key: {error}"))
        })
        .transpose()?;
    let mut service_account_public_keys = Vec::new();
    for path in flags.all("service-account-key-file") {
        let pem = read(path)?;
        // A private key will do as well, and only its public half is used.
        let key = PublicKey::from_pem(&pem)
            .or_else(|_| ServiceAccountKey::from_pem(&pem).map(|key| key.public_key().clone()))
            .map_err(|error| format!("cannot use {path}: {error}"))?;
        service_account_public_keys.push(key);
    }
    let manager = launch.neighbour("kube-controller-manager");
    let (root_authority, signer) = manager.as_ref().map(authorities).transpose()?.unwrap_or_default();
    Ok(Security {
        client_authorities: flags.get("client-ca-file").map(read).transpose()?,
        service_account_key,
        service_account_public_keys,
        issuer: flags.get("service-account-issuer").map(str::to_owned),
        root_authority,
        signer,
        ..Security::default()
    })
}

/// What the embedded API does in place of its kube-controller-manager needs that one's files: the authority it publishes
/// and the one it signs requests with.
fn authorities(manager: &Launch) -> Result<(Option<String>, Option<Arc<Authority>>), String> {
    let flags = Flags::parse(manager.words.iter().map(String::as_str));
    let read = |name: &str| flags.get(name).map(|path| manager.read_text(path)).transpose();
    let signer = match (read("cluster-signing-cert-file")?, read("cluster-signing-key-file")?) {
        (Some(certificate), Some(key)) => {
            let authority = Authority::from_pem(&certificate, &key);
            Some(Arc::new(authority.map_err(|error| format!("cannot use the signing authority: {error}"))?))
        }
        _ => None,
    };
    Ok((read("root-ca-file")?, signer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_name_apis_that_are_no_others() {
        for (prefix, name) in
            [("/registry", "etcd:registry"), ("/steward/0f1e", "etcd:steward:0f1e"), ("management", "etcd:management")]
        {
            assert_eq!(logical_api(prefix), name);
        }
    }

    #[test]
    fn slips_have_no_image() {
        for (version, is_slip) in
            [("v1.35.4", false), ("v1.35.99", false), ("v1.35.999", true), ("", false), ("mine", false)]
        {
            assert_eq!(unreleased(version).is_some(), is_slip, "{version}");
        }
    }

    #[test]
    fn flags_that_do_nothing_are_named() {
        for (words, expected) in [
            (
                vec!["--secure-port=1", "--colour=red", "--authorization-mode=Node,RBAC", "--tls-cert=x"],
                "--colour, --tls-cert",
            ),
            // What replaces what Steward sets is ignored, too.
            (vec!["--authorization-mode=AlwaysAllow", "--profiling=false"], "--authorization-mode"),
            (
                vec!["--profiling", "--shutdown-delay-duration=5s", "--allow-privileged=false"],
                "--profiling, --allow-privileged",
            ),
        ] {
            assert_eq!(ignored(&Flags::parse(words)), expected);
        }
    }
}
