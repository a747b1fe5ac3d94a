// SPDX-License-Identifier: Apache-2.0
//! In: what happens on one connection: bytes, requests, answers taken and not taken. Out: whether it may go on. Not here:
//! closing it.
//!
//! One clock for both protocols. A connection is *quiet* while it has no request in flight; it *waits for its peer* while
//! an answer has bytes that the peer does not take. Neither may last.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use http::Version;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::limits::ListenerLimits;

/// Whether a connection may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Yes.
    Fine,
    /// No new requests; what is in flight may finish.
    Drain(&'static str),
    /// No.
    Cut(&'static str),
}

#[derive(Debug)]
struct State {
    requests: u64,
    in_flight: usize,
    abandoned: usize,
    quiet_since: Instant,
    /// When the first byte came of a head that is not complete.
    head_since: Option<Instant>,
    /// Pings and the like arrive between HTTP/2 requests; they do not begin a head.
    many_streams: bool,
    /// Answers whose last piece the peer has not taken, by request, and since when.
    untaken: BTreeMap<u64, Instant>,
}

/// What one connection is doing.
#[derive(Debug)]
pub(crate) struct Pulse(Mutex<State>);

impl Pulse {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            requests: 0,
            in_flight: 0,
            abandoned: 0,
            quiet_since: Instant::now(),
            head_since: None,
            many_streams: false,
            untaken: BTreeMap::new(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bytes_arrived(&self) {
        let mut state = self.state();
        if state.in_flight == 0 && !state.many_streams && state.head_since.is_none() {
            state.head_since = Some(Instant::now());
        }
    }

    /// A request has begun.
    pub(crate) fn begin(self: &Arc<Self>, version: Version) -> Beat {
        let mut state = self.state();
        state.requests += 1;
        state.in_flight += 1;
        state.head_since = None;
        state.many_streams = version == Version::HTTP_2;
        Beat { pulse: Arc::clone(self), request: state.requests, finished: false }
    }

    /// Since when nothing is in flight, if nothing is.
    pub(crate) fn quiet_since(&self) -> Option<Instant> {
        let state = self.state();
        (state.in_flight == 0).then_some(state.quiet_since)
    }

    /// How many requests there were.
    pub(crate) fn requests(&self) -> u64 {
        self.state().requests
    }

    /// Whether the connection may go on.
    pub(crate) fn verdict(&self, limits: &ListenerLimits, now: Instant) -> Verdict {
        let state = self.state();
        let since = |then: Instant| now.saturating_duration_since(then);
        if state.untaken.values().any(|then| since(*then) > limits.read_timeout) {
            return Verdict::Cut("the peer does not read its answer");
        }
        if state.abandoned > limits.abandoned_requests {
            return Verdict::Drain("the peer cancels too many requests");
        }
        if state.in_flight > 0 {
            return Verdict::Fine;
        }
        if state.requests == 0 && since(state.quiet_since) > limits.header_timeout {
            return Verdict::Drain("no request came");
        }
        if state.head_since.is_some_and(|then| since(then) > limits.header_timeout) {
            return Verdict::Drain("a request's head took too long");
        }
        if since(state.quiet_since) > limits.idle_timeout {
            return Verdict::Drain("idle");
        }
        Verdict::Fine
    }
}

/// One request in flight, from its head to the end of its answer.
#[derive(Debug)]
pub(crate) struct Beat {
    pulse: Arc<Pulse>,
    request: u64,
    finished: bool,
}

impl Beat {
    /// A piece of the answer was handed out; now it is the peer's turn.
    pub(crate) fn handed_out(&self) {
        self.pulse.state().untaken.insert(self.request, Instant::now());
    }

    /// The next piece is asked for, so the last was taken.
    pub(crate) fn taken(&self) {
        self.pulse.state().untaken.remove(&self.request);
    }

    /// The answer is complete: the request was not given up.
    pub(crate) fn finish(&mut self) {
        self.finished = true;
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        let mut state = self.pulse.state();
        state.untaken.remove(&self.request);
        state.in_flight = state.in_flight.saturating_sub(1);
        if state.in_flight == 0 {
            state.quiet_since = Instant::now();
        }
        if !self.finished {
            state.abandoned += 1;
        }
    }
}

/// A stream that tells the pulse when bytes arrive.
#[derive(Debug)]
pub(crate) struct Tapped<T> {
    stream: T,
    pulse: Arc<Pulse>,
}

impl<T> Tapped<T> {
    pub(crate) fn new(stream: T, pulse: Arc<Pulse>) -> Self {
        Self { stream, pulse }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Tapped<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.pulse.bytes_arrived();
        }
        polled
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Tapped<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
