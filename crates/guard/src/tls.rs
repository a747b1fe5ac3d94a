// SPDX-License-Identifier: Apache-2.0
//! In: paths of a certificate, its key and the authorities of clients. Out: TLS configurations, reloaded when the files
//! change. Not here: handshakes, and whom a client certificate stands for.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::secret::{SecretError, private};

/// Chains and bundles are far smaller.
const MOST_BYTES: u64 = 4 << 20;

/// Whether clients show certificates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientCerts {
    /// They are not asked.
    #[default]
    None,
    /// They may; a bad one is refused all the same.
    Optional,
    /// They have to, or there is no connection.
    Required,
}

/// The files of TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The chain, own certificate first, in PEM.
    pub certificate: PathBuf,
    /// Its key, in PEM.
    pub key: PathBuf,
    /// The authorities that may vouch for clients, in PEM.
    pub client_ca: Option<PathBuf>,
    /// Whether clients show certificates.
    pub client: ClientCerts,
}

/// Why there is no TLS. Holds no part of any key.
#[derive(Debug)]
pub enum TlsError {
    /// A file cannot be read.
    Unreadable(PathBuf, std::io::Error),
    /// The key is not kept to its owner.
    Key(SecretError),
    /// A file does not hold what it should.
    Content(PathBuf, &'static str),
    /// Clients are to show certificates, but nobody may vouch for them.
    NoClientCa,
    /// The parts do not fit, such as a key of another certificate.
    Unfit(String),
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Self::Key(error) => error.fmt(f),
            Self::Content(path, what) => {
                write!(f, "{} contains no {what} in PEM format", path.display())
            }
            Self::NoClientCa => f.write_str(
                "client certificates are enabled, but no file with their authorities is given",
            ),
            Self::Unfit(why) => write!(f, "certificate, key and authorities do not match: {why}"),
        }
    }
}

impl std::error::Error for TlsError {}

struct Files {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_ca: Vec<u8>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// When something is missing, unreadable or does not fit.
    pub fn load(self) -> Result<Arc<Acceptor>, TlsError> {
        let files = self.read()?;
        let current = RwLock::new(self.configure(&files)?);
        let seen = Mutex::new(files.digest());
        let expires = RwLock::new(expiry(&files.certificate));
        Ok(Arc::new(Acceptor { tls: self, current, expires, seen }))
    }

    fn read(&self) -> Result<Files, TlsError> {
        let client_ca = match (&self.client_ca, self.client) {
            (_, ClientCerts::None) => Vec::new(),
            (Some(path), _) => content(path)?,
            (None, _) => return Err(TlsError::NoClientCa),
        };
        let certificate = content(&self.certificate)?;
        let key = private(&self.key, MOST_BYTES).map_err(|error| match error {
            SecretError::Unreadable(path, error) => TlsError::Unreadable(path, error),
            error => TlsError::Key(error),
        })?;
        Ok(Files { certificate, key, client_ca })
    }

    fn configure(&self, files: &Files) -> Result<Arc<ServerConfig>, TlsError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let chain = certificates(&self.certificate, &files.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&files.key)
            .ok()
            .ok_or_else(|| TlsError::Content(self.key.clone(), "private key"))?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(unfit)?;
        let builder = match self.verifier(files, provider)? {
            Some(verifier) => builder.with_client_cert_verifier(verifier),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(chain, key).map_err(unfit)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    fn verifier(
        &self,
        files: &Files,
        provider: Arc<rustls::crypto::CryptoProvider>,
    ) -> Result<Option<Arc<dyn ClientCertVerifier>>, TlsError> {
        let path = match (&self.client_ca, self.client) {
            (_, ClientCerts::None) => return Ok(None),
            (Some(path), _) => path,
            (None, _) => return Err(TlsError::NoClientCa),
        };
        let mut roots = RootCertStore::empty();
        for root in certificates(path, &files.client_ca)? {
            roots.add(root).map_err(unfit)?;
        }
        let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let builder = match self.client {
            ClientCerts::Required => builder,
            ClientCerts::None | ClientCerts::Optional => builder.allow_unauthenticated(),
        };
        Ok(Some(builder.build().map_err(unfit)?))
    }
}

fn unfit(error: impl fmt::Display) -> TlsError {
    TlsError::Unfit(error.to_string())
}

fn content(path: &Path) -> Result<Vec<u8>, TlsError> {
    let unreadable = |error| TlsError::Unreadable(path.to_owned(), error);
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let wrong = || TlsError::Content(path.to_owned(), "certificate");
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    all.ok().filter(|all| !all.is_empty()).ok_or_else(wrong)
}

/// When the first certificate of a chain expires; those after it outlive it.
fn expiry(pem: &[u8]) -> Option<i64> {
    let own = CertificateDer::pem_slice_iter(pem).next()?.ok()?;
    let (_, certificate) = x509_parser::parse_x509_certificate(&own).ok()?;
    Some(certificate.validity().not_after.timestamp())
}

impl Files {
    fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        for part in [&self.certificate, &self.key, &self.client_ca] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        digest.finalize().into()
    }
}

/// The TLS that new connections get.
pub struct Acceptor {
    tls: Tls,
    current: RwLock<Arc<ServerConfig>>,
    expires: RwLock<Option<i64>>,
    /// What was tried last, good or bad, so that one bad state is reported once.
    seen: Mutex<[u8; 32]>,
}

impl fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acceptor").field("tls", &self.tls).finish_non_exhaustive()
    }
}

impl Acceptor {
    /// What new connections get now.
    #[must_use]
    pub fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// When the certificate in use expires, in seconds since 1970.
    #[must_use]
    pub fn expires(&self) -> Option<i64> {
        *self.expires.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the files. True when they have changed and are in use now. [`serve`](crate::serve) calls this regularly;
    /// call it as well when told to reload. Blocks while reading.
    ///
    /// # Errors
    /// When they have changed and cannot be used; the old ones stay in use. The same bad state is an error only once.
    pub fn reload(&self) -> Result<bool, TlsError> {
        let files = self.tls.read();
        let state = match &files {
            Ok(files) => files.digest(),
            Err(error) => Sha256::digest(error.to_string()).into(),
        };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == state {
            return Ok(false);
        }
        *seen = state;
        let files = files?;
        let config = self.tls.configure(&files)?;
        *self.expires.write().unwrap_or_else(PoisonError::into_inner) = expiry(&files.certificate);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(true)
    }
}
