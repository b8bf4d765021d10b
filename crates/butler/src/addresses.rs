//! The addresses of one Butler among those of this machine.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ipnet::{IpNet, Ipv4Net};
use local::PodAddresses;

use crate::data_dir::{DataDir, write_secret};

/// The second byte of the addresses tried first; a machine's own names (127.0.0.1, 127.0.1.1, 127.0.0.53) are elsewhere.
const FIRST: u8 = 80;
/// Where one Butler shows the others that its range is taken.
const CLAIM_PORT: u16 = 20080;

/// What addresses are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    /// Loopback, which needs no privileges: a part of 127.0.0.0/8 for each data directory.
    Loopback,
    /// A bridge of its own: a part of 198.18.0.0/15, which is kept for such use and leads nowhere else.
    Bridge,
}

/// The addresses that belong to one data directory: always the same ones, and no other Butler's that runs.
pub(crate) struct Addresses {
    number: u8,
    ground: Ground,
    _claim: TcpListener,
}

impl Addresses {
    /// Takes the range of this data directory; on its first use, one that is free.
    pub(crate) fn claim(data: &DataDir, ground: Ground) -> Result<Self> {
        let path = data.path().join("addresses");
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let mut words = text.split_whitespace();
                let number = words.next().and_then(|word| word.parse().ok());
                let number = number.with_context(|| {
                    let clusters = "the clusters of this data directory then get other addresses";
                    format!("{} is damaged: it holds no number; remove it, and {clusters}", path.display())
                })?;
                let before = if words.next() == Some("bridge") { Ground::Bridge } else { Ground::Loopback };
                if before != ground {
                    let how = if before == Ground::Bridge { "with" } else { "without" };
                    bail!("{} was begun {how} --real; go on so, or choose another --data-dir", data.path().display());
                }
                Self::take(number, ground)
                    .with_context(|| format!("number {number}, the addresses of {}, is taken", data.path().display()))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let mut numbers = (FIRST..=254).chain(1..FIRST);
                let free = |number: &u8| !is_spoken_for(*number, data);
                let Some(taken) = numbers.by_ref().filter(free).find_map(|number| Self::take(number, ground).ok())
                else {
                    bail!("no range of addresses is free: there are 254 data directories; remove those not in use");
                };
                let mark = if ground == Ground::Bridge { " bridge" } else { "" };
                write_secret(&path, &format!("{}{mark}", taken.number))?;
                speak_for(taken.number, data);
                Ok(taken)
            }
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Listens where others would, so that they see it is taken.
    fn take(number: u8, ground: Ground) -> std::io::Result<Self> {
        let claim = TcpListener::bind((Ipv4Addr::new(127, number, 255, 254), CLAIM_PORT))?;
        Ok(Self { number, ground, _claim: claim })
    }

    /// Services inside this machine's API.
    pub(crate) fn services(&self) -> IpNet {
        match self.ground {
            Ground::Loopback => self.loopback(0, 18),
            Ground::Bridge => self.bridged(0, 25),
        }
    }

    /// Load balancers.
    pub(crate) fn load_balancers(&self) -> IpNet {
        match self.ground {
            Ground::Loopback => self.loopback(64, 18),
            Ground::Bridge => self.bridged(128, 25),
        }
    }

    /// Pods. Kubernetes takes no loopback addresses for endpoints, so it knows those by others.
    pub(crate) fn pods(&self) -> PodAddresses {
        match self.ground {
            Ground::Loopback => {
                PodAddresses { told: net(Ipv4Addr::new(10, 112, 0, 0), 17), bound: self.loopback(128, 17) }
            }
            Ground::Bridge => PodAddresses::direct(self.bridged(256, 24)),
        }
    }

    /// The name of the bridge.
    pub(crate) fn bridge(&self) -> String {
        format!("butler{}", self.number)
    }

    fn loopback(&self, third: u8, prefix: u8) -> IpNet {
        net(Ipv4Addr::new(127, self.number, third, 0), prefix)
    }

    /// Of the 512 addresses of this number, those from `first` on.
    fn bridged(&self, first: u32, prefix: u8) -> IpNet {
        let all = Ipv4Addr::new(198, 18, 0, 0).to_bits() + u32::from(self.number) * 512;
        net(Ipv4Addr::from_bits(all + first), prefix)
    }
}

/// Where the data directories of this user are told of their numbers, running or not.
fn register(number: u8) -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    std::env::temp_dir().join(format!("butler-addresses-{user}")).join(number.to_string())
}

/// Whether a number belongs to another data directory that is still there, though nobody may run in it now.
fn is_spoken_for(number: u8, data: &DataDir) -> bool {
    let Ok(text) = std::fs::read_to_string(register(number)) else { return false };
    let holder = Path::new(text.trim());
    holder != data.path() && holder.join("addresses").exists()
}

/// Tells others. If it cannot, they see only those that run.
fn speak_for(number: u8, data: &DataDir) {
    let path = register(number);
    let told = path.parent().map(std::fs::create_dir_all).unwrap_or(Ok(()));
    if let Err(error) = told.and_then(|()| std::fs::write(&path, data.path().as_os_str().as_encoded_bytes())) {
        tracing::debug!(%error, "cannot write {}", path.display());
    }
}

fn net(first: Ipv4Addr, prefix: u8) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(first, prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    #[test]
    fn two_butlers_never_share_addresses_and_one_keeps_its_own() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [one, two] =
            folders.each_ref().map(|folder| DataDir::of(&Place { data_dir: Some(folder.path().to_owned()) }).unwrap());
        let claim = |data: &DataDir, ground| Addresses::claim(data, ground);
        let first = claim(&one, Ground::Loopback).unwrap();
        let second = claim(&two, Ground::Loopback).unwrap();
        assert_ne!(first.services(), second.services());
        let taken = claim(&one, Ground::Loopback).err().unwrap().to_string();
        assert!(taken.contains("is taken"), "{taken}");
        let before = first.load_balancers();
        drop(first);
        // One that does not run now still has its own.
        let folder = tempfile::tempdir().unwrap();
        let third = DataDir::of(&Place { data_dir: Some(folder.path().to_owned()) }).unwrap();
        assert_ne!(claim(&third, Ground::Loopback).unwrap().load_balancers(), before);
        assert_eq!(claim(&one, Ground::Loopback).unwrap().load_balancers(), before);
        let other = claim(&one, Ground::Bridge).err().unwrap().to_string();
        assert!(other.contains("was begun without --real"), "{other}");
    }

    #[test]
    fn ranges_of_a_bridge_are_next_to_each_other_and_to_those_of_the_next_number() {
        let at = |number| Addresses {
            number,
            ground: Ground::Bridge,
            _claim: TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap(),
        };
        for (number, services, balancers, pods) in [
            (1, "198.18.2.0/25", "198.18.2.128/25", "198.18.3.0/24"),
            (128, "198.19.0.0/25", "198.19.0.128/25", "198.19.1.0/24"),
            (254, "198.19.252.0/25", "198.19.252.128/25", "198.19.253.0/24"),
        ] {
            let addresses = at(number);
            let found = [addresses.services(), addresses.load_balancers(), addresses.pods().told];
            assert_eq!(found.map(|range| range.to_string()), [services, balancers, pods]);
        }
    }
}
