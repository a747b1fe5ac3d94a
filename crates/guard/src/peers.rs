// SPDX-License-Identifier: Apache-2.0
//! In: the address of a new connection, and who asks on it. Out: a seat, while there are any, in all, for that address and
//! for whoever asks. Not here: accepting.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use crate::forwarded::TrustedProxies;
use crate::limits::ListenerLimits;
use crate::principal::{CallerId, Principal};
use crate::shares::{Full, Share, Shares, fair_part};

/// Whom an address counts for: itself, or for IPv6 its network of 64 bits, because one customer owns that many.
pub(crate) fn owner(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) if !v6.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)))
        }
        other => other,
    }
}

/// The connections there are.
#[derive(Debug)]
pub(crate) struct Peers {
    by_address: Arc<Shares<IpAddr>>,
    by_caller: Arc<Shares<CallerId>>,
    proxies: TrustedProxies,
}

/// One connection's place; given back when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    _address: Share<IpAddr>,
    callers: Arc<Callers>,
}

/// Who has asked on a connection. In the extensions of every request.
#[derive(Debug)]
pub(crate) struct Callers {
    of: Arc<Shares<CallerId>>,
    known: Mutex<BTreeMap<CallerId, Share<CallerId>>>,
}

impl Peers {
    pub(crate) fn new(limits: &ListenerLimits, proxies: TrustedProxies) -> Self {
        Self {
            proxies,
            by_address: Shares::new(limits.connections, limits.connections_per_ip),
            // A connection may be used for several callers, such as that of a proxy.
            by_caller: Shares::new(usize::MAX, fair_part(limits.connections)),
        }
    }

    /// A seat, if there is one for this address.
    pub(crate) fn seat(&self, address: IpAddr) -> Option<Seat> {
        // A proxy brings the requests of many.
        let share = if self.proxies.trusts(address) {
            self.by_address.take_any(owner(address), 1)
        } else {
            self.by_address.take(owner(address), 1)
        };
        let share = share.ok()?;
        let of = Arc::clone(&self.by_caller);
        Some(Seat { _address: share, callers: Arc::new(Callers { of, known: Mutex::default() }) })
    }
}

impl Seat {
    pub(crate) fn callers(&self) -> Arc<Callers> {
        Arc::clone(&self.callers)
    }
}

impl Callers {
    /// Counts the connection for whoever asks on it.
    pub(crate) fn claim(&self, principal: &Principal) -> Result<(), Full> {
        let Some(caller) = principal.rival() else { return Ok(()) };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Vacant(place) = known.entry(caller.clone()) {
            place.insert(self.of.take(caller, 1)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers() -> Peers {
        let limits =
            ListenerLimits { connections: 3, connections_per_ip: 2, ..ListenerLimits::default() };
        Peers::new(&limits, TrustedProxies::new(["192.0.2.200"]).unwrap())
    }

    #[test]
    fn seats_run_out_and_come_back() {
        let peers = peers();
        let one: IpAddr = "192.0.2.1".parse().unwrap();
        let first = peers.seat(one).unwrap();
        let second = peers.seat(one).unwrap();
        assert!(peers.seat(one).is_none(), "a third of one address");
        assert!(peers.seat("::ffff:192.0.2.1".parse().unwrap()).is_none(), "the same address");
        let third = peers.seat("192.0.2.2".parse().unwrap()).unwrap();
        assert!(peers.seat("192.0.2.3".parse().unwrap()).is_none(), "a fourth in all");
        drop(first);
        assert!(peers.seat(one).is_some());
        drop((second, third));
        let proxy: IpAddr = "192.0.2.200".parse().unwrap();
        let all: Vec<_> = (0..4).map(|_| peers.seat(proxy)).collect();
        assert_eq!(all.iter().flatten().count(), 3, "a proxy brings the requests of many");
    }

    #[test]
    fn one_caller_cannot_have_every_connection() {
        let peers = peers();
        let who = |id: &str| Principal { token: Some(id.to_owned()), ..Principal::nobody() };
        let who = |id| Principal { how: crate::How::Token, ..who(id) };
        let seats: Vec<Seat> =
            (1..4).map(|n| peers.seat(format!("192.0.2.{n}").parse().unwrap()).unwrap()).collect();
        let claims: Vec<bool> =
            seats.iter().map(|seat| seat.callers.claim(&who("a")).is_ok()).collect();
        assert_eq!(claims, [true, true, false]);
        let last = seats.last().unwrap();
        assert!(last.callers.claim(&who("b")).is_ok());
        assert!(seats.first().unwrap().callers.claim(&who("a")).is_ok(), "it is counted once");
        drop(seats);
        assert_eq!(peers.by_caller.in_use(), 0);
    }

    #[test]
    fn an_ipv6_network_is_one_owner() {
        let owner_of = |text: &str| owner(text.parse().unwrap());
        assert_eq!(owner_of("2001:db8::1"), owner_of("2001:db8::ffff:1"));
        assert_ne!(owner_of("2001:db8::1"), owner_of("2001:db8:0:1::1"));
        assert_eq!(owner_of("::1"), owner_of("::1"));
    }
}
