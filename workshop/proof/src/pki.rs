// SPDX-License-Identifier: Apache-2.0
//! In: names and what their certificates shall be like. Out: authorities, certificates and keys, some as files for
//! Envoy. Not here: connecting with them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, SanType, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::TempDir;

use crate::failure::HarnessFailure;

/// Who signs a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Authority {
    /// That of the mesh's own trust domain.
    Mesh,
    /// That of another trust domain, which the proxy trusts too.
    Other,
    /// One that the proxy does not know.
    Rogue,
}

/// What the certificate of a client is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its URI names, in order.
    pub uris: Vec<String>,
    /// Its DNS names.
    pub dns: Vec<String>,
    /// Who signed it.
    pub authority: Authority,
    /// Whether its time is over.
    pub expired: bool,
}

impl Holder {
    /// Of the mesh, with these URI names.
    pub fn of(uris: &[&str]) -> Self {
        let uris = uris.iter().map(|&u| u.to_owned()).collect();
        Self { uris, dns: Vec::new(), authority: Authority::Mesh, expired: false }
    }

    /// The same, signed by another.
    #[must_use]
    pub fn by(self, authority: Authority) -> Self {
        Self { authority, ..self }
    }

    /// Whether the handshake lets it in at all.
    pub fn is_accepted(&self) -> bool {
        !self.expired && self.authority != Authority::Rogue
    }

    /// Its identity: the one URI name. Several are none, as the SPIFFE standard has it.
    pub fn identity(&self) -> Option<&str> {
        match self.uris.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }
}

/// Files that a bootstrap names.
#[derive(Debug, Clone)]
pub struct Files {
    /// The server's certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The authorities whose clients are let in.
    pub authorities: PathBuf,
    /// Of these that of the mesh alone.
    pub mesh: PathBuf,
    /// And the other.
    pub other: PathBuf,
}

/// Certificate and key of a client.
#[derive(Debug)]
pub(crate) struct Credential {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    key: PrivatePkcs8KeyDer<'static>,
}

impl Credential {
    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.clone_key())
    }
}

/// Authorities, the server and its clients, below a directory of their own that goes with it.
#[derive(Debug)]
pub struct Pki {
    directory: TempDir,
    files: Files,
    server: CertificateDer<'static>,
    holders: BTreeMap<String, Holder>,
    credentials: BTreeMap<String, Credential>,
}

impl Pki {
    /// Makes all of it; the clients by name.
    ///
    /// # Errors
    /// A name cannot be in a certificate, or a file cannot be written.
    pub fn new(holders: BTreeMap<String, Holder>) -> Result<Self, HarnessFailure> {
        let directory =
            tempfile::tempdir().map_err(HarnessFailure::of("no directory for certificates"))?;
        let mesh = authority("mesh")?;
        let other = authority("other")?;
        let rogue = authority("rogue")?;
        let (server, key) = certificate("server", &server_names()?, false, &mesh)?;
        let files = Files {
            certificate: write(directory.path(), "server.pem", &server.pem())?,
            key: write(directory.path(), "server.key", &key.serialize_pem())?,
            authorities: write(directory.path(), "ca.pem", &(mesh.pem() + &other.pem()))?,
            mesh: write(directory.path(), "mesh.pem", &mesh.pem())?,
            other: write(directory.path(), "other.pem", &other.pem())?,
        };
        let mut credentials = BTreeMap::new();
        for (name, holder) in &holders {
            let by = match holder.authority {
                Authority::Mesh => &mesh,
                Authority::Other => &other,
                Authority::Rogue => &rogue,
            };
            let (made, key) = certificate(name, &names(holder)?, holder.expired, by)?;
            let key = PrivatePkcs8KeyDer::from(key.serialize_der());
            credentials.insert(name.clone(), Credential { chain: vec![made.der().clone()], key });
        }
        Ok(Self { directory, files, server: server.der().clone(), holders, credentials })
    }

    /// The files a bootstrap names.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Where they are.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The clients by name.
    pub fn holders(&self) -> &BTreeMap<String, Holder> {
        &self.holders
    }

    pub(crate) fn server(&self) -> &CertificateDer<'static> {
        &self.server
    }

    pub(crate) fn credentials(&self) -> &BTreeMap<String, Credential> {
        &self.credentials
    }
}

type Issuer = CertifiedIssuer<'static, KeyPair>;

/// A new authority.
fn authority(name: &str) -> Result<Issuer, HarnessFailure> {
    let mut params = params(name, false);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate().map_err(HarnessFailure::of("no key"))?;
    CertifiedIssuer::self_signed(params, key).map_err(HarnessFailure::of("no authority"))
}

/// A new certificate and its key.
fn certificate(
    name: &str,
    names: &[SanType],
    expired: bool,
    by: &Issuer,
) -> Result<(rcgen::Certificate, KeyPair), HarnessFailure> {
    let mut params = params(name, expired);
    params.subject_alt_names = names.to_vec();
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().map_err(HarnessFailure::of("no key"))?;
    let made =
        params.signed_by(&key, by).map_err(HarnessFailure::of(format!("no certificate {name}")))?;
    Ok((made, key))
}

/// What all certificates have. Their times are fixed: no clock is asked.
fn params(name: &str, expired: bool) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(if expired { 2021 } else { 2120 }, 1, 1);
    params
}

/// The names in a client's certificate.
fn names(holder: &Holder) -> Result<Vec<SanType>, HarnessFailure> {
    let text = |t: &String| {
        t.as_str().try_into().map_err(HarnessFailure::of(format!("{t} cannot be in a certificate")))
    };
    let uris = holder.uris.iter().map(|u| Ok(SanType::URI(text(u)?)));
    let dns = holder.dns.iter().map(|d| Ok(SanType::DnsName(text(d)?)));
    uris.chain(dns).collect()
}

/// The names in the server's certificate.
fn server_names() -> Result<Vec<SanType>, HarnessFailure> {
    let uris = vec!["spiffe://trust-domain.mesh/ns/default/sa/backend".to_owned()];
    let dns = vec!["localhost".to_owned()];
    names(&Holder { uris, dns, authority: Authority::Mesh, expired: false })
}

fn write(directory: &Path, name: &str, text: &str) -> Result<PathBuf, HarnessFailure> {
    let path = directory.join(name);
    fs::write(&path, text)
        .map_err(HarnessFailure::of(format!("cannot write {}", path.display())))?;
    Ok(path)
}
