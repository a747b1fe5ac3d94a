// SPDX-License-Identifier: Apache-2.0
//! In: requests that were answered. Out: spans, sent to an OpenTelemetry collector (OTLP over HTTP, as JSON). Not here:
//! figures (`metrics`) and logs.
//!
//! Nobody waits for a collector: spans that it does not take in time are dropped and counted, and requests go on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};

use crate::clock;

/// Spans that wait to be sent.
const WAITING: usize = 4096;
/// Spans sent at once.
const BATCH: usize = 512;
/// How long spans wait for others.
const LINGER: Duration = Duration::from_secs(2);
/// How long a collector may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A request as a part of a trace.
#[derive(Debug, Clone)]
pub struct RequestSpan {
    /// The trace and the span of the client, if it named them.
    pub parent: Option<(String, String)>,
    /// The method and the path of the endpoint.
    pub name: String,
    /// When it began and ended, in nanoseconds since 1970.
    pub times: (i128, i128),
    /// The status.
    pub status: u16,
    /// Further attributes.
    pub attributes: Vec<(&'static str, String)>,
}

/// Where spans go.
#[derive(Debug, Default)]
pub struct Spans {
    sender: OnceLock<SyncSender<RequestSpan>>,
    dropped: Arc<AtomicU64>,
}

impl Spans {
    /// Sends spans to a collector from now on.
    pub fn export_to(&self, base: &str) -> std::io::Result<()> {
        let (sender, receiver) = sync_channel(WAITING);
        let exporter = Exporter {
            url: format!("{}/v1/traces", base.trim_end_matches('/')),
            agent: agent(),
            dropped: Arc::clone(&self.dropped),
            failing: false,
        };
        let named = std::thread::Builder::new().name("otlp".to_owned());
        named.spawn(move || exporter.run(&receiver))?;
        // A second call changes nothing; the thread of it ends at once.
        let _ = self.sender.set(sender);
        Ok(())
    }

    /// Whether anybody wants spans.
    pub fn wanted(&self) -> bool {
        self.sender.get().is_some()
    }

    /// Sends a span, unless too many wait already.
    pub fn send(&self, span: RequestSpan) {
        let Some(sender) = self.sender.get() else { return };
        if sender.try_send(span).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many spans were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// Whether a text is the address of a collector.
pub fn check(base: &str) -> Result<(), String> {
    let address: Option<http::Uri> = base.parse().ok();
    let scheme = address.as_ref().and_then(http::Uri::scheme_str);
    match (scheme, address.as_ref().and_then(http::Uri::authority)) {
        (Some("http" | "https"), Some(_)) => Ok(()),
        _ => Err("`otlp` takes an address such as http://localhost:4318".to_owned()),
    }
}

fn agent() -> ureq::Agent {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = ureq::tls::TlsConfig::builder()
        .provider(ureq::tls::TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(provider)
        .build();
    let config = ureq::Agent::config_builder().tls_config(tls).timeout_global(Some(PATIENCE));
    config.build().into()
}

struct Exporter {
    url: String,
    agent: ureq::Agent,
    dropped: Arc<AtomicU64>,
    failing: bool,
}

impl Exporter {
    /// Ends with the server.
    fn run(mut self, spans: &Receiver<RequestSpan>) {
        while let Ok(first) = spans.recv() {
            let mut batch = vec![first];
            let until = clock::instant() + LINGER;
            while batch.len() < BATCH {
                let rest = until.saturating_duration_since(clock::instant());
                match spans.recv_timeout(rest) {
                    Ok(span) => batch.push(span),
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
                }
            }
            self.send(&batch);
        }
    }

    fn send(&mut self, batch: &[RequestSpan]) {
        let body = body(batch).to_string();
        let request = self.agent.post(&self.url).header("content-type", "application/json");
        match request.send(body) {
            Ok(_) => self.failing = false,
            Err(error) => {
                self.dropped.fetch_add(batch.len() as u64, Ordering::Relaxed);
                // Told once, not every two seconds.
                if !std::mem::replace(&mut self.failing, true) {
                    tracing::warn!(%error, url = self.url, "spans cannot be sent; they are dropped");
                }
            }
        }
    }
}

/// Spans in the JSON form of OTLP.
fn body(batch: &[RequestSpan]) -> Value {
    let attribute = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let spans: Vec<Value> = batch
        .iter()
        .map(|span| {
            let mut attributes: Vec<Value> =
                span.attributes.iter().map(|(key, value)| attribute(key, value)).collect();
            attributes.push(json!({
                "key": "http.response.status_code",
                "value": {"intValue": span.status.to_string()},
            }));
            let (trace, parent) = match &span.parent {
                Some((trace, parent)) => (trace.clone(), parent.clone()),
                None => (random::<16>(), String::new()),
            };
            json!({
                "traceId": trace,
                "spanId": random::<8>(),
                "parentSpanId": parent,
                "name": span.name,
                // A server's span.
                "kind": 2,
                "startTimeUnixNano": span.times.0.to_string(),
                "endTimeUnixNano": span.times.1.to_string(),
                "attributes": attributes,
                "status": if span.status >= 500 { json!({"code": 2}) } else { json!({}) },
            })
        })
        .collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": [
            attribute("service.name", "overrule"),
            attribute("service.version", env!("CARGO_PKG_VERSION")),
        ]},
        "scopeSpans": [{"scope": {"name": "overrule"}, "spans": spans}],
    }]})
}

/// An id of so many bytes, in lower-case digits. Never zero, which is not a valid id.
fn random<const N: usize>() -> String {
    let mut bytes = [0_u8; N];
    if getrandom::fill(&mut bytes).is_err() || bytes == [0; N] {
        bytes = [1; N];
    }
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_what_a_collector_reads() {
        let parent = ("0af7651916cd43dd8448eb211c80319c".to_owned(), "b7ad6b7169203331".to_owned());
        let mut span = RequestSpan {
            parent: Some(parent.clone()),
            name: "PUT /v1/resources/{kind}/{name}".to_owned(),
            times: (1_700_000_000_000_000_001, 1_700_000_000_000_000_002),
            status: 503,
            attributes: vec![("http.route", "/v1/resources/{kind}/{name}".to_owned())],
        };
        let told = body(std::slice::from_ref(&span));
        let one = &told["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!(one["traceId"], parent.0.as_str());
        assert_eq!(one["parentSpanId"], parent.1.as_str());
        assert_eq!(one["startTimeUnixNano"], "1700000000000000001");
        assert_eq!(one["status"]["code"], 2);
        assert_eq!(one["attributes"][1]["value"]["intValue"], "503");
        span.parent = None;
        let told = body(&[span]);
        let one = &told["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!(one["traceId"].as_str().unwrap().len(), 32);
        assert_eq!(one["parentSpanId"], "");
    }

    #[test]
    fn addresses_are_checked() {
        assert!(check("http://localhost:4318").is_ok() && check("https://otel.example/x").is_ok());
        assert!(
            check("localhost:4318").is_err() && check("").is_err() && check("ftp://a").is_err()
        );
    }
}
