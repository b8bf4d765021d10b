//! Networks and address ranges: reading them, and whether two of them share an address.

use std::{fmt, net::IpAddr, str::FromStr};

use ipnet::IpNet;
use thiserror::Error;

/// Addresses from `start` to `end`, both included. Never inverted, never of two families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IpRange {
    start: IpAddr,
    end: IpAddr,
}

/// Text or bounds that are no range of addresses.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RangeError {
    /// Neither `first-last` nor a CIDR.
    #[error("{0:?} is no address range: write first-last, for example 10.40.1.0-10.40.1.50, or a CIDR")]
    Malformed(String),
    /// IPv4 on one side, IPv6 on the other.
    #[error("{0} and {1} are of two address families: use one")]
    MixedFamilies(IpAddr, IpAddr),
    /// The end comes first.
    #[error("{0} comes after {1}: swap the two ends of the range")]
    Inverted(IpAddr, IpAddr),
}

/// Text that is no network.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0:?} is no CIDR: write address/length, for example 10.244.0.0/16")]
pub struct ParseCidrError(String);

/// Reads a network such as `10.244.0.0/16`; bits behind the length are dropped.
pub fn parse_cidr(text: &str) -> Result<IpNet, ParseCidrError> {
    let net: IpNet = text.parse().map_err(|_| ParseCidrError(excerpt(text)))?;
    Ok(net.trunc())
}

/// The address that kubeadm gives the DNS Service: the tenth of the Service network.
pub fn dns_address(services: &IpNet) -> Option<IpAddr> {
    let tenth = match services.network() {
        IpAddr::V4(first) => u32::from(first).checked_add(10).map(|bits| IpAddr::V4(bits.into())),
        IpAddr::V6(first) => u128::from(first).checked_add(10).map(|bits| IpAddr::V6(bits.into())),
    };
    tenth.filter(|address| services.contains(address))
}

/// Whether two networks share an address.
pub fn nets_overlap(a: &IpNet, b: &IpNet) -> bool {
    a.contains(&b.network()) || b.contains(&a.network())
}

impl IpRange {
    /// A range from its two ends.
    pub fn new(start: IpAddr, end: IpAddr) -> Result<Self, RangeError> {
        if start.is_ipv4() != end.is_ipv4() {
            return Err(RangeError::MixedFamilies(start, end));
        }
        if start > end {
            return Err(RangeError::Inverted(start, end));
        }
        Ok(Self { start, end })
    }

    /// The first address.
    pub const fn start(&self) -> IpAddr {
        self.start
    }

    /// The last address.
    pub const fn end(&self) -> IpAddr {
        self.end
    }

    /// How many addresses it holds; capped at `u128::MAX` for the one range that has one more.
    pub fn size(&self) -> u128 {
        (number(self.end) - number(self.start)).saturating_add(1)
    }

    /// Whether the address lies in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.start.is_ipv4() && self.start <= address && address <= self.end
    }

    /// Whether the two share an address.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.contains(other.start) || other.contains(self.start)
    }

    /// The addresses in order.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let v4 = self.start.is_ipv4();
        (number(self.start)..=number(self.end)).map(move |n| address(n, v4))
    }
}

impl From<IpNet> for IpRange {
    fn from(net: IpNet) -> Self {
        Self { start: net.network(), end: net.broadcast() }
    }
}

impl FromStr for IpRange {
    type Err = RangeError;

    /// Reads `first-last` or a CIDR, as MetalLB pools are written.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(net) = parse_cidr(text) {
            return Ok(net.into());
        }
        let malformed = || RangeError::Malformed(excerpt(text));
        let (start, end) = text.split_once('-').ok_or_else(malformed)?;
        let parse = |side: &str| side.trim().parse::<IpAddr>().map_err(|_| malformed());
        Self::new(parse(start)?, parse(end)?)
    }
}

impl fmt::Display for IpRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.start, self.end)
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The reverse of [`number`]; an IPv4 number always fits, as it lies between two IPv4 addresses.
fn address(number: u128, v4: bool) -> IpAddr {
    match u32::try_from(number) {
        Ok(bits) if v4 => IpAddr::V4(bits.into()),
        _ => IpAddr::V6(number.into()),
    }
}

/// Enough of a hostile text to recognise it by.
fn excerpt(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(text: &str) -> IpRange {
        text.parse().unwrap()
    }

    #[test]
    fn dns_has_the_tenth_address() {
        for (cidr, expected) in [
            ("10.96.0.0/16", Some("10.96.0.10")),
            ("10.96.0.0/28", Some("10.96.0.10")),
            ("10.96.0.0/29", None),
            ("fd00:10::/112", Some("fd00:10::a")),
            ("255.255.255.248/29", None),
        ] {
            let found = dns_address(&cidr.parse().unwrap());
            assert_eq!(found, expected.map(|text| text.parse().unwrap()), "{cidr}");
        }
    }

    #[test]
    fn reads_ranges_and_networks() {
        let cases = [
            ("10.40.1.0-10.40.1.50", "10.40.1.0-10.40.1.50", 51),
            ("10.40.1.7-10.40.1.7", "10.40.1.7-10.40.1.7", 1),
            ("10.40.1.0 - 10.40.1.1", "10.40.1.0-10.40.1.1", 2),
            ("10.40.1.0/26", "10.40.1.0-10.40.1.63", 64),
            ("10.40.1.9/26", "10.40.1.0-10.40.1.63", 64),
            ("fd00::-fd00::f", "fd00::-fd00::f", 16),
            ("::/0", "::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", u128::MAX),
        ];
        for (text, printed, size) in cases {
            assert_eq!((range(text).to_string().as_str(), range(text).size()), (printed, size), "{text}");
        }
    }

    #[test]
    fn refuses_with_the_way_out() {
        let cases = [
            ("10.40.1.50-10.40.1.0", "10.40.1.50 comes after 10.40.1.0: swap the two ends of the range"),
            ("10.40.1.0-fd00::1", "10.40.1.0 and fd00::1 are of two address families: use one"),
            (
                "10.40.1.0",
                r#""10.40.1.0" is no address range: write first-last, for example 10.40.1.0-10.40.1.50, or a CIDR"#,
            ),
            (
                "10.40.1.0-",
                r#""10.40.1.0-" is no address range: write first-last, for example 10.40.1.0-10.40.1.50, or a CIDR"#,
            ),
        ];
        for (text, message) in cases {
            assert_eq!(text.parse::<IpRange>().unwrap_err().to_string(), message, "{text}");
        }
        for text in ["10.0.0.0", "10.0.0.0/33", "10.0.0/8", "", "a/8"] {
            assert!(parse_cidr(text).is_err(), "{text:?} was read");
        }
    }

    #[test]
    fn overlap_table() {
        let cases = [
            ("10.244.0.0/16", "10.96.0.0/12", false),
            ("10.96.0.0/12", "10.100.0.0/16", true),
            ("10.100.0.0/16", "10.96.0.0/12", true),
            ("0.0.0.0/0", "fd00::/8", false),
            ("10.0.0.0/24", "10.0.1.0/24", false),
        ];
        for (a, b, expected) in cases {
            assert_eq!(nets_overlap(&parse_cidr(a).unwrap(), &parse_cidr(b).unwrap()), expected, "{a} {b}");
            assert_eq!(range(a).overlaps(&range(b)), expected, "{a} {b} as ranges");
        }
    }

    #[test]
    fn lists_addresses_in_order() {
        let listed: Vec<_> = range("10.0.0.254-10.0.1.1").addresses().map(|a| a.to_string()).collect();
        assert_eq!(listed, ["10.0.0.254", "10.0.0.255", "10.0.1.0", "10.0.1.1"]);
        assert_eq!(range("fd00::1-fd00::2").addresses().count(), 2);
    }

    proptest! {
        #[test]
        fn overlap_is_shared_membership(a: u8, b: u8, c: u8, d: u8) {
            let address = |n: u8| IpAddr::from([10, 0, 0, n]);
            let left = IpRange::new(address(a.min(b)), address(a.max(b))).unwrap();
            let right = IpRange::new(address(c.min(d)), address(c.max(d))).unwrap();
            let shared = left.addresses().any(|ip| right.contains(ip));
            prop_assert_eq!(left.overlaps(&right), shared);
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,80}") {
            if let Ok(range) = text.parse::<IpRange>() {
                prop_assert_eq!(range.to_string().parse::<IpRange>().unwrap(), range);
            }
        }
    }
}
