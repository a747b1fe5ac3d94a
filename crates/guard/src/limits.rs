// SPDX-License-Identifier: Apache-2.0
//! The bounds that keep one stranger from taking what belongs to all. Not here: enforcing them (each
//! place that would pay does).

use std::time::Duration;

/// Bounds of a listener and of what passes its gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenerLimits {
    /// Bytes of a request's head. Below 8 KiB counts as 8 KiB.
    pub header_bytes: usize,
    /// Header lines of a request.
    pub headers: usize,
    /// How long a request's head may take from its first byte, and a connection to begin its first request.
    pub header_timeout: Duration,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Bytes of all bodies that have arrived and are still needed.
    pub upload_bytes: usize,
    /// How long a request may take, its body included, until its answer begins.
    pub request_timeout: Duration,
    /// Connections at once.
    pub connections: usize,
    /// Connections at once of one IPv4 address, or of one IPv6 network of 64 bits (one customer has that many).
    pub connections_per_ip: usize,
    /// Requests being answered at once, until their answers are sent. The next is told to come back.
    pub requests_in_flight: usize,
    /// Endless answers (server-sent events) at once. They do not count as in flight.
    pub event_streams: usize,
    /// How long a connection may do nothing between requests.
    pub idle_timeout: Duration,
    /// How long a TLS handshake may take.
    pub tls_handshake_timeout: Duration,
    /// How long a peer may take to read 16 KiB of an answer.
    pub read_timeout: Duration,
    /// Requests at once on one HTTP/2 connection.
    pub streams_per_connection: u32,
    /// Requests a connection may give up before they are answered. After that it is closed: it costs more than it asks.
    pub abandoned_requests: usize,
    /// How often an HTTP/2 peer is asked whether it is still there, and how long it may take to answer.
    pub ping_interval: Duration,
    /// How long requests in flight may take to finish when the server stops.
    pub grace: Duration,
    /// How many addresses with failed logins are remembered.
    pub failing_peers: usize,
    /// How often certificate files are looked at.
    pub tls_reload: Duration,
}

impl Default for ListenerLimits {
    fn default() -> Self {
        Self {
            header_bytes: 64 << 10,
            headers: 100,
            header_timeout: Duration::from_secs(10),
            body_bytes: 16 << 20,
            upload_bytes: 256 << 20,
            request_timeout: Duration::from_secs(30),
            connections: 1024,
            connections_per_ip: 256,
            requests_in_flight: 256,
            event_streams: 512,
            idle_timeout: Duration::from_secs(75),
            tls_handshake_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(30),
            streams_per_connection: 64,
            abandoned_requests: 200,
            ping_interval: Duration::from_secs(20),
            grace: Duration::from_secs(20),
            failing_peers: 4096,
            tls_reload: Duration::from_secs(5),
        }
    }
}

impl ListenerLimits {
    /// How often a connection is looked at: often enough for its shortest bound.
    pub(crate) fn tick(&self) -> Duration {
        let shortest = self.header_timeout.min(self.idle_timeout).min(self.read_timeout);
        (shortest / 4).clamp(Duration::from_millis(10), Duration::from_secs(1))
    }
}
