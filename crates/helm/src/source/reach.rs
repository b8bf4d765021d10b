//! How far a request may reach. Butler stands inside of networks that those who name repositories are kept out of: what
//! they name is asked only if its address, as it is when the connection is made, is one that they could ask themselves.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::Url;

use super::error::Fault;
use super::location::{Location, shown};
use super::mirror::{rest, stay};

/// How far a request may reach.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Reach {
    /// Anywhere: whoever runs the platform chose the address.
    #[default]
    Anywhere,
    /// Only what is public, for somebody who is not trusted with the platform's network.
    Public {
        /// What the addresses of repositories must begin with, unless it is empty. These may be private.
        allowed: Vec<String>,
    },
}

/// Who may connect to an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Anybody.
    Public,
    /// Those who were allowed to.
    Private,
    /// Nobody but the platform itself: what it is.
    Own(&'static str),
}

impl Reach {
    /// Whether somebody may name this address of a repository, wherever it leads.
    pub(super) fn check_name(&self, address: &str) -> Result<(), Fault> {
        let Self::Public { allowed } = self else { return Ok(()) };
        if allowed.is_empty() {
            return Ok(());
        }
        stay(address)?;
        if allowed.iter().any(|prefix| rest(address, prefix).is_some()) {
            return Ok(());
        }
        Err(Fault::Forbidden(format!("only repositories below {} are allowed", allowed.join(", "))))
    }

    /// Whether a place on this machine's own disk may be read.
    pub(super) fn check_location(&self, location: &Location, is_mirrored: bool) -> Result<(), Fault> {
        match (self, location) {
            (Self::Public { .. }, Location::Directory(_)) if !is_mirrored => {
                Err(Fault::OutOfReach("files of the platform are not for everybody to name".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Those addresses of a host that may be connected to. Mirrors were chosen by whoever runs the platform.
    pub(super) fn permitted(
        &self,
        url: &Url,
        found: Vec<SocketAddr>,
        mirrors: &[String],
    ) -> Result<Vec<SocketAddr>, Fault> {
        let Self::Public { allowed } = self else { return Ok(found) };
        if mirrors.iter().any(|mirror| covers(mirror, url)) {
            return Ok(found);
        }
        let is_allowed = allowed.iter().any(|prefix| covers(prefix, url));
        let may = |address: &SocketAddr| match class(address.ip()) {
            Class::Public => true,
            Class::Private => is_allowed,
            Class::Own(_) => false,
        };
        let permitted: Vec<SocketAddr> = found.iter().copied().filter(may).collect();
        match found.first().map(|address| class(address.ip())) {
            Some(class) if permitted.is_empty() => {
                let (what, fault): (_, fn(String) -> Fault) = match class {
                    Class::Own(what) => (what, Fault::OutOfReach),
                    _ => ("a private address", Fault::Forbidden),
                };
                Err(fault(format!("{} is at {what} of the platform's network", shown(url.as_str()))))
            }
            _ => Ok(permitted),
        }
    }
}

/// Whether what is asked for is below an address. A registry has its repositories elsewhere than its address says, and what
/// is beside them, such as its tokens, belongs to all.
fn covers(prefix: &str, url: &Url) -> bool {
    if stay(url.path()).is_err() {
        return false;
    }
    match Location::parse(prefix) {
        Ok(Location::Registry(registry)) => {
            let repositories = format!("/v2/{}", registry.path);
            let is_beside = rest(url.path(), "/v2").is_none_or(|rest| rest.trim_matches('/').is_empty());
            registry.base.origin() == url.origin() && (is_beside || rest(url.path(), &repositories).is_some())
        }
        Ok(Location::Web(prefix)) => prefix.origin() == url.origin() && rest(url.path(), prefix.path()).is_some(),
        _ => false,
    }
}

/// Where clouds tell a machine its secrets, where that is no link-local address.
const METADATA_V4: [Ipv4Addr; 2] = [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(168, 63, 129, 16)];
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

fn class(address: IpAddr) -> Class {
    match address {
        IpAddr::V4(address) => class_v4(address),
        IpAddr::V6(address) => embedded(address).map_or_else(|| class_v6(address), class_v4),
    }
}

fn class_v4(address: Ipv4Addr) -> Class {
    let [first, second, third, _] = address.octets();
    match (first, second, third) {
        _ if METADATA_V4.contains(&address) => Class::Own("a metadata address"),
        _ if address.is_loopback() => Class::Own("a loopback address"),
        _ if address.is_link_local() => Class::Own("a link-local address"),
        (0, ..) => Class::Own("an unspecified address"),
        (224.., ..) => Class::Own("a multicast or reserved address"),
        _ if address.is_private() => Class::Private,
        // Shared with carriers; protocols' own; benchmarks.
        (100, 64..=127, _) | (192, 0, 0) | (198, 18..=19, _) => Class::Private,
        _ => Class::Public,
    }
}

fn class_v6(address: Ipv6Addr) -> Class {
    match address.segments()[0] {
        _ if address == METADATA_V6 => Class::Own("a metadata address"),
        _ if address.is_loopback() => Class::Own("a loopback address"),
        _ if address.is_unspecified() => Class::Own("an unspecified address"),
        0xfe80..=0xfebf => Class::Own("a link-local address"),
        0xff00.. => Class::Own("a multicast address"),
        // Unique local; site local.
        0xfc00..=0xfdff | 0xfec0..=0xfeff => Class::Private,
        // All that is given out to anybody.
        0x2000..=0x3fff => Class::Public,
        _ => Class::Private,
    }
}

/// The old address that a new one stands for: mapped, compatible, translated, or 6to4.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let joined = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0..=1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(joined(high, low)),
        [0x2002, high, low, ..] => Some(joined(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_classed() {
        for (address, expected) in [
            ("8.8.8.8", "public"),
            ("172.32.0.1", "public"),
            ("2606:4700::1111", "public"),
            ("10.1.2.3", "private"),
            ("172.16.0.1", "private"),
            ("192.168.0.1", "private"),
            ("100.64.0.1", "private"),
            ("fd12::1", "private"),
            ("::ffff:10.0.0.1", "private"),
            ("64:ff9b::10.0.0.1", "private"),
            ("2002:0a00:0001::1", "private"),
            ("127.0.0.1", "a loopback address"),
            ("127.8.8.8", "a loopback address"),
            ("::1", "a loopback address"),
            ("::ffff:127.0.0.1", "a loopback address"),
            ("::127.0.0.1", "a loopback address"),
            ("169.254.169.254", "a link-local address"),
            ("::ffff:169.254.169.254", "a link-local address"),
            ("fe80::1", "a link-local address"),
            ("100.100.100.200", "a metadata address"),
            ("168.63.129.16", "a metadata address"),
            ("fd00:ec2::254", "a metadata address"),
            ("0.0.0.0", "an unspecified address"),
            ("::", "an unspecified address"),
            ("255.255.255.255", "a multicast or reserved address"),
            ("ff02::1", "a multicast address"),
        ] {
            let found = match class(address.parse().unwrap()) {
                Class::Public => "public",
                Class::Private => "private",
                Class::Own(what) => what,
            };
            assert_eq!(found, expected, "{address}");
        }
    }

    #[test]
    fn private_places_are_for_those_who_are_allowed() {
        let reach = |allowed: &[&str]| Reach::Public { allowed: allowed.iter().map(|&one| one.to_owned()).collect() };
        let mirrors = ["http://127.0.0.1:5000/m".to_owned(), "oci://reg.in:5000/charts".to_owned()];
        for (reach, url, address, is_fine) in [
            (Reach::Anywhere, "http://a.com", "127.0.0.1", true),
            (reach(&[]), "https://a.com", "8.8.8.8", true),
            (reach(&[]), "https://a.com", "10.0.0.1", false),
            (reach(&["https://a.com/charts"]), "https://a.com/charts/x.tgz", "10.0.0.1", true),
            (reach(&["https://a.com/charts"]), "https://a.com/secrets", "10.0.0.1", false),
            (reach(&["https://a.com/charts"]), "https://a.com:8443/charts", "10.0.0.1", false),
            (reach(&["https://a.com/charts"]), "https://a.com/charts", "169.254.169.254", false),
            (reach(&["https://"]), "https://a.com/charts", "10.0.0.1", false),
            (reach(&["oci://a.com/charts"]), "https://a.com/v2/charts/x/tags/list", "10.0.0.1", true),
            (reach(&[]), "http://127.0.0.1:5000/m/index.yaml", "127.0.0.1", true),
            (reach(&[]), "http://127.0.0.1:5000/other", "127.0.0.1", false),
            (reach(&[]), "https://reg.in:5000/v2/charts/x/tags/list", "10.0.0.1", true),
        ] {
            let found = vec![SocketAddr::new(address.parse().unwrap(), 443)];
            let outcome = reach.permitted(&Url::parse(url).unwrap(), found, &mirrors);
            assert_eq!(outcome.is_ok(), is_fine, "{reach:?} {url} {address}");
        }
        // What is public of several is asked, and nothing else.
        let both = ["10.0.0.1:443", "8.8.8.8:443"].map(|address| address.parse().unwrap());
        let permitted = reach(&[]).permitted(&Url::parse("https://a.com").unwrap(), both.to_vec(), &[]);
        assert_eq!(permitted, Ok(vec![both[1]]));
    }

    #[test]
    fn names_are_below_what_is_allowed() {
        let allowed = ["https://a.com/charts/", "oci://ghcr.io/team"].map(str::to_owned).to_vec();
        let reach = Reach::Public { allowed };
        for (address, is_fine) in [
            ("https://a.com/charts", true),
            ("https://a.com/charts/x", true),
            ("https://a.com/charts/../x", false),
            ("https://a.com/chartsx", false),
            ("https://b.com/charts", false),
            ("oci://ghcr.io/team/app", true),
            ("oci://ghcr.io/teams", false),
        ] {
            assert_eq!(reach.check_name(address).is_ok(), is_fine, "{address}");
        }
        assert!(Reach::Public { allowed: Vec::new() }.check_name("https://b.com").is_ok());
    }
}
