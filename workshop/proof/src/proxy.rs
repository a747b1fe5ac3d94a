// SPDX-License-Identifier: Apache-2.0
//! In: a bootstrap. Out: whether Envoy accepts it, or an Envoy that runs it, and its counters. Not here: asking it as a
//! client, what is added to a bootstrap to see more.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::failure::HarnessFailure;
use crate::http;
use crate::install::Envoy;
use crate::observe;

/// How long a start may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a proxy may take for one answer.
pub(crate) const ANSWER: Duration = Duration::from_secs(30);

/// Whether Envoy accepts a bootstrap, by its own check.
///
/// # Errors
/// It does not; with what it said.
pub fn validate(envoy: &Envoy, bootstrap: &str) -> Result<(), HarnessFailure> {
    let directory = tempfile::tempdir().map_err(HarnessFailure::of("no directory for Envoy"))?;
    let file = directory.path().join("bootstrap.json");
    fs::write(&file, bootstrap).map_err(HarnessFailure::of("cannot write the bootstrap"))?;
    let output = Command::new(envoy.binary())
        .args(["--mode", "validate", "-l", "error", "--concurrency", "1", "-c"])
        .arg(&file)
        .stdin(Stdio::null())
        .output()
        .map_err(HarnessFailure::of("cannot run Envoy"))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(HarnessFailure::new(format!("Envoy refuses the bootstrap: {}", why.trim())))
}

/// A running Envoy. It ends with the value.
#[derive(Debug)]
pub struct Proxy {
    child: Child,
    admin: SocketAddr,
    listeners: BTreeMap<String, SocketAddr>,
    directory: TempDir,
}

impl Proxy {
    /// Starts Envoy with a bootstrap in JSON and waits until it serves. Ports in it do not count: the system chooses
    /// free ones for all listeners and the admin interface, so that many can run at once.
    ///
    /// # Errors
    /// It does not start; with what it said.
    pub fn start(envoy: &Envoy, bootstrap: &str) -> Result<Self, HarnessFailure> {
        let mut config: Value = serde_json::from_str(bootstrap)
            .map_err(HarnessFailure::of("the bootstrap is not JSON"))?;
        observe::free_ports(&mut config);
        let directory =
            tempfile::tempdir().map_err(HarnessFailure::of("no directory for Envoy"))?;
        let at = |name: &str| directory.path().join(name);
        fs::write(at("bootstrap.json"), config.to_string())
            .map_err(HarnessFailure::of("cannot write the bootstrap"))?;
        let log =
            fs::File::create(at("log")).map_err(HarnessFailure::of("cannot write Envoy's log"))?;
        let child = Command::new(envoy.binary())
            .args(["--disable-hot-restart", "--concurrency", "1", "-l", "warning"])
            .args(["--file-flush-interval-msec", "10", "--admin-address-path"])
            .arg(at("admin"))
            .arg("-c")
            .arg(at("bootstrap.json"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(HarnessFailure::of("cannot run Envoy"))?;
        // From here on the value exists, so that a failed start ends the process too.
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut proxy = Self { child, admin: nowhere, listeners: BTreeMap::new(), directory };
        proxy.wait()?;
        proxy.listeners = listeners(&proxy.admin("GET", "/listeners?format=json")?)?;
        Ok(proxy)
    }

    /// Where a listener listens.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn listener(&self, name: &str) -> Result<SocketAddr, HarnessFailure> {
        let found = self.listeners.get(name).copied();
        found.ok_or_else(|| HarnessFailure::new(format!("Envoy has no listener {name}")))
    }

    /// All listeners by name.
    pub fn listeners(&self) -> &BTreeMap<String, SocketAddr> {
        &self.listeners
    }

    /// All counters and gauges.
    ///
    /// # Errors
    /// The admin interface does not answer.
    pub fn stats(&self) -> Result<BTreeMap<String, u64>, HarnessFailure> {
        let text = self.admin("GET", "/stats")?;
        let number = |line: &str| {
            let (name, value) = line.rsplit_once(": ")?;
            Some((name.to_owned(), value.parse().ok()?))
        };
        Ok(text.lines().filter_map(number).collect())
    }

    /// Asks the admin interface.
    ///
    /// # Errors
    /// It does not answer with 200.
    pub fn admin(&self, method: &str, path: &str) -> Result<String, HarnessFailure> {
        let what = || HarnessFailure::of(format!("Envoy's admin interface, {path}"));
        let mut stream = TcpStream::connect(self.admin).map_err(what())?;
        stream.set_read_timeout(Some(ANSWER)).map_err(what())?;
        stream.write_all(&http::request(method, path.as_bytes(), "admin")).map_err(what())?;
        let response = http::read(&mut BufReader::new(stream), method).map_err(what())?;
        if response.status == 200 {
            Ok(response.body)
        } else {
            Err(HarnessFailure::new(format!("{path}: {} {}", response.status, response.body)))
        }
    }

    /// Processor time used so far, by all its threads. Linux only.
    ///
    /// # Errors
    /// The system does not say.
    pub fn cpu(&self) -> Result<Duration, HarnessFailure> {
        let tasks = PathBuf::from(format!("/proc/{}/task", self.child.id()));
        let mut sum = 0;
        for task in fs::read_dir(tasks).map_err(HarnessFailure::of("no threads"))?.flatten() {
            let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            sum += text.split(' ').next().and_then(|t| t.parse::<u64>().ok()).unwrap_or(0);
        }
        Ok(Duration::from_nanos(sum))
    }

    /// What it wrote to its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    fn wait(&mut self) -> Result<(), HarnessFailure> {
        let deadline = Instant::now() + PATIENCE;
        let file = self.directory.path().join("admin");
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(HarnessFailure::new(format!(
                    "Envoy ended with {status}: {}",
                    self.log()
                )));
            }
            if let Some(admin) = address(&file) {
                self.admin = admin;
                if self.admin("GET", "/ready").is_ok() {
                    return Ok(());
                }
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err(HarnessFailure::new(format!("Envoy is not ready after {PATIENCE:?}: {}", self.log())))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Nothing of a test proxy is worth a graceful end; an error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address Envoy wrote to a file; it may be written halfway.
fn address(file: &Path) -> Option<SocketAddr> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Names and addresses out of the admin interface's answer.
fn listeners(text: &str) -> Result<BTreeMap<String, SocketAddr>, HarnessFailure> {
    let all: Value = serde_json::from_str(text).map_err(HarnessFailure::of("Envoy's listeners"))?;
    let entry = |status: &Value| {
        let address = status.pointer("/local_address/socket_address")?;
        let ip: IpAddr = address.get("address")?.as_str()?.parse().ok()?;
        let port = u16::try_from(address.get("port_value")?.as_u64()?).ok()?;
        Some((status.get("name")?.as_str()?.to_owned(), SocketAddr::new(ip, port)))
    };
    let statuses = all.get("listener_statuses").and_then(Value::as_array);
    Ok(statuses.into_iter().flatten().filter_map(entry).collect())
}
