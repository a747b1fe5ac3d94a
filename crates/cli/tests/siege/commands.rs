// SPDX-License-Identifier: Apache-2.0
//! In: commands with `--server`, and the same ones on files. Out: that both answer the same bytes and exit codes, and that
//! commands which change a server do what they say. Not here: which answers are right.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::ask::Ask;
use crate::manifests::{Key, ground};
use crate::server::{Ran, Server, Start, finish, overrule};

/// Questions that are answered.
const QUESTIONS: [&str; 32] = [
    "check",
    "check --short",
    "check -o json",
    "check --fail-on warning",
    "get",
    "get policies",
    "get policies -o json",
    "get dataplane -o wide",
    "get httproute -n shop",
    "get --without ratelimitpolicy",
    "effective",
    "effective -o json",
    "effective -n shop -o json",
    "effective --kind ratelimitpolicy",
    "effective httproute/shop/route-1",
    "effective httproute/shop/route-1 -o json",
    "effective dataplane/default/proxy-1 -o yaml",
    "effective dataplane/default/proxy-1 --to meshservice/default/none",
    "explain httproute/shop/route-1",
    "explain dataplane/default/proxy-1 --kind meshtimeout",
    "explain dataplane/default/proxy-1 --kind meshtimeout -o json",
    "explain dataplane/default/nobody",
    "reach meshtimeout/default/timeout-1",
    "reach meshtimeout/default/timeout-1 -o json",
    "can nobody dataplane/default/proxy-1",
    "can spiffe://default/ns/a/sa/b dataplane/default/proxy-1#http -o json",
    "graph",
    "graph -o json",
    "graph -o dot",
    "graph -o mermaid",
    "graph -o svg",
    "graph gateway/shop/edge -o tree",
];

/// Questions that are not.
const NONSENSE: [&str; 5] = [
    "explain nothing",
    "effective httproute/shop/route-1 --kind nothing",
    "get nothing",
    "graph -o csv",
    "reach httproute/shop/route-1",
];

fn texts() -> Vec<String> {
    let mut all: Vec<String> = ground().split("---\n").map(str::to_owned).collect();
    all.extend(Key::all().iter().zip(1..).map(|(key, n)| key.text(n)));
    // Findings too: a policy for a proxy that is not there.
    all.push(
        "type: MeshTimeout\nmesh: default\nname: adrift\ncreationTime: '2026-01-01T00:00:00Z'\nspec:\n  targetRef: {kind: Dataplane, labels: {app: nobody}}\n  \
         to:\n  - targetRef: {kind: Mesh}\n    default: {connectionTimeout: 1s}\n"
            .to_owned(),
    );
    all
}

/// A server, and a folder with the same resources, each in a file of the name that the server calls it by.
fn both() -> (Server, TempDir, Vec<String>) {
    let server = Start::new(&["--ephemeral"]).run();
    let text = texts().join("\n---\n");
    server.ask(&Ask::new("POST", "/v1/apply").body(&text)).expect(201);
    let folder = TempDir::new().unwrap();
    let list = server.get("/v1/resources").json();
    let mut names = Vec::new();
    for item in list["items"].as_array().unwrap() {
        let name = item["target"].as_str().unwrap();
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = server.get(&format!("/v1/resources/{name}?output=text")).body;
        fs::write(path, text).unwrap();
        names.push(name.to_owned());
    }
    assert_eq!(names.len(), texts().len());
    (server, folder, names)
}

fn offline(line: &str, folder: &Path, names: &[String]) -> Ran {
    let mut arguments: Vec<&str> = line.split(' ').collect();
    for name in names {
        arguments.extend(["-f", name]);
    }
    finish(overrule(&arguments).current_dir(folder))
}

fn online(line: &str, folder: &Path, server: &Server) -> Ran {
    let url = server.url();
    let arguments: Vec<&str> = line.split(' ').chain(["--server", &url]).collect();
    finish(overrule(&arguments).current_dir(folder))
}

#[test]
fn a_server_answers_what_files_answer() {
    let (server, folder, names) = both();
    let mut differ = Vec::new();
    for line in QUESTIONS.iter().chain(&NONSENSE) {
        let (here, there) =
            (offline(line, folder.path(), &names), online(line, folder.path(), &server));
        if (&here.code, &here.out) != (&there.code, &there.out) {
            differ.push(format!("$ overrule {line}\noffline: {here:#?}\nserver: {there:#?}"));
        }
        if QUESTIONS.contains(line) && here.code == Some(2) {
            differ.push(format!("$ overrule {line}\nis no question: {here:#?}"));
        }
        if NONSENSE.contains(line) && here.code == Some(0) {
            differ.push(format!("$ overrule {line}\nis a question: {here:#?}"));
        }
    }
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}

fn total(server: &Server) -> u64 {
    server.get("/v1/resources").json()["total"].as_u64().unwrap()
}

fn version(server: &Server) -> u64 {
    server.get("/v1/resources").version()
}

#[test]
fn apply_and_delete_do_what_they_say() {
    let folder = TempDir::new().unwrap();
    let server = Start::new(&["--ephemeral"]).run();
    let all = folder.path().join("all");
    fs::create_dir(&all).unwrap();
    for (n, text) in texts().iter().enumerate() {
        fs::write(all.join(format!("{n}.yaml")), text).unwrap();
    }
    let count = u64::try_from(texts().len()).unwrap();
    let run = |line: &str| online(line, folder.path(), &server);
    let would = run("apply -f all --dry-run");
    assert_eq!((would.code, total(&server), version(&server)), (Some(0), 0, 0), "{would:?}");
    assert!(would.out.contains("httproute/shop/route-1 would be created"), "{}", would.out);
    let done = run("apply -f all");
    assert_eq!((done.code, total(&server), version(&server)), (Some(0), count, 1), "{done:?}");
    assert!(done.out.contains("httproute/shop/route-1 created"), "{}", done.out);
    let again = run("apply -f all -o json");
    assert_eq!((again.code, version(&server)), (Some(0), 1), "{again:?}");
    let said: serde_json::Value = serde_json::from_str(&again.out).unwrap();
    assert!(said["items"].as_array().unwrap().iter().all(|i| i["done"] == "unchanged"), "{said}");
    let would = run("delete httproute/shop/route-1 --dry-run");
    assert_eq!((would.code, version(&server)), (Some(0), 1), "{would:?}");
    let gone = run("delete httproute/shop/route-1 ratelimitpolicy/shop/limit-1");
    assert_eq!((gone.code, total(&server)), (Some(0), count - 2), "{gone:?}");
    let missing = run("delete httproute/shop/route-1");
    assert_eq!((missing.code, total(&server)), (Some(1), count - 2), "{missing:?}");
    let would = run("delete -f all/0.yaml --dry-run");
    assert_eq!((would.code, total(&server)), (Some(0), count - 2), "{would:?}");
    // What is missing keeps the rest from being deleted.
    let half = run("delete -f all");
    assert_eq!((half.code, total(&server)), (Some(1), count - 2), "{half:?}");
    assert_eq!(run("apply -f all").code, Some(0));
    let gone = run("delete -f all");
    assert_eq!((gone.code, total(&server)), (Some(0), 0), "{gone:?}");
}

#[test]
fn what_is_wrong_is_told_and_changes_nothing() {
    let folder = TempDir::new().unwrap();
    let server = Start::new(&["--ephemeral"]).run();
    let run = |line: &str| online(line, folder.path(), &server);
    let file = |text: &str| fs::write(folder.path().join("x.yaml"), text).unwrap();
    file("type: Mesh\nname: fine\n---\ntype: MeshTimeout\nmesh: fine\nname: [\n");
    let refused = run("apply -f x.yaml");
    assert_eq!((refused.code, total(&server)), (Some(1), 0), "{refused:?}");
    assert!(refused.err.contains("OV10"), "{}", refused.err);
    assert_eq!(refused.out, "");
    let nothing = run("apply -f nothing.yaml");
    assert_eq!((nothing.code, total(&server)), (Some(3), 0), "{nothing:?}");
    let nobody = finish(&mut overrule(&["apply", "-f", "x.yaml"]));
    assert_eq!(nobody.code, Some(2), "{nobody:?}");
    assert!(nobody.err.contains("--server"), "{}", nobody.err);
    let away = finish(&mut overrule(&["check", "--server", "http://127.0.0.1:9"]));
    assert_eq!(away.code, Some(3), "{away:?}");
    let wrong = finish(&mut overrule(&["check", "--server", "127.0.0.1:9"]));
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    let token = overrule(&["check", "--server", "http://192.0.2.1:9"])
        .env("OVERRULE_TOKEN", "x_y")
        .output();
    assert_eq!(token.unwrap().status.code(), Some(2), "tokens are not sent in the clear");
}

/// A change shows up in `watch`, and ^C ends it.
#[test]
fn watch_tells_what_changes() {
    let server = Start::new(&["--ephemeral"]).run();
    server.ask(&Ask::new("POST", "/v1/apply").body(&texts().join("\n---\n"))).expect(201);
    let url = server.url();
    let mut command = overrule(&["watch", "--server", &url, "-o", "json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut remarks = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    remarks.read_line(&mut line).unwrap();
    assert!(line.contains("watching from version 1"), "{line}");
    let key = Key::Timeout(1);
    server.ask(&Ask::new("PUT", &key.path()).body(&key.text(4711))).expect(200);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        line
    });
    let since = Instant::now();
    while !reader.is_finished() && since.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let told = reader.is_finished();
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let status =
        crate::server::wait(&mut child, Duration::from_secs(5)).expect("^C does not end it");
    assert_eq!(status.code(), Some(130));
    let line = reader.join().unwrap();
    assert!(told && line.contains("proxy-1"), "nothing is told: {line}");
}
