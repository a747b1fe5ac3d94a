// SPDX-License-Identifier: Apache-2.0
//! In: certificates, and what to ask. Out: what the proxy answers over mutual TLS. Not here: what an answer means.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};

use crate::failure::HarnessFailure;
use crate::http::{self, Response};
use crate::http2::{Exchange, Http2};
use crate::pki::Pki;
use crate::proxy::ANSWER;

/// How a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Wire {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2.
    Http2,
    /// HTTP/2, as a call of gRPC: its refusals are gRPC too.
    Grpc,
}

/// What is asked, and by whom. Over TCP, method, path and wire do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyRequest {
    /// How it is sent.
    pub wire: Wire,
    /// Name of the client.
    pub client: String,
    /// The server name it asks for; without one it sends none.
    pub sni: Option<String>,
    /// The method.
    pub method: String,
    /// The path as it goes out, a character for each byte: `\u{e9}` is the byte E9, which is not UTF-8.
    pub path: String,
}

impl ProxyRequest {
    /// The path as bytes.
    pub fn bytes(&self) -> Vec<u8> {
        // What is no byte cannot be sent, and is a question mark, which shows.
        self.path.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect()
    }
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProxyReply {
    /// HTTP.
    Response(Response),
    /// The proxy gave up the stream or the connection of HTTP/2, without a response.
    Reset,
    /// No byte of HTTP: the connection was refused, in words.
    Refused(String),
}

/// What came of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connected {
    /// The client's port, by which the proxy's log knows it.
    pub port: u16,
    /// Whether the service behind answered.
    pub echoed: bool,
}

type Tls = StreamOwned<ClientConnection, TcpStream>;
type Stream = BufReader<Tls>;

/// Clients with the certificates of a [`Pki`]. Connections are kept and used again.
#[derive(Debug)]
pub struct Clients {
    /// Of each, without and with HTTP/2.
    configs: BTreeMap<String, [Arc<ClientConfig>; 2]>,
    open: BTreeMap<Key, Stream>,
    open2: BTreeMap<Key, Http2<Tls>>,
}

type Key = (SocketAddr, String, Option<String>);

impl Clients {
    /// All clients of it.
    ///
    /// # Errors
    /// A certificate cannot be used.
    pub fn new(pki: &Pki) -> Result<Self, HarnessFailure> {
        let provider = Arc::new(ring::default_provider());
        let pinned =
            Arc::new(Pinned { server: pki.server().clone(), provider: Arc::clone(&provider) });
        let mut configs = BTreeMap::new();
        for (name, credential) in pki.credentials() {
            let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
                .with_protocol_versions(&[&rustls::version::TLS13])
                .map_err(HarnessFailure::of("TLS 1.3"))?
                .dangerous()
                .with_custom_certificate_verifier(Arc::clone(&pinned) as _)
                .with_client_auth_cert(credential.chain.clone(), credential.key())
                .map_err(HarnessFailure::of(format!("certificate of {name}")))?;
            // Every connection shows its certificate anew.
            config.resumption = Resumption::disabled();
            let mut second = config.clone();
            second.alpn_protocols = vec![b"h2".to_vec()];
            configs.insert(name.clone(), [Arc::new(config), Arc::new(second)]);
        }
        Ok(Self { configs, open: BTreeMap::new(), open2: BTreeMap::new() })
    }

    /// Asks by HTTP, over an open connection of that client if there is one.
    ///
    /// # Errors
    /// The client is unknown, the listener does not listen, or the answer is cut off.
    pub fn request(
        &mut self,
        to: SocketAddr,
        ask: &ProxyRequest,
    ) -> Result<ProxyReply, HarnessFailure> {
        let key = (to, ask.client.clone(), ask.sni.clone());
        if ask.wire != Wire::Http1 {
            return self.request2(key, ask);
        }
        // A proxy may end an idle connection at any time: then the request is made again on a new one.
        if let Some(mut stream) = self.open.remove(&key)
            && let Ok(response) = exchange(&mut stream, ask)
        {
            self.keep(key, stream, &response);
            return Ok(ProxyReply::Response(response));
        }
        let mut stream = self.connect(to, ask)?;
        match exchange(&mut stream, ask) {
            Ok(response) => {
                self.keep(key, stream, &response);
                Ok(ProxyReply::Response(response))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(HarnessFailure::new(format!("no answer in {ANSWER:?} to {ask:?}")))
            }
            Err(error) => Ok(ProxyReply::Refused(error.to_string())),
        }
    }

    fn request2(&mut self, key: Key, ask: &ProxyRequest) -> Result<ProxyReply, HarnessFailure> {
        let host = ask.sni.as_deref().unwrap_or("backend");
        let bytes = ask.bytes();
        let headers = http::request2(ask.method.as_bytes(), &bytes, host, ask.wire == Wire::Grpc);
        let failed = || HarnessFailure::of(format!("no answer to {ask:?}"));
        // As above, an idle connection may have ended.
        if let Some(mut open) = self.open2.remove(&key) {
            let exchange = open.exchange(&headers).map_err(failed())?;
            let is_over = open.is_over();
            if !is_over {
                self.open2.insert(key.clone(), open);
            }
            if !is_over || matches!(exchange, Exchange::Response(_)) {
                return Ok(reply2(exchange));
            }
        }
        let mut fresh = match Http2::open(self.tls(key.0, ask)?) {
            Ok(fresh) => fresh,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(failed()(error)),
            Err(error) => return Ok(ProxyReply::Refused(error.to_string())),
        };
        let exchange = fresh.exchange(&headers).map_err(failed())?;
        if !fresh.is_over() {
            self.open2.insert(key, fresh);
        }
        Ok(reply2(exchange))
    }

    /// So many connections of one client.
    ///
    /// # Errors
    /// As [`Clients::request`].
    pub fn crowd(
        &self,
        to: SocketAddr,
        ask: &ProxyRequest,
        size: u32,
    ) -> Result<Crowd, HarnessFailure> {
        let streams: Result<_, _> = (0..size).map(|_| self.connect(to, ask)).collect();
        Ok(Crowd { streams: streams?, ask: ask.clone() })
    }

    /// Opens a connection, sends some bytes and waits for them to come back.
    ///
    /// # Errors
    /// As [`Clients::request`].
    pub fn echo(
        &mut self,
        to: SocketAddr,
        ask: &ProxyRequest,
    ) -> Result<Connected, HarnessFailure> {
        const WORD: &[u8; 4] = b"ping";
        let mut stream = self.connect(to, ask)?;
        let port =
            stream.get_ref().sock.local_addr().map_err(HarnessFailure::of("own port"))?.port();
        let mut back = [0; WORD.len()];
        let tried = send(&mut stream, WORD).and_then(|()| stream.read_exact(&mut back));
        if tried.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock) {
            return Err(HarnessFailure::new(format!(
                "neither echo nor end in {ANSWER:?} for {ask:?}"
            )));
        }
        let echoed = tried.is_ok() && back == *WORD;
        stream.get_mut().conn.send_close_notify();
        // The other side may be gone already.
        let _ = stream.get_mut().flush();
        Ok(Connected { port, echoed })
    }

    /// Ends all open connections, for example when their proxy ends.
    pub fn close(&mut self) {
        self.open.clear();
        self.open2.clear();
    }

    fn keep(
        &mut self,
        key: (SocketAddr, String, Option<String>),
        stream: Stream,
        response: &Response,
    ) {
        if !response.closes() {
            self.open.insert(key, stream);
        }
    }

    fn connect(&self, to: SocketAddr, ask: &ProxyRequest) -> Result<Stream, HarnessFailure> {
        self.tls(to, ask).map(BufReader::new)
    }

    fn tls(&self, to: SocketAddr, ask: &ProxyRequest) -> Result<Tls, HarnessFailure> {
        let config = self
            .configs
            .get(&ask.client)
            .map(|[first, second]| if ask.wire == Wire::Http1 { first } else { second })
            .ok_or_else(|| HarnessFailure::new(format!("no client {}", ask.client)))?;
        // An address is not sent as server name.
        let name = match &ask.sni {
            Some(name) => ServerName::try_from(name.clone())
                .map_err(HarnessFailure::of(format!("server name {name}")))?,
            None => ServerName::IpAddress(to.ip().into()),
        };
        let connection =
            ClientConnection::new(Arc::clone(config), name).map_err(HarnessFailure::of("TLS"))?;
        let socket = TcpStream::connect(to)
            .map_err(HarnessFailure::of(format!("cannot connect to {to}")))?;
        socket.set_nodelay(true).map_err(HarnessFailure::of("socket"))?;
        socket.set_read_timeout(Some(ANSWER)).map_err(HarnessFailure::of("socket"))?;
        Ok(StreamOwned::new(connection, socket))
    }
}

/// Connections that ask the same at once: a proxy that is kept busy shows what a request costs it, and not what waiting
/// for one costs.
#[derive(Debug)]
pub struct Crowd {
    streams: Vec<Stream>,
    ask: ProxyRequest,
}

impl Crowd {
    /// Asks once on each connection, and waits for all answers.
    ///
    /// # Errors
    /// An answer does not come, or is not 200.
    pub fn ask(&mut self) -> Result<(), HarnessFailure> {
        let bytes = http::request(&self.ask.method, &self.ask.bytes(), "backend");
        for stream in &mut self.streams {
            send(stream, &bytes).map_err(HarnessFailure::of("cannot ask"))?;
        }
        for stream in &mut self.streams {
            let response = http::read(stream, &self.ask.method);
            let response = response.map_err(HarnessFailure::of("no answer"))?;
            if response.status != 200 {
                return Err(HarnessFailure::new(format!("not allowed: {response:?}")));
            }
        }
        Ok(())
    }
}

fn reply2(exchange: Exchange) -> ProxyReply {
    match exchange {
        Exchange::Response(response) => ProxyReply::Response(response),
        Exchange::Reset => ProxyReply::Reset,
    }
}

fn exchange(stream: &mut Stream, ask: &ProxyRequest) -> io::Result<Response> {
    let host = ask.sni.as_deref().unwrap_or("backend");
    send(stream, &http::request(&ask.method, &ask.bytes(), host))?;
    http::read(stream, &ask.method)
}

fn send(stream: &mut Stream, bytes: &[u8]) -> io::Result<()> {
    stream.get_mut().write_all(bytes)?;
    stream.get_mut().flush()
}

/// Knows the server by its one certificate, whatever name is asked for: names are what is tested here.
#[derive(Debug)]
struct Pinned {
    server: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if *end_entity == self.server {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(rustls::Error::General("another server answers".to_owned()))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
