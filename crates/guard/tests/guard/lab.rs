// SPDX-License-Identifier: Apache-2.0
//! In: limits and doors. Out: a server on loopback with pages that are quick, slow, large or endless, and a plain client
//! that shows everything it gets. Not here: attacks.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError};
use hyper::body::{Body, Frame, Incoming};
use overrule_guard::body::Upload;
use overrule_guard::{
    Acceptor, Doors, GateLayer, GateSettings, Grants, HostNames, ListenerLimits, NoRoom, Principal,
    Report, Token, TokenRecord, Tokens, TrustedProxies, serve,
};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tower::{Layer as _, service_fn};

/// Long beside what a good client needs, short beside what a test may take.
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// One for all, so that a test of many answers is not a test of memory.
static BIG: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(vec![b'x'; 32 << 20]));

pub(crate) type Page = UnsyncBoxBody<Bytes, Infallible>;

/// Bounds that are hit within a test.
pub(crate) fn tight() -> ListenerLimits {
    ListenerLimits {
        header_timeout: Duration::from_millis(400),
        request_timeout: Duration::from_millis(1500),
        idle_timeout: Duration::from_millis(1200),
        read_timeout: Duration::from_millis(700),
        tls_handshake_timeout: Duration::from_millis(700),
        tls_reload: Duration::from_millis(100),
        grace: Duration::from_secs(2),
        body_bytes: 100_000,
        ..ListenerLimits::default()
    }
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) gate: GateLayer<Arc<Doors>, Page>,
    pub(crate) doors: Arc<Doors>,
    stop: oneshot::Sender<()>,
    done: JoinHandle<Report>,
}

impl Server {
    pub(crate) async fn open(limits: ListenerLimits) -> Self {
        Self::start(limits, Doors::open(), None, HostNames::default()).await
    }

    pub(crate) async fn start(
        limits: ListenerLimits,
        doors: Doors,
        tls: Option<Arc<Acceptor>>,
        names: HostNames,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let doors = Arc::new(doors);
        let gate = GateLayer::new(GateSettings {
            limits,
            names,
            proxies: TrustedProxies::default(),
            authenticator: Arc::clone(&doors),
            answerer: Arc::new(|asked, refusal| {
                text(&format!("{} {}: {refusal}", asked.method, asked.uri.path()))
            }),
        });
        let service = gate.layer(service_fn(page));
        let (stop, stopped) = oneshot::channel();
        let done =
            tokio::spawn(serve(listener, tls, limits, TrustedProxies::default(), service, async {
                let _ = stopped.await;
            }));
        Self { address, gate, doors, stop, done }
    }

    /// Tells it to stop, and does not wait.
    pub(crate) fn stop(self) -> JoinHandle<Report> {
        self.stop.send(()).unwrap();
        self.done
    }

    pub(crate) async fn end(self) -> Report {
        timeout(SOON, self.stop()).await.expect("it stops").unwrap()
    }

    /// A good client is answered quickly, again and again, on new connections.
    pub(crate) async fn serves_others(&self) {
        for _ in 0..10 {
            let began = Instant::now();
            let reply = self.get("/", "").await;
            assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
            assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Asks for a page on a new connection; the whole answer as text.
    pub(crate) async fn get(&self, path: &str, headers: &str) -> String {
        let request = self.request("GET", path, &format!("Connection: close\r\n{headers}"));
        let mut stream = self.connect().await;
        exchange(&mut stream, request.as_bytes()).await
    }

    pub(crate) fn request(&self, method: &str, path: &str, headers: &str) -> String {
        let host = self.address;
        format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n")
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// From another address of loopback, as if from another machine.
    pub(crate) async fn connect_from(&self, last: u8) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, last], 0))).unwrap();
        socket.connect(self.address).await.unwrap()
    }

    /// Waits until so many requests have a place.
    pub(crate) async fn has_in_flight(&self, number: usize) {
        let there = async {
            while self.gate.in_flight() < number {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(SOON, there).await.expect("requests take their places");
    }

    /// Waits until no request has a place.
    pub(crate) async fn is_quiet_soon(&self) {
        let quiet = async {
            while self.gate.in_flight() > 0 {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(SOON, quiet).await.expect("places are given back");
    }
}

pub(crate) async fn exchange<T: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut T,
    request: &[u8],
) -> String {
    stream.write_all(request).await.unwrap();
    timeout(SOON, rest(stream)).await.expect("an answer comes")
}

/// All until the other end closes.
pub(crate) async fn rest<T: AsyncRead + Unpin>(stream: &mut T) -> String {
    let mut bytes = Vec::new();
    // A reset is an end too.
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether the other end closes before long.
pub(crate) async fn closes<T: AsyncRead + Unpin>(stream: &mut T) -> bool {
    timeout(SOON, rest(stream)).await.is_ok()
}

pub(crate) fn text(text: &str) -> Response<Page> {
    Response::new(Full::new(Bytes::copy_from_slice(text.as_bytes())).boxed_unsync())
}

async fn page(request: Request<Upload<Incoming>>) -> Result<Response<Page>, Infallible> {
    Ok(match request.uri().path() {
        "/who" => {
            let who = request.extensions().get::<Principal>().unwrap();
            text(&format!("{} by {}: {}", who.name, who.how.word(), who.grants))
        }
        "/slow" => {
            sleep(Duration::from_millis(600)).await;
            text("slow")
        }
        "/hang" => std::future::pending().await,
        "/big" => Response::new(Full::new(BIG.clone()).boxed_unsync()),
        "/echo" => echo(request).await,
        "/events" => {
            let mut answer = Response::new(Events(0).boxed_unsync());
            let kind = http::HeaderValue::from_static("text/event-stream");
            answer.headers_mut().insert(http::header::CONTENT_TYPE, kind);
            answer
        }
        _ => text("hello"),
    })
}

async fn echo(request: Request<Upload<Incoming>>) -> Response<Page> {
    match request.into_body().collect().await {
        Ok(body) => text(&format!("{} bytes", body.to_bytes().len())),
        Err(error) => {
            let mut answer = text("failed");
            *answer.status_mut() = match error.downcast_ref::<LengthLimitError>() {
                Some(_) => StatusCode::PAYLOAD_TOO_LARGE,
                None if error.is::<NoRoom>() => StatusCode::SERVICE_UNAVAILABLE,
                None => StatusCode::BAD_REQUEST,
            };
            answer
        }
    }
}

/// One event, and then none, forever.
struct Events(usize);

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0 += 1;
        match self.0 {
            1 => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"data: 1\n\n"))))),
            _ => Poll::Pending,
        }
    }
}

/// A token and its row.
pub(crate) fn token(name: &str, grants: &str) -> (String, TokenRecord) {
    let minted = Token::mint().unwrap();
    let row = TokenRecord {
        id: minted.id,
        name: name.to_owned(),
        hash: minted.hash,
        grants: grants.parse::<Grants>().unwrap(),
        created: jiff::Timestamp::UNIX_EPOCH,
        expires: None,
        revoked: None,
    };
    (minted.plain.expose().to_owned(), row)
}

/// Doors for one reader, and the header that opens them.
pub(crate) fn closed() -> (Doors, String) {
    let (plain, row) = token("reader", "read");
    let doors = Doors::closed(Tokens::new([row]), overrule_guard::Certificates::default());
    (doors, format!("Authorization: Bearer {plain}\r\n"))
}

/// The same with two tokens.
pub(crate) fn two() -> (Doors, String, String) {
    let ((first, one), (second, two)) = (token("first", "read"), token("second", "read"));
    let doors = Doors::closed(Tokens::new([one, two]), overrule_guard::Certificates::default());
    let header = |plain| format!("Authorization: Bearer {plain}\r\n");
    (doors, header(first), header(second))
}
