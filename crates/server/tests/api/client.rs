// SPDX-License-Identifier: Apache-2.0
//! A server and a client for it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use overrule_kuma_api::KumaApi;
use overrule_server::{Auth, Config, Extensions, Running, start};
use serde_json::Value;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: http::HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("{e}: {}", self.text))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().unwrap())
    }

    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }
}

/// A client, with a token or without.
#[derive(Clone)]
pub struct Client {
    pub base: String,
    pub token: Option<String>,
    pub agent: ureq::Agent,
}

impl Client {
    pub fn new(address: SocketAddr, token: Option<String>) -> Self {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        Self { base: format!("http://{address}"), token, agent }
    }

    pub fn with(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "")
    }

    pub fn put(&self, path: &str, body: &str) -> Answer {
        self.send("PUT", path, &[], body)
    }

    pub fn post(&self, path: &str, body: &str) -> Answer {
        self.send("POST", path, &[], body)
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], "")
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request =
            http::Request::builder().method(method).uri(format!("{}{path}", self.base));
        if !headers.iter().any(|(name, _)| *name == "content-type") {
            request = request.header("content-type", "application/yaml");
        }
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body.to_owned()).unwrap();
        let mut response = self.agent.run(request).unwrap();
        Answer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text: response.body_mut().with_config().limit(64 << 20).read_to_string().unwrap(),
        }
    }
}

/// The extensions of the binary.
pub fn extensions() -> Extensions {
    Extensions::new(&[&KumaApi])
}

pub fn config() -> Config {
    Config {
        listen: Some((Ipv4Addr::LOCALHOST, 0).into()),
        ephemeral: true,
        extensions: extensions(),
        ..Config::default()
    }
}

/// A server in memory that lets everybody in.
pub fn open(config: Config, files: &[&str]) -> (Running, Client) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = files.iter().map(|f| root.join(f)).collect();
    let running = start(config, files, overrule::Options::default()).unwrap();
    let client = Client::new(running.address, None);
    (running, client)
}

/// A server that asks for tokens, with the first admin's client.
pub fn guarded(files: &[&str]) -> (Running, Client) {
    let (running, client) = open(Config { auth: Some(Auth::Token), ..config() }, files);
    let token = running.admin_token.clone().unwrap();
    (running, client.with(&token))
}
