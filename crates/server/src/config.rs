// SPDX-License-Identifier: Apache-2.0
//! In: flags, environment and a file. Out: settings, flags first, then the environment, then the file. Not here: what
//! they do.
//!
//! Secrets have no flag: arguments of a process are read by everybody on the machine. The password of a database comes
//! from the file, the environment or a password file.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::ValueEnum;
use overrule_guard::CertificateRule;
use serde::Deserialize;

use crate::extension::Extensions;

/// `overrule serve`: the live store and the Inspect API.
#[derive(Debug, Clone, Default, clap::Args, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Config {
    /// Address to listen on; any other than loopback needs TLS and authentication [default: 127.0.0.1:5681]
    #[arg(long, value_name = "ADDRESS", env = "OVERRULE_LISTEN", help_heading = "Serving")]
    pub listen: Option<SocketAddr>,
    /// Folder of the embedded store; made if it is not there [env: OVERRULE_DATA] [default: overrule-data]
    #[arg(long, value_name = "DIR", help_heading = "Store")]
    pub data: Option<PathBuf>,
    /// Keep everything in memory: it is gone when the server ends
    #[arg(long, conflicts_with = "data", help_heading = "Store")]
    pub ephemeral: bool,
    /// File that holds the connection of a PostgreSQL store: `postgres://user@host/database`; several servers may share
    /// one. OVERRULE_POSTGRES holds the connection itself [env: OVERRULE_POSTGRES_FILE]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "ephemeral"], help_heading = "Store")]
    pub postgres_file: Option<PathBuf>,
    /// Certificates that PostgreSQL's certificate must be signed by
    #[arg(long, value_name = "FILE", env = "OVERRULE_POSTGRES_CA", help_heading = "Store")]
    pub postgres_ca: Option<PathBuf>,
    /// Fill an empty store from a backup
    #[arg(long, value_name = "FILE", help_heading = "Store")]
    pub restore: Option<PathBuf>,
    /// Most changes kept in the history [default: no limit]
    #[arg(long, value_name = "N", env = "OVERRULE_HISTORY_ENTRIES", help_heading = "Store")]
    pub history_entries: Option<u64>,
    /// How long changes are kept in the history: `720h` [default: no limit]
    #[arg(long, value_name = "TIME", env = "OVERRULE_HISTORY_AGE", help_heading = "Store")]
    pub history_age: Option<String>,
    /// Follow changes of the files given with -f, and remove from the store what is removed from them
    #[arg(long, help_heading = "Store")]
    pub watch_files: bool,
    /// How clients prove who they are; on loopback the default is `none`, elsewhere `token`
    #[arg(long, value_enum, value_name = "HOW", env = "OVERRULE_AUTH", help_heading = "Security")]
    pub auth: Option<Auth>,
    /// Certificate chain of the server
    #[arg(
        long,
        value_name = "FILE",
        env = "OVERRULE_TLS_CERT",
        requires = "tls_key",
        help_heading = "Security"
    )]
    pub tls_cert: Option<PathBuf>,
    /// Its key
    #[arg(
        long,
        value_name = "FILE",
        env = "OVERRULE_TLS_KEY",
        requires = "tls_cert",
        help_heading = "Security"
    )]
    pub tls_key: Option<PathBuf>,
    /// Certificates that client certificates must be signed by
    #[arg(
        long,
        value_name = "FILE",
        env = "OVERRULE_CLIENT_CA",
        requires = "tls_cert",
        help_heading = "Security"
    )]
    pub client_ca: Option<PathBuf>,
    /// Refuse clients without a certificate
    #[arg(long, requires = "client_ca", help_heading = "Security")]
    pub client_cert_required: bool,
    /// Name or name:port by which clients may reach the server, beside its address; repeatable
    #[arg(long, value_name = "HOST", help_heading = "Security")]
    pub host: Vec<String>,
    /// File that the first admin token is written to, readable for its owner only [default: admin-token in the data
    /// folder]
    #[arg(long, value_name = "FILE", help_heading = "Security")]
    pub admin_token_file: Option<PathBuf>,
    /// Largest body of a request, in bytes [default: 16777216]
    #[arg(long, value_name = "BYTES", env = "OVERRULE_MAX_BODY", help_heading = "Limits")]
    pub max_body: Option<usize>,
    /// Longest time for a request, in seconds [default: 60]
    #[arg(long, value_name = "SECONDS", env = "OVERRULE_REQUEST_TIMEOUT", help_heading = "Limits")]
    pub request_timeout: Option<u64>,
    /// Most connections at once [default: 1024]
    #[arg(long, value_name = "N", env = "OVERRULE_MAX_CONNECTIONS", help_heading = "Limits")]
    pub max_connections: Option<usize>,
    /// Most requests at once [default: 256]
    #[arg(long, value_name = "N", env = "OVERRULE_MAX_REQUESTS", help_heading = "Limits")]
    pub max_requests: Option<usize>,
    /// Longest time that requests get to finish when the server stops, in seconds [default: 20]
    #[arg(long, value_name = "SECONDS", help_heading = "Limits")]
    pub grace: Option<u64>,
    /// Form of logs on standard error
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        env = "OVERRULE_LOG_FORMAT",
        help_heading = "Serving"
    )]
    pub log_format: Option<LogFormat>,
    /// What is logged: `info`, `debug`, `overrule_server=debug` [default: info]
    #[arg(long, value_name = "FILTER", env = "OVERRULE_LOG", help_heading = "Serving")]
    pub log: Option<String>,
    /// File with any of these settings, as YAML with the names of the flags; `certificates` maps client certificates
    #[arg(long, value_name = "FILE", env = "OVERRULE_CONFIG", help_heading = "Serving")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// The connection of PostgreSQL; only in the file or the environment.
    #[arg(skip)]
    pub postgres: Option<Hidden>,
    /// Who client certificates stand for; only in the file.
    #[arg(skip)]
    pub certificates: Vec<CertificateRule>,
    /// Further APIs, and their settings.
    #[arg(skip)]
    #[serde(skip)]
    pub extensions: Extensions,
    /// Answers that never change, by path; for benchmarks.
    #[arg(skip)]
    #[serde(skip)]
    #[doc(hidden)]
    pub fixed: Vec<(String, bytes::Bytes)>,
}

/// A setting that must not be printed.
#[derive(Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(transparent)]
pub struct Hidden(pub String);

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

/// How clients prove who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Auth {
    /// They do not: everybody who reaches the port may do everything. Loopback only.
    None,
    /// With a token, or a client certificate that the configuration names.
    Token,
}

/// Form of logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// For reading.
    Text,
    /// One JSON object per line.
    Json,
}

impl Config {
    /// Adds what the file says where nothing else was said.
    pub fn or(self, file: Self) -> Self {
        let many =
            |mine: Vec<String>, other: Vec<String>| if mine.is_empty() { other } else { mine };
        // A store that was chosen by flag is not combined with another one from the file.
        let chosen = self.names_store();
        let store = |of_file| if chosen { None } else { of_file };
        Self {
            listen: self.listen.or(file.listen),
            data: self.data.or(store(file.data)),
            ephemeral: self.ephemeral || (!chosen && file.ephemeral),
            postgres_file: self.postgres_file.or(store(file.postgres_file)),
            postgres_ca: self.postgres_ca.or(file.postgres_ca),
            postgres: self.postgres.or(if chosen { None } else { file.postgres }),
            restore: self.restore.or(file.restore),
            history_entries: self.history_entries.or(file.history_entries),
            history_age: self.history_age.or(file.history_age),
            watch_files: self.watch_files || file.watch_files,
            auth: self.auth.or(file.auth),
            tls_cert: self.tls_cert.or(file.tls_cert),
            tls_key: self.tls_key.or(file.tls_key),
            client_ca: self.client_ca.or(file.client_ca),
            client_cert_required: self.client_cert_required || file.client_cert_required,
            host: many(self.host, file.host),
            admin_token_file: self.admin_token_file.or(file.admin_token_file),
            max_body: self.max_body.or(file.max_body),
            request_timeout: self.request_timeout.or(file.request_timeout),
            max_connections: self.max_connections.or(file.max_connections),
            max_requests: self.max_requests.or(file.max_requests),
            grace: self.grace.or(file.grace),
            extensions: self.extensions.or(file.extensions),
            log_format: self.log_format.or(file.log_format),
            log: self.log.or(file.log),
            config: self.config,
            certificates: file.certificates,
            fixed: self.fixed,
        }
    }

    /// Settings of a file, those of extensions among them.
    pub fn read(name: &str, text: &str, extensions: &Extensions) -> Result<Self, String> {
        let read =
            overrule::source::read_one(name, text, &overrule::source::ReadOptions::default());
        if let Some(wrong) = read.diagnostics.first() {
            let at = wrong.primary.as_ref().map(|l| read.documents.sources.position(l.span));
            let at = at.map_or_else(String::new, |p| format!(":{}:{}", p.line, p.column));
            return Err(format!("{name}{at}: {}", wrong.message));
        }
        let Some(doc) = read.documents.ids().next() else { return Ok(Self::default()) };
        let serde_json::Value::Object(mut all) = read.documents.root(doc).to_json() else {
            return Err(format!("{name}: must be an object of settings"));
        };
        let mut extensions = extensions.clone();
        // One at a time, so that a mistake can be told by its name.
        for (key, value) in &all {
            let read = if extensions.have(key) {
                extensions.set(key, value)
            } else {
                serde_json::from_value::<Self>(serde_json::json!({ key: value })).map(drop)
            };
            if let Err(error) = read {
                // A connection may hold a password: it is not repeated.
                return Err(match key.as_str() {
                    "postgres" => format!("{name}: setting `postgres` must be a text"),
                    _ => {
                        format!("{name}: setting `{key}`: {error}{}", further(&error, &extensions))
                    }
                });
            }
        }
        all.retain(|key, _| !extensions.have(key));
        let read = serde_json::from_value::<Self>(serde_json::Value::Object(all));
        let read = read.map_err(|e| format!("{name}: {e}"))?;
        Ok(Self { extensions, ..read })
    }

    /// Whether a store was chosen.
    pub fn names_store(&self) -> bool {
        self.data.is_some()
            || self.ephemeral
            || self.postgres_file.is_some()
            || self.postgres.is_some()
    }

    /// Refuses settings that do not go together, wherever they come from.
    pub fn check(&self) -> Result<(), String> {
        let stores = [
            self.data.is_some(),
            self.ephemeral,
            self.postgres_file.is_some() || self.postgres.is_some(),
        ];
        if stores.iter().filter(|chosen| **chosen).count() > 1 {
            return Err(
                "`data`, `ephemeral` and `postgres` are different stores; choose one".into()
            );
        }
        if self.tls_cert.is_some() != self.tls_key.is_some() {
            return Err("`tls-cert` and `tls-key` belong together; give both or none".into());
        }
        if self.client_ca.is_some() && self.tls_cert.is_none() {
            return Err("`client-ca` needs `tls-cert` and `tls-key`".into());
        }
        if self.client_cert_required && self.client_ca.is_none() {
            return Err("`client-cert-required` needs `client-ca`".into());
        }
        if !self.certificates.is_empty() && self.client_ca.is_none() {
            return Err("`certificates` needs `client-ca`: nothing else proves them".into());
        }
        Ok(())
    }
}

/// The rest of the list of settings where one is unknown: the reader of the file lists only the server's own.
fn further(error: &serde_json::Error, extensions: &Extensions) -> String {
    let unknown = error.to_string().starts_with("unknown field");
    let names = extensions.switches().filter(|_| unknown);
    names.map(|switch| format!(", `{}`", switch.name)).collect()
}
