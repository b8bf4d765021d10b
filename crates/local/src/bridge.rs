//! Networks of their own for pods: namespaces on a bridge, and ranges of addresses that this machine answers for.
//!
//! Needs root and iproute2. Everything is named after the bridge, so that what a killed process left behind is found and
//! removed at the next start, and several machines can live on one.

use std::net::IpAddr;
use std::process::Stdio;

use ipnet::IpNet;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// A bridge with the networks of pods on it.
#[derive(Clone, Debug)]
pub struct Bridge {
    name: String,
    pods: IpNet,
    gateway: IpAddr,
}

/// The network cannot be changed as needed.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// A program cannot be started.
    #[error("cannot run ip; networks of pods need root and iproute2")]
    Start(#[source] std::io::Error),
    /// A change was refused.
    #[error("ip refused {commands:?}: {detail}")]
    Refused {
        /// What was asked for.
        commands: String,
        /// What it said.
        detail: String,
    },
    /// The range of pods has no address for the bridge.
    #[error("{0} has no room for a bridge and pods; choose a larger range of pods")]
    Small(IpNet),
}

impl Bridge {
    /// Makes the bridge, and this machine answer for all addresses of the ranges `local`. What an earlier process left is
    /// removed first.
    pub async fn up(name: &str, pods: IpNet, local: &[IpNet]) -> Result<Self, BridgeError> {
        let gateway = pods.hosts().next().filter(|_| pods.hosts().nth(1).is_some()).ok_or(BridgeError::Small(pods))?;
        let bridge = Self { name: name.to_owned(), pods, gateway };
        bridge.down().await?;
        let mut commands = vec![
            format!("link add {name} type bridge"),
            format!("addr add {gateway}/{} dev {name}", pods.prefix_len()),
            format!("link set {name} up"),
        ];
        commands.extend(local.iter().map(|range| format!("route add {}", bridge.local_route(range))));
        ip(&[], &commands).await?;
        Ok(bridge)
    }

    /// Removes the bridge and every network on it. Routes go with it.
    pub async fn down(&self) -> Result<(), BridgeError> {
        let found = output(&["netns", "list"]).await?;
        let prefix = self.namespace("");
        let namespaces = found.lines().filter_map(|line| line.split_whitespace().next());
        let mut commands: Vec<String> =
            namespaces.filter(|name| name.starts_with(&prefix)).map(|name| format!("netns del {name}")).collect();
        if output(&["-o", "link", "show", "type", "bridge"]).await?.contains(&format!(" {}:", self.name)) {
            commands.push(format!("link del {}", self.name));
        }
        ip(&["-force"], &commands).await
    }

    /// The address of the bridge, by which pods reach everything else.
    pub fn gateway(&self) -> IpAddr {
        self.gateway
    }

    /// Makes a network for a pod, with its address. Gives back the path that processes enter it by.
    pub(crate) async fn attach(&self, pod: &str, address: IpAddr) -> Result<String, BridgeError> {
        let (namespace, link) = (self.namespace(&short(pod)), format!("bv{}", short(pod)));
        self.detach(pod).await?;
        let commands = [
            format!("netns add {namespace}"),
            format!("link add {link} type veth peer name eth0 netns {namespace}"),
            format!("link set {link} master {} up", self.name),
        ];
        ip(&[], &commands).await?;
        let commands = [
            "link set lo up".to_owned(),
            format!("addr add {address}/{} dev eth0", self.pods.prefix_len()),
            "link set eth0 up".to_owned(),
            format!("route add default via {}", self.gateway),
        ];
        ip(&["-n", &namespace], &commands).await?;
        Ok(format!("/run/netns/{namespace}"))
    }

    /// Removes the network of a pod, if it has one.
    pub(crate) async fn detach(&self, pod: &str) -> Result<(), BridgeError> {
        let namespace = self.namespace(&short(pod));
        if std::path::Path::new("/run/netns").join(&namespace).exists() {
            // The pair of links goes with the namespace, but only once nobody is in it any more.
            ip(&["-force"], &[format!("link del bv{}", short(pod)), format!("netns del {namespace}")]).await?;
        }
        Ok(())
    }

    /// Makes this machine itself answer for the address of a pod that runs in this process.
    pub(crate) async fn answer_for(&self, address: IpAddr) -> Result<(), BridgeError> {
        ip(&[], &[format!("route replace {}", self.local_route(&IpNet::from(address)))]).await
    }

    /// Ends that.
    pub(crate) async fn forget(&self, address: IpAddr) -> Result<(), BridgeError> {
        ip(&["-force"], &[format!("route del {}", self.local_route(&IpNet::from(address)))]).await
    }

    /// A route that makes this machine answer for a range. It belongs to the bridge, and goes with it.
    fn local_route(&self, range: &IpNet) -> String {
        format!("local {range} dev {}", self.name)
    }

    fn namespace(&self, pod: &str) -> String {
        format!("{}-{pod}", self.name)
    }
}

/// Names of links have 15 characters at most; these are 48 random bits of the pod's UID.
fn short(pod: &str) -> String {
    pod.chars().filter(char::is_ascii_hexdigit).take(12).collect()
}

/// Has iproute2 make changes, all in one go. With `-force` what cannot be done is passed over.
async fn ip(options: &[&str], commands: &[String]) -> Result<(), BridgeError> {
    if commands.is_empty() {
        return Ok(());
    }
    let mut child = Command::new("ip")
        .args(options)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(BridgeError::Start)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all((commands.join("\n") + "\n").as_bytes()).await.map_err(BridgeError::Start)?;
    }
    let done = child.wait_with_output().await.map_err(BridgeError::Start)?;
    if done.status.success() || options.contains(&"-force") {
        return Ok(());
    }
    let detail = String::from_utf8_lossy(&done.stderr).trim().replace('\n', "; ");
    Err(BridgeError::Refused { commands: commands.join("; "), detail })
}

async fn output(words: &[&str]) -> Result<String, BridgeError> {
    let done = Command::new("ip").args(words).stdin(Stdio::null()).output().await.map_err(BridgeError::Start)?;
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_the_kernels_limits() {
        let uid = "4642626a-7301-4e85-910c-26822f83d658";
        assert_eq!(short(uid), "4642626a7301");
        assert!(format!("bv{}", short(uid)).len() <= 15);
    }
}
