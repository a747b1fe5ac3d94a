// SPDX-License-Identifier: Apache-2.0
//! In: flags, environment and a file. Out: settings, flags first, then the environment, then the file. Not here: what
//! they do.
//!
//! Secrets have no flag: arguments of a process are read by everybody on the machine. The password of a database comes
//! from the file, the environment or a password file.

use std::net::SocketAddr;
use std::path::PathBuf;

use overrule_ask::{Parameters, parameters, words};
use overrule_guard::CertificateRule;
use serde::Deserialize;

use crate::extension::Extensions;

parameters! {
    /// `overrule serve`: the live store and the Inspect API.
    #[derive(Debug, Clone, Default, Deserialize)]
    #[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
    Config {
        /// Address to listen on; any other than loopback needs TLS and authentication [default: 127.0.0.1:5681]
        listen: Option<SocketAddr> = {
            value_name: "ADDRESS", env: Some("OVERRULE_LISTEN"), heading: Some("Serving"),
        };
        /// Folder of the embedded store; made if it is not there [env: OVERRULE_DATA] [default: overrule-data]
        data: Option<PathBuf> = {value_name: "DIR", heading: Some("Store")};
        /// Keep everything in memory: it is gone when the server ends [env: OVERRULE_EPHEMERAL]
        ephemeral: bool = {conflicts: &["data"], heading: Some("Store")};
        /// File that holds the connection of a PostgreSQL store: `postgres://user@host/database`; several servers may
        /// share one. OVERRULE_POSTGRES holds the connection itself [env: OVERRULE_POSTGRES_FILE]
        postgres_file: Option<PathBuf> = {
            value_name: "FILE", conflicts: &["data", "ephemeral"], heading: Some("Store"),
        };
        /// Certificates that PostgreSQL's certificate must be signed by
        postgres_ca: Option<PathBuf> = {
            value_name: "FILE", env: Some("OVERRULE_POSTGRES_CA"), heading: Some("Store"),
        };
        /// Fill an empty store from a backup
        restore: Option<PathBuf> = {
            value_name: "FILE", env: Some("OVERRULE_RESTORE"), heading: Some("Store"),
        };
        /// Most changes kept in the history [default: no limit]
        history_entries: Option<u64> = {
            value_name: "N", env: Some("OVERRULE_HISTORY_ENTRIES"), heading: Some("Store"),
        };
        /// How long changes are kept in the history: `720h` [default: no limit]
        history_age: Option<String> = {
            value_name: "TIME", env: Some("OVERRULE_HISTORY_AGE"), heading: Some("Store"),
        };
        /// Follow changes of the files given with -f, and remove from the store what is removed from them
        watch_files: bool = {env: Some("OVERRULE_WATCH_FILES"), heading: Some("Store")};
        /// Most events kept in the audit log [default: no limit]
        audit_entries: Option<u64> = {
            value_name: "N", env: Some("OVERRULE_AUDIT_ENTRIES"), heading: Some("Store"),
        };
        /// How long events are kept in the audit log: `8760h` [default: no limit]
        audit_age: Option<String> = {
            value_name: "TIME", env: Some("OVERRULE_AUDIT_AGE"), heading: Some("Store"),
        };
        /// How clients prove who they are; on loopback the default is `none`, elsewhere `token`
        auth: Option<Auth> = {
            value_name: "HOW", env: Some("OVERRULE_AUTH"), heading: Some("Security"),
        };
        /// Certificate chain of the server
        tls_cert: Option<PathBuf> = {
            value_name: "FILE", env: Some("OVERRULE_TLS_CERT"), requires: Some("tls-key"),
            heading: Some("Security"),
        };
        /// Its key
        tls_key: Option<PathBuf> = {
            value_name: "FILE", env: Some("OVERRULE_TLS_KEY"), requires: Some("tls-cert"),
            heading: Some("Security"),
        };
        /// Certificates that client certificates must be signed by
        client_ca: Option<PathBuf> = {
            value_name: "FILE", env: Some("OVERRULE_CLIENT_CA"), requires: Some("tls-cert"),
            heading: Some("Security"),
        };
        /// Refuse clients without a certificate
        client_cert_required: bool = {
            env: Some("OVERRULE_CLIENT_CERT_REQUIRED"), heading: Some("Security"),
        };
        /// Name or name:port by which clients may reach the server, beside its address; repeatable
        host: Vec<String> = {
            value_name: "HOST", env: Some("OVERRULE_HOST"), heading: Some("Security"),
        };
        /// Address or network (`10.0.0.0/8`) of a proxy that may say where a request began, by `Forwarded` or
        /// `X-Forwarded-For`; repeatable
        trusted_proxy: Vec<String> = {
            value_name: "ADDRESS", env: Some("OVERRULE_TRUSTED_PROXY"), heading: Some("Security"),
        };
        /// File that the first admin token is written to, readable for its owner only [default: admin-token in the data
        /// folder]
        admin_token_file: Option<PathBuf> = {
            value_name: "FILE", env: Some("OVERRULE_ADMIN_TOKEN_FILE"), heading: Some("Security"),
        };
        /// File that holds the first admin token, such as one of a mounted Secret; none is made then. A token is `ovr_`,
        /// 16 hexadecimal digits, `_` and 64 more
        admin_token_from: Option<PathBuf> = {
            value_name: "FILE", env: Some("OVERRULE_ADMIN_TOKEN_FROM"),
            conflicts: &["admin-token-file"], heading: Some("Security"),
        };
        /// Largest body of a request, in bytes [default: 16777216]
        max_body: Option<usize> = {
            value_name: "BYTES", env: Some("OVERRULE_MAX_BODY"), heading: Some("Limits"),
        };
        /// Most documents in the body of a request, empty ones included [default: 100000]
        max_documents: Option<usize> = {
            value_name: "N", env: Some("OVERRULE_MAX_DOCUMENTS"), heading: Some("Limits"),
        };
        /// Longest time for a request, in seconds [default: 60]
        request_timeout: Option<u64> = {
            value_name: "SECONDS", env: Some("OVERRULE_REQUEST_TIMEOUT"), heading: Some("Limits"),
        };
        /// Most connections at once [default: 1024]
        max_connections: Option<usize> = {
            value_name: "N", env: Some("OVERRULE_MAX_CONNECTIONS"), heading: Some("Limits"),
        };
        /// Most requests at once [default: 256]
        max_requests: Option<usize> = {
            value_name: "N", env: Some("OVERRULE_MAX_REQUESTS"), heading: Some("Limits"),
        };
        /// Longest time that requests get to finish when the server stops, in seconds [default: 20]
        grace: Option<u64> = {
            value_name: "SECONDS", env: Some("OVERRULE_GRACE"), heading: Some("Limits"),
        };
        /// Address on which only `/healthz` and `/readyz` are answered, without TLS, certificates and tokens, by a thread
        /// of its own
        probe_listen: Option<SocketAddr> = {
            value_name: "ADDRESS", env: Some("OVERRULE_PROBE_LISTEN"), heading: Some("Serving"),
        };
        /// OpenTelemetry collector that every request is sent to as a span, by OTLP over HTTP: `http://localhost:4318`
        /// [default: none]
        otlp: Option<String> = {
            value_name: "URL", env: Some("OVERRULE_OTLP"), heading: Some("Serving"),
        };
        /// Form of logs on standard error
        log_format: Option<LogFormat> = {
            value_name: "FORM", env: Some("OVERRULE_LOG_FORMAT"), heading: Some("Serving"),
        };
        /// What is logged: `info`, `debug`, `overrule_server=debug` [default: info]
        log: Option<String> = {
            value_name: "FILTER", env: Some("OVERRULE_LOG"), heading: Some("Serving"),
        };
        /// File with any of these settings, as YAML with the names of the flags; `certificates` maps client
        /// certificates
        #[serde(skip)]
        config: Option<PathBuf> = {
            value_name: "FILE", env: Some("OVERRULE_CONFIG"), heading: Some("Serving"),
        };
    }
    beside {
        /// The connection of PostgreSQL; only in the file or the environment.
        postgres: Option<Hidden>,
        /// Who client certificates stand for; only in the file.
        certificates: Vec<CertificateRule>,
        /// Further APIs, and their settings.
        #[serde(skip)]
        extensions: Extensions,
        /// Answers that never change, by path; for benchmarks.
        #[serde(skip)]
        #[doc(hidden)]
        fixed: Vec<(String, bytes::Bytes)>,
    }
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

words! {
    /// How clients prove who they are.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    Auth {
        /// They do not: everybody who reaches the port may do everything. Loopback only.
        None,
        /// With a token, or a client certificate that the configuration names.
        Token,
    }
}

words! {
    /// Form of logs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    LogFormat {
        /// For reading.
        Text,
        /// One JSON object per line.
        Json,
    }
}

impl Config {
    /// Adds what the file says where nothing else was said.
    pub fn or(self, mut file: Self) -> Self {
        if self.names_store() {
            // A store that was chosen by flag is not combined with another one from the file.
            file =
                Self { data: None, ephemeral: false, postgres_file: None, postgres: None, ..file };
        }
        let postgres = self.postgres.clone().or(file.postgres.take());
        let certificates = std::mem::take(&mut file.certificates);
        let extensions = self.extensions.clone().or(std::mem::take(&mut file.extensions));
        Self { postgres, certificates, extensions, ..Parameters::or(self, file) }
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
        if self.admin_token_file.is_some() && self.admin_token_from.is_some() {
            return Err("`admin-token-from` brings the token that `admin-token-file` would get; \
                        choose one"
                .into());
        }
        self.otlp.as_deref().map_or(Ok(()), crate::otlp::check)?;
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
