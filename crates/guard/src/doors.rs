// SPDX-License-Identifier: Apache-2.0
//! In: the head of a request and its peer. Out: who is asking. Not here: what they may do with that, and slowing down
//! whoever guesses (the gate does).

use std::sync::{Arc, PoisonError, RwLock};

use http::header::AUTHORIZATION;
use http::request::Parts;

use crate::certificate::Certificates;
use crate::clock::now;
use crate::listen::Peer;
use crate::principal::{Denied, Principal};
use crate::token::Tokens;

/// Tells who is asking. Called for every request.
pub trait Authenticator: Send + Sync + 'static {
    /// Who is asking.
    ///
    /// # Errors
    /// When we do not know and have to.
    fn authenticate(&self, parts: &Parts, peer: &Peer) -> Result<Principal, Denied>;
}

impl<A: Authenticator + ?Sized> Authenticator for Arc<A> {
    fn authenticate(&self, parts: &Parts, peer: &Peer) -> Result<Principal, Denied> {
        (**self).authenticate(parts, peer)
    }
}

/// All ways in. Tokens can be exchanged while requests are served.
///
/// A token decides where one is shown, even a bad one: whoever shows it means it. Else the client certificate does.
#[derive(Debug)]
pub struct Doors {
    open: bool,
    public: Vec<String>,
    certificates: Certificates,
    tokens: RwLock<Arc<Tokens>>,
}

impl Doors {
    /// Everybody is let in with every right: for listeners on loopback only
    /// ([`check_address`](crate::check_address) refuses others).
    #[must_use]
    pub fn open() -> Self {
        Self { open: true, ..Self::closed(Tokens::default(), Certificates::default()) }
    }

    /// Tokens and certificates.
    #[must_use]
    pub fn closed(tokens: Tokens, certificates: Certificates) -> Self {
        let tokens = RwLock::new(Arc::new(tokens));
        Self { open: false, public: Vec::new(), certificates, tokens }
    }

    /// Adds a path that anybody may ask, without any grant. Compared as a whole.
    #[must_use]
    pub fn with_public(mut self, path: impl Into<String>) -> Self {
        self.public.push(path.into());
        self
    }

    /// Exchanges the tokens. The next request sees the new ones.
    pub fn set_tokens(&self, tokens: Tokens) {
        let tokens = Arc::new(tokens);
        *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = tokens;
    }

    /// The tokens that count now.
    #[must_use]
    pub fn tokens(&self) -> Arc<Tokens> {
        Arc::clone(&self.tokens.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Authenticator for Doors {
    fn authenticate(&self, parts: &Parts, peer: &Peer) -> Result<Principal, Denied> {
        if self.open {
            return Ok(Principal::open());
        }
        if self.public.iter().any(|path| path == parts.uri.path()) {
            return Ok(Principal::nobody());
        }
        let mut headers = parts.headers.get_all(AUTHORIZATION).iter();
        let header = headers.next();
        // Two headers: a proxy in between may have judged the other one.
        if headers.next().is_some() {
            return Err(Denied::Malformed);
        }
        match (header, &peer.certificate) {
            (None, Some(certificate)) => self.certificates.authenticate(certificate, now()),
            (header, _) => {
                self.tokens().authenticate(header.map(http::HeaderValue::as_bytes), now())
            }
        }
    }
}
