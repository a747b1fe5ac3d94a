// SPDX-License-Identifier: Apache-2.0
//! In: the real binary. Out: what schemathesis finds in its answers, held against its own OpenAPI document; and whether
//! that document is one. Not here: requests that HTTP itself does not allow, slow clients (the siege), fuzzing of readers.
//!
//! Three servers are asked: one that is open, one that wants tokens and is asked by an admin, one that wants tokens and
//! is asked by somebody who may read one mesh only. Beyond what schemathesis says, a run fails where a server died or a
//! thread of it panicked (a panic in a task can look like an ordinary refusal from outside), where the run took its own
//! token away, and where an endpoint never succeeded: a run that only collects refusals proves nothing.

mod server;
mod tools;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use self::server::{Counts, Server};
use self::tools::{Asking, Tools, tools};
use crate::cargo;
use crate::steps::Ending;

/// Endpoints that cannot succeed: this one has nothing to give, by intention.
const NEVER: [&str; 1] = ["kumaConfig"];

/// `cargo xtask schemathesis`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Fuzz each server for ten minutes instead of a few seconds
    #[arg(long)]
    long: bool,
    /// Other requests
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// Only this run: open, admin or reader
    #[arg(long, value_name = "RUN")]
    only: Option<String>,
    /// A binary to ask instead of one that is built now
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Serve from this empty PostgreSQL database instead of memory: `postgres://user@host/database`
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// Keep what was sent and answered here
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// What CI takes.
const SEED: u64 = 7;

impl Default for Arguments {
    fn default() -> Self {
        Self { long: false, seed: SEED, only: None, binary: None, postgres: None, keep: None }
    }
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asker {
    /// Anybody: the server is open.
    Anybody,
    /// An admin.
    Admin,
    /// Somebody who may read one mesh.
    Reader,
}

/// A server and who asks it.
#[derive(Debug, Clone, Copy)]
struct Run {
    name: &'static str,
    asker: Asker,
    /// What is done: `examples` are one good request each, `coverage` goes through schemas one value at a time, `fuzzing` makes requests up.
    phases: &'static str,
    /// Requests made up per operation.
    examples: u32,
}

/// What a schema says does not depend on who asks, so it is gone through once.
const RUNS: [Run; 3] = [
    Run {
        name: "open",
        asker: Asker::Anybody,
        phases: "examples,coverage,fuzzing,stateful",
        examples: 25,
    },
    Run { name: "admin", asker: Asker::Admin, phases: "examples,fuzzing", examples: 15 },
    Run { name: "reader", asker: Asker::Reader, phases: "examples,fuzzing", examples: 15 },
];

/// The step of `cargo xtask test`. Without the tools it says that nothing is checked.
pub(crate) fn step(root: &Path) -> Result<Ending, String> {
    match tools() {
        Ok(tools) => check(root, &tools, &Arguments::default()).map(Ending::Ran),
        Err(why) => {
            let line = "!".repeat(72);
            println!("{line}\nNOTHING IS CHECKED with schemathesis: {why}\n{line}");
            Ok(Ending::DidNotRun(format!("nothing is checked: {why}")))
        }
    }
}

/// The command; a sentence on what was done.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<String, String> {
    check(root, &tools()?, arguments)
}

fn check(root: &Path, tools: &Tools, arguments: &Arguments) -> Result<String, String> {
    let binary = match &arguments.binary {
        Some(binary) => binary.clone(),
        None => build(root)?,
    };
    let mut done: Vec<String> = Vec::new();
    let mut wrong: Vec<String> = Vec::new();
    let mut operations = BTreeSet::new();
    let mut counted = Counts::new();
    let wanted = |run: &&Run| arguments.only.as_deref().is_none_or(|only| only == run.name);
    for run in RUNS.iter().filter(wanted) {
        println!("--- {}", run.name);
        match one(root, tools, &binary, run, arguments) {
            Ok(asked) => {
                done.push(format!("{}: {}", run.name, asked.said));
                operations.extend(asked.operations);
                for (name, statuses) in asked.counted {
                    counted.entry(name).or_default().extend(statuses);
                }
            }
            Err(why) => wrong.push(format!("{}: {why}", run.name)),
        }
    }
    // What one of them may do or happens to hit, another may not: it takes all of them to reach everything.
    if arguments.only.is_none() && wrong.is_empty() {
        wrong.extend(succeeded(&operations, &counted).err());
    }
    match (done.is_empty(), wrong.is_empty()) {
        (_, false) => Err(wrong.join("; ")),
        (true, true) => Err("there is no such run; they are open, admin and reader".to_owned()),
        (false, true) => Ok(done.join("; ")),
    }
}

/// Builds the binary and says where it is.
fn build(root: &Path) -> Result<PathBuf, String> {
    let arguments = ["build", "--message-format", "json-render-diagnostics", "-p", "overrule-cli"];
    let output = cargo::output(root, &arguments)?;
    let lines = output.split(|byte| *byte == b'\n');
    let messages = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let mut programs = messages.filter_map(|message| {
        let path = message.get("executable")?.as_str().map(PathBuf::from)?;
        (path.file_stem() == Some(OsStr::new("overrule"))).then_some(path)
    });
    programs.next().ok_or_else(|| "cargo built no program called overrule".to_owned())
}

/// What a run gave.
struct Asked {
    said: String,
    operations: BTreeSet<String>,
    counted: Counts,
}

/// One server, asked.
fn one(
    root: &Path,
    tools: &Tools,
    binary: &Path,
    run: &Run,
    arguments: &Arguments,
) -> Result<Asked, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("cannot make a folder: {e}"))?;
    let closed = run.asker != Asker::Anybody;
    let mut server =
        Server::start(root, binary, folder.path(), closed, arguments.postgres.as_deref())?;
    let token = match run.asker {
        Asker::Anybody => None,
        Asker::Admin => server.admin.clone(),
        Asker::Reader => Some(server.make_token(&["read:mesh/default"])?),
    };
    let document = folder.path().join("openapi.json");
    let operations = write_document(&server, &document, closed)?;
    tools.validate(&document)?;
    if closed {
        strangers(&server, &operations)?;
    }
    let asked = tools.ask(&Asking {
        run,
        server: &server,
        token: token.as_deref(),
        root,
        folder: folder.path(),
        document: &document,
        bare: &operations.bare,
        arguments,
    });
    // What happened to the server says more than what was seen from outside, so it comes first.
    server.healthy()?;
    if let Some(token) = &token {
        server.get("/v1/resources", Some(token)).map_err(|e| format!("the token is gone: {e}"))?;
    }
    let counted = server.counted()?;
    asked?;
    let requests: u64 = counted.values().flatten().map(|(_, count)| count).sum();
    let said = format!("{requests} requests to {} operations", operations.all.len());
    Ok(Asked { said, operations: operations.all, counted })
}

/// Fails where an operation was never answered as asked.
fn succeeded(operations: &BTreeSet<String>, counted: &Counts) -> Result<(), String> {
    let fine = |name: &String| {
        let statuses = counted.get(name).into_iter().flatten();
        statuses.into_iter().any(|(status, _)| (200..300).contains(status))
    };
    let never = operations.iter().filter(|name| !fine(name) && !NEVER.contains(&name.as_str()));
    let never: Vec<&str> = never.map(String::as_str).collect();
    match never.is_empty() {
        true => Ok(()),
        false => Err(format!("never answered with success: {}", never.join(", "))),
    }
}

/// Sends every operation without a token, and some with a wrong one: those that want one say 401, whatever else is wrong
/// with the request. Schemathesis has a check for it (`ignored_auth`) that guesses once per operation; guessing is made
/// slow here, three seconds each in the end, so it is off there.
fn strangers(server: &Server, operations: &Operations) -> Result<(), String> {
    let mut wrong = Vec::new();
    // The first mistakes of an address cost nothing.
    let mut guesses = 2;
    for (method, path, public) in &operations.doors {
        let status = server.status(method, path, None)?;
        if (status == 401) == *public {
            wrong.push(format!("{method} {path} without a token answers {status}"));
        }
        if !public && guesses > 0 {
            guesses -= 1;
            let status = server.status(method, path, Some("ovr_0123456789abcdef_0"))?;
            if status != 401 {
                wrong.push(format!("{method} {path} with a wrong token answers {status}"));
            }
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("; ")),
    }
}

/// Names of operations.
#[derive(Debug, Default)]
struct Operations {
    all: BTreeSet<String>,
    /// Method, a path, and whether anybody may call.
    doors: Vec<(String, String, bool)>,
    /// Those with nothing but parameters of the path. Every text fits them, so there is nothing to violate.
    bare: BTreeSet<String>,
}

/// Saves the document and says which operations it has. A server that wants tokens is held to wanting them: the document
/// is the same for open ones, so it calls them optional.
fn write_document(server: &Server, to: &Path, closed: bool) -> Result<Operations, String> {
    let mut document = server.get("/openapi.json", None)?;
    let mut operations = Operations::default();
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    for (path, methods) in paths.into_iter().flatten() {
        // Names do not matter to who is refused.
        let path = path.replace(['{', '}'], "");
        for (method, operation) in methods.as_object_mut().into_iter().flatten() {
            let name = operation.get("operationId").and_then(Value::as_str);
            let name = name.ok_or("an operation without operationId")?.to_owned();
            if is_bare(operation) {
                operations.bare.insert(name.clone());
            }
            operations.all.insert(name);
            let security = operation.get_mut("security").and_then(Value::as_array_mut);
            let security = security.ok_or("an operation that does not say who may call")?;
            operations.doors.push((method.to_uppercase(), path.clone(), security.is_empty()));
            if closed {
                security.retain(|way| *way != json!({}));
            }
        }
    }
    std::fs::write(to, document.to_string()).map_err(|e| format!("{}: {e}", to.display()))?;
    match operations.all.is_empty() {
        true => Err("the document has no operations".to_owned()),
        false => Ok(operations),
    }
}

fn is_bare(operation: &Value) -> bool {
    let parameters = operation.get("parameters").and_then(Value::as_array);
    let in_path = |p: &Value| p.get("in").and_then(Value::as_str) == Some("path");
    operation.get("requestBody").is_none() && parameters.is_some_and(|all| all.iter().all(in_path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_that_only_refuses_is_told() {
        let operations: BTreeSet<String> = ["get", "put", "kumaConfig"].map(String::from).into();
        let counted = |put| {
            Counts::from([
                ("get".to_owned(), vec![(404, 3), (200, 1)]),
                ("put".to_owned(), vec![(put, 9)]),
            ])
        };
        assert_eq!(succeeded(&operations, &counted(201)), Ok(()));
        let why = succeeded(&operations, &counted(400));
        assert_eq!(why, Err("never answered with success: put".to_owned()));
    }
}
