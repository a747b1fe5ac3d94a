// SPDX-License-Identifier: Apache-2.0
//! In: bootstraps and requests. Out: the answers of a real Envoy. Not here: which answers are right (`differ`).

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::answer::{self, Counters, SeenAnswer};
use crate::client::{Clients, Connected, ProxyRequest};
use crate::echo::Echo;
use crate::failure::HarnessFailure;
use crate::install::Envoy;
use crate::observe;
use crate::pki::{Files, Holder, Pki};
use crate::proxy::{self, ANSWER, Proxy};

/// Requests at once when costs are measured.
const CROWD: u32 = 25;

/// What an inbound speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LabProtocol {
    /// HTTP, answered by the proxy itself.
    Http,
    /// Anything, passed on to an echo.
    Tcp,
}

/// How rules are laid out for Envoy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleLayout {
    /// One after the other.
    List,
    /// Staged maps.
    Tree,
}

/// What a bootstrap is for.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    /// What the inbound speaks.
    pub protocol: LabProtocol,
    /// How the rules are laid out.
    pub form: RuleLayout,
    /// Certificate, key and authorities of the inbound.
    pub files: &'a Files,
    /// The service behind a TCP inbound.
    pub upstream: SocketAddr,
}

/// All that was seen of one Envoy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// One answer a question, in order.
    pub seen: Vec<SeenAnswer>,
    /// Its counters at the end.
    pub counters: Counters,
    /// Connections that reached the service behind.
    pub upstream: u64,
}

/// Envoy, certificates and a service: everything but rules.
#[derive(Debug)]
pub struct Lab {
    envoy: Envoy,
    pki: Pki,
    clients: Clients,
    echo: Echo,
}

impl Lab {
    /// With these clients.
    ///
    /// # Errors
    /// Certificates cannot be made, or there is no free port.
    pub fn new(envoy: Envoy, holders: BTreeMap<String, Holder>) -> Result<Self, HarnessFailure> {
        let pki = Pki::new(holders)?;
        let clients = Clients::new(&pki)?;
        Ok(Self { envoy, pki, clients, echo: Echo::start()? })
    }

    /// What a bootstrap for this laboratory needs to know.
    pub fn setup(&self, protocol: LabProtocol, form: RuleLayout) -> Setup<'_> {
        Setup { protocol, form, files: self.pki.files(), upstream: self.echo.address() }
    }

    /// The clients.
    pub fn holders(&self) -> &BTreeMap<String, Holder> {
        self.pki.holders()
    }

    /// The binary.
    pub fn envoy(&self) -> &Envoy {
        &self.envoy
    }

    /// Has Envoy check a bootstrap, starts it, and asks its first listener all of this.
    ///
    /// # Errors
    /// Envoy refuses the bootstrap or does not answer.
    pub fn observe(
        &mut self,
        bootstrap: &str,
        protocol: LabProtocol,
        asks: &[ProxyRequest],
    ) -> Result<Observed, HarnessFailure> {
        // As it was emitted, without the windows.
        proxy::validate(&self.envoy, bootstrap)?;
        let directory = tempfile::tempdir().map_err(HarnessFailure::of("no directory for logs"))?;
        let log = directory.path().join("connections");
        let proxy = Proxy::start(&self.envoy, &observe::observed(bootstrap, &log)?)?;
        let to = proxy.listeners().values().next().copied();
        let to = to.ok_or_else(|| HarnessFailure::new("the bootstrap has no listener"))?;
        let before = self.echo.connections();
        let seen = match protocol {
            LabProtocol::Http => self.requests(to, asks),
            LabProtocol::Tcp => self.connections(to, asks, &log),
        };
        self.clients.close();
        let counters = Counters::of(&proxy.stats()?);
        Ok(Observed { seen: seen?, counters, upstream: self.echo.connections() - before })
    }

    /// Asks the same at least so many times, and tells Envoy's own processor time per request.
    ///
    /// # Errors
    /// As [`Lab::observe`].
    pub fn cpu_per_request(
        &self,
        bootstrap: &str,
        ask: &ProxyRequest,
        times: u32,
    ) -> Result<Duration, HarnessFailure> {
        let proxy = Proxy::start(&self.envoy, bootstrap)?;
        let to = proxy.listeners().values().next().copied();
        let to = to.ok_or_else(|| HarnessFailure::new("the bootstrap has no listener"))?;
        let mut crowd = self.clients.crowd(to, ask, CROWD)?;
        crowd.ask()?;
        let rounds = times.div_ceil(CROWD);
        let before = proxy.cpu()?;
        for _ in 0..rounds {
            crowd.ask()?;
        }
        let used = proxy.cpu()?.saturating_sub(before);
        used.checked_div(rounds * CROWD).ok_or_else(|| HarnessFailure::new("nothing was asked"))
    }

    fn requests(
        &mut self,
        to: SocketAddr,
        asks: &[ProxyRequest],
    ) -> Result<Vec<SeenAnswer>, HarnessFailure> {
        let mut seen = Vec::with_capacity(asks.len());
        for ask in asks {
            let reply = self.clients.request(to, ask)?;
            seen.push(answer::of_reply(&reply, ask.method != "CONNECT")?);
        }
        Ok(seen)
    }

    fn connections(
        &mut self,
        to: SocketAddr,
        asks: &[ProxyRequest],
        log: &Path,
    ) -> Result<Vec<SeenAnswer>, HarnessFailure> {
        let mut made: Vec<Connected> = Vec::with_capacity(asks.len());
        for ask in asks {
            made.push(self.clients.echo(to, ask)?);
        }
        let mut lines = lines(log, asks.len())?;
        let mut seen = Vec::with_capacity(made.len());
        for connection in &made {
            // A port may come again: its lines are in the order of its connections.
            let line =
                lines.get_mut(&connection.port).filter(|l| !l.is_empty()).map(|l| l.remove(0));
            let line =
                line.ok_or_else(|| HarnessFailure::new("a connection that Envoy did not log"))?;
            seen.push(answer::of_connection(connection, &line)?);
        }
        Ok(seen)
    }
}

/// The log's lines by port of the client, once there are enough.
fn lines(log: &Path, enough: usize) -> Result<BTreeMap<u16, Vec<Value>>, HarnessFailure> {
    let deadline = Instant::now() + ANSWER;
    let mut text = String::new();
    while Instant::now() < deadline {
        text = fs::read_to_string(log).unwrap_or_default();
        if text.ends_with('\n') && text.lines().count() >= enough {
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
    let mut by_port: BTreeMap<u16, Vec<Value>> = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).map_err(HarnessFailure::of("Envoy's log"))?;
        let port = line.get("port").and_then(|p| match p {
            Value::String(text) => text.parse().ok(),
            other => u16::try_from(other.as_u64()?).ok(),
        });
        let port =
            port.ok_or_else(|| HarnessFailure::new(format!("no port in the log: {line}")))?;
        by_port.entry(port).or_default().push(line);
    }
    Ok(by_port)
}
