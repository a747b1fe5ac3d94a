// SPDX-License-Identifier: Apache-2.0
//! In: arguments. Out: what the command answers, with the family registered. Not here: expectations.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::SELF;

/// A Gateway and a route with policies of both kinds, and one policy elsewhere that has no target.
pub const MANIFESTS: &str = r#"
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: toys}
spec: {controllerName: example.com/toys}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec: {gatewayClassName: toys, listeners: [{name: web, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec: {parentRefs: [{name: edge}], hostnames: [cart.example], rules: [{}]}
---
apiVersion: toy.example.com/v1
kind: Paint
metadata: {name: base, namespace: shop}
spec: {targetRef: {kind: Gateway, name: edge}, looks: {color: red, size: 1}}
---
apiVersion: toy.example.com/v1
kind: Paint
metadata: {name: cart, namespace: shop}
spec: {targetRef: {kind: HTTPRoute, name: cart}, looks: {color: blue}}
---
apiVersion: toy.example.com/v1
kind: Shape
metadata: {name: round, namespace: shop}
spec: {targetRef: {kind: Gateway, name: edge}, looks: {form: round, corners: 0}}
---
apiVersion: toy.example.com/v1
kind: Shape
metadata: {name: square, namespace: shop}
spec: {targetRef: {kind: HTTPRoute, name: cart}, looks: {form: square}}
"#;

/// A policy that finds no target.
pub const LOST: &str = r#"
apiVersion: toy.example.com/v1
kind: Paint
metadata: {name: lost, namespace: attic}
spec: {targetRef: {kind: HTTPRoute, name: nowhere}, looks: {color: grey}}
"#;

/// What a command did.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Checks its exit code, and that it says all of this.
    #[track_caller]
    pub fn says(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        for part in parts {
            let found = self.out.contains(part) || self.err.contains(part);
            assert!(found, "`{part}` is not in {self:#?}");
        }
    }

    /// Its results as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:#?}"))
    }
}

/// A folder with the manifests.
pub fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("shop.yaml"), MANIFESTS).unwrap();
    fs::write(folder.path().join("lost.yaml"), LOST).unwrap();
    folder
}

/// The command with an environment of its own.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments).stdin(Stdio::null());
    command.env_clear().env(SELF, "1").env("NO_COLOR", "1").env("OVERRULE_NO_CACHE", "1");
    command
}

/// Runs the command to its end.
pub fn run(arguments: &[&str]) -> Ran {
    let output = command(arguments).output().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs words on a folder.
pub fn run_on(folder: &Path, line: &str) -> Ran {
    let mut arguments: Vec<&str> = line.split_whitespace().collect();
    arguments.extend(["-f", folder.to_str().unwrap()]);
    run(&arguments)
}
