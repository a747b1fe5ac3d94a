// SPDX-License-Identifier: Apache-2.0
//! In: the head of a request, the address it came from, and the proxies we trust. Out: the address it began at, and how
//! its first connection was made. Not here: what an address may do.
//!
//! Anybody can send `Forwarded`. So it counts only where a trusted proxy sent it, and only as far back as trusted proxies
//! reach: the last address in it that is none of theirs is the client's. What stands before that, the client made up.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use http::HeaderMap;
use http::header::{FORWARDED, HeaderName};

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// An address, or all that begin alike: `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

/// A text that is neither an address nor a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkError(String);

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is neither an address nor a network such as 10.0.0.0/8", self.0)
    }
}

impl std::error::Error for NetworkError {}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let wrong = || NetworkError(text.chars().take(64).collect());
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok().ok_or_else(wrong)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => most,
            Some(bits) if bits.bytes().all(|byte| byte.is_ascii_digit()) => {
                bits.parse().ok().filter(|bits| *bits <= most).ok_or_else(wrong)?
            }
            Some(_) => return Err(wrong()),
        };
        Ok(Self { address, bits })
    }
}

impl Network {
    /// Whether an address is in it.
    #[must_use]
    pub fn has(&self, address: IpAddr) -> bool {
        let shift = |all: u32| all.saturating_sub(u32::from(self.bits));
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (own.to_bits() ^ other.to_bits()).checked_shr(shift(32)).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                (own.to_bits() ^ other.to_bits()).checked_shr(shift(128)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

/// The proxies that are trusted to say who asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<Network>);

/// Where a request began, as trusted proxies say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Began {
    /// The address of the client.
    pub(crate) at: IpAddr,
    /// Whether its connection was encrypted, if that is told.
    pub(crate) tls: Option<bool>,
}

/// One step of the way: whom the proxy got the request from, and how.
#[derive(Default)]
struct Hop {
    from: Option<IpAddr>,
    tls: Option<bool>,
}

impl TrustedProxies {
    /// Reads addresses and networks.
    ///
    /// # Errors
    /// When a text is neither.
    pub fn new<T: AsRef<str>>(all: impl IntoIterator<Item = T>) -> Result<Self, NetworkError> {
        let all = all.into_iter().map(|text| text.as_ref().parse());
        all.collect::<Result<Vec<Network>, NetworkError>>().map(Self)
    }

    /// Whether an address is that of a trusted proxy.
    #[must_use]
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.has(address))
    }

    /// Where a request began that came from this address; none if no trusted proxy says.
    pub(crate) fn began(&self, peer: IpAddr, headers: &HeaderMap) -> Option<Began> {
        if !self.trusts(peer) {
            return None;
        }
        let mut began = None;
        for hop in hops(headers).into_iter().rev() {
            // An address that cannot be read: nobody before it is known.
            let at = hop.from?;
            began = Some(Began { at, tls: hop.tls });
            if !self.trusts(at) {
                break;
            }
        }
        began
    }
}

/// The steps of the way, first one first. `Forwarded` counts where both are there: a proxy that writes it knows more.
fn hops(headers: &HeaderMap) -> Vec<Hop> {
    let values = |name: &HeaderName| -> Vec<String> {
        let all = headers.get_all(name).iter();
        let all = all.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        all.collect()
    };
    let forwarded = values(&FORWARDED).join(",");
    if !forwarded.is_empty() {
        return split(&forwarded, ',').into_iter().map(hop).collect();
    }
    let list = values(&FOR).join(",");
    if list.is_empty() {
        return Vec::new();
    }
    // It names one scheme: that of the first connection to the nearest proxy.
    let proto = values(&PROTO).join(",");
    let tls = proto.rsplit(',').next().and_then(|word| scheme(word.trim()));
    list.split(',').map(|text| Hop { from: address(text.trim()), tls }).collect()
}

/// Parts between separators that are not in quotes.
fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |c| {
        if escaped {
            escaped = false;
            return false;
        }
        match c {
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => return c == separator && !quoted,
        }
        false
    })
    .collect()
}

fn hop(element: &str) -> Hop {
    let mut hop = Hop::default();
    for pair in split(element, ';') {
        let Some((name, value)) = pair.trim().split_once('=') else { continue };
        let value = value.trim().trim_matches('"');
        match name.trim().to_ascii_lowercase().as_str() {
            "for" => hop.from = address(value),
            "proto" => hop.tls = scheme(value),
            _ => {}
        }
    }
    hop
}

fn scheme(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "https" => Some(true),
        "http" => Some(false),
        _ => None,
    }
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`.
fn address(text: &str) -> Option<IpAddr> {
    let bare = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None => match text.rsplit_once(':') {
            Some((host, _)) if !host.contains(':') => host,
            _ => text,
        },
    };
    bare.parse().ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn began(peer: &str, headers: &[(&str, &str)]) -> Option<(String, Option<bool>)> {
        let proxies = TrustedProxies::new(["10.0.0.0/8", "2001:db8:1::/48", "192.0.2.7"]).unwrap();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        let found = proxies.began(peer.parse().unwrap(), &map)?;
        Some((found.at.to_string(), found.tls))
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        let told = [("forwarded", "for=203.0.113.9;proto=https")];
        let some = |at: &str, tls| Some((at.to_owned(), tls));
        assert_eq!(began("10.1.2.3", &told), some("203.0.113.9", Some(true)));
        assert_eq!(began("192.0.2.7", &told), some("203.0.113.9", Some(true)));
        assert_eq!(began("192.0.2.8", &told), None);
        assert_eq!(began("10.1.2.3", &[]), None);
        assert_eq!(began("::ffff:10.1.2.3", &told), some("203.0.113.9", Some(true)));
    }

    #[test]
    fn what_the_client_made_up_does_not_count() {
        let some = |at: &str| Some((at.to_owned(), None));
        let forged = "for=198.51.100.1, for=203.0.113.9, for=10.0.0.2";
        assert_eq!(began("10.0.0.1", &[("forwarded", forged)]), some("203.0.113.9"));
        let lines = [("forwarded", "for=198.51.100.1"), ("forwarded", "for=203.0.113.9")];
        assert_eq!(began("10.0.0.1", &lines), some("203.0.113.9"));
        let both = [("x-forwarded-for", "198.51.100.1"), ("forwarded", "for=203.0.113.9")];
        assert_eq!(began("10.0.0.1", &both), some("203.0.113.9"));
        let quoted = r#"for="203.0.113.9:1, for=198.51.100.1", for=203.0.113.4"#;
        assert_eq!(began("10.0.0.1", &[("forwarded", quoted)]), some("203.0.113.4"));
        assert_eq!(began("10.0.0.1", &[("forwarded", "for=203.0.113.9, for=unknown")]), None);
        let only_ours = [("x-forwarded-for", "10.9.9.9, 10.0.0.2")];
        assert_eq!(began("10.0.0.1", &only_ours), some("10.9.9.9"));
    }

    #[test]
    fn addresses_come_in_several_forms() {
        for (text, address) in [
            ("for=\"[2001:db8::1]:4711\"", "2001:db8::1"),
            ("For=\"[2001:db8::1]\"", "2001:db8::1"),
            ("by=x; for=192.0.2.43:80", "192.0.2.43"),
        ] {
            let found = began("2001:db8:1::5", &[("forwarded", text)]).unwrap();
            assert_eq!(found.0, address, "{text}");
        }
        let list = [("x-forwarded-for", "2001:db8::9"), ("x-forwarded-proto", "https")];
        assert_eq!(began("10.0.0.1", &list).unwrap(), ("2001:db8::9".to_owned(), Some(true)));
        assert!(
            TrustedProxies::new(["10.0.0.0/33"]).is_err()
                && TrustedProxies::new(["ingress"]).is_err()
        );
        assert!(
            TrustedProxies::new(["10.0.0.0/+8"]).is_err() && TrustedProxies::new(["::/0"]).is_ok()
        );
        let all = TrustedProxies::new(["0.0.0.0/0"]).unwrap();
        assert!(all.trusts("203.0.113.1".parse().unwrap()));
        assert!(!all.trusts("2001:db8::1".parse().unwrap()));
    }
}
