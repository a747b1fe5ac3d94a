// SPDX-License-Identifier: Apache-2.0
//! In: a request as a client sends it. Out: what the proxy takes for its path, or why it refuses the request before any
//! rule is asked. Not here: how a path is made comparable (`path`).
//!
//! Measured on Envoy 1.40.0. What the two versions of HTTP have in common:
//!
//! * A space, a control or DEL within the target, and `#` anywhere, are refused; `*` is (`OPTIONS *` with 404).
//! * CONNECT has no path.
//!
//! Where they differ:
//!
//! | | HTTP/1.1 | HTTP/2 |
//! |---|---|---|
//! | spaces and tabs around the target | dropped | refused |
//! | bytes outside ASCII | refused | taken; where paths are normalised, `%XX` in the path and left in the query |
//! | absolute form (`http://host/a`) | reduced to its path | refused |
//! | methods | those of a list | every token |

use std::borrow::Cow;

use crate::path::{Rejected, canonical};
use crate::rule::Request;

/// The version of HTTP that a request is sent with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Http {
    /// HTTP/1.1.
    #[default]
    One,
    /// HTTP/2, and gRPC over it.
    Two,
}

impl Http {
    /// Both, in order.
    pub const ALL: [Self; 2] = [Self::One, Self::Two];

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "HTTP/1.1",
            Self::Two => "HTTP/2",
        }
    }
}

/// The methods that the proxy takes with HTTP/1.1.
const METHODS: [&str; 35] = [
    "ACL",
    "BIND",
    "CHECKOUT",
    "CONNECT",
    "COPY",
    "DELETE",
    "GET",
    "HEAD",
    "LINK",
    "LOCK",
    "MERGE",
    "MKACTIVITY",
    "MKCALENDAR",
    "MKCOL",
    "MOVE",
    "MSEARCH",
    "NOTIFY",
    "OPTIONS",
    "PATCH",
    "POST",
    "PROPFIND",
    "PROPPATCH",
    "PURGE",
    "PUT",
    "QUERY",
    "REBIND",
    "REPORT",
    "SEARCH",
    "SOURCE",
    "SUBSCRIBE",
    "TRACE",
    "UNBIND",
    "UNLINK",
    "UNLOCK",
    "UNSUBSCRIBE",
];

/// What the proxy makes of a request before it asks any rule; `paths`: whether some rule compares paths. Only then the
/// connection manager is told to normalise, and the filter refuses what it cannot judge.
///
/// None if nothing is known of the path, or no rule asks.
///
/// # Errors
/// The proxy refuses the request.
pub fn received<'a>(request: &Request<'a>, paths: bool) -> Result<Option<Cow<'a, str>>, Rejected> {
    let Request { http, method, path, .. } = *request;
    if method.is_some_and(|method| !takes(http, method)) {
        return Err(Rejected::Method);
    }
    if method == Some("CONNECT") {
        let is_named = |target: &str| http == Http::Two || has_port(trimmed(target));
        return match path {
            Some(target) if !is_named(target) => Err(Rejected::Target),
            _ if paths => Err(Rejected::NoPath),
            _ => Ok(None),
        };
    }
    let target = path.map(|path| target(path, http)).transpose()?;
    target.filter(|_| paths).map(canonical).transpose()
}

/// Whether the proxy takes a method.
fn takes(http: Http, method: &str) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    match http {
        Http::One => METHODS.binary_search(&method).is_ok(),
        Http::Two => !method.is_empty() && method.bytes().all(token),
    }
}

/// Without what HTTP/1.1 takes for the space between the parts of its first line.
fn trimmed(raw: &str) -> &str {
    raw.trim_matches([' ', '\t'])
}

/// The path and query of a target, as the proxy takes them from a request that is no CONNECT.
///
/// # Errors
/// The proxy refuses the request.
pub fn target(raw: &str, http: Http) -> Result<&str, Rejected> {
    let raw = if http == Http::One { trimmed(raw) } else { raw };
    let target = match raw.starts_with('/') {
        true => raw,
        false if http == Http::One => origin(raw)?,
        false if raw.contains("://") => return Err(Rejected::Absolute),
        false => return Err(Rejected::Target),
    };
    for byte in target.bytes() {
        match byte {
            b'#' => return Err(Rejected::Fragment),
            0x21..=0x7e => {}
            0x80.. if http == Http::Two => {}
            0x80.. => return Err(Rejected::NotAscii),
            _ => return Err(Rejected::Byte),
        }
    }
    Ok(target)
}

/// The path of an address.
fn origin(raw: &str) -> Result<&str, Rejected> {
    let (scheme, rest) = raw.split_once("://").ok_or(Rejected::Target)?;
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Err(Rejected::Target);
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).ok_or(Rejected::Target)?;
    if !is_authority(authority) {
        return Err(Rejected::Target);
    }
    match path.bytes().next() {
        None => Ok("/"),
        Some(b'/') => Ok(path),
        Some(_) => Err(Rejected::Target),
    }
}

/// Whether it names a host, and a port if it has a colon.
fn is_authority(text: &str) -> bool {
    let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
    let known = |b: u8| b.is_ascii_alphanumeric() || b"-._~:[]".contains(&b);
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    !name.is_empty() && host.bytes().all(known) && port.is_none_or(|p| p.parse::<u16>().is_ok())
}

fn has_port(text: &str) -> bool {
    let port = text.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    port && is_authority(text)
}

#[cfg(test)]
mod tests {
    use super::METHODS;

    #[test]
    fn methods_are_sorted_so_that_they_are_found() {
        assert!(METHODS.is_sorted());
    }
}
