// SPDX-License-Identifier: Apache-2.0
//! A server that knows its clients by tokens, and its first token. Not here: what tokens allow
//! (`tokens`, `tenants`).

use std::fs;

use tempfile::TempDir;

use crate::ask::Ask;
use crate::server::{Server, Start};

/// A server with `--auth token`.
pub struct Locked {
    /// The server.
    pub server: Server,
    /// Its first admin token.
    pub admin: String,
    /// The folder of its data.
    pub folder: TempDir,
}

impl Locked {
    /// Starts one on a folder of its own.
    pub fn new(arguments: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let data = folder.path().join("data");
        let own = ["--auth", "token", "--data", data.to_str().unwrap()];
        let server = Start::new(&[&own[..], arguments].concat()).run();
        let file = data.join("admin-token");
        let admin = fs::read_to_string(file).unwrap().trim().to_owned();
        Self { server, admin, folder }
    }

    /// Makes a token with grants, written as JSON.
    pub fn make(&self, name: &str, grants: &str) -> String {
        self.made(&format!(r#"{{"name": "{name}", "grants": [{grants}]}}"#)).0
    }

    /// Makes a token: its text and its id.
    pub fn made(&self, request: &str) -> (String, String) {
        let ask = Ask::new("POST", "/v1/tokens").header("content-type", "application/json");
        let made = self.server.ask(&ask.token(&self.admin).body(request)).expect(201).json();
        let text = |pointer: &str| made.pointer(pointer).unwrap().as_str().unwrap().to_owned();
        (text("/token"), text("/item/id"))
    }
}
