// SPDX-License-Identifier: Apache-2.0
//! In: arguments. Out: the real binary as a process that listens, and what it says. Not here: what is asked of it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::ask::{Answer, Ask};

/// Settings that the machine of whoever runs the tests must not decide.
const SETTINGS: [&str; 33] = [
    "OVERRULE_LISTEN",
    "OVERRULE_FILE",
    "OVERRULE_PROFILE",
    "OVERRULE_DATA",
    "OVERRULE_POSTGRES",
    "OVERRULE_POSTGRES_FILE",
    "OVERRULE_POSTGRES_CA",
    "OVERRULE_HISTORY_ENTRIES",
    "OVERRULE_HISTORY_AGE",
    "OVERRULE_AUTH",
    "OVERRULE_TLS_CERT",
    "OVERRULE_TLS_KEY",
    "OVERRULE_CLIENT_CA",
    "OVERRULE_LOG",
    "OVERRULE_CONFIG",
    "OVERRULE_SERVER",
    "OVERRULE_TOKEN",
    "OVERRULE_TOKEN_FILE",
    "OVERRULE_EPHEMERAL",
    "OVERRULE_RESTORE",
    "OVERRULE_WATCH_FILES",
    "OVERRULE_AUDIT_ENTRIES",
    "OVERRULE_AUDIT_AGE",
    "OVERRULE_CLIENT_CERT_REQUIRED",
    "OVERRULE_HOST",
    "OVERRULE_TRUSTED_PROXY",
    "OVERRULE_ADMIN_TOKEN_FILE",
    "OVERRULE_ADMIN_TOKEN_FROM",
    "OVERRULE_GRACE",
    "OVERRULE_PROBE_LISTEN",
    "OVERRULE_OTLP",
    "OVERRULE_MAX_DOCUMENTS",
    "OVERRULE_KUMA_COMPAT",
];

/// By then a server listens, or has said why not.
const READY: Duration = Duration::from_secs(20);

/// The command with an environment of its own.
pub fn overrule(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_overrule"));
    command.args(arguments).stdin(Stdio::null());
    for name in SETTINGS.iter().chain(&["CI", "TERM", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"])
    {
        command.env_remove(name);
    }
    command.env("NO_COLOR", "1").env("COLUMNS", "100");
    command
}

/// How a server is started.
#[derive(Debug, Clone, Default)]
pub struct Start {
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    /// What a shell does first; nothing if there is no shell.
    shell: String,
}

impl Start {
    /// `overrule serve` on a free port of loopback.
    pub fn new(arguments: &[&str]) -> Self {
        let usual = ["serve", "--listen", "127.0.0.1:0"];
        let arguments = usual.iter().chain(arguments).map(|a| (*a).to_owned()).collect();
        Self { arguments, environment: Vec::new(), shell: String::new() }
    }

    /// The same with a setting in the environment.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same by a shell, after some settings of its own.
    pub fn after(mut self, settings: &str) -> Self {
        settings.clone_into(&mut self.shell);
        self
    }

    /// Starts it and waits until it listens.
    pub fn run(&self) -> Server {
        self.attempt().unwrap_or_else(|said| panic!("{self:?} does not start: {said}"))
    }

    /// Starts it and kills it after some time, wherever it is by then.
    pub fn kill_after(&self, time: Duration) {
        let mut child = self.command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(time);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn command(&self) -> Command {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let mut command = overrule(&arguments);
        if !self.shell.is_empty() {
            let script = format!("{}; exec \"$0\" \"$@\"", self.shell);
            let ours = std::mem::replace(&mut command, Command::new("sh"));
            command.arg("-c").arg(script).arg(ours.get_program()).args(ours.get_args());
            command.stdin(Stdio::null());
            for (name, value) in ours.get_envs() {
                match value {
                    Some(value) => command.env(name, value),
                    None => command.env_remove(name),
                };
            }
        }
        command.envs(self.environment.iter().map(|(n, v)| (n, v)));
        command
    }

    /// The same; if it does not start, what it said.
    pub fn attempt(&self) -> Result<Server, String> {
        let notes = TempDir::new().unwrap();
        let log = notes.path().join("stderr");
        let mut command = self.command();
        command.stdout(Stdio::piped()).stderr(File::create(&log).unwrap());
        let mut child = command.spawn().unwrap();
        let (out, line) = first_line(child.stdout.take().unwrap(), &mut child);
        let address = line.trim().rsplit_once("://").and_then(|(_, a)| a.parse().ok());
        match address {
            Some(address) => {
                Ok(Server { child: Some(child), address, line, log, out, _notes: notes })
            }
            None => {
                let status = child.wait().unwrap();
                Err(format!("{status}: {line}{}", fs::read_to_string(&log).unwrap()))
            }
        }
    }
}

/// The first line that a process says. One that says nothing for too long is killed.
fn first_line(out: ChildStdout, child: &mut Child) -> (BufReader<ChildStdout>, String) {
    let reader = std::thread::spawn(move || {
        let (mut out, mut line) = (BufReader::new(out), String::new());
        out.read_line(&mut line).unwrap();
        (out, line)
    });
    let since = Instant::now();
    while !reader.is_finished() {
        if since.elapsed() > READY {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    reader.join().unwrap()
}

/// A server that runs. It ends with this value.
pub struct Server {
    child: Option<Child>,
    /// Where it listens.
    pub address: SocketAddr,
    /// What it said when it was ready.
    pub line: String,
    log: PathBuf,
    out: BufReader<ChildStdout>,
    _notes: TempDir,
}

impl Server {
    /// Asks; there has to be an answer.
    #[track_caller]
    pub fn ask(&self, ask: &Ask) -> Answer {
        ask.send(self.address).unwrap_or_else(|e| panic!("{ask:?}: {e}\n{}", self.log()))
    }

    /// Asks for a path; the answer has to be 200.
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.ask(&Ask::new("GET", path)).expect(200)
    }

    /// Its address as a URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Ends it at once, as a power cut would.
    pub fn kill(mut self) {
        self.end();
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Sends it a signal by name.
    pub fn signal(&self, name: &str) {
        let pid = self.id().to_string();
        let done = Command::new("kill").arg(format!("-{name}")).arg(pid).status().unwrap();
        assert!(done.success());
    }

    /// Waits until it ends by itself; what it logged, and what else it said on standard output.
    pub fn wait(mut self, patience: Duration) -> (ExitStatus, String, String) {
        let mut child = self.child.take().unwrap();
        let status = wait(&mut child, patience);
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.out, &mut rest).unwrap();
        let Some(status) = status else {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it does not end within {patience:?}:\n{}", self.log());
        };
        (status, self.log(), rest)
    }

    fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits for a process for some time; none if it still runs.
pub fn wait(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let since = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if since.elapsed() > patience {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What a command that ends by itself did.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// Results.
    pub out: String,
    /// Everything else.
    pub err: String,
}

/// Runs a command to its end; it must not take longer than half a minute.
pub fn finish(command: &mut Command) -> Ran {
    let folder = TempDir::new().unwrap();
    let (out, err) = (folder.path().join("out"), folder.path().join("err"));
    command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
    let mut child = command.spawn().unwrap();
    let Some(status) = wait(&mut child, Duration::from_secs(30)) else {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("{command:?} does not end:\n{}", fs::read_to_string(&err).unwrap());
    };
    let text = |path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    Ran { code: status.code(), out: text(out), err: text(err) }
}
