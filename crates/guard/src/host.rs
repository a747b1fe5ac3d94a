// SPDX-License-Identifier: Apache-2.0
//! In: the head of a request, where it arrived, and the names this server goes by. Out: whether it was meant for us, and
//! sent by a page we trust. Not here: who sent it.
//!
//! A web page can make its visitor's browser talk to loopback, by giving its own name our address (DNS rebinding). Such a
//! request still carries the page's name in `Host`, and another page's requests carry its name in `Origin`. So `Host` has to
//! be ours: a configured name; or the very address and port the request arrived at (an address cannot be rebound); or
//! `localhost` with that port, if it arrived on loopback.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use http::header::{HOST, ORIGIN};
use http::request::Parts;

use crate::listen::Peer;

/// The names a server goes by, and the pages that may talk to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostNames {
    hosts: Vec<(String, Option<u16>)>,
    origins: Vec<Origin>,
}

/// Why a request was not meant for us, or comes from a page it must not come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostRefused {
    /// No host, or several.
    Host,
    /// A host that is not ours.
    Foreign,
    /// An origin that is not allowed.
    Origin,
}

impl HostRefused {
    /// The word for logs and metrics.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Host => "host-unclear",
            Self::Foreign => "host-foreign",
            Self::Origin => "origin",
        }
    }
}

impl fmt::Display for HostRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "the request must name exactly one host",
            Self::Foreign => {
                "this server does not answer for the requested host; allow the name in its configuration"
            }
            Self::Origin => {
                "pages of this origin may not use this server; allow the origin in its configuration"
            }
        })
    }
}

impl std::error::Error for HostRefused {}

/// A name in the configuration that is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameError(String);

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is neither a host (`NAME` or `NAME:PORT`) nor an origin (`https://…`)",
            self.0
        )
    }
}

impl std::error::Error for NameError {}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin {
    tls: bool,
    host: String,
    port: u16,
}

impl HostNames {
    /// Reads hosts (`overrule.example`, with any port; or `overrule.example:8443`) and origins (`https://ui.example`).
    ///
    /// # Errors
    /// When a text is neither.
    pub fn new<T: AsRef<str>>(allowed: impl IntoIterator<Item = T>) -> Result<Self, NameError> {
        let mut names = Self::default();
        for text in allowed {
            let text = text.as_ref();
            let wrong = || NameError(text.chars().take(64).collect());
            if text.contains("://") {
                names.origins.push(origin(text).ok_or_else(wrong)?);
            } else {
                names.hosts.push(authority(text).ok_or_else(wrong)?);
            }
        }
        Ok(names)
    }

    fn are_ours(&self, host: &str, port: Option<u16>, peer: &Peer) -> bool {
        let named = self.hosts.iter().any(|(name, only)| {
            name == host && only.is_none_or(|only| port.unwrap_or(default(peer.tls)) == only)
        });
        named || is_here(host, port.unwrap_or(default(peer.tls)), peer.local)
    }
}

/// Whether this is the address the request arrived at.
fn is_here(host: &str, port: u16, local: SocketAddr) -> bool {
    let here = local.ip().to_canonical();
    if port != local.port() {
        return false;
    }
    if host == "localhost" {
        return here.is_loopback();
    }
    let literal = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    literal.parse::<IpAddr>().is_ok_and(|address| address.to_canonical() == here)
}

fn default(tls: bool) -> u16 {
    if tls { 443 } else { 80 }
}

/// Host in lower case, and port. Nothing else: no user, no path.
fn authority(text: &str) -> Option<(String, Option<u16>)> {
    let parsed: http::uri::Authority = text.parse().ok()?;
    if text.contains('@') || parsed.host().is_empty() {
        return None;
    }
    let after = text.strip_prefix(parsed.host())?;
    let port = match after.strip_prefix(':') {
        None if after.is_empty() => None,
        None => return None,
        // Not `port_u16`: it also gives none for a port that is not one. A number may begin with `+`; a port may not.
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse().ok()?)
        }
        Some(_) => return None,
    };
    // A name may end in the dot of the root, and is the same name.
    let host = parsed.host().to_ascii_lowercase();
    let host = host.strip_suffix('.').unwrap_or(&host).to_owned();
    (!host.is_empty()).then_some((host, port))
}

fn origin(text: &str) -> Option<Origin> {
    let (scheme, rest) = text.split_once("://")?;
    let tls = match scheme {
        "https" => true,
        "http" => false,
        _ => return None,
    };
    let (host, port) = authority(rest)?;
    Some(Origin { tls, host, port: port.unwrap_or(default(tls)) })
}

/// The one host a request is for: the `Host` header, or the authority in its target (HTTP/2), or both if they agree.
fn host(parts: &Parts) -> Option<(String, Option<u16>)> {
    let mut headers = parts.headers.get_all(HOST).iter();
    let header = headers.next();
    if headers.next().is_some() {
        return None;
    }
    let header = match header {
        Some(value) => Some(authority(value.to_str().ok()?)?),
        None => None,
    };
    let target = match parts.uri.authority() {
        Some(text) => Some(authority(text.as_str())?),
        None => None,
    };
    match (header, target) {
        (Some(header), Some(target)) => (header == target).then_some(header),
        (one, other) => one.or(other),
    }
}

/// Checks where a request was meant to go, and which page sent it, if one did.
///
/// # Errors
/// When `Host` is not ours; when `Origin` is there and neither our own nor an allowed one.
pub fn host_and_origin(parts: &Parts, peer: &Peer, names: &HostNames) -> Result<(), HostRefused> {
    let (host, port) = host(parts).ok_or(HostRefused::Host)?;
    if !names.are_ours(&host, port, peer) {
        return Err(HostRefused::Foreign);
    }
    let mut origins = parts.headers.get_all(ORIGIN).iter();
    let Some(value) = origins.next() else { return Ok(()) };
    let sent = value.to_str().ok().and_then(origin).ok_or(HostRefused::Origin)?;
    let own = Origin { tls: peer.tls, host, port: port.unwrap_or(default(peer.tls)) };
    let allowed = sent == own || names.origins.contains(&sent);
    if allowed && origins.next().is_none() { Ok(()) } else { Err(HostRefused::Origin) }
}
