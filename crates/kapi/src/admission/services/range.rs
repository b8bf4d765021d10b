//! The ranges addresses and ports come from. Those given out unasked come from the upper band first, so that the lower
//! one stays free for those asked for.

use std::net::IpAddr;

use ipnet::IpNet;

/// Numbers from `first` on, `size` of them, the lowest `reserved` left for last.
struct Band {
    size: u128,
    reserved: u128,
}

impl Band {
    /// All offsets, once each: the upper band from a random place on, then the lower one.
    fn offsets(&self, random: u128) -> impl Iterator<Item = u128> + use<> {
        let (size, reserved) = (self.size, self.reserved);
        let upper = size.saturating_sub(reserved);
        let start = if upper == 0 { 0 } else { random % upper };
        let upper = (0..upper).map(move |step| reserved + (start + step) % upper.max(1));
        upper.chain((0..reserved.min(size)).rev())
    }
}

/// The part of a range kept for last: none of a tiny range, else a share of it within bounds.
fn reserved(size: u128, share: u128, most: u128) -> u128 {
    const LEAST: u128 = 16;
    if size <= LEAST { 0 } else { (size / share).clamp(LEAST, most) }
}

/// The first and the last address that can be given out.
pub(super) fn bounds(net: &IpNet) -> (u128, u128) {
    let (first, last) = (number(net.network()), number(net.broadcast()));
    match net {
        IpNet::V4(_) => (first.saturating_add(1), last.saturating_sub(1)),
        IpNet::V6(_) => (first.saturating_add(1), last),
    }
}

/// Addresses to try, in order.
pub(super) fn addresses(net: &IpNet, random: u128) -> impl Iterator<Item = IpAddr> + use<> {
    let (first, last) = bounds(net);
    let size = if last < first { 0 } else { (last - first).saturating_add(1) };
    let v4 = matches!(net, IpNet::V4(_));
    let band = Band { size, reserved: reserved(size, 16, 256) };
    band.offsets(random).map(move |offset| address(first.saturating_add(offset), v4))
}

/// Ports to try, in order.
pub(super) fn ports(range: &std::ops::RangeInclusive<u16>, random: u128) -> impl Iterator<Item = u16> + use<> {
    let first = u128::from(*range.start());
    let size = if range.is_empty() { 0 } else { u128::from(*range.end()) - first + 1 };
    let band = Band { size, reserved: reserved(size, 32, 128) };
    band.offsets(random).filter_map(move |offset| u16::try_from(first + offset).ok())
}

pub(super) fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u32::from(v4).into(),
        IpAddr::V6(v6) => v6.into(),
    }
}

fn address(number: u128, v4: bool) -> IpAddr {
    match u32::try_from(number) {
        Ok(number) if v4 => IpAddr::V4(number.into()),
        _ => IpAddr::V6(number.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_address_comes_once_the_lower_band_last() {
        let net: IpNet = "10.0.0.0/24".parse().unwrap();
        let all: Vec<IpAddr> = addresses(&net, 1000).collect();
        assert_eq!(all.len(), 254);
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 254);
        assert!(all[..238].iter().all(|ip| number(*ip) - number(net.network()) > 16));
        assert_eq!(all.last().unwrap().to_string(), "10.0.0.1");
    }

    #[test]
    fn tiny_and_empty_ranges_do_no_harm() {
        assert_eq!(addresses(&"10.0.0.0/30".parse().unwrap(), 7).count(), 2);
        assert_eq!(addresses(&"10.0.0.0/32".parse().unwrap(), 7).count(), 0);
        assert_eq!(ports(&(30000..=30001), 5).collect::<HashSet<_>>(), HashSet::from([30000, 30001]));
        #[allow(clippy::reversed_empty_ranges)]
        let none = 2..=1;
        assert_eq!(ports(&none, 5).count(), 0);
        assert!(addresses(&"fd00::/64".parse().unwrap(), 1 << 70).next().unwrap().is_ipv6());
    }
}
