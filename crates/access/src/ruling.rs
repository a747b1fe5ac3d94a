// SPDX-License-Identifier: Apache-2.0
//! What is decided about a client of an inbound, and why, as data. Not here: deciding, and words for it.

use crate::decision::Verdict;
use crate::path::Rejected;
use crate::rule::{Effect, Match};

/// Whether a proxy knows its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Enforcement {
    /// It does not check: everybody gets in, whatever policies say.
    Off,
    /// It accepts clients with and without a certificate; policies apply to the former.
    Permissive,
    /// It accepts only clients with a certificate.
    Strict,
}

/// Why a client gets in, or does not; `B` is what names a clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Because<B> {
    /// This clause matches the client and decides.
    Clause(B),
    /// No permission selects the inbound, and without one nobody gets in.
    NoPermission,
    /// Permissions select the inbound, and none of them matches.
    NoMatch,
    /// The certificate of the client has several identities, and an inbound with rules accepts only clients with one.
    SeveralIdentities,
    /// The proxy refuses the request itself, before it asks any permission.
    Refused(Rejected),
    /// The client has no certificate, and the inbound requires one before it checks permissions.
    NoCertificate,
    /// The client has no certificate, and the inbound accepts such clients whatever permissions say.
    Plaintext,
    /// The proxy does not ask who its clients are, so no permission is enforced.
    NotEnforced,
}

/// What is decided about a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling<B> {
    /// Whether the proxy knows its clients.
    pub enforcement: Enforcement,
    /// Whether the client gets in.
    pub verdict: Verdict,
    /// Why, and which clause decides: the first in the order of a list.
    pub because: Because<B>,
    /// The clause that decides in the order of a tree.
    pub by_tree: Option<B>,
    /// Every clause that matches.
    pub matched: Vec<B>,
    /// The clause that would refuse the client if shadow denies counted.
    pub shadow: Option<B>,
}

impl<B> Ruling<B> {
    /// The same with other names for clauses; none if one has no such name.
    pub fn renamed<C>(self, mut name: impl FnMut(B) -> Option<C>) -> Option<Ruling<C>> {
        let because = match self.because {
            Because::Clause(by) => Because::Clause(name(by)?),
            Because::NoPermission => Because::NoPermission,
            Because::NoMatch => Because::NoMatch,
            Because::SeveralIdentities => Because::SeveralIdentities,
            Because::Refused(why) => Because::Refused(why),
            Because::NoCertificate => Because::NoCertificate,
            Because::Plaintext => Because::Plaintext,
            Because::NotEnforced => Because::NotEnforced,
        };
        let mut optional = |by: Option<B>| match by {
            None => Some(None),
            Some(by) => name(by).map(Some),
        };
        let (by_tree, shadow) = (optional(self.by_tree)?, optional(self.shadow)?);
        let matched = self.matched.into_iter().map(name).collect::<Option<_>>()?;
        let Self { enforcement, verdict, .. } = self;
        Some(Ruling { enforcement, verdict, because, by_tree, matched, shadow })
    }
}

/// A clause of a permission, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clause<'a> {
    /// An element of a list of an entry of `rules`. The list is called like the effect.
    Rule {
        /// The place of the entry.
        entry: u32,
        /// The place in the list.
        index: u32,
        /// What it does.
        effect: Effect,
        /// The requests it applies to.
        matches: &'a Match,
    },
    /// An element of `from`.
    From {
        /// Its place.
        entry: u32,
        /// What it does.
        effect: Effect,
        /// The tags of the clients it is about; empty for all.
        clients: String,
    },
}

impl Clause<'_> {
    /// What it does.
    pub fn effect(&self) -> Effect {
        match self {
            Self::Rule { effect, .. } | Self::From { effect, .. } => *effect,
        }
    }
}
