// SPDX-License-Identifier: Apache-2.0
//! Out: what a client shows of itself, as data. Not here: which client shows what.

use std::collections::{BTreeMap, BTreeSet};

/// What a certificate of the older kind says of a client: under each key every value that it has. A client of two
/// services has two.
pub type ClientTags = BTreeMap<String, BTreeSet<String>>;

/// How many identities the certificate of a client has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Certificate {
    /// It shows no certificate.
    #[default]
    Missing,
    /// One.
    One,
    /// One for every tag, as certificates of the older kind have.
    Several,
}

/// What a client shows of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// Its certificate.
    pub certificate: Certificate,
    /// Its identity, or the first of several.
    pub identity: Option<String>,
    /// Its tags; none if its certificate has none, or only its identity is known.
    pub tags: Option<ClientTags>,
}

impl Caller {
    /// A client with this identity, of which nothing else is known.
    pub fn identified(identity: &str) -> Self {
        let identity = Some(identity.to_owned());
        Self { certificate: Certificate::One, identity, tags: None }
    }
}
