// SPDX-License-Identifier: Apache-2.0
//! In: texts. Out: whether they have a form that schemas and rules know by name. Not here: patterns.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A duration as Go writes it, in nanoseconds: `1h30m`, `1.5s`, `-2ms`, `0`.
pub(crate) fn duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut sum: f64 = 0.0;
    while !rest.is_empty() || sum == 0.0 {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest.get(..end)?.parse().ok()?;
        let after = rest.get(end..)?;
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let unit = match after.get(..end)? {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            _ => return None,
        };
        sum += number * unit;
        rest = after.get(end..)?;
        if rest.is_empty() {
            break;
        }
    }
    // As many nanoseconds as Go can count.
    const MOST: f64 = 9.2e18;
    #[expect(clippy::cast_possible_truncation, reason = "below 2^63, checked here")]
    (sum <= MOST).then_some(if negative { -(sum as i64) } else { sum as i64 })
}

/// A name of a DNS subdomain, as names of most objects are.
pub(crate) fn is_subdomain(text: &str) -> bool {
    let lower = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.len() <= 253
        && text.split('.').all(|label| {
            let bytes = label.as_bytes();
            bytes.first().is_some_and(|b| lower(*b))
                && bytes.last().is_some_and(|b| lower(*b))
                && bytes.iter().all(|b| lower(*b) || *b == b'-')
        })
}

/// A key of a label: a name, perhaps behind a domain and a slash.
pub(crate) fn is_qualified_name(text: &str) -> bool {
    let name = match text.split_once('/') {
        Some((domain, _)) if !is_subdomain(domain) => return false,
        Some((_, name)) => name,
        None => text,
    };
    let bytes = name.as_bytes();
    name.len() <= 63
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// What a text with a named format is, if it does not have it. Formats that nobody checks are not looked at.
pub(crate) fn flaw(format: &str, text: &str) -> Option<&'static str> {
    let (fits, what) = match format {
        "ipv4" => (text.parse::<Ipv4Addr>().is_ok(), "an IPv4 address"),
        "ipv6" => (text.parse::<Ipv6Addr>().is_ok(), "an IPv6 address"),
        _ => return None,
    };
    (!fits).then_some(what)
}

/// Least and greatest number of a format.
pub(crate) fn range(format: &str) -> Option<(i64, i64)> {
    (format == "int32").then_some((i32::MIN.into(), i32::MAX.into()))
}
