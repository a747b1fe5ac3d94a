// SPDX-License-Identifier: Apache-2.0
//! Every endpoint that answers about what is stored.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::program::{MANIFESTS, command, run};

/// A server that runs as long as this is there.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let files = folder.to_str().unwrap();
        let usual = ["serve", "--listen", "127.0.0.1:0", "--ephemeral", "-f", files];
        let arguments: Vec<&str> = usual.iter().chain(arguments).copied().collect();
        let mut child = command(&arguments);
        let mut child = child.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").expect("an address").to_owned();
        Self { child, url }
    }

    /// Status and text of an answer.
    fn get(&self, path: &str) -> (u16, String) {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build();
        let answer = ureq::Agent::from(agent).get(format!("{}{path}", self.url)).call();
        let mut answer = answer.unwrap();
        (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
    }

    #[track_caller]
    fn says(&self, path: &str, parts: &[&str]) {
        let (status, text) = self.get(path);
        assert_eq!(status, 200, "{path}: {text}");
        for part in parts {
            assert!(text.contains(part), "`{part}` is not in the answer of {path}: {text}");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself, which a later question would have told.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Every question, what is stored, metrics; with a profile and the family's setting as `serve` takes them.
pub fn answers(folder: &Path) {
    let server = Server::start(folder, &["--profile", "toy=shipped", "--toy-mute", "attic"]);
    let about = "target=httproute/shop/cart";
    server.says(&format!("/v1/effective?{about}&kind=Paint"), &["toy", "shipped", "red"]);
    server.says(&format!("/v1/explain?{about}&kind=Shape"), &["shop/round", "above-wins"]);
    server.says("/v1/reach?policy=paint/shop/base", &["shop/base", "in force"]);
    server.says("/v1/graph?output=json", &["shop", "Paint"]);
    server.says("/v1/get?kind=paint", &["base", "cart"]);
    server.says("/v1/resources?kind=Paint", &["base"]);
    server.says("/v1/resources/paint/shop/base", &["toy.example.com"]);
    server.says("/v1/check", &[]);
    let (_, findings) = server.get("/v1/check");
    assert!(!findings.contains("OV9901"), "the setting leaves it out: {findings}");
    server.says("/metrics", &["toy_policies_total{kind=\"Paint\"} 2", "toy_policies_enforced"]);
    let (status, text) = server.get("/v1/can?from=nobody&to=httproute/shop/cart");
    assert!((400..500).contains(&status) && text.contains("has no inbound"), "{status}: {text}");
    every_endpoint(&server);
}

/// Whatever can be read without naming something is answered.
fn every_endpoint(server: &Server) {
    let (_, text) = server.get("/openapi.json");
    let document: Value = serde_json::from_str(&text).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let mut asked = 0;
    for (path, operations) in paths {
        let Some(get) = operations.get("get").filter(|_| !path.contains('{')) else { continue };
        let needs = |p: &Value| p.get("required") == Some(&Value::Bool(true));
        let parameters = get["parameters"].as_array().map_or(&[][..], Vec::as_slice);
        // A stream has no end, and a backup is not for everybody.
        if parameters.iter().any(needs) || ["/v1/watch", "/v1/backup"].contains(&path.as_str()) {
            continue;
        }
        let (status, text) = server.get(path);
        assert_eq!(status, 200, "{path}: {text}");
        asked += 1;
    }
    assert!(asked > 8, "only {asked} endpoints of {}", paths.len());
}

/// A change of a policy is told to those who watch: what it does to effective policies.
pub fn tells_what_changes(folder: &Path) {
    let server = Server::start(folder, &[]);
    let mut watch = command(&["watch", "--server", &server.url, "--kind", "Paint"]);
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut remarks = BufReader::new(watch.stderr.take().unwrap());
    let mut line = String::new();
    remarks.read_line(&mut line).unwrap();
    assert!(line.contains("watching from version"), "{line}");
    let changed = folder.join("changed.yaml");
    let (_, policy) =
        MANIFESTS.split_once("name: cart, namespace: shop}\nspec: {targetRef").unwrap();
    let policy = policy.split("---").next().unwrap().replace("blue", "green");
    let head =
        "apiVersion: toy.example.com/v1\nkind: Paint\nmetadata: {name: cart, namespace: shop}\n";
    std::fs::write(&changed, format!("{head}spec: {{targetRef{policy}")).unwrap();
    let applied = run(&["apply", "--server", &server.url, "-f", changed.to_str().unwrap()]);
    std::fs::remove_file(&changed).unwrap();
    applied.says(0, &["paint.toy.example.com/shop/cart changed"]);
    let mut told = String::new();
    let mut lines = BufReader::new(watch.stdout.take().unwrap());
    while !told.contains("green") {
        assert!(lines.read_line(&mut told).unwrap() > 0, "the watch ended: {told}");
    }
    watch.kill().unwrap();
    watch.wait().unwrap();
    let asked = ["effective", "httproute/shop/cart", "--kind", "Paint", "--server", &server.url];
    run(&asked).says(0, &["green"]);
    let deleted = run(&["delete", "paint/shop/cart", "--server", &server.url]);
    deleted.says(0, &[]);
    run(&asked).says(0, &["red"]);
}
