// SPDX-License-Identifier: Apache-2.0
//! In: hostnames, exact or with a leading `*.`. Out: how they relate, and what is wrong with a bad one.
//! Not here: which listener or route has which.
//!
//! The empty hostname means all hosts. Hostnames nest: two of them are disjoint, or one lies within the other. Hence a
//! common part is always one of the two, and `Hosts` can be a forest in which "lies within" is a walk upwards.

use hashbrown::HashMap;
use overrule_model::{Names, Sym};

/// What two hostnames have in common: the narrower one, or nothing.
pub fn intersect<'a>(a: &'a str, b: &'a str) -> Option<&'a str> {
    match (is_subset(a, b), is_subset(b, a)) {
        (true, _) => Some(a),
        (_, true) => Some(b),
        _ => None,
    }
}

/// Whether every host of `a` is one of `b`.
pub fn is_subset(a: &str, b: &str) -> bool {
    if a == b || b.is_empty() {
        return true;
    }
    let Some(suffix) = b.strip_prefix('*') else { return false };
    let a = a.strip_prefix('*').unwrap_or(a);
    a.len() > suffix.len() && a.ends_with(suffix)
}

/// Whether a request for `host` (an exact name, any case, a final dot allowed) belongs to `hostname`.
pub fn matches_host(hostname: &str, host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    if host.is_empty() || host.contains('*') {
        return false;
    }
    is_subset(&host.to_ascii_lowercase(), hostname)
}

/// How specific a hostname is, to compare those that fit one host: exact before wildcards, long before short, all
/// hosts last. Greater is more specific.
pub fn specificity(hostname: &str) -> (bool, usize) {
    (!hostname.is_empty() && !hostname.starts_with('*'), hostname.len())
}

/// What is wrong with a hostname.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing is written.
    Empty,
    /// An IP address.
    Address,
    /// A port, a path or a scheme.
    NotOnlyHost,
    /// A star that is not the whole first label, or the only one.
    Wildcard,
    /// Capital letters.
    Capitals,
    /// Longer than 253 characters.
    TooLong,
    /// Some other character, or a dot or dash where none may be.
    Characters,
}

impl Flaw {
    /// What to do about it.
    pub fn help(self) -> &'static str {
        match self {
            Self::Empty => "write a name, or leave the field out",
            Self::Address => {
                "hostnames are names, not addresses; leave the hostname out to take requests for any host"
            }
            Self::NotOnlyHost => {
                "write the name only; ports belong to listeners, paths to the matches of a rule"
            }
            Self::Wildcard => {
                "a wildcard is the whole first label, `*.example.com`; leave the hostname out for all hosts"
            }
            Self::Capitals => "write it in lower case",
            Self::TooLong => "use at most 253 characters",
            Self::Characters => {
                "use lower-case letters, digits and `-`, in labels separated by single dots"
            }
        }
    }
}

/// Checks a hostname as the API server does, and that it is no IP address.
pub fn check(hostname: &str) -> Result<(), Flaw> {
    let name = hostname.strip_prefix("*.").unwrap_or(hostname);
    let flaw = if hostname.is_empty() {
        Flaw::Empty
    } else if hostname.parse::<std::net::IpAddr>().is_ok() || hostname.starts_with('[') {
        Flaw::Address
    } else if hostname.contains([':', '/']) {
        Flaw::NotOnlyHost
    } else if name.contains('*') {
        Flaw::Wildcard
    } else if hostname.len() > 253 {
        Flaw::TooLong
    } else if name.split('.').all(is_label) {
        return Ok(());
    } else if name.to_ascii_lowercase().split('.').all(is_label) {
        Flaw::Capitals
    } else {
        Flaw::Characters
    };
    Err(flaw)
}

fn is_label(label: &str) -> bool {
    !label.is_empty()
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Index of a hostname in [`Hosts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct HostIx(u32);

impl HostIx {
    /// All hosts: the root of the forest.
    pub(crate) const ALL: Self = Self(0);
}

/// Every hostname of the input and every wildcard around one, each knowing the next wider one.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    list: Vec<(Sym, HostIx)>,
    by_name: HashMap<Sym, HostIx>,
    wildcard: String,
}

impl Default for Hosts {
    fn default() -> Self {
        let by_name = HashMap::from_iter([(Sym::EMPTY, HostIx::ALL)]);
        Self { list: vec![(Sym::EMPTY, HostIx::ALL)], by_name, wildcard: String::new() }
    }
}

impl Hosts {
    /// Adds a checked hostname.
    pub(crate) fn add(&mut self, hostname: &str, names: &mut Names) -> HostIx {
        let name = names.intern(hostname);
        if let Some(found) = self.by_name.get(&name) {
            return *found;
        }
        let wider = self.wider(hostname, names);
        self.push(name, wider)
    }

    fn push(&mut self, name: Sym, wider: HostIx) -> HostIx {
        let ix = HostIx(u32::try_from(self.list.len()).unwrap_or(u32::MAX));
        self.list.push((name, wider));
        self.by_name.insert(name, ix);
        ix
    }

    /// The narrowest wildcard around a hostname: `*.b.c` for `a.b.c` and `*.a.b.c`. Missing ones are added, the widest
    /// first.
    fn wider(&mut self, hostname: &str, names: &mut Names) -> HostIx {
        let mut missing = Vec::new();
        let mut rest = hostname.strip_prefix("*.").unwrap_or(hostname);
        let mut found = HostIx::ALL;
        while let Some((_, tail)) = rest.split_once('.') {
            self.wildcard.clear();
            self.wildcard.push_str("*.");
            self.wildcard.push_str(tail);
            let name = names.intern(&self.wildcard);
            if let Some(known) = self.by_name.get(&name) {
                found = *known;
                break;
            }
            missing.push(name);
            rest = tail;
        }
        missing.into_iter().rev().fold(found, |wider, name| self.push(name, wider))
    }

    /// The symbol of a hostname; empty for all hosts.
    pub(crate) fn name(&self, host: HostIx) -> Sym {
        self.list.get(host.0 as usize).map_or(Sym::EMPTY, |(name, _)| *name)
    }

    /// A hostname and all wider ones, narrowest first, all hosts last.
    pub(crate) fn around(&self, host: HostIx) -> impl Iterator<Item = HostIx> {
        let mut next = Some(host);
        std::iter::from_fn(move || {
            let here = next?;
            next = match here {
                HostIx::ALL => None,
                _ => self.list.get(here.0 as usize).map(|(_, wider)| *wider),
            };
            Some(here)
        })
    }

    /// Whether every host of `a` is one of `b`.
    pub(crate) fn is_subset(&self, a: HostIx, b: HostIx) -> bool {
        b == HostIx::ALL || self.around(a).any(|wider| wider == b)
    }

    /// What two hostnames have in common: the narrower one, or nothing.
    pub(crate) fn intersect(&self, a: HostIx, b: HostIx) -> Option<HostIx> {
        match self.is_subset(a, b) {
            true => Some(a),
            false => self.is_subset(b, a).then_some(b),
        }
    }
}
