// SPDX-License-Identifier: Apache-2.0
//! In: settings, as they were given. Out: what they mean to each part: limits, TLS, retention, reading. Not here: where
//! settings come from (`config`), and starting the parts (`run`).

use std::time::Duration;

use overrule::Options;
use overrule_guard::{ClientCerts, ListenerLimits, Tls, fair_part};
use overrule_store::Retention;

use crate::config::Config;
use crate::run::{ServeError, usage};

/// Documents in the body of a request: as many as the largest body has of a usual size.
pub(crate) const DOCUMENTS: usize = 100_000;

/// The bounds of the listener.
pub(crate) fn limits(config: &Config) -> ListenerLimits {
    let usual = ListenerLimits::default();
    ListenerLimits {
        body_bytes: config.max_body.unwrap_or(usual.body_bytes),
        request_timeout: Duration::from_secs(config.request_timeout.unwrap_or(60)),
        connections: config.max_connections.unwrap_or(usual.connections),
        // However many there are, one address must not have all of them.
        connections_per_ip: config.max_connections.map_or(usual.connections_per_ip, fair_part),
        requests_in_flight: config.max_requests.unwrap_or(usual.requests_in_flight),
        grace: config.grace.map_or(usual.grace, Duration::from_secs),
        ..usual
    }
}

/// The files of TLS, if connections are encrypted.
pub(crate) fn tls(config: &Config) -> Result<Option<Tls>, ServeError> {
    let (Some(certificate), Some(key)) = (&config.tls_cert, &config.tls_key) else {
        return Ok(None);
    };
    let client = match (&config.client_ca, config.client_cert_required) {
        (None, _) => ClientCerts::None,
        (Some(_), false) => ClientCerts::Optional,
        (Some(_), true) => ClientCerts::Required,
    };
    Ok(Some(Tls {
        certificate: certificate.clone(),
        key: key.clone(),
        client_ca: config.client_ca.clone(),
        client,
    }))
}

/// How much is kept, if not everything; `flag` is that of the age.
pub(crate) fn retention(
    flag: &str,
    entries: Option<u64>,
    age: Option<&str>,
) -> Result<Option<Retention>, ServeError> {
    let age = match age {
        None => None,
        Some(text) => {
            let age: jiff::SignedDuration = text
                .parse()
                .map_err(|_why| usage(format!("{flag} takes a time such as 720h, not `{text}`")))?;
            Some(age)
        }
    };
    let wanted = entries.is_some() || age.is_some();
    Ok(wanted.then_some(Retention { entries, age }))
}

/// How resources are read.
pub(crate) fn reading(config: &Config, options: Options) -> Options {
    // Questions about one target show where profiles differ. A store is a whole world, which clients add to: what is
    // missing in it is missing.
    let mut options = Options { compare: true, assume_missing: false, ..options };
    config.extensions.reading(&mut options);
    options
}
