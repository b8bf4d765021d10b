//! Sets of IPv4 addresses.

use std::fmt;
use std::net::Ipv4Addr;

use ipnet::IpNet;
use kernel::cidr::parse_cidr;

/// Addresses that follow each other, the first and the last included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    first: u32,
    last: u32,
}

impl Run {
    /// From the first to the last, unless they are the wrong way round.
    pub fn new(first: Ipv4Addr, last: Ipv4Addr) -> Option<Self> {
        (first <= last).then(|| Self { first: first.to_bits(), last: last.to_bits() })
    }

    /// From two addresses as text.
    pub fn read(first: &str, last: &str) -> Option<Self> {
        Self::new(first.parse().ok()?, last.parse().ok()?)
    }

    /// All addresses of a network as text.
    pub fn of_cidr(text: &str) -> Option<Self> {
        match parse_cidr(text).ok()? {
            IpNet::V4(net) => Self::new(net.network(), net.broadcast()),
            IpNet::V6(_) => None,
        }
    }

    /// The first address.
    pub fn first(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first)
    }

    /// The last address.
    pub fn last(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.last)
    }

    /// How many addresses it has.
    pub fn count(self) -> u64 {
        u64::from(self.last) - u64::from(self.first) + 1
    }

    /// All its addresses in order.
    pub fn addresses(self) -> impl Iterator<Item = Ipv4Addr> {
        (self.first..=self.last).map(Ipv4Addr::from_bits)
    }

    /// The network that has exactly these addresses, if there is one.
    pub fn cidr(self) -> Option<String> {
        let count = self.count();
        let aligned = count.is_power_of_two() && u64::from(self.first).is_multiple_of(count);
        aligned.then(|| format!("{}/{}", self.first(), 32 - count.trailing_zeros()))
    }

    /// What lies between the two ends, without them: the addresses of a network that hosts can have.
    pub(crate) fn inner(self) -> Self {
        // Of two addresses or one, all are hosts' (RFC 3021).
        if self.count() <= 2 {
            return self;
        }
        Self { first: self.first + 1, last: self.last - 1 }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first(), self.last())
    }
}

/// A set of addresses: runs in order, none touching the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Space {
    runs: Vec<Run>,
}

impl Space {
    /// Its runs in order.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// How many addresses it has.
    pub fn count(&self) -> u64 {
        self.runs.iter().map(|run| run.count()).sum()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Addresses of its longest run.
    pub fn largest(&self) -> u64 {
        self.runs.iter().map(|run| run.count()).max().unwrap_or(0)
    }

    /// So many addresses in a row, out of the shortest run that has them: long runs are kept for those who need them.
    pub fn best_fit(&self, count: u64) -> Option<Run> {
        let fitting = self.runs.iter().filter(|run| run.count() >= count);
        let run = fitting.min_by_key(|run| (run.count(), run.first))?;
        let last = u64::from(run.first) + count.checked_sub(1)?;
        Some(Run { first: run.first, last: u32::try_from(last).ok()? })
    }

    /// Whether it has all of these.
    pub fn covers(&self, wanted: Run) -> bool {
        self.runs.iter().any(|run| run.first <= wanted.first && wanted.last <= run.last)
    }

    /// Those that are in any of the two.
    pub fn with(&self, other: &Self) -> Self {
        self.runs.iter().chain(&other.runs).copied().collect()
    }

    /// Those that are in both.
    pub fn shared(&self, other: &Self) -> Self {
        self.without(&self.without(other))
    }

    /// Those of this set that are not in the other.
    pub fn without(&self, other: &Self) -> Self {
        let mut left = Vec::new();
        let mut taken = other.runs.as_slice();
        for run in &self.runs {
            // Wider than addresses, to step behind the last one.
            let (mut next, last) = (u64::from(run.first), u64::from(run.last));
            while let Some((hole, rest)) = taken.split_first() {
                let (hole_first, hole_last) = (u64::from(hole.first), u64::from(hole.last));
                if hole_first > last {
                    break;
                }
                if hole_first > next {
                    left.extend(run_between(next, hole_first - 1));
                }
                next = next.max(hole_last + 1);
                // It may reach into the next run too.
                if hole_last > last {
                    break;
                }
                taken = rest;
            }
            if next <= last {
                left.extend(run_between(next, last));
            }
        }
        Self { runs: left }
    }
}

fn run_between(first: u64, last: u64) -> Option<Run> {
    Some(Run { first: u32::try_from(first).ok()?, last: u32::try_from(last).ok()? })
}

impl FromIterator<Run> for Space {
    fn from_iter<I: IntoIterator<Item = Run>>(runs: I) -> Self {
        let mut sorted: Vec<Run> = runs.into_iter().collect();
        sorted.sort_unstable();
        let mut merged: Vec<Run> = Vec::with_capacity(sorted.len());
        for run in sorted {
            match merged.last_mut() {
                Some(before) if run.first <= before.last.saturating_add(1) => before.last = before.last.max(run.last),
                _ => merged.push(run),
            }
        }
        Self { runs: merged }
    }
}

impl From<Run> for Space {
    fn from(run: Run) -> Self {
        Self { runs: vec![run] }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_shortest_run_that_fits_is_taken() {
        let space: Space =
            [("10.0.0.0", "10.0.0.9"), ("10.0.1.0", "10.0.1.3"), ("10.0.2.0", "10.0.2.3"), ("10.0.3.0", "10.0.3.4")]
                .iter()
                .filter_map(|(first, last)| Run::read(first, last))
                .collect();
        for (count, expected) in [
            (1, Some("10.0.1.0-10.0.1.0")),
            (4, Some("10.0.1.0-10.0.1.3")),
            (5, Some("10.0.3.0-10.0.3.4")),
            (6, Some("10.0.0.0-10.0.0.5")),
            (11, None),
            (0, None),
        ] {
            assert_eq!(space.best_fit(count).map(|run| run.to_string()).as_deref(), expected, "{count}");
        }
        assert_eq!((space.count(), space.largest()), (23, 10));
    }

    #[test]
    fn runs_are_networks_when_they_are() {
        for (first, last, cidr) in [
            ("10.0.0.0", "10.0.0.255", Some("10.0.0.0/24")),
            ("10.0.0.8", "10.0.0.15", Some("10.0.0.8/29")),
            ("10.0.0.4", "10.0.0.11", None),
            ("10.0.0.1", "10.0.0.1", Some("10.0.0.1/32")),
            ("0.0.0.0", "255.255.255.255", Some("0.0.0.0/0")),
        ] {
            assert_eq!(Run::read(first, last).unwrap().cidr().as_deref(), cidr, "{first} {last}");
        }
        assert!(Run::read("10.0.0.2", "10.0.0.1").is_none());
        assert!(Run::of_cidr("fd00::/64").is_none());
        let all: Space = Run::of_cidr("0.0.0.0/0").unwrap().into();
        assert!(all.without(&all).is_empty());
        assert_eq!(Run::of_cidr("10.0.0.0/24").unwrap().inner().to_string(), "10.0.0.1-10.0.0.254");
        assert_eq!(Run::of_cidr("10.0.0.0/31").unwrap().inner().count(), 2);
    }

    proptest! {
        #[test]
        fn sets_are_sets(left in runs(), right in runs()) {
            let (a, b): (Space, Space) = (left.iter().copied().collect(), right.iter().copied().collect());
            let members = |space: &Space| space.runs().iter().flat_map(|run| run.addresses()).collect::<BTreeSet<_>>();
            let listed = |runs: &[Run]| runs.iter().flat_map(|run| run.addresses()).collect::<BTreeSet<_>>();
            prop_assert_eq!(members(&a), listed(&left));
            let difference = &members(&a) - &members(&b);
            prop_assert_eq!(members(&a.without(&b)), difference);
            prop_assert_eq!(members(&a.shared(&b)), &members(&a) & &members(&b));
            prop_assert_eq!(members(&a.with(&b)), &members(&a) | &members(&b));
            prop_assert_eq!(a.count(), members(&a).len() as u64);
            prop_assert!(a.runs().windows(2).all(|pair| u64::from(pair[0].last) + 1 < u64::from(pair[1].first)));
        }
    }

    fn runs() -> impl Strategy<Value = Vec<Run>> {
        // At the upper end, where sums could overflow.
        let run = (0u32..48, 0u32..12).prop_map(|(first, more)| {
            let first = u32::MAX - 47 + first;
            Run { first, last: first.saturating_add(more) }
        });
        proptest::collection::vec(run, 0..8)
    }
}
