// SPDX-License-Identifier: Apache-2.0
//! In: a request as one would type it. Out: its parts. Not here: who takes it (`routing`).

use std::fmt;
use std::str::FromStr;

/// A request to ask about.
///
/// ```
/// use overrule_topology::{HttpRequest, Scheme};
/// let request: HttpRequest = "GET https://Shop.example.com:8443/cart?item=a%20b".parse().unwrap();
/// assert_eq!((request.scheme, request.port), (Scheme::Https, Some(8443)));
/// assert_eq!((request.host.as_str(), request.path.as_str()), ("shop.example.com", "/cart"));
/// assert_eq!(request.query, [("item".to_owned(), "a b".to_owned())]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// Method, upper case.
    pub method: String,
    /// Scheme.
    pub scheme: Scheme,
    /// Host, lower case, without port.
    pub host: String,
    /// Port, if written.
    pub port: Option<u16>,
    /// Path as written, starting with `/`. For gRPC `/service/method`.
    pub path: String,
    /// Query parameters, decoded, as written.
    pub query: Vec<(String, String)>,
    /// Headers; names in any case. A header given twice has its values joined by commas.
    pub headers: Vec<(String, String)>,
}

/// How a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Plain HTTP.
    Http,
    /// HTTP over TLS.
    Https,
    /// gRPC without TLS.
    Grpc,
    /// gRPC over TLS.
    Grpcs,
}

impl Scheme {
    /// Whether it goes over TLS.
    pub fn is_secure(self) -> bool {
        matches!(self, Self::Https | Self::Grpcs)
    }

    /// The port it goes to by default.
    pub fn port(self) -> u16 {
        if self.is_secure() { 443 } else { 80 }
    }

    fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "http" => Some(Self::Http),
            "https" => Some(Self::Https),
            "grpc" => Some(Self::Grpc),
            "grpcs" => Some(Self::Grpcs),
            _ => None,
        }
    }
}

impl HttpRequest {
    /// The port it goes to: the written one, or that of the scheme.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or_else(|| self.scheme.port())
    }

    /// Whether it is a gRPC call: by scheme, or by `content-type`.
    pub fn is_grpc(&self) -> bool {
        matches!(self.scheme, Scheme::Grpc | Scheme::Grpcs)
            || self.header("content-type").is_some_and(|v| v.starts_with("application/grpc"))
    }

    /// The value of a header; the values of all of that name joined by commas.
    pub fn header(&self, name: &str) -> Option<String> {
        let mut values = self
            .headers
            .iter()
            .filter(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
            .peekable();
        values.peek()?;
        Some(values.collect::<Vec<_>>().join(","))
    }
}

/// Why a text is not a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestError(String);

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RequestError {}

fn bad<T>(message: String) -> Result<T, RequestError> {
    Err(RequestError(message))
}

impl FromStr for HttpRequest {
    type Err = RequestError;

    /// `METHOD URL`, or a URL alone: then the method is GET, for gRPC POST.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut words = text.split_whitespace();
        let (method, url) = match (words.next(), words.next(), words.next()) {
            (Some(url), None, _) => (None, url),
            (Some(method), Some(url), None) => (Some(method), url),
            _ => {
                return bad(format!(
                    "`{text}` is not a request; write it like `GET https://shop.example.com/cart`"
                ));
            }
        };
        let Some((scheme, rest)) = url.split_once("://") else {
            return bad(format!("`{url}` has no scheme; write `https://{url}` or `http://{url}`"));
        };
        let Some(scheme) = Scheme::parse(scheme) else {
            return bad(format!("scheme `{scheme}` is not one of http, https, grpc, grpcs"));
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let (host, port) = authority_of(authority)?;
        let target = target.split('#').next().unwrap_or("");
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let default = if matches!(scheme, Scheme::Grpc | Scheme::Grpcs) { "POST" } else { "GET" };
        Ok(Self {
            method: method_of(method.unwrap_or(default))?,
            scheme,
            host,
            port,
            path: if path.is_empty() { "/".to_owned() } else { path.to_owned() },
            query: query_of(query),
            headers: Vec::new(),
        })
    }
}

fn method_of(text: &str) -> Result<String, RequestError> {
    match text.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-') {
        true => Ok(text.to_ascii_uppercase()),
        false => bad(format!(
            "`{text}` is not a method; write it like `GET https://shop.example.com/cart`"
        )),
    }
}

fn authority_of(text: &str) -> Result<(String, Option<u16>), RequestError> {
    if text.contains('@') {
        return bad(format!("`{text}` has a user name; leave it out"));
    }
    let (host, port) = match text.rsplit_once(':') {
        // The colons of an IPv6 address are not those of a port.
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let port = match port.map(|p| (p, p.parse::<u16>())) {
        None => None,
        Some((_, Ok(port))) if port > 0 => Some(port),
        Some((text, _)) => return bad(format!("port `{text}` is not a number from 1 to 65535")),
    };
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let is_address = host.starts_with('[') && host.ends_with(']');
    let is_name = !host.is_empty()
        && host.split('.').all(|label| {
            let ok = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
            !label.is_empty() && label.bytes().all(ok)
        });
    match is_address || is_name {
        true => Ok((host, port)),
        false if host.contains('*') => {
            bad(format!("`{host}` has a wildcard; a request goes to one host"))
        }
        false => bad(format!("`{host}` is not a host name")),
    }
}

fn query_of(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key), decode(value))
        })
        .collect()
}

/// Decodes `%41`. An invalid escape stays as it is.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escaped = match (first, tail) {
            (b'%', [high, low, after @ ..]) => {
                hex(*high).zip(hex(*low)).map(|(h, l)| (h * 16 + l, after))
            }
            _ => None,
        };
        let (byte, after) = escaped.unwrap_or((*first, tail));
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn hex(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}
