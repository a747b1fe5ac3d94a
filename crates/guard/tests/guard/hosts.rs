// SPDX-License-Identifier: Apache-2.0
//! Which addresses are listened on, and which hosts and origins are ours.

use std::net::SocketAddr;

use http::Request;
use overrule_guard::{Exposure, HostNames, HostRefused, Peer, check_address, host_and_origin};

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn other_addresses_need_tls_and_authentication() {
    for loopback in ["127.0.0.1:80", "127.9.9.9:80", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
        assert_eq!(Exposure::of(at(loopback)), Exposure::Loopback);
        check_address(at(loopback), false, false).unwrap();
    }
    for open in
        ["0.0.0.0:80", "[::]:80", "192.0.2.1:80", "[2001:db8::1]:80", "[::ffff:10.0.0.1]:80"]
    {
        check_address(at(open), true, true).unwrap();
        for (tls, auth) in [(false, false), (true, false), (false, true)] {
            let refused = check_address(at(open), tls, auth).unwrap_err().to_string();
            assert_eq!(refused.contains("TLS is") || refused.contains("TLS and"), !tls);
            assert_eq!(
                refused.contains("authentication is") || refused.contains("and authentication are"),
                !auth,
                "{refused}"
            );
            assert!(refused.contains("127.0.0.1:80"));
        }
    }
}

/// What is said of a request that arrived at `local`.
fn judge(
    local: &str,
    tls: bool,
    names: &[&str],
    headers: &[(&str, &str)],
) -> Result<(), HostRefused> {
    let peer = Peer { address: at("192.0.2.9:5"), local: at(local), tls, certificate: None };
    let mut request = Request::builder().uri("/");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).unwrap().into_parts();
    host_and_origin(&parts, &peer, &HostNames::new(names).unwrap())
}

fn host(local: &str, host: &str) -> Result<(), HostRefused> {
    judge(local, false, &["overrule.example", "other.example:8443"], &[("host", host)])
}

#[test]
fn our_hosts() {
    let local = "127.0.0.1:5681";
    for ours in [
        "127.0.0.1:5681",
        "localhost:5681",
        "LOCALHOST:5681",
        "localhost.:5681",
        "overrule.example",
        "overrule.example:99",
        "Overrule.Example.:99",
        "other.example:8443",
    ] {
        assert_eq!(host(local, ours), Ok(()), "{ours}");
    }
    assert_eq!(host("[::1]:5681", "[::1]:5681"), Ok(()));
    assert_eq!(host("[::ffff:127.0.0.1]:5681", "127.0.0.1:5681"), Ok(()));
    assert_eq!(host("192.0.2.1:80", "192.0.2.1"), Ok(()));
}

#[test]
fn foreign_hosts() {
    let local = "127.0.0.1:5681";
    for foreign in [
        "evil.example",
        "evil.example:5681",
        "localhost",
        "localhost:80",
        "localhost.evil.example:5681",
        "127.0.0.1.evil.example:5681",
        "127.0.0.2:5681",
        "127.1:5681",
        "2130706433:5681",
        "other.example",
        "xoverrule.example",
    ] {
        assert_eq!(host(local, foreign), Err(HostRefused::Foreign), "{foreign}");
    }
    for unclear in [
        "",
        "a@localhost:5681",
        "localhost:5681@evil.example",
        "localhost:x",
        "localhost:99999",
        "local host",
        "localhost:5681/x",
        "localhost:+5681",
    ] {
        assert_eq!(host(local, unclear), Err(HostRefused::Host), "{unclear}");
    }
    assert_eq!(host("192.0.2.1:5681", "localhost:5681"), Err(HostRefused::Foreign));
    assert_eq!(judge(local, false, &[], &[]), Err(HostRefused::Host));
    let twice = [("host", "localhost:5681"), ("host", "localhost:5681")];
    assert_eq!(judge(local, false, &[], &twice), Err(HostRefused::Host));
}

#[test]
fn the_target_and_the_header_have_to_agree() {
    let peer = Peer {
        address: at("127.0.0.1:5"),
        local: at("127.0.0.1:80"),
        tls: false,
        certificate: None,
    };
    let judge = |target: &str, host: Option<&str>| {
        let mut request = Request::builder().uri(target);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        host_and_origin(&parts, &peer, &HostNames::default())
    };
    assert_eq!(judge("http://localhost/", None), Ok(()));
    assert_eq!(judge("http://localhost/", Some("localhost")), Ok(()));
    assert_eq!(judge("http://localhost/", Some("evil.example")), Err(HostRefused::Host));
    assert_eq!(judge("http://evil.example/", Some("localhost")), Err(HostRefused::Host));
    assert_eq!(judge("http://evil.example/", None), Err(HostRefused::Foreign));
}

#[test]
fn origins() {
    let judge = |tls: bool, origin: &str| {
        let names = ["overrule.example", "https://ui.example", "http://localhost:3000"];
        judge("127.0.0.1:5681", tls, &names, &[("host", "localhost:5681"), ("origin", origin)])
    };
    assert_eq!(judge(false, "http://localhost:5681"), Ok(()));
    assert_eq!(judge(true, "https://localhost:5681"), Ok(()));
    assert_eq!(judge(false, "https://ui.example"), Ok(()));
    assert_eq!(judge(false, "https://ui.example:443"), Ok(()));
    assert_eq!(judge(false, "http://localhost:3000"), Ok(()));
    for foreign in [
        "null",
        "",
        "https://localhost:5681",
        "http://localhost:5682",
        "http://localhost",
        "http://127.0.0.1:5681",
        "http://evil.example",
        "http://ui.example",
        "https://ui.example:8443",
        "https://ui.example.evil",
        "http://localhost:5681/path",
        "file://localhost:5681",
        "localhost:5681",
    ] {
        assert_eq!(judge(false, foreign), Err(HostRefused::Origin), "{foreign}");
    }
    assert!(HostNames::new(["https://"]).is_err());
    assert!(HostNames::new(["a b"]).is_err());
    assert!(HostNames::new(["name:port"]).is_err());
}
