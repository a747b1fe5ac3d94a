// SPDX-License-Identifier: Apache-2.0
//! The words for who is asking, how we know, and why somebody was turned away. Not here: finding out.

use std::fmt;

use crate::grants::Grants;

/// How we know who is asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// We do not ask: the listener is on loopback and authentication is off.
    Open,
    /// By a bearer token.
    Token,
    /// By a client certificate.
    Certificate,
    /// We do not know: a path that anybody may ask (health), with no grants.
    Nobody,
}

impl How {
    /// The word for logs and the history.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Token => "token",
            Self::Certificate => "certificate",
            Self::Nobody => "nobody",
        }
    }
}

/// Who is asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The name for the history.
    pub name: String,
    /// The public id of the token, if it was one.
    pub token: Option<String>,
    /// What they may do.
    pub grants: Grants,
    /// How we know.
    pub how: How,
}

impl Principal {
    /// Whoever reaches a listener on loopback without authentication: everything.
    #[must_use]
    pub fn open() -> Self {
        Self { name: "local".to_owned(), token: None, grants: Grants::admin(), how: How::Open }
    }

    /// Somebody without a name and without a grant.
    #[must_use]
    pub fn nobody() -> Self {
        Self { name: "nobody".to_owned(), token: None, grants: Grants::none(), how: How::Nobody }
    }
}

/// Whom shares are counted for. Two tokens of one name are two.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallerId(How, String);

impl Principal {
    /// Whom shares are counted for.
    #[must_use]
    pub fn caller(&self) -> CallerId {
        CallerId(self.how, self.token.clone().unwrap_or_else(|| self.name.clone()))
    }

    /// The same, if there may be others to share with: where everybody is let in, all are one.
    #[must_use]
    pub fn rival(&self) -> Option<CallerId> {
        (self.how != How::Open).then(|| self.caller())
    }
}

/// Why somebody was turned away. The difference is for logs and metrics: an answer must not tell an unknown token from a
/// wrong secret, and [`Tokens`](crate::Tokens) cannot either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Denied {
    /// Nothing was shown.
    Missing,
    /// What was shown is not a bearer token.
    Malformed,
    /// No such token, or not its secret, or a certificate that stands for nobody.
    Unknown,
    /// The right token or certificate, too late.
    Expired,
    /// The right token, taken back.
    Revoked,
}

impl Denied {
    /// The word for logs and metrics.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Malformed => "malformed",
            Self::Unknown => "unknown",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "no token was given; send `Authorization: Bearer TOKEN`",
            Self::Malformed => "the Authorization header does not contain a token of this server",
            Self::Unknown => "the token is not known",
            Self::Expired => "the token has expired",
            Self::Revoked => "the token was revoked",
        })
    }
}

impl std::error::Error for Denied {}
