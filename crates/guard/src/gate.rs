// SPDX-License-Identifier: Apache-2.0
//! In: requests from the listener. Out: requests that were meant for us, from somebody we know, of a bearable size, with a
//! place to be answered and a time to be done; or a refusal. Not here: what refusals look like (the caller's function says),
//! and what a known somebody may do.
//!
//! The order is fixed, cheapest first: host and origin, identity, size, place, time. Strangers never take a place. The
//! services behind find a [`RequestId`], a [`Peer`], a [`Principal`](crate::Principal) and a [`RequestPlace`] in the extensions.
//! Whoever goes on working after the request is gone keeps a copy of the place.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use data_encoding::HEXLOWER;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use hyper::body::Body;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};
use tower::{Layer, Service, ServiceExt as _};

use crate::body::{BoxError, Held, Kept, Upload};
use crate::doors::Authenticator;
use crate::failures::Failures;
use crate::forwarded::TrustedProxies;
use crate::host::{HostNames, HostRefused, host_and_origin};
use crate::limits::ListenerLimits;
use crate::listen::Peer;
use crate::peers::Callers;
use crate::place::{self, RequestPlace};
use crate::principal::{CallerId, Denied, Principal};
use crate::shares::{Full, Shares};
use crate::trace::{TRACE_HEADER, TraceParent};

/// Failed logins that wait for their answer at once; beyond that they are answered without waiting.
const WAITING: usize = 256;
/// When to come back when all places are taken.
const COME_BACK: Duration = Duration::from_secs(1);
const ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The name of a request in logs and answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why the gate answers instead of what is behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateRefusal {
    /// Not meant for us, or sent by a page that may not.
    Host(HostRefused),
    /// We do not know who is asking.
    Denied(Denied),
    /// Too many failed logins from there.
    Guessing(Duration),
    /// The body is too long.
    TooLarge(usize),
    /// All places are taken.
    Busy(Duration),
    /// The caller has as many places or connections as one may have.
    Share(Duration),
    /// The request did not arrive in time.
    SlowRequest,
    /// We did not answer in time.
    SlowAnswer,
}

impl GateRefusal {
    /// The status of the answer.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Host(HostRefused::Host) => StatusCode::BAD_REQUEST,
            Self::Host(HostRefused::Foreign) => StatusCode::MISDIRECTED_REQUEST,
            Self::Host(HostRefused::Origin) => StatusCode::FORBIDDEN,
            Self::Denied(_) => StatusCode::UNAUTHORIZED,
            Self::Guessing(_) | Self::Share(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Busy(_) | Self::SlowAnswer => StatusCode::SERVICE_UNAVAILABLE,
            Self::SlowRequest => StatusCode::REQUEST_TIMEOUT,
        }
    }

    /// The word for logs and metrics.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Host(why) => why.word(),
            Self::Denied(why) => why.word(),
            Self::Guessing(_) => "guessing",
            Self::TooLarge(_) => "too-large",
            Self::Busy(_) => "busy",
            Self::Share(_) => "share",
            Self::SlowRequest => "slow-request",
            Self::SlowAnswer => "slow-answer",
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Guessing(after) | Self::Busy(after) | Self::Share(after) => Some(*after),
            _ => None,
        }
    }
}

impl fmt::Display for GateRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(why) => why.fmt(f),
            Self::Denied(why) => why.fmt(f),
            Self::Guessing(_) => f.write_str("too many failed logins; wait"),
            Self::TooLarge(most) => write!(f, "the body is longer than {most} bytes"),
            Self::Busy(_) => f.write_str("too many requests at once; try again later"),
            Self::Share(_) => f.write_str(
                "you have as many requests or connections as one may have; finish some first",
            ),
            Self::SlowRequest => f.write_str("the request did not arrive in time"),
            Self::SlowAnswer => f.write_str("the answer took too long"),
        }
    }
}

/// What a refused request asked. Only what the shape of an answer may depend on.
#[derive(Debug, Clone)]
pub struct RefusedRequest {
    /// The method.
    pub method: Method,
    /// The target.
    pub uri: Uri,
    /// The id of the request.
    pub id: RequestId,
}

/// Makes the answer to a refused request. Status and headers that belong to the refusal are set afterwards. Called for
/// every refusal, so this is also the place to count them.
pub type Answerer<B> = Arc<dyn Fn(&RefusedRequest, &GateRefusal) -> Response<B> + Send + Sync>;

/// What a gate needs to know.
pub struct GateSettings<A, B> {
    /// The bounds.
    pub limits: ListenerLimits,
    /// The names this server goes by.
    pub names: HostNames,
    /// The proxies that may say where a request began.
    pub proxies: TrustedProxies,
    /// Tells who is asking.
    pub authenticator: A,
    /// Makes answers to refused requests.
    pub answerer: Answerer<B>,
}

struct Shared<A, B> {
    settings: GateSettings<A, B>,
    failures: Failures,
    waiting: Semaphore,
    places: Arc<Shares<CallerId>>,
    streams: Arc<Shares<CallerId>>,
    room: Arc<Shares<CallerId>>,
    ids: Ids,
}

/// The gate, as a layer around a service.
pub struct GateLayer<A, B>(Arc<Shared<A, B>>);

impl<A, B> Clone for GateLayer<A, B> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<A, B> fmt::Debug for GateLayer<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("limits", &self.0.settings.limits).finish_non_exhaustive()
    }
}

impl<A: Authenticator, B> GateLayer<A, B> {
    /// A gate. Its clones share places and failures.
    #[must_use]
    pub fn new(settings: GateSettings<A, B>) -> Self {
        let limits = settings.limits;
        // One upload always fits.
        let room = limits.upload_bytes.max(limits.body_bytes.saturating_mul(2));
        Self(Arc::new(Shared {
            settings,
            failures: Failures::new(limits.failing_peers),
            waiting: Semaphore::new(WAITING),
            places: Shares::fair(limits.requests_in_flight.max(1)),
            streams: Shares::fair(limits.event_streams.max(1)),
            room: Shares::fair(room),
            ids: Ids::new(),
        }))
    }

    /// The places of requests, for counting them.
    #[must_use]
    pub fn places(&self) -> Arc<Shares<CallerId>> {
        Arc::clone(&self.0.places)
    }

    /// Requests that have a place now.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.0.places.in_use()
    }
}

impl<S, A, B> Layer<S> for GateLayer<A, B> {
    type Service = Gated<S, A, B>;

    fn layer(&self, inner: S) -> Gated<S, A, B> {
        Gated { inner, shared: Arc::clone(&self.0) }
    }
}

/// A service behind a gate.
pub struct Gated<S, A, B> {
    inner: S,
    shared: Arc<Shared<A, B>>,
}

impl<S: Clone, A, B> Clone for Gated<S, A, B> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), shared: Arc::clone(&self.shared) }
    }
}

impl<S, A, B> fmt::Debug for Gated<S, A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gated").finish_non_exhaustive()
    }
}

impl<S, A, B, I> Service<Request<I>> for Gated<S, A, B>
where
    S: Service<Request<Upload<I>>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send,
    A: Authenticator,
    B: Send + 'static,
    I: Body + Unpin + Send + 'static,
    I::Error: Into<BoxError>,
{
    type Response = Response<Held<B>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<I>) -> Self::Future {
        let (shared, inner) = (Arc::clone(&self.shared), self.inner.clone());
        Box::pin(async move { Ok(shared.pass(inner, request).await) })
    }
}

impl<A: Authenticator, B: Send + 'static> Shared<A, B> {
    async fn pass<S, I>(&self, inner: S, request: Request<I>) -> Response<Held<B>>
    where
        S: Service<Request<Upload<I>>, Response = Response<B>, Error = Infallible> + Send,
        S::Future: Send,
        I: Body + Unpin + Send,
        I::Error: Into<BoxError>,
    {
        let (mut parts, body) = request.into_parts();
        let id = self.ids.of(&parts);
        let trace = TraceParent::of(&parts);
        if let Some(trace) = &trace {
            parts.extensions.insert(trace.clone());
        }
        let asked =
            RefusedRequest { method: parts.method.clone(), uri: parts.uri.clone(), id: id.clone() };
        let answer = match self.admit(&mut parts, body.size_hint().lower()).await {
            Ok(place) => {
                parts.extensions.insert(id.clone());
                parts.extensions.insert(place.clone());
                let upload = Upload::new(body, self.settings.limits.body_bytes, place.clone());
                self.answer(inner, Request::from_parts(parts, upload), place).await
            }
            Err(refusal) => Err(refusal),
        };
        let mut answer = answer.unwrap_or_else(|refusal| self.refuse(&asked, &refusal));
        if let Ok(value) = HeaderValue::from_str(&id.0) {
            answer.headers_mut().insert(ID_HEADER, value);
        }
        if let Some(value) = trace.and_then(|trace| HeaderValue::from_str(trace.as_str()).ok()) {
            answer.headers_mut().insert(TRACE_HEADER, value);
        }
        answer
    }

    /// Everything before the place is taken.
    async fn admit(&self, parts: &mut Parts, least: u64) -> Result<RequestPlace, GateRefusal> {
        let settings = &self.settings;
        // Without a listener that says where a request came from, there is nobody to trust.
        let peer = parts.extensions.get::<Peer>().ok_or(GateRefusal::Host(HostRefused::Host))?;
        let mut peer = peer.clone();
        if let Some(began) = settings.proxies.began(peer.address.ip(), &parts.headers) {
            // Its port is not told, and nobody needs it.
            peer.address = SocketAddr::new(began.at, 0);
            peer.tls = began.tls.unwrap_or(peer.tls);
            parts.extensions.insert(peer.clone());
        }
        host_and_origin(parts, &peer, &settings.names).map_err(GateRefusal::Host)?;
        let address = peer.address;
        let principal = match settings.authenticator.authenticate(parts, &peer) {
            Ok(principal) => principal,
            Err(denied) => return Err(self.slow_down(denied, address.ip()).await),
        };
        let most = settings.limits.body_bytes;
        if declared(parts).max(least) > most as u64 {
            return Err(GateRefusal::TooLarge(most));
        }
        if let Some(callers) = parts.extensions.get::<Arc<Callers>>() {
            callers.claim(&principal).map_err(full)?;
        }
        let place = RequestPlace::new(&self.places, &self.room, &principal).map_err(full)?;
        parts.extensions.insert(principal);
        Ok(place)
    }

    async fn slow_down(&self, denied: Denied, address: std::net::IpAddr) -> GateRefusal {
        // Asking without a token is how one learns that one is needed, not a guess.
        if denied == Denied::Missing {
            return GateRefusal::Denied(denied);
        }
        let penalty = self.failures.count(address, Instant::now());
        // Guessing must not fill the log.
        match penalty.stay_away {
            None => tracing::info!(%address, why = denied.word(), "login failed"),
            Some(_) => tracing::debug!(%address, why = denied.word(), "login failed again"),
        }
        if !penalty.delay.is_zero()
            && let Ok(_waiting) = self.waiting.try_acquire()
        {
            sleep(penalty.delay).await;
        }
        penalty.stay_away.map_or(GateRefusal::Denied(denied), GateRefusal::Guessing)
    }

    async fn answer<S, I>(
        &self,
        inner: S,
        request: Request<Upload<I>>,
        place: RequestPlace,
    ) -> Result<Response<Held<B>>, GateRefusal>
    where
        S: Service<Request<Upload<I>>, Response = Response<B>, Error = Infallible>,
        I: Body,
    {
        let complete: Arc<AtomicBool> = request.body().complete();
        let who = request.extensions().get().cloned().unwrap_or_else(Principal::nobody);
        let limit = self.settings.limits.request_timeout;
        let answer = match timeout(limit, inner.oneshot(request)).await {
            Ok(Ok(answer)) => answer,
            Err(_) if complete.load(Ordering::Relaxed) => return Err(GateRefusal::SlowAnswer),
            Err(_) => return Err(GateRefusal::SlowRequest),
        };
        let kept = if is_endless(&answer) {
            Kept::Stream(place::take(&self.streams, &who, 1).map_err(full)?)
        } else {
            Kept::Place(place)
        };
        Ok(answer.map(|body| Held::new(body, Some(kept))))
    }

    fn refuse(&self, asked: &RefusedRequest, refusal: &GateRefusal) -> Response<Held<B>> {
        tracing::debug!(id = %asked.id, why = refusal.word(), "refused");
        let mut answer = (self.settings.answerer)(asked, refusal).map(|body| Held::new(body, None));
        *answer.status_mut() = refusal.status();
        let headers = answer.headers_mut();
        if matches!(refusal, GateRefusal::Denied(_)) {
            let scheme = HeaderValue::from_static("Bearer realm=\"overrule\"");
            headers.insert(WWW_AUTHENTICATE, scheme);
        }
        if let Some(after) = refusal.retry_after() {
            headers.insert(RETRY_AFTER, HeaderValue::from(after.as_secs().max(1)));
        }
        answer
    }
}

fn full(full: Full) -> GateRefusal {
    match full {
        Full::All => GateRefusal::Busy(COME_BACK),
        Full::Own => GateRefusal::Share(COME_BACK),
    }
}

/// The length the request says its body has.
fn declared(parts: &Parts) -> u64 {
    let length = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    length.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn is_endless<B>(answer: &Response<B>) -> bool {
    let kind = answer.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.is_some_and(|kind| kind.starts_with(b"text/event-stream"))
}

/// Makes ids: random for this run, then counted.
struct Ids {
    run: String,
    next: AtomicU64,
}

impl Ids {
    fn new() -> Self {
        let mut run = [0; 4];
        // An id is for finding lines in a log; without randomness it still counts up.
        let _ = getrandom::fill(&mut run);
        Self { run: HEXLOWER.encode(&run), next: AtomicU64::new(1) }
    }

    /// The id a request brought along, if it is harmless, so that it can be followed through several servers; else a new one.
    fn of(&self, parts: &Parts) -> RequestId {
        let brought = parts.headers.get(ID_HEADER).and_then(|value| value.to_str().ok());
        let harmless = |id: &&str| {
            let marks = b"-_.:/+=@";
            let good = |byte: u8| byte.is_ascii_alphanumeric() || marks.contains(&byte);
            (1..=128).contains(&id.len()) && id.bytes().all(good)
        };
        RequestId(match brought.filter(harmless) {
            Some(id) => id.to_owned(),
            None => format!("{}-{:x}", self.run, self.next.fetch_add(1, Ordering::Relaxed)),
        })
    }
}
