// SPDX-License-Identifier: Apache-2.0
//! In: the address of a server and how to prove who asks. Out: its answers. Not here: what is asked (`command/`).

use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use overrule::view::TableFit;
use overrule_ask::percent::{decode, encode};
use overrule_ask::{AskError, AskResult, Asked, Exit, Layout, Parameters, Shared, Sink};
use serde_json::Value;
use ureq::http::{Request, Response};
use ureq::{Agent, Body};

use crate::args::Source;
use crate::output::Out;

/// Largest answer that is read.
const LARGEST: u64 = 1 << 30;

/// A server.
pub struct Remote {
    base: String,
    token: Option<String>,
    agent: Agent,
}

/// What a server said.
pub struct Said {
    pub text: String,
    pub exit: Exit,
    pub remarks: Vec<String>,
}

impl Remote {
    /// The server that was named; none if none was.
    pub fn named(source: &Source) -> Result<Option<Self>, AskError> {
        let Some(server) = source.server.as_ref().filter(|s| !s.is_empty()) else {
            return Ok(None);
        };
        let base = server.trim_end_matches('/').to_owned();
        let encrypted = base.starts_with("https://");
        if !encrypted && !base.starts_with("http://") {
            let detail =
                format!("--server takes a URL such as http://127.0.0.1:5681, not `{server}`");
            return Err(AskError::Usage(detail));
        }
        let token = token(source)?;
        if token.is_some() && !encrypted && !is_loopback(&base) {
            return Err(AskError::Usage(format!(
                "a token is not sent to {base} without encryption; use https"
            )));
        }
        let mut config = Agent::config_builder().http_status_as_error(false).max_redirects(0);
        if encrypted {
            config = config.tls_config(tls(source.ca_file.as_deref())?);
        }
        Ok(Some(Self { base, token, agent: config.build().into() }))
    }

    fn request(&self, method: &str, path: &str, body: &str) -> Result<Response<Body>, AskError> {
        let uri = format!("{}{path}", self.base);
        let mut request = Request::builder().method(method).uri(&uri);
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if !body.is_empty() {
            request = request.header("content-type", "application/yaml");
        }
        let request = request.body(body.to_owned());
        let request = request.map_err(|e| AskError::Usage(format!("{uri}: {e}")))?;
        let sent = self.agent.run(request);
        sent.map_err(|e| AskError::World(format!("{} does not answer: {e}", self.base)))
    }

    /// Asks for something and reads all of the answer.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> Result<Said, AskError> {
        let mut response = self.request(method, path, body)?;
        let read = response.body_mut().with_config().limit(LARGEST).read_to_string();
        let text = read.map_err(|e| AskError::World(format!("{}: {e}", self.base)))?;
        let status = response.status();
        if !status.is_success() {
            return Err(refused(status.as_u16(), &text));
        }
        let header = |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok());
        let exit = match header("overrule-exit") {
            None | Some("0") => Exit::Fine,
            Some("1") => Exit::Findings,
            Some(_) => Exit::World,
        };
        let remarks = header("overrule-remarks").map(|text| decode(text, false));
        let remarks = remarks.and_then(|text| serde_json::from_str(&text).ok());
        Ok(Said { text, exit, remarks: remarks.unwrap_or_default() })
    }

    /// Asks for something that does not end.
    pub fn stream(&self, path: &str) -> Result<BufReader<impl std::io::Read + use<>>, AskError> {
        let response = self.request("GET", path, "")?;
        let status = response.status();
        if !status.is_success() {
            let text = response.into_body().read_to_string().unwrap_or_default();
            return Err(refused(status.as_u16(), &text));
        }
        Ok(BufReader::new(response.into_body().into_reader()))
    }

    /// Puts a question of the command line, with a text where one belongs to it.
    pub fn question<T: Asked>(
        &self,
        shared: &Shared,
        asked: &T,
        body: Option<&str>,
        out: &mut Out,
    ) -> AskResult {
        let styles = out.styles();
        let layout = Layout {
            color: styles.is_colored(),
            width: match styles.fit {
                TableFit::Columns(columns) => Some(columns),
                TableFit::Fixed | TableFit::Whole => None,
            },
            columns: Some(styles.width),
        };
        let query = query(shared, &layout, asked);
        let (method, body) = match body {
            Some(text) => ("POST", text),
            None => ("GET", ""),
        };
        let said = self.ask(method, &path(&format!("/v1/{}", T::NAME), &query), body)?;
        out.result(&said.text)?;
        for remark in &said.remarks {
            out.remark(remark);
        }
        Ok(said.exit)
    }
}

/// A question as the parameters of a request.
fn query(shared: &Shared, layout: &Layout, asked: &impl Asked) -> Vec<(String, String)> {
    let mut query = asked.sent();
    query.extend(shared.sent());
    if shared.all_namespaces {
        query.retain(|(name, _)| name != "namespace");
    }
    if shared.output.is_none() {
        query.push(("output".to_owned(), "best".to_owned()));
    }
    query.extend(layout.sent());
    query
}

/// A path with a query.
pub fn path(path: &str, query: &[(String, String)]) -> String {
    let pairs: Vec<String> =
        query.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
}

/// What a refusal means here.
fn refused(status: u16, text: &str) -> AskError {
    let problem: Option<Value> = serde_json::from_str(text).ok();
    let detail = problem.as_ref().and_then(|p| p.get("detail")).and_then(Value::as_str);
    let detail = detail.unwrap_or(text).trim();
    match status {
        401 => AskError::World(format!(
            "the server does not know you: {detail}; put a token into OVERRULE_TOKEN or a file named by --token-file"
        )),
        404 => AskError::NotFound(detail.to_owned()),
        400 => AskError::Usage(detail.to_owned()),
        422 | 409 => AskError::NotFound(findings(problem.as_ref(), detail)),
        _ => AskError::World(format!("the server answers {status}: {detail}")),
    }
}

/// Findings in what was sent, one line each.
fn findings(problem: Option<&Value>, detail: &str) -> String {
    let items = problem.and_then(|p| p.pointer("/diagnostics/items")).and_then(Value::as_array);
    let line = |item: &Value| {
        let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str).unwrap_or("");
        let number = |pointer: &str| item.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
        format!(
            "{}:{}:{}: {}[{}]: {}",
            text("/at/file"),
            number("/at/line"),
            number("/at/column"),
            text("/severity"),
            text("/code"),
            text("/message")
        )
    };
    let lines: Vec<String> = items.into_iter().flatten().map(line).collect();
    if lines.is_empty() { detail.to_owned() } else { format!("refused\n{}", lines.join("\n")) }
}

fn token(source: &Source) -> Result<Option<String>, AskError> {
    if let Some(file) = &source.token_file {
        let text = std::fs::read_to_string(file)
            .map_err(|e| AskError::World(format!("{}: {e}", file.display())))?;
        return Ok(Some(text.trim().to_owned()));
    }
    #[expect(clippy::disallowed_methods, reason = "a secret has no flag: others read arguments")]
    let token = std::env::var("OVERRULE_TOKEN").ok();
    Ok(token.map(|t| t.trim().to_owned()).filter(|t| !t.is_empty()))
}

/// Whether a URL names this machine: by an address, or by the one name that means it everywhere.
fn is_loopback(base: &str) -> bool {
    let host = base.parse::<ureq::http::Uri>().ok().and_then(|uri| uri.host().map(str::to_owned));
    let Some(host) = host else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn tls(ca: Option<&Path>) -> Result<ureq::tls::TlsConfig, AskError> {
    // The first to install a provider wins; it is the same one.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let roots = match ca {
        None => ureq::tls::RootCerts::WebPki,
        Some(file) => {
            let bytes = std::fs::read(file)
                .map_err(|e| AskError::World(format!("{}: {e}", file.display())))?;
            let found: Result<Vec<_>, _> = ureq::tls::parse_pem(&bytes)
                .filter_map(|item| match item {
                    Ok(ureq::tls::PemItem::Certificate(certificate)) => Some(Ok(certificate)),
                    Ok(_) => None,
                    Err(e) => Some(Err(e)),
                })
                .collect();
            let found = found.map_err(|e| AskError::World(format!("{}: {e}", file.display())))?;
            ureq::tls::RootCerts::Specific(Arc::new(found))
        }
    };
    let config = ureq::tls::TlsConfig::builder()
        .provider(ureq::tls::TlsProvider::Rustls)
        .root_certs(roots)
        .unversioned_rustls_crypto_provider(
            Arc::new(rustls::crypto::aws_lc_rs::default_provider()),
        );
    Ok(config.build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_this_machine() {
        for own in
            ["http://127.0.0.1:5681", "http://127.9.9.9", "http://localhost", "http://[::1]:1"]
        {
            assert!(is_loopback(own), "{own}");
        }
        for other in [
            "http://localhost.example.com",
            "http://127.example.com",
            "http://10.0.0.1",
            "http://user@example.com",
            "http://localhost@example.com",
            "http://",
        ] {
            assert!(!is_loopback(other), "{other}");
        }
    }
}
