// SPDX-License-Identifier: Apache-2.0
//! In: the address of a new connection. Out: a seat, while there are any, in all and for that address. Not here:
//! accepting.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::limits::ListenerLimits;

/// Whom an address counts for: itself, or for IPv6 its network of 64 bits, because one customer owns that many.
pub(crate) fn owner(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) if !v6.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)))
        }
        other => other,
    }
}

#[derive(Debug, Default)]
struct Seats {
    taken: usize,
    by_owner: BTreeMap<IpAddr, usize>,
}

/// The connections there are. No larger than their number.
#[derive(Debug)]
pub(crate) struct Peers {
    most: usize,
    most_per_owner: usize,
    seats: Mutex<Seats>,
}

/// One connection's place; given back when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    peers: Arc<Peers>,
    owner: IpAddr,
}

impl Peers {
    pub(crate) fn new(limits: &ListenerLimits) -> Arc<Self> {
        Arc::new(Self {
            most: limits.connections,
            most_per_owner: limits.connections_per_ip,
            seats: Mutex::default(),
        })
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A seat, if there is one for this address.
    pub(crate) fn seat(self: &Arc<Self>, address: IpAddr) -> Option<Seat> {
        let owner = owner(address);
        let mut seats = self.seats();
        let own = seats.by_owner.get(&owner).copied().unwrap_or(0);
        if seats.taken >= self.most || own >= self.most_per_owner {
            return None;
        }
        seats.taken += 1;
        seats.by_owner.insert(owner, own + 1);
        Some(Seat { peers: Arc::clone(self), owner })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = self.peers.seats();
        seats.taken = seats.taken.saturating_sub(1);
        match seats.by_owner.get_mut(&self.owner) {
            Some(own) if *own > 1 => *own -= 1,
            _ => {
                seats.by_owner.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_run_out_and_come_back() {
        let limits =
            ListenerLimits { connections: 3, connections_per_ip: 2, ..ListenerLimits::default() };
        let peers = Peers::new(&limits);
        let one: IpAddr = "192.0.2.1".parse().unwrap();
        let first = peers.seat(one).unwrap();
        let _second = peers.seat(one).unwrap();
        assert!(peers.seat(one).is_none(), "a third of one address");
        assert!(peers.seat("::ffff:192.0.2.1".parse().unwrap()).is_none(), "the same address");
        let _third = peers.seat("192.0.2.2".parse().unwrap()).unwrap();
        assert!(peers.seat("192.0.2.3".parse().unwrap()).is_none(), "a fourth in all");
        drop(first);
        assert!(peers.seat(one).is_some());
        assert_eq!(peers.seats().by_owner.len(), 2, "nobody is remembered who is gone");
    }

    #[test]
    fn an_ipv6_network_is_one_owner() {
        let owner_of = |text: &str| owner(text.parse().unwrap());
        assert_eq!(owner_of("2001:db8::1"), owner_of("2001:db8::ffff:1"));
        assert_ne!(owner_of("2001:db8::1"), owner_of("2001:db8:0:1::1"));
        assert_eq!(owner_of("::1"), owner_of("::1"));
    }
}
