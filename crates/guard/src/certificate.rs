// SPDX-License-Identifier: Apache-2.0
//! In: a client certificate that TLS has verified, and the configured list of whom certificates stand for. Out: what it
//! says, and the principal. Not here: verifying it.

use std::fmt;
use std::fmt::Write as _;
use std::net::IpAddr;

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate, X509Name};

use crate::grants::Grants;
use crate::principal::{Denied, How, Principal};

/// What a verified client certificate says of its holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The distinguished name, first part first: `CN=alice,O=Example`. Special characters are escaped with `\`, so that
    /// no value can look like another part.
    pub subject: String,
    /// The alternative names, each with its type: `dns:`, `uri:`, `email:`, `ip:`.
    pub sans: Vec<String>,
    /// The SPIFFE id, if it has exactly one URI and that is one.
    pub spiffe: Option<String>,
    /// SHA-256 of the certificate, 64 lower-case digits.
    pub fingerprint: String,
    /// Until when it is valid. A connection may outlive it.
    pub expires: Timestamp,
}

impl ClientCertificate {
    /// Reads a certificate.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn parse(der: &[u8]) -> Result<Self, String> {
        let (_, certificate) = X509Certificate::from_der(der).map_err(|error| error.to_string())?;
        let names = certificate.subject_alternative_name().map_err(|error| error.to_string())?;
        let names = names.map_or(&[][..], |extension| extension.value.general_names.as_slice());
        let end = certificate.validity().not_after.timestamp();
        Ok(Self {
            subject: subject(certificate.subject()),
            sans: names.iter().filter_map(san).collect(),
            spiffe: spiffe(names),
            fingerprint: HEXLOWER.encode(&Sha256::digest(der)),
            expires: Timestamp::from_second(end).unwrap_or(Timestamp::MAX),
        })
    }
}

fn san(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(text) => Some(format!("dns:{}", text.to_ascii_lowercase())),
        GeneralName::URI(text) => Some(format!("uri:{text}")),
        GeneralName::RFC822Name(text) => Some(format!("email:{text}")),
        GeneralName::IPAddress(bytes) => address(bytes).map(|address| format!("ip:{address}")),
        _ => None,
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from).ok();
    four.or_else(|| <[u8; 16]>::try_from(bytes).map(IpAddr::from).ok())
}

/// SPIFFE allows one URI in a certificate; with several nobody knows whom it names.
fn spiffe(names: &[GeneralName<'_>]) -> Option<String> {
    let mut uris = names.iter().filter_map(|name| match name {
        GeneralName::URI(uri) => Some(*uri),
        _ => None,
    });
    let only = uris.next().filter(|uri| uri.starts_with("spiffe://"))?;
    uris.next().is_none().then(|| only.to_owned())
}

fn subject(name: &X509Name<'_>) -> String {
    let mut text = String::new();
    for (index, part) in name.iter().enumerate() {
        for (inner, attribute) in part.iter().enumerate() {
            text.push_str(if inner > 0 {
                "+"
            } else if index > 0 {
                ","
            } else {
                ""
            });
            text.push_str(&key(&attribute.attr_type().to_id_string()));
            text.push('=');
            match attribute.as_str() {
                Ok(value) => escape(value, &mut text),
                Err(_) => {
                    text.push('#');
                    text.push_str(&HEXLOWER.encode(attribute.as_slice()));
                }
            }
        }
    }
    text
}

/// The short names people write; others stay numbers.
fn key(oid: &str) -> String {
    match oid {
        "2.5.4.3" => "CN",
        "2.5.4.6" => "C",
        "2.5.4.7" => "L",
        "2.5.4.8" => "ST",
        "2.5.4.10" => "O",
        "2.5.4.11" => "OU",
        other => other,
    }
    .to_owned()
}

fn escape(value: &str, out: &mut String) {
    for c in value.chars() {
        match c {
            ',' | '+' | '=' | '"' | '\\' | '<' | '>' | ';' | '#' => out.extend(['\\', c]),
            c if c.is_control() => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

/// Whom a certificate stands for: exactly one of `san`, `subject` and `fingerprint` says which certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateRule {
    /// One of its alternative names, as `dns:`, `uri:`, `email:` or `ip:` and the name; `spiffe://…` is short for `uri:`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub san: Option<String>,
    /// Its whole subject, as [`ClientCertificate::subject`] writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Its SHA-256 fingerprint; colons and upper case do not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The name for the history.
    pub name: String,
    /// What the holder may do.
    pub grants: Grants,
}

/// Why a list of rules cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    /// The name in the rule.
    pub name: String,
    /// What is wrong.
    pub why: &'static str,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the certificate rule for {:?}: {}", self.name, self.why)
    }
}

impl std::error::Error for RuleError {}

#[derive(Debug, Clone)]
enum Which {
    San(String),
    Subject(String),
    Fingerprint(String),
}

/// Whom certificates stand for. The first rule that fits counts.
#[derive(Debug, Clone, Default)]
pub struct Certificates {
    rules: Vec<(Which, String, Grants)>,
}

impl Certificates {
    /// Checks and keeps the rules.
    ///
    /// # Errors
    /// When a rule does not say which certificate it means, or says it twice.
    pub fn new(rules: impl IntoIterator<Item = CertificateRule>) -> Result<Self, RuleError> {
        let rules: Result<Vec<_>, RuleError> = rules.into_iter().map(checked).collect();
        Ok(Self { rules: rules? })
    }

    /// Whether no certificate stands for anybody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whom this certificate stands for.
    ///
    /// # Errors
    /// When it stands for nobody, or has expired since the connection began.
    pub fn authenticate(
        &self,
        certificate: &ClientCertificate,
        now: Timestamp,
    ) -> Result<Principal, Denied> {
        let fits = |which: &Which| match which {
            Which::San(san) => certificate.sans.contains(san),
            Which::Subject(subject) => certificate.subject == *subject,
            Which::Fingerprint(print) => certificate.fingerprint == *print,
        };
        let rule = self.rules.iter().find(|(which, _, _)| fits(which));
        let (_, name, grants) = rule.ok_or(Denied::Unknown)?;
        if certificate.expires < now {
            return Err(Denied::Expired);
        }
        let (name, grants) = (name.clone(), grants.clone());
        Ok(Principal { name, token: None, grants, how: How::Certificate })
    }
}

fn checked(rule: CertificateRule) -> Result<(Which, String, Grants), RuleError> {
    let CertificateRule { san, subject, fingerprint, name, grants } = rule;
    let wrong = |why| RuleError { name: name.clone(), why };
    let which = match (san, subject, fingerprint) {
        (Some(san), None, None) => Which::San(typed(&san).ok_or_else(|| {
            wrong("a san begins with `dns:`, `uri:`, `email:`, `ip:` or `spiffe://`")
        })?),
        (None, Some(subject), None) if !subject.is_empty() => Which::Subject(subject),
        (None, None, Some(print)) => Which::Fingerprint(
            fingerprint_of(&print)
                .ok_or_else(|| wrong("a fingerprint is SHA-256: 64 hexadecimal digits"))?,
        ),
        _ => return Err(wrong("give one of `san`, `subject` and `fingerprint`")),
    };
    Ok((which, name, grants))
}

fn typed(san: &str) -> Option<String> {
    if san.starts_with("spiffe://") {
        return Some(format!("uri:{san}"));
    }
    let (kind, name) = san.split_once(':')?;
    match kind {
        _ if name.is_empty() => None,
        "dns" => Some(format!("dns:{}", name.to_ascii_lowercase())),
        "ip" => name.parse::<IpAddr>().ok().map(|address| format!("ip:{address}")),
        "uri" | "email" => Some(san.to_owned()),
        _ => None,
    }
}

fn fingerprint_of(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|c| *c != ':').collect();
    let right = digits.len() == 64 && digits.chars().all(|c| c.is_ascii_hexdigit());
    right.then(|| digits.to_ascii_lowercase())
}
