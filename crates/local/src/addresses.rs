//! Addresses of a range, each held by one at a time.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// The addresses of pods: those the API knows, and where this machine really listens for them.
///
/// Kubernetes takes no loopback addresses for endpoints, and without privileges there are no others to listen on. So pods
/// are told of addresses of one range, and each is listened for at the address of the same place in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodAddresses {
    /// The range the API knows.
    pub told: IpNet,
    /// The range to listen on; the same where pods have networks of their own.
    pub bound: IpNet,
}

impl PodAddresses {
    /// Pods are found where the API says.
    pub fn direct(range: IpNet) -> Self {
        Self { told: range, bound: range }
    }

    /// Where to listen for, or dial, what the API knows as `address`. Others' addresses are what they are.
    pub fn reach(&self, address: IpAddr) -> IpAddr {
        if self.told == self.bound || !self.told.contains(&address) {
            return address;
        }
        let place = number(address) - number(self.told.network());
        from_number(&self.bound, number(self.bound.network()).saturating_add(place))
    }
}

/// The addresses of a range and who holds them. Where they are stored is elsewhere: this only sees that none is given twice.
#[derive(Debug)]
pub(crate) struct Pool {
    range: IpNet,
    holders: HashMap<IpAddr, String>,
    /// Where the search for a free one goes on, so that an address rests before it is given again.
    next: u128,
}

impl Pool {
    /// All of `range` is free.
    pub(crate) fn new(range: IpNet) -> Self {
        Self { range, holders: HashMap::new(), next: 0 }
    }

    /// The range.
    pub(crate) fn range(&self) -> IpNet {
        self.range
    }

    /// Whether an address may be given at all: those of the network itself and of everybody in it may not.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let (first, last) = self.bounds();
        self.range.contains(&address) && (first..=last).contains(&number(address))
    }

    /// Who holds an address.
    pub(crate) fn holder(&self, address: IpAddr) -> Option<&str> {
        self.holders.get(&address).map(String::as_str)
    }

    /// Gives a certain address to `holder`, unless it is another's or none of this range. Tells whether it is theirs now.
    pub(crate) fn hold(&mut self, address: IpAddr, holder: &str) -> bool {
        if !self.contains(address) {
            return false;
        }
        self.holders.entry(address).or_insert_with(|| holder.to_owned()) == holder
    }

    /// Gives any free address to `holder`.
    pub(crate) fn take(&mut self, holder: &str) -> Option<IpAddr> {
        let (first, last) = self.bounds();
        let size = last - first + 1;
        if u128::try_from(self.holders.len()).ok()? >= size {
            return None;
        }
        let offsets = (0..size).map(|step| (self.next + step) % size);
        let (offset, address) = offsets
            .map(|offset| (offset, self.address(first + offset)))
            .find(|(_, a)| !self.holders.contains_key(a))?;
        self.next = offset + 1;
        self.holders.insert(address, holder.to_owned());
        Some(address)
    }

    /// Frees an address if it is `holder`'s. Tells whether it was.
    pub(crate) fn release(&mut self, address: IpAddr, holder: &str) -> bool {
        let held = self.holder(address) == Some(holder);
        if held {
            self.holders.remove(&address);
        }
        held
    }

    fn bounds(&self) -> (u128, u128) {
        let (network, broadcast) = (number(self.range.network()), number(self.range.broadcast()));
        match broadcast - network {
            // Too small to lose two of them.
            0 | 1 => (network, broadcast),
            _ => (network + 1, broadcast - 1),
        }
    }

    fn address(&self, number: u128) -> IpAddr {
        from_number(&self.range, number)
    }
}

/// The address of this number, of the family of a range.
fn from_number(range: &IpNet, number: u128) -> IpAddr {
    match range {
        IpNet::V4(_) => Ipv4Addr::from_bits(u32::try_from(number).unwrap_or(u32::MAX)).into(),
        IpNet::V6(_) => Ipv6Addr::from_bits(number).into(),
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_are_taken_in_turn_and_rest_before_they_come_again() {
        let mut pool = Pool::new("10.0.0.0/29".parse().unwrap());
        let taken: Vec<String> = (0..7).map_while(|i| pool.take(&format!("p{i}"))).map(|a| a.to_string()).collect();
        assert_eq!(taken, ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6"]);
        assert!(!pool.release(address("10.0.0.2"), "p0"));
        assert!(pool.release(address("10.0.0.2"), "p1"));
        assert_eq!(pool.take("q"), Some(address("10.0.0.2")));
    }

    #[test]
    fn a_certain_address_is_given_if_it_is_free_and_of_the_range() {
        let mut pool = Pool::new("127.80.0.0/16".parse().unwrap());
        for (wanted, holder, given) in [
            ("127.80.0.7", "a", true),
            ("127.80.0.7", "a", true),
            ("127.80.0.7", "b", false),
            ("127.81.0.7", "b", false),
            ("127.80.0.0", "b", false),
            ("127.80.255.255", "b", false),
            ("::1", "b", false),
        ] {
            assert_eq!(pool.hold(address(wanted), holder), given, "{wanted} {holder}");
        }
    }

    #[test]
    fn single_addresses_and_other_families_are_ranges_too() {
        for (range, first) in [("10.0.0.9/32", "10.0.0.9"), ("fd00::/64", "fd00::1")] {
            assert_eq!(Pool::new(range.parse().unwrap()).take("a"), Some(address(first)));
        }
    }

    #[test]
    fn what_is_told_is_reached_at_the_same_place_of_the_other_range() {
        let range = |text: &str| text.parse::<IpNet>().unwrap();
        let mapped = PodAddresses { told: range("10.112.0.0/12"), bound: range("127.112.0.0/12") };
        let direct = PodAddresses::direct(range("10.112.0.0/12"));
        for (told, reached) in
            [("10.112.0.1", "127.112.0.1"), ("10.127.3.4", "127.127.3.4"), ("10.1.0.1", "10.1.0.1"), ("::1", "::1")]
        {
            assert_eq!(mapped.reach(address(told)), address(reached));
            assert_eq!(direct.reach(address(told)), address(told));
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Take(u8),
        Hold(u8, u8),
        Release(u8, u8),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (0..6u8).prop_map(Step::Take),
            (0..20u8, 0..6u8).prop_map(|(address, holder)| Step::Hold(address, holder)),
            (0..20u8, 0..6u8).prop_map(|(address, holder)| Step::Release(address, holder)),
        ];
        prop::collection::vec(step, 0..200)
    }

    proptest! {
        #[test]
        fn no_address_is_ever_held_by_two(steps in steps()) {
            let mut pool = Pool::new("10.0.0.0/28".parse().unwrap());
            let mut model: HashMap<IpAddr, String> = HashMap::new();
            for step in steps {
                let at = |last: u8| IpAddr::from([10, 0, 0, last]);
                match step {
                    Step::Take(holder) => match pool.take(&holder.to_string()) {
                        Some(given) => prop_assert_eq!(model.insert(given, holder.to_string()), None),
                        None => prop_assert_eq!(model.len(), 14),
                    },
                    Step::Hold(last, holder) => {
                        let given = pool.hold(at(last), &holder.to_string());
                        let free = (1..15).contains(&last)
                            && model.get(&at(last)).is_none_or(|known| *known == holder.to_string());
                        prop_assert_eq!(given, free);
                        if given {
                            model.insert(at(last), holder.to_string());
                        }
                    }
                    Step::Release(last, holder) => {
                        let ours = model.get(&at(last)).is_some_and(|known| *known == holder.to_string());
                        prop_assert_eq!(pool.release(at(last), &holder.to_string()), ours);
                        if ours {
                            model.remove(&at(last));
                        }
                    }
                }
            }
        }
    }
}
