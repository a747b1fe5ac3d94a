// SPDX-License-Identifier: Apache-2.0
//! TLS with real certificates: clients that show theirs, files that change while serving, and garbage.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use overrule_guard::{
    Acceptor, CertificateRule, Certificates, ClientCertificate, ClientCerts, Doors, HostNames,
    ListenerLimits, Tls, TlsError, Tokens,
};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    SanType,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::client::TlsStream;

use crate::lab::{SOON, Server, closed, closes, rest, tight, token};

struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: rcgen::Certificate,
}

struct Issued {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    fn issue(&self, change: impl FnOnce(&mut CertificateParams)) -> Issued {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        Issued { certificate: params.signed_by(&key, &self.issuer).unwrap(), key }
    }

    fn client(&self, name: &str) -> Issued {
        self.issue(|params| {
            params.subject_alt_names =
                vec![SanType::URI(format!("spiffe://mesh/{name}").try_into().unwrap())];
            params.distinguished_name = rcgen::DistinguishedName::new();
            params.distinguished_name.push(DnType::CommonName, name);
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        })
    }
}

/// Writes a file that only its owner reads, as keys are kept.
fn private(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Files of a server, and what its clients trust.
struct Place {
    folder: TempDir,
    servers: Authority,
    clients: Authority,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place =
            Self { folder, servers: Authority::new("servers"), clients: Authority::new("clients") };
        place.install(&place.servers.issue(|_| {}));
        std::fs::write(place.folder.path().join("ca"), place.clients.certificate.pem()).unwrap();
        place
    }

    fn install(&self, issued: &Issued) {
        std::fs::write(self.folder.path().join("cert"), issued.certificate.pem()).unwrap();
        private(&self.folder.path().join("key"), &issued.key.serialize_pem());
    }

    fn files(&self, client: ClientCerts) -> Tls {
        let at = |name: &str| self.folder.path().join(name);
        Tls { certificate: at("cert"), key: at("key"), client_ca: Some(at("ca")), client }
    }

    fn load(&self, client: ClientCerts) -> Arc<Acceptor> {
        self.files(client).load().unwrap()
    }

    fn config(&self, shown: Option<&Issued>) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.servers.certificate.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        Arc::new(match shown {
            None => builder.with_no_client_auth(),
            Some(issued) => {
                let key = PrivateKeyDer::try_from(issued.key.serialize_der()).unwrap();
                let chain = vec![issued.certificate.der().clone()];
                builder.with_client_auth_cert(chain, key).unwrap()
            }
        })
    }

    async fn connect(
        &self,
        server: &Server,
        shown: Option<&Issued>,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let connector = tokio_rustls::TlsConnector::from(self.config(shown));
        let name = ServerName::try_from("localhost").unwrap();
        timeout(SOON, connector.connect(name, server.connect().await)).await.expect("in time")
    }

    /// The answer, or nothing when the other end refused us: with TLS 1.3 that shows only now.
    async fn get(&self, server: &Server, shown: Option<&Issued>, headers: &str) -> String {
        let Ok(mut stream) = self.connect(server, shown).await else { return String::new() };
        let request = server.request("GET", "/who", &format!("Connection: close\r\n{headers}"));
        if stream.write_all(request.as_bytes()).await.is_err() {
            return String::new();
        }
        timeout(SOON, rest(&mut stream)).await.expect("in time")
    }
}

fn own(stream: &TlsStream<TcpStream>) -> CertificateDer<'static> {
    stream.get_ref().1.peer_certificates().unwrap()[0].clone().into_owned()
}

fn alice() -> Certificates {
    Certificates::new([CertificateRule {
        san: Some("spiffe://mesh/alice".to_owned()),
        subject: None,
        fingerprint: None,
        name: "Alice".to_owned(),
        grants: "read:mesh/a".parse().unwrap(),
    }])
    .unwrap()
}

async fn serve(place: &Place, client: ClientCerts, doors: Doors) -> Server {
    Server::start(tight(), doors, Some(place.load(client)), HostNames::default()).await
}

#[tokio::test]
async fn client_certificates() {
    let place = Place::new();
    let (plain, row) = token("ci", "write");
    let header = format!("Authorization: Bearer {plain}\r\n");
    let good = place.clients.client("alice");
    let nobody = place.clients.client("bob");
    let foreign = Authority::new("clients").client("alice");
    let expired = place.clients.issue(|params| {
        params.subject_alt_names =
            vec![SanType::URI("spiffe://mesh/alice".to_owned().try_into().unwrap())];
        params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    });
    let doors = || Doors::closed(Tokens::new([row.clone()]), alice());

    let server = serve(&place, ClientCerts::Required, doors()).await;
    let reply = place.get(&server, Some(&good), "").await;
    assert!(reply.ends_with("Alice by certificate: read:mesh/a"), "{reply}");
    assert!(place.get(&server, Some(&good), &header).await.ends_with("ci by token: write"));
    assert!(place.get(&server, Some(&nobody), "").await.starts_with("HTTP/1.1 401"));
    for refused in [None, Some(&foreign), Some(&expired)] {
        assert_eq!(place.get(&server, refused, &header).await, "", "no connection at all");
    }
    assert_eq!(server.end().await.handshakes_failed, 3);

    let server = serve(&place, ClientCerts::Optional, doors()).await;
    assert!(place.get(&server, None, &header).await.ends_with("ci by token: write"));
    assert!(place.get(&server, None, "").await.starts_with("HTTP/1.1 401"));
    assert!(place.get(&server, Some(&good), "").await.contains("Alice by certificate"));
    let bad_token = header.replace("ovr_", "ovr_x");
    assert!(place.get(&server, Some(&good), &bad_token).await.starts_with("HTTP/1.1 401"));
    assert_eq!(place.get(&server, Some(&foreign), &header).await, "");

    let server = serve(&place, ClientCerts::None, doors()).await;
    assert!(place.get(&server, Some(&good), "").await.starts_with("HTTP/1.1 401"), "not asked");
}

#[test]
fn what_a_certificate_says() {
    let authority = Authority::new("clients");
    let issued = authority.issue(|params| {
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "eve,O=Admins+x=\\\n");
        params.distinguished_name.push(DnType::OrganizationName, "Example");
        params.subject_alt_names = vec![
            SanType::DnsName("Eve.Example".to_owned().try_into().unwrap()),
            SanType::IpAddress("2001:db8::1".parse().unwrap()),
            SanType::Rfc822Name("eve@example".to_owned().try_into().unwrap()),
            SanType::URI("spiffe://mesh/eve".to_owned().try_into().unwrap()),
        ];
    });
    let read = ClientCertificate::parse(issued.certificate.der()).unwrap();
    assert_eq!(read.subject, "CN=eve\\,O\\=Admins\\+x\\=\\\\\\u{a},O=Example");
    let sans = ["dns:eve.example", "ip:2001:db8::1", "email:eve@example", "uri:spiffe://mesh/eve"];
    assert_eq!(read.sans, sans);
    assert_eq!(read.spiffe.as_deref(), Some("spiffe://mesh/eve"));
    assert_eq!(read.fingerprint.len(), 64);
    let two = authority.issue(|params| {
        let uri = |text: &str| SanType::URI(text.to_owned().try_into().unwrap());
        params.subject_alt_names = vec![uri("spiffe://mesh/a"), uri("spiffe://mesh/b")];
    });
    assert_eq!(ClientCertificate::parse(two.certificate.der()).unwrap().spiffe, None);
    assert!(ClientCertificate::parse(b"garbage").is_err());
}

#[tokio::test]
async fn certificates_are_reloaded() {
    let place = Place::new();
    let acceptor = place.load(ClientCerts::None);
    let (doors, header) = closed();
    let server = Server::start(
        ListenerLimits { idle_timeout: SOON, ..tight() },
        doors,
        Some(Arc::clone(&acceptor)),
        HostNames::default(),
    )
    .await;
    let mut old = place.connect(&server, None).await.unwrap();
    let first = own(&old);

    let next = place.servers.issue(|_| {});
    place.install(&next);
    let mut seen = first.clone();
    for _ in 0..50 {
        sleep(Duration::from_millis(50)).await;
        seen = own(&place.connect(&server, None).await.unwrap());
        if seen != first {
            break;
        }
    }
    assert_eq!(&seen, next.certificate.der(), "the new one is in use");
    let request = server.request("GET", "/who", &format!("Connection: close\r\n{header}"));
    old.write_all(request.as_bytes()).await.unwrap();
    assert!(rest(&mut old).await.ends_with("reader by token: read"), "old connections go on");

    // A key of another certificate, an empty file, no file: the last good one stays.
    let path = place.folder.path().join("key");
    std::fs::write(&path, KeyPair::generate().unwrap().serialize_pem()).unwrap();
    keeps(&place, &server, next.certificate.der()).await;
    std::fs::write(&path, "").unwrap();
    keeps(&place, &server, next.certificate.der()).await;
    std::fs::remove_file(&path).unwrap();
    keeps(&place, &server, next.certificate.der()).await;

    let last = place.servers.issue(|_| {});
    place.install(&last);
    sleep(Duration::from_millis(500)).await;
    assert_eq!(&own(&place.connect(&server, None).await.unwrap()), last.certificate.der());
}

async fn keeps(place: &Place, server: &Server, certificate: &CertificateDer<'static>) {
    sleep(Duration::from_millis(300)).await;
    assert_eq!(&own(&place.connect(server, None).await.unwrap()), certificate);
}

#[test]
fn a_bad_state_is_reported_once() {
    let place = Place::new();
    let acceptor = place.load(ClientCerts::Required);
    assert!(!acceptor.reload().unwrap(), "nothing has changed");
    std::fs::write(place.folder.path().join("ca"), "no certificates").unwrap();
    assert!(matches!(acceptor.reload(), Err(TlsError::Content(..))));
    assert!(!acceptor.reload().unwrap(), "said once");
    std::fs::write(place.folder.path().join("ca"), place.clients.certificate.pem()).unwrap();
    assert!(acceptor.reload().unwrap());
}

#[test]
fn files_that_cannot_be_used() {
    let place = Place::new();
    let no_ca = Tls { client_ca: None, ..place.files(ClientCerts::Optional) };
    assert!(matches!(no_ca.load(), Err(TlsError::NoClientCa)));
    let missing = Tls { key: Path::new("/nowhere").into(), ..place.files(ClientCerts::None) };
    assert!(matches!(missing.load(), Err(TlsError::Unreadable(..))));
    let key = KeyPair::generate().unwrap();
    private(&place.folder.path().join("key"), &key.serialize_pem());
    let unfit = place.files(ClientCerts::None).load().unwrap_err();
    assert!(matches!(unfit, TlsError::Unfit(_)), "{unfit}");
    assert!(!format!("{unfit:?} {unfit}").contains("PRIVATE"));
}

#[test]
fn a_key_that_everybody_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let key = place.folder.path().join("key");
    for (mode, fine) in [(0o644, false), (0o602, false), (0o440, true), (0o400, true)] {
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
        match place.files(ClientCerts::None).load() {
            Ok(acceptor) => {
                assert!(fine, "{mode:o}");
                assert!(acceptor.expires().unwrap() > jiff::Timestamp::now().as_second());
            }
            Err(error) => {
                assert!(!fine && matches!(error, TlsError::Key(_)), "{mode:o} {error}");
                assert!(error.to_string().contains("chmod o="), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn garbage_and_silence() {
    let place = Place::new();
    let (doors, header) = closed();
    let server = serve(&place, ClientCerts::None, doors).await;
    let mut attackers = JoinSet::new();
    for number in 0..60 {
        let mut stream = server.connect().await;
        let bytes = match number % 4 {
            0 => Vec::new(),
            1 => b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
            // The start of a record that is announced as long and never comes.
            2 => vec![22, 3, 1, 0x3f, 0xff, 1, 0],
            _ => vec![0xa5; 100_000],
        };
        attackers.spawn(async move {
            let _ = stream.write_all(&bytes).await;
            closes(&mut stream).await
        });
    }
    for _ in 0..10 {
        assert!(place.get(&server, None, &header).await.starts_with("HTTP/1.1 200"));
    }
    while let Some(closed) = attackers.join_next().await {
        assert!(closed.unwrap());
    }
    assert_eq!(server.end().await.handshakes_failed, 60);
}

#[tokio::test]
async fn a_finished_handshake_and_then_silence() {
    let place = Place::new();
    let (doors, _) = closed();
    let server = serve(&place, ClientCerts::None, doors).await;
    let mut stream = place.connect(&server, None).await.unwrap();
    assert!(closes(&mut stream).await);
    let mut plain = server.connect().await;
    let mut byte = [0];
    assert_eq!(timeout(SOON, plain.read(&mut byte)).await.unwrap().unwrap_or(0), 0);
}
