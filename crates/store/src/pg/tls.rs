// SPDX-License-Identifier: Apache-2.0
//! In: what to trust. Out: the driver's way to speak TLS. Not here: whether to speak it; the caller says so.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::StoreError;

/// How the connection to PostgreSQL is protected.
#[derive(Debug, Clone)]
pub enum PgTls {
    /// Not at all: for a socket on this machine.
    Disabled,
    /// TLS, with a certificate for the host's name that one of the authorities in this PEM file has signed.
    Roots(PathBuf),
    /// TLS as the caller has prepared it, such as with a client certificate.
    Config(Arc<ClientConfig>),
}

impl PgTls {
    pub(super) fn connector(&self) -> Result<Option<MakeRustlsConnect>, StoreError> {
        Ok(match self {
            Self::Disabled => None,
            Self::Roots(path) => Some(MakeRustlsConnect::new(trusting(path)?)),
            Self::Config(config) => Some(MakeRustlsConnect::new(ClientConfig::clone(config))),
        })
    }
}

fn trusting(path: &Path) -> Result<ClientConfig, StoreError> {
    let unusable = |why: &dyn std::fmt::Display| {
        StoreError::Other(format!("{} has no certificates to trust: {why}", path.display()))
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unusable(&error))? {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    if roots.is_empty() {
        return Err(unusable(&"it is empty"));
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
