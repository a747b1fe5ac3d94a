// SPDX-License-Identifier: Apache-2.0
//! In: values. Out: what the functions of rules make of them, as the API server's do. Not here: macros and operators.

use std::net::IpAddr;

use super::value::{Answer, CelOperand, RuleError};
use crate::format;

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Size,
    Contains,
    StartsWith,
    EndsWith,
    Split,
    Substring,
    Duration,
    IsIp,
    /// Whether a text is no name of a DNS subdomain.
    NoSubdomain,
    /// Whether a text is no qualified name.
    NoQualifiedName,
}

impl Function {
    /// The function of a name that takes so many values, the one it is called on included.
    pub(super) fn called(name: &str, values: usize) -> Option<Self> {
        Some(match (name, values) {
            ("size", 1) => Self::Size,
            ("contains", 2) => Self::Contains,
            ("startsWith", 2) => Self::StartsWith,
            ("endsWith", 2) => Self::EndsWith,
            ("split", 2) => Self::Split,
            ("substring", 2) => Self::Substring,
            ("duration", 1) => Self::Duration,
            ("isIP", 1) => Self::IsIp,
            _ => return None,
        })
    }

    /// The test of a named format.
    pub(super) fn format(name: &str) -> Option<Self> {
        match name {
            "dns1123Subdomain" => Some(Self::NoSubdomain),
            "qualifiedName" => Some(Self::NoQualifiedName),
            _ => None,
        }
    }

    pub(super) fn call<'a>(self, values: &[CelOperand<'a>]) -> Answer<'a> {
        use CelOperand::{Bool, Text};
        match (self, values) {
            (Self::Size, [value]) => {
                let size = value.size().and_then(|size| i64::try_from(size).ok());
                size.map(CelOperand::Int).ok_or(RuleError)
            }
            (Self::Contains, [Text(text), Text(part)]) => Ok(Bool(text.contains(part))),
            (Self::StartsWith, [Text(text), Text(part)]) => Ok(Bool(text.starts_with(part))),
            (Self::EndsWith, [Text(text), Text(part)]) => Ok(Bool(text.ends_with(part))),
            (Self::Split, [Text(text), Text(by)]) => {
                Ok(CelOperand::List(text.split(by).map(Text).collect()))
            }
            (Self::Substring, [Text(text), CelOperand::Int(from)]) => {
                let from = usize::try_from(*from).map_err(|_negative| RuleError)?;
                let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
                let start = ends.into_iter().nth(from).ok_or(RuleError)?;
                text.get(start..).map(Text).ok_or(RuleError)
            }
            (Self::Duration, [Text(text)]) => {
                format::duration(text).map(CelOperand::Duration).ok_or(RuleError)
            }
            (Self::IsIp, [Text(text)]) => Ok(Bool(is_ip(text))),
            (Self::NoSubdomain, [Text(text)]) => Ok(Bool(!format::is_subdomain(text))),
            (Self::NoQualifiedName, [Text(text)]) => Ok(Bool(!format::is_qualified_name(text))),
            _ => Err(RuleError),
        }
    }
}

/// Addresses of IPv4 that are written as IPv6 are none to the API server.
fn is_ip(text: &str) -> bool {
    match text.parse() {
        Ok(IpAddr::V4(_)) => true,
        Ok(IpAddr::V6(ip)) => ip.to_ipv4_mapped().is_none(),
        Err(_) => false,
    }
}
