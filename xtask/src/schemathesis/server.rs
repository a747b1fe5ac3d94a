// SPDX-License-Identifier: Apache-2.0
//! In: the binary. Out: it at work on examples of every family, and how it is. Not here: what it is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// Families that are loaded, so that every question has something to answer.
pub(super) const EXAMPLES: [&str; 4] =
    ["examples/kuma", "examples/kuadrant", "examples/kgateway", "examples/access/mesh"];

/// How often endpoints answered with each status.
pub(super) type Counts = BTreeMap<String, Vec<(u16, u64)>>;

/// The binary at work.
pub(super) struct Server {
    process: Child,
    pub(super) base: String,
    pub(super) admin: Option<String>,
    log: PathBuf,
    agent: ureq::Agent,
}

impl Server {
    /// Starts it and waits until it listens.
    pub(super) fn start(
        root: &Path,
        binary: &Path,
        folder: &Path,
        closed: bool,
        postgres: Option<&str>,
    ) -> Result<Self, String> {
        let log = folder.join("log");
        let file = std::fs::File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        let secret = folder.join("admin-token");
        let mut command = Command::new(binary);
        command.current_dir(root).args(["serve", "--listen", "127.0.0.1:0"]);
        match postgres {
            // A connection may hold a password, so it has no flag.
            Some(url) => command.env("OVERRULE_POSTGRES", url),
            None => command.arg("--ephemeral"),
        };
        command.args(EXAMPLES.iter().flat_map(|folder| ["-f", folder]));
        if closed {
            command.args(["--auth", "token", "--admin-token-file"]).arg(&secret);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file);
        let mut process =
            command.spawn().map_err(|e| format!("cannot run {}: {e}", binary.display()))?;
        let mut said = String::new();
        let read = process.stdout.take().map(|out| BufReader::new(out).read_line(&mut said));
        let base = said.trim().strip_prefix("listening on ").map(str::to_owned);
        let config = ureq::Agent::config_builder().http_status_as_error(false).build();
        let mut server =
            Self { process, base: String::new(), admin: None, log, agent: config.into() };
        let Some(base) = base.filter(|_| matches!(read, Some(Ok(_)))) else {
            return Err(format!("the server does not start: {}", server.last_words()));
        };
        server.base = base;
        if closed {
            let token = std::fs::read_to_string(&secret);
            let token = token.map_err(|e| format!("no admin token: {e}"))?;
            server.admin = Some(token.trim().to_owned());
        }
        Ok(server)
    }

    pub(super) fn get(&self, path: &str, token: Option<&str>) -> Result<Value, String> {
        let text = self.text(path, token)?;
        serde_json::from_str(&text).map_err(|e| format!("{path} is no JSON: {e}"))
    }

    fn text(&self, path: &str, token: Option<&str>) -> Result<String, String> {
        let mut request = self.agent.get(format!("{}{path}", self.base));
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let mut answer = request.call().map_err(|e| format!("{path}: {e}"))?;
        let text = answer.body_mut().with_config().limit(u64::MAX).read_to_string();
        match answer.status().as_u16() {
            200 => text.map_err(|e| format!("{path}: {e}")),
            status => Err(format!("{path} answers {status}")),
        }
    }

    /// The status of a request without a body.
    pub(super) fn status(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
    ) -> Result<u16, String> {
        let wrong = |e: ureq::Error| format!("{method} {path}: {e}");
        let mut request = ureq::http::Request::builder().method(method);
        request = request.uri(format!("{}{path}", self.base));
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(()).map_err(|e| wrong(e.into()))?;
        self.agent.run(request).map(|answer| answer.status().as_u16()).map_err(wrong)
    }

    /// A token for somebody else.
    pub(super) fn make_token(&self, grants: &[&str]) -> Result<String, String> {
        let admin = self.admin.as_deref().unwrap_or_default();
        let wish = json!({"name": "schemathesis", "grants": grants}).to_string();
        let request = self.agent.post(format!("{}/v1/tokens", self.base));
        let request = request.header("authorization", format!("Bearer {admin}"));
        let request = request.header("content-type", "application/json");
        let mut answer = request.send(wish).map_err(|e| format!("cannot make a token: {e}"))?;
        let text = answer.body_mut().read_to_string().map_err(|e| e.to_string())?;
        let made: Value = serde_json::from_str(&text).map_err(|e| format!("{e}: {text}"))?;
        let token = made.get("token").and_then(Value::as_str);
        token.map(str::to_owned).ok_or_else(|| format!("cannot make a token: {text}"))
    }

    /// Whether it is there and no thread of it panicked.
    pub(super) fn healthy(&mut self) -> Result<(), String> {
        if let Ok(Some(status)) = self.process.try_wait() {
            return Err(format!("the server died ({status}): {}", self.last_words()));
        }
        let log = std::fs::read(&self.log).map_err(|e| format!("{}: {e}", self.log.display()))?;
        let log = String::from_utf8_lossy(&log);
        let panics: BTreeSet<&str> =
            log.lines().filter(|line| line.contains("panicked at")).collect();
        match panics.is_empty() {
            true => Ok(()),
            false => Err(panics.into_iter().collect::<Vec<_>>().join("; ")),
        }
    }

    fn last_words(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let last: Vec<&str> = log.lines().rev().take(5).collect();
        last.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// How often each endpoint answered with each status, as the server counts.
    pub(super) fn counted(&self) -> Result<Counts, String> {
        let text = self.text("/metrics", self.admin.as_deref())?;
        let mut all = Counts::new();
        for line in text.lines() {
            if let Some((endpoint, status, count)) = count(line) {
                all.entry(endpoint).or_default().push((status, count));
            }
        }
        match all.is_empty() {
            true => Err("/metrics counts no requests".to_owned()),
            false => Ok(all),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Endpoint, status and count of a line of `/metrics`.
fn count(line: &str) -> Option<(String, u16, u64)> {
    let (labels, count) = line.strip_prefix("overrule_requests_total{")?.split_once("} ")?;
    let label = |name: &str| {
        let all = labels.split(',').filter_map(|pair| pair.split_once('='));
        all.into_iter().find(|(own, _)| *own == name).map(|(_, value)| value.trim_matches('"'))
    };
    let status = label("status")?.parse().ok()?;
    Some((label("endpoint")?.to_owned(), status, count.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_as_the_server_writes_them() {
        let line = "overrule_requests_total{endpoint=\"kumaGet\",status=\"404\"} 12";
        assert_eq!(count(line), Some(("kumaGet".to_owned(), 404, 12)));
        assert_eq!(count("overrule_resources{kind=\"Mesh\"} 1"), None);
    }
}
