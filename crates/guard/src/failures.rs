// SPDX-License-Identifier: Apache-2.0
//! In: failed logins and the addresses they come from. Out: how long each has to wait for the bad news. Not here: waiting.
//!
//! Guessing 256 bits is hopeless without this too; it keeps guessing from filling logs and taking time from others. A
//! right token is never slowed down, whatever its neighbours do: else one could lock others out by guessing.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::peers::owner;

/// Mistakes that cost nothing: people paste wrong tokens.
const FREE: u32 = 3;
/// From here on the answer is that there were too many.
const TOO_MANY: u32 = 20;
/// One failure is forgiven after so long.
const FORGIVEN: Duration = Duration::from_secs(10);
const FIRST_DELAY: Duration = Duration::from_millis(100);
const LONGEST_DELAY: Duration = Duration::from_secs(3);

#[derive(Debug, Clone, Copy)]
struct Entry {
    count: u32,
    last: Instant,
}

impl Entry {
    /// What is left to forgive.
    fn count_at(&self, now: Instant) -> u32 {
        let forgiven = now.duration_since(self.last).as_secs() / FORGIVEN.as_secs();
        self.count.saturating_sub(u32::try_from(forgiven).unwrap_or(u32::MAX))
    }
}

/// Failed logins by address; never more addresses than told.
#[derive(Debug)]
pub(crate) struct Failures {
    most: usize,
    entries: Mutex<BTreeMap<IpAddr, Entry>>,
}

/// What a failed login costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Penalty {
    /// How long to wait before answering.
    pub(crate) delay: Duration,
    /// Whether to say that there were too many, and how long to stay away.
    pub(crate) stay_away: Option<Duration>,
}

impl Failures {
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), entries: Mutex::default() }
    }

    /// Counts a failure.
    pub(crate) fn count(&self, address: IpAddr, now: Instant) -> Penalty {
        let owner = owner(address);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let before = entries.get(&owner).map_or(0, |entry| entry.count_at(now));
        if entries.len() >= self.most && !entries.contains_key(&owner) {
            make_room(&mut entries, now);
        }
        // Bounded, so that waiting long enough always helps.
        let count = (before + 1).min(2 * TOO_MANY);
        entries.insert(owner, Entry { count, last: now });
        penalty(count)
    }
}

/// Forgets whoever is forgiven, or else whoever failed longest ago.
fn make_room(entries: &mut BTreeMap<IpAddr, Entry>, now: Instant) {
    let full = entries.len();
    entries.retain(|_, entry| entry.count_at(now) > 0);
    if entries.len() < full {
        return;
    }
    let oldest = entries.iter().min_by_key(|(_, entry)| entry.last).map(|(owner, _)| *owner);
    if let Some(oldest) = oldest {
        entries.remove(&oldest);
    }
}

fn penalty(count: u32) -> Penalty {
    let doublings = count.saturating_sub(FREE + 1).min(10);
    let delay = match count {
        0..=FREE => Duration::ZERO,
        _ => (FIRST_DELAY * 2_u32.pow(doublings)).min(LONGEST_DELAY),
    };
    Penalty { delay, stay_away: (count > TOO_MANY).then_some(FORGIVEN) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn slower_and_slower_and_then_too_many() {
        let failures = Failures::new(10);
        let now = Instant::now();
        let penalties: Vec<Penalty> = (0..60).map(|_| failures.count(address(1), now)).collect();
        assert!(penalties.iter().take(3).all(|penalty| penalty.delay.is_zero()));
        assert!(penalties.is_sorted_by_key(|penalty| penalty.delay));
        assert_eq!(penalties[3].delay, FIRST_DELAY);
        assert_eq!(penalties[59].delay, LONGEST_DELAY);
        assert_eq!(penalties.iter().position(|penalty| penalty.stay_away.is_some()), Some(20));
        assert!(failures.count(address(2), now).delay.is_zero(), "others are not slowed down");
        let later = now + FORGIVEN * 40;
        assert!(failures.count(address(1), later).delay.is_zero(), "all is forgiven in time");
    }

    #[test]
    fn the_table_is_bounded_and_keeps_the_latest() {
        let failures = Failures::new(4);
        let now = Instant::now();
        for n in 0..100 {
            failures.count(address(n), now + Duration::from_millis(u64::from(n)));
        }
        let entries = failures.entries.lock().unwrap();
        assert_eq!(entries.len(), 4);
        assert!(entries.contains_key(&address(99)));
    }
}
