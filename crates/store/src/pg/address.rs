// SPDX-License-Identifier: Apache-2.0
//! In: a connection URL. Out: the driver's settings and the schema, or an error that repeats nothing of the URL, because
//! a password may be in any part of a URL that is not understood. Not here: finding a password elsewhere.

use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use super::tls::PgTls;
use crate::error::StoreError;

/// The schema when the URL names none.
const SCHEMA: &str = "overrule";
/// Our own channel and lock names are made from it, and PostgreSQL cuts names at 63 bytes.
const LONGEST: usize = 50;

/// Where the database is.
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) schema: String,
}

impl Address {
    pub(super) fn parse(url: &str, tls: &PgTls) -> Result<Self, StoreError> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(unclear());
        }
        // The last one: a password may have a question mark too.
        let (base, query) = url.rsplit_once('?').unwrap_or((url, ""));
        let mut schema = SCHEMA.to_owned();
        let mut mode = None;
        let mut rest = Vec::new();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("schema", value)) => value.clone_into(&mut schema),
                Some(("sslmode", value)) => mode = Some(value),
                _ => rest.push(option),
            }
        }
        check_schema(&schema)?;
        check_mode(mode, tls)?;
        let joint = if rest.is_empty() { "" } else { "?" };
        let plain = format!("{base}{joint}{}", rest.join("&"));
        // The driver's message could quote a part of the password.
        let mut config: Config =
            plain.parse().map_err(|_error: tokio_postgres::Error| unclear())?;
        settle(&mut config, tls);
        Ok(Self { config, schema })
    }
}

fn settle(config: &mut Config, tls: &PgTls) {
    config.ssl_mode(match tls {
        PgTls::Disabled => SslMode::Disable,
        PgTls::Roots(_) | PgTls::Config(_) => SslMode::Require,
    });
    if config.get_application_name().is_none() {
        config.application_name("overrule");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs(5));
    }
    // A server that vanished without a word is noticed in seconds, not hours.
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(15));
    }
    config.keepalives_idle(Duration::from_secs(10));
    config.keepalives_interval(Duration::from_secs(5));
    config.keepalives_retries(3);
}

fn unclear() -> StoreError {
    StoreError::Other(
        "the address of the database is invalid; write postgres://user@host:port/database"
            .to_owned(),
    )
}

fn check_schema(schema: &str) -> Result<(), StoreError> {
    let starts = schema.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if starts && schema.chars().all(plain) && schema.len() <= LONGEST {
        return Ok(());
    }
    Err(StoreError::Other(format!(
        "the schema of the database must be at most {LONGEST} lower-case letters, digits and _"
    )))
}

/// The URL may say what it wants of TLS; it must agree with the settings.
fn check_mode(mode: Option<&str>, tls: &PgTls) -> Result<(), StoreError> {
    let encrypted = !matches!(tls, PgTls::Disabled);
    let agreed = match mode {
        None | Some("prefer" | "allow") => true,
        Some("disable") => !encrypted,
        Some("require" | "verify-ca" | "verify-full") => encrypted,
        Some(_) => return Err(unclear()),
    };
    if agreed {
        return Ok(());
    }
    let why = "the address of the database and the TLS settings contradict each other; change sslmode, or name \
               the certificates to trust";
    Err(StoreError::Other(why.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tokio_postgres::config::SslMode;

    use super::{Address, PgTls};

    #[test]
    fn the_schema_is_ours_and_the_rest_is_the_drivers() {
        let url = "postgres://u@h:1/d?schema=other&connect_timeout=7&sslmode=disable";
        let address = Address::parse(url, &PgTls::Disabled).unwrap();
        assert_eq!(address.schema, "other");
        assert_eq!(address.config.get_connect_timeout().unwrap().as_secs(), 7);
        assert_eq!(address.config.get_ssl_mode(), SslMode::Disable);
        let address = Address::parse("postgres://u:p?x@h/d?schema=s", &PgTls::Disabled).unwrap();
        assert_eq!(address.schema, "s");
        assert_eq!(address.config.get_password(), Some(b"p?x".as_slice()));
        let address = Address::parse("postgresql://u@h/d", &PgTls::Disabled).unwrap();
        assert_eq!(address.schema, "overrule");
    }

    #[test]
    fn an_error_repeats_nothing_of_the_url() {
        let mut refused = 0;
        for url in [
            "postgres://u:hunter2/x@h/d",
            "postgres://u:p?hunter2@h/d",
            "postgres://u:p@h:hunter2/d",
            "postgres://u:p@h/d?hunter2=1",
            "postgres://u:p@h/d?schema=Hunter2",
            "postgres://u:p@h/d?schema=hunter2;drop",
            "postgres://u:p@h/d?sslmode=hunter2",
            "host=h password=hunter2",
        ] {
            // What is understood is not shown either: settings have no text.
            let Err(error) = Address::parse(url, &PgTls::Disabled) else { continue };
            refused += 1;
            assert!(!error.to_string().to_lowercase().contains("hunter2"), "{url}: {error}");
        }
        assert!(refused >= 6, "{refused}");
    }

    #[test]
    fn tls_and_url_must_agree() {
        let roots = PgTls::Roots(PathBuf::from("ca.pem"));
        let parse = |mode: &str, tls| {
            Address::parse(&format!("postgres://u@h/d?sslmode={mode}"), tls).is_ok()
        };
        assert!(
            parse("verify-full", &roots) && parse("require", &roots) && parse("prefer", &roots)
        );
        assert!(!parse("disable", &roots) && !parse("require", &PgTls::Disabled));
        let address = Address::parse("postgres://u@h/d", &roots).unwrap();
        assert_eq!(address.config.get_ssl_mode(), SslMode::Require);
    }
}
