//! The addresses of one Butler among those of this machine.

use std::net::{IpAddr, Ipv4Addr, TcpListener};

use anyhow::{Context, Result, bail};
use ipnet::{IpNet, Ipv4Net};
use local::PodAddresses;

use crate::data_dir::{DataDir, write_secret};

/// The second byte of the addresses tried first; a machine's own names (127.0.0.1, 127.0.1.1, 127.0.0.53) are elsewhere.
const FIRST: u8 = 80;
/// Where one Butler shows the others that its range is taken.
const CLAIM_PORT: u16 = 20080;

/// The part of 127.0.0.0/8 that belongs to one data directory: always the same one, and no other Butler's that runs.
pub(crate) struct Addresses {
    number: u8,
    _claim: TcpListener,
}

impl Addresses {
    /// Takes the range of this data directory; on its first use, one that is free.
    pub(crate) fn claim(data: &DataDir) -> Result<Self> {
        let path = data.path().join("addresses");
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let number: u8 = text.trim().parse().with_context(|| format!("{} is damaged", path.display()))?;
                Self::take(number).with_context(|| {
                    format!("127.{number}.0.0/16, the addresses of {}, are taken", data.path().display())
                })
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let Some(taken) = (FIRST..=254).chain(1..FIRST).find_map(|number| Self::take(number).ok()) else {
                    bail!("no range of addresses below 127.0.0.0/8 is free");
                };
                write_secret(&path, &taken.number.to_string())?;
                Ok(taken)
            }
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    fn take(number: u8) -> std::io::Result<Self> {
        let claim = TcpListener::bind((Ipv4Addr::new(127, number, 255, 254), CLAIM_PORT))?;
        Ok(Self { number, _claim: claim })
    }

    /// Services inside this machine's API.
    pub(crate) fn services(&self) -> IpNet {
        self.net(0, 18)
    }

    /// Load balancers.
    pub(crate) fn load_balancers(&self) -> IpNet {
        self.net(64, 18)
    }

    /// Pods. Kubernetes takes no loopback addresses for endpoints, so it knows them by others.
    pub(crate) fn pods(&self) -> PodAddresses {
        PodAddresses { told: net(Ipv4Addr::new(10, 112, 0, 0), 17), bound: self.net(128, 17) }
    }

    /// The node itself.
    pub(crate) fn node(&self) -> IpAddr {
        IpAddr::V4(Ipv4Addr::LOCALHOST)
    }

    fn net(&self, third: u8, prefix: u8) -> IpNet {
        net(Ipv4Addr::new(127, self.number, third, 0), prefix)
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
        let first = Addresses::claim(&one).unwrap();
        let second = Addresses::claim(&two).unwrap();
        assert_ne!(first.services(), second.services());
        let taken = Addresses::claim(&one).err().unwrap().to_string();
        assert!(taken.contains("are taken"), "{taken}");
        let before = first.load_balancers();
        drop(first);
        assert_eq!(Addresses::claim(&one).unwrap().load_balancers(), before);
    }
}
