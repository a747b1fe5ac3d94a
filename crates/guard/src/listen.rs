// SPDX-License-Identifier: Apache-2.0
//! In: a bound listener, perhaps TLS, limits and a service. Out: connections served until told to stop, then drained. Not
//! here: what a request has to pass (the gate), and which address to bind.
//!
//! Every connection is one task, with one clock beside it that looks at its [`Pulse`]. Nothing a peer does or fails to do
//! is waited for without a bound: seats before anything is read, the handshake, the first request, every head, every piece
//! of an answer, the time between requests. Bodies of requests are bounded by the gate.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tower::{Service, ServiceExt as _};

use crate::body::{BoxError, Outgoing};
use crate::certificate::ClientCertificate;
use crate::forwarded::TrustedProxies;
use crate::limits::ListenerLimits;
use crate::peers::{Callers, Peers, Seat};
use crate::pulse::{Pulse, Tapped, Verdict};
use crate::tls::Acceptor;

/// The least buffer HTTP/1 can be read with.
const LEAST_BUFFER: usize = 8 << 10;
/// How long a connection that is told to end may take for it when nothing is in flight: to send what is left of the last
/// answer, and to say goodbye.
const FAREWELL: Duration = Duration::from_secs(2);

/// The other end of a connection. In the extensions of every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// The address it reached us at.
    pub local: SocketAddr,
    /// Whether it came by TLS.
    pub tls: bool,
    /// The certificate it showed, verified.
    pub certificate: Option<Arc<ClientCertificate>>,
}

/// What happened while serving.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Connections that got a seat.
    pub served: u64,
    /// Connections closed at once, because there were too many.
    pub turned_away: u64,
    /// TLS handshakes that failed or took too long.
    pub handshakes_failed: u64,
    /// Connections ended by us: idle, too slow, too greedy.
    pub ended: u64,
    /// Requests.
    pub requests: u64,
    /// Connections with requests in flight when the grace time was over.
    pub cut: u64,
}

#[derive(Debug, Default)]
struct Counts {
    served: AtomicU64,
    turned_away: AtomicU64,
    handshakes_failed: AtomicU64,
    ended: AtomicU64,
    requests: AtomicU64,
}

impl Counts {
    fn report(&self, cut: usize) -> Report {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Report {
            served: read(&self.served),
            turned_away: read(&self.turned_away),
            handshakes_failed: read(&self.handshakes_failed),
            ended: read(&self.ended),
            requests: read(&self.requests),
            cut: cut as u64,
        }
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// What all connections share.
struct Shared {
    limits: ListenerLimits,
    proxies: TrustedProxies,
    tls: Option<Arc<Acceptor>>,
    counts: Counts,
    stop: watch::Receiver<bool>,
}

/// Serves until `shutdown` is ready; then accepts nothing more, lets requests in flight finish for the grace time, and
/// closes what is left. Endless answers (event streams) should end by themselves when told to stop.
pub async fn serve<S, B>(
    listener: TcpListener,
    tls: Option<Arc<Acceptor>>,
    limits: ListenerLimits,
    proxies: TrustedProxies,
    service: S,
    shutdown: impl Future<Output = ()>,
) -> Report
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    let (stop, stopped) = watch::channel(false);
    let counts = Counts::default();
    let shared = Arc::new(Shared { limits, proxies, tls, counts, stop: stopped });
    let mut background = JoinSet::new();
    if let Some(tls) = &shared.tls {
        background.spawn(reload(Arc::clone(tls), limits.tls_reload));
    }
    let mut connections = JoinSet::new();
    accept(&listener, &shared, &service, &mut connections, shutdown).await;
    drop(listener);
    // Fails only when no connection is left to hear it.
    let _ = stop.send(true);
    let drained = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(limits.grace, drained).await;
    let cut = connections.len();
    connections.shutdown().await;
    shared.counts.report(cut)
}

async fn accept<S, B>(
    listener: &TcpListener,
    shared: &Arc<Shared>,
    service: &S,
    connections: &mut JoinSet<()>,
    shutdown: impl Future<Output = ()>,
) where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    let peers = Peers::new(&shared.limits, shared.proxies.clone());
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            biased;
            () = &mut shutdown => return,
            Some(ended) = connections.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a connection's task failed");
                }
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => match peers.seat(address.ip()) {
                    Some(seat) => {
                        count(&shared.counts.served);
                        let (shared, service) = (Arc::clone(shared), service.clone());
                        connections.spawn(connection(stream, address, seat, shared, service));
                    }
                    None => {
                        count(&shared.counts.turned_away);
                        tracing::debug!(%address, "refused a connection: too many connections");
                    }
                },
                Err(error) => pause(&error).await,
            },
        }
    }
}

/// One connection's failure is its own. Others, such as too many open files, last a moment; trying again at once would only
/// burn time.
async fn pause(error: &std::io::Error) {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::warn!(%error, "cannot accept connections for the moment");
        sleep(Duration::from_millis(100)).await;
    }
}

async fn reload(tls: Arc<Acceptor>, every: Duration) {
    let mut clock = interval(every.max(Duration::from_millis(50)));
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        clock.tick().await;
        let tls = Arc::clone(&tls);
        match tokio::task::spawn_blocking(move || tls.reload()).await {
            Ok(Ok(true)) => tracing::info!("the TLS certificate was reloaded"),
            Ok(Ok(false)) => {}
            Ok(Err(error)) => {
                tracing::error!(%error, "the changed TLS files cannot be used; the old ones stay in use");
            }
            Err(error) => tracing::error!(%error, "cannot check the TLS files"),
        }
    }
}

/// Serves one connection. The seat is given back when this ends, however it does.
async fn connection<S, B>(
    stream: TcpStream,
    address: SocketAddr,
    seat: Seat,
    shared: Arc<Shared>,
    service: S,
) where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    let Ok(local) = stream.local_addr() else { return };
    // Small answers should not wait for more to send; without it they only come later.
    let _ = stream.set_nodelay(true);
    let mut peer = Peer { address, local, tls: shared.tls.is_some(), certificate: None };
    match shared.tls.as_ref().map(|tls| tokio_rustls::TlsAcceptor::from(tls.current())) {
        None => converse(stream, peer, seat.callers(), &shared, service).await,
        Some(acceptor) => {
            let mut stop = shared.stop.clone();
            let shaken = timeout(shared.limits.tls_handshake_timeout, acceptor.accept(stream));
            let shaken = tokio::select! {
                shaken = shaken => shaken,
                _ = stop.wait_for(|stop| *stop) => return,
            };
            let Ok(Ok(stream)) = shaken else {
                count(&shared.counts.handshakes_failed);
                tracing::debug!(%address, "no TLS");
                return;
            };
            peer.certificate = match certificate(&stream) {
                Ok(certificate) => certificate,
                Err(error) => {
                    tracing::info!(%address, %error, "a client certificate cannot be read");
                    return;
                }
            };
            converse(stream, peer, seat.callers(), &shared, service).await;
        }
    }
    drop(seat);
}

fn certificate(
    stream: &tokio_rustls::server::TlsStream<TcpStream>,
) -> Result<Option<Arc<ClientCertificate>>, String> {
    let chain = stream.get_ref().1.peer_certificates();
    let Some(own) = chain.and_then(|chain| chain.first()) else { return Ok(None) };
    ClientCertificate::parse(own).map(Arc::new).map(Some)
}

/// Speaks HTTP until the connection ends, or has to.
async fn converse<T, S, B>(
    stream: T,
    peer: Peer,
    callers: Arc<Callers>,
    shared: &Arc<Shared>,
    service: S,
) where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    let pulse = Pulse::new();
    let address = peer.address;
    let io = TokioIo::new(Tapped::new(stream, Arc::clone(&pulse)));
    let beating = Arc::clone(&pulse);
    let answer = service_fn(move |mut request: Request<Incoming>| {
        let beat = beating.begin(request.version());
        let head_only = request.method() == Method::HEAD;
        request.extensions_mut().insert(peer.clone());
        request.extensions_mut().insert(Arc::clone(&callers));
        let service = service.clone();
        async move {
            let answer = service.oneshot(request).await?;
            Ok::<_, Infallible>(answer.map(|body| Outgoing::new(body, beat, head_only)))
        }
    });
    let builder = builder(&shared.limits);
    let mut conversation = pin!(builder.serve_connection(io, answer));
    let end = watch_over(
        conversation.as_mut(),
        |conversation| conversation.graceful_shutdown(),
        &pulse,
        shared,
    );
    if let Some(why) = end.await {
        count(&shared.counts.ended);
        tracing::debug!(%address, why, "connection ended by us");
    }
    shared.counts.requests.fetch_add(pulse.requests(), Ordering::Relaxed);
}

/// Drives a connection, and looks at its pulse. Says why, if it was us who ended it.
async fn watch_over<C: Future>(
    mut conversation: Pin<&mut C>,
    drain: impl Fn(Pin<&mut C>),
    pulse: &Pulse,
    shared: &Shared,
) -> Option<&'static str> {
    let limits = &shared.limits;
    let mut stop = shared.stop.clone();
    let mut clock = interval(limits.tick());
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut ending: Option<Ending> = None;
    let mut stopping = false;
    loop {
        tokio::select! {
            // What has arrived is served before the clock is asked: a busy machine is not the peer's fault.
            biased;
            _ = conversation.as_mut() => return ending.and_then(|ending| ending.why),
            _ = stop.wait_for(|stop| *stop), if !stopping => {
                stopping = true;
                ending.get_or_insert(Ending { since: Instant::now(), why: None });
                drain(conversation.as_mut());
            }
            now = clock.tick() => match (pulse.verdict(limits, now), ending) {
                (Verdict::Cut(why), _) => return Some(why),
                (_, Some(ending)) if ending.is_over(pulse, limits, now) => return ending.why,
                (Verdict::Drain(why), None) => {
                    ending = Some(Ending { since: now, why: Some(why) });
                    drain(conversation.as_mut());
                }
                _ => {}
            },
        }
    }
}

/// A connection that was told to end.
#[derive(Debug, Clone, Copy)]
struct Ending {
    since: Instant,
    /// Unless we all stop.
    why: Option<&'static str>,
}

impl Ending {
    /// Whether it has had its time. Its last answer may just have ended, and still be on its way out.
    fn is_over(&self, pulse: &Pulse, limits: &ListenerLimits, now: Instant) -> bool {
        let told = now.saturating_duration_since(self.since);
        match pulse.quiet_since() {
            // A peer that does not hear goodbye and asks on is quiet for moments only.
            _ if told > limits.grace + FAREWELL => true,
            Some(quiet) => now.saturating_duration_since(quiet.max(self.since)) > FAREWELL,
            None => told > limits.grace,
        }
    }
}

/// The protocols, each with what its own state may cost.
fn builder(limits: &ListenerLimits) -> auto::Builder<TokioExecutor> {
    let buffer = limits.header_bytes.max(LEAST_BUFFER);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // The pulse measures heads; this timer would also end idle connections.
        .header_read_timeout(None)
        .max_headers(limits.headers)
        .max_buf_size(buffer);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams_per_connection)
        .max_header_list_size(u32::try_from(buffer).unwrap_or(u32::MAX))
        .max_send_buf_size(64 << 10)
        .initial_stream_window_size(64 << 10)
        .initial_connection_window_size(1 << 20)
        .max_pending_accept_reset_streams(20)
        .max_local_error_reset_streams(100)
        .keep_alive_interval(limits.ping_interval)
        .keep_alive_timeout(limits.ping_interval);
    builder
}
