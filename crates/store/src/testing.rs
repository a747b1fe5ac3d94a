// SPDX-License-Identifier: Apache-2.0
//! In: a Debian machine. Out: a private PostgreSQL server for tests, which can be killed and started again on the same data.
//! Not here: any test. If there is no server to be had, this fails and says why; it never skips.

#[path = "testing/proxy.rs"]
mod proxy;

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;

pub use proxy::{FaultyLine, Way};

/// The password of the server's only user, `postgres`.
pub const PASSWORD: &str = "only-for-tests";
/// Attempts, 50 ms apart, until a server must have started or stopped.
const ATTEMPTS: u32 = 600;

/// A server of one's own. It ends with this value, and with the process that owns it, however that ends.
pub struct PgLab {
    root: TempDir,
    bin: PathBuf,
    port: u16,
    settings: Vec<String>,
    owner: Option<(u32, u32)>,
    /// A shell that ends the server when its input ends.
    keeper: Option<Child>,
}

impl PgLab {
    /// Makes a database cluster and starts its server.
    pub fn new() -> Result<Self, String> {
        Self::with(&[], &[])
    }

    /// The same with files in the data folder, such as keys, and settings, such as `ssl=on`.
    pub fn with(files: &[(&str, &str)], settings: &[&str]) -> Result<Self, String> {
        let bin = programs()?;
        let owner = owner()?;
        let root = tempfile::Builder::new()
            .prefix("overrule-pg-")
            .tempdir()
            .map_err(|error| format!("no folder for a server: {error}"))?;
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let port = free_port().map_err(|error| format!("no free port: {error}"))?;
        let mut lab = Self { root, bin, port, settings, owner, keeper: None };
        lab.initialise().map_err(|error| format!("initdb: {error}"))?;
        for (name, text) in files {
            lab.write(&lab.data().join(name), text).map_err(|error| format!("{name}: {error}"))?;
        }
        lab.start()?;
        Ok(lab)
    }

    /// The address with the password, over loopback.
    pub fn url(&self) -> String {
        self.url_over(self.port)
    }

    /// The same over another port, such as that of a [`FaultyLine`].
    pub fn url_over(&self, port: u16) -> String {
        format!("postgres://postgres:{PASSWORD}@127.0.0.1:{port}/postgres")
    }

    /// The port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Starts the server on the data that is there, and waits until it answers.
    pub fn start(&mut self) -> Result<(), String> {
        for _ in 0..20 {
            let child = self.spawn().map_err(|error| format!("the server: {error}"))?;
            self.keeper = Some(child);
            if self.answers() {
                return Ok(());
            }
            // A server that was killed may leave processes that hold its memory for a moment.
            self.kill();
        }
        Err(format!("the server does not start:\n{}", self.log()))
    }

    /// Runs statements as its only user.
    ///
    /// # Panics
    ///
    /// If the server refuses them.
    #[expect(clippy::expect_used, reason = "a test may fail loudly")]
    pub fn run(&self, sql: &str) {
        let client = postgres::Client::connect(&self.url(), postgres::NoTls);
        client.and_then(|mut client| client.batch_execute(sql)).expect("the server refuses");
    }

    /// Stops the server and all its processes where they are. Connections stay, and nobody answers on them.
    pub fn freeze(&self) {
        self.signal("STOP");
        // The first time, the server may have started another process just then.
        self.signal("STOP");
    }

    /// Lets them go on.
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    /// Kills the server and all its processes at once, as a power cut would.
    pub fn kill(&mut self) {
        let doomed = self.signal("KILL");
        for _ in 0..ATTEMPTS {
            if !doomed.iter().any(|pid| alive(*pid)) {
                break;
            }
            sleep(Duration::from_millis(5));
        }
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            let _ = keeper.wait();
        }
    }

    /// Sends a signal to all processes of the server; tells which.
    fn signal(&self, name: &str) -> Vec<u32> {
        let postmaster = fs::read_to_string(self.data().join("postmaster.pid")).ok();
        let postmaster = postmaster.and_then(|text| text.lines().next()?.trim().parse().ok());
        let Some(postmaster) = postmaster.filter(|pid| self.is_ours(*pid)) else {
            return Vec::new();
        };
        let mut all = vec![postmaster];
        all.extend(children(postmaster));
        let list: Vec<String> = all.iter().map(u32::to_string).collect();
        // One that ended by itself in the meantime is fine.
        let kill = format!("kill -{name} {} 2>/dev/null", list.join(" "));
        let _ = Command::new("sh").arg("-c").arg(kill).status();
        all
    }

    fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.root.path().join("log")).unwrap_or_default()
    }

    /// The file may be old and its number someone else's by now.
    fn is_ours(&self, pid: u32) -> bool {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let data = self.data().display().to_string();
        line.windows(data.len()).any(|part| part == data.as_bytes())
    }

    /// A command as the user who may run a server: PostgreSQL refuses root.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.root.path()).stdin(Stdio::null());
        if let Some((user, group)) = self.owner {
            command.uid(user).gid(group);
        }
        command
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        fs::write(path, text)?;
        fs::set_permissions(path, PermissionsExt::from_mode(0o600))?;
        self.hand_over(path)
    }

    fn hand_over(&self, path: &Path) -> io::Result<()> {
        match self.owner {
            Some((user, group)) => std::os::unix::fs::chown(path, Some(user), Some(group)),
            None => Ok(()),
        }
    }

    fn initialise(&self) -> Result<(), String> {
        let say = |error: io::Error| error.to_string();
        self.hand_over(self.root.path()).map_err(say)?;
        let password = self.root.path().join("password");
        self.write(&password, PASSWORD).map_err(say)?;
        let mut command = self.command(&self.bin.join("initdb"));
        command.args(["-U", "postgres", "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "-N"]);
        command.arg("--pwfile").arg(&password).arg("-D").arg(self.data());
        run(&mut command)
    }

    fn spawn(&self) -> io::Result<Child> {
        let log = fs::File::create(self.root.path().join("log"))?;
        let mut command = self.command(Path::new("/bin/sh"));
        // The shell reads until its input ends, which it does when our process is gone.
        command
            .arg("-c")
            .arg(r#""$0" "$@" </dev/null & cat >/dev/null; kill -QUIT $! 2>/dev/null; wait"#);
        command.arg(self.bin.join("postgres")).arg("-D").arg(self.data());
        let own = [
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={}", self.port),
            format!("unix_socket_directories={}", self.root.path().display()),
            "max_connections=80".to_owned(),
            "shared_buffers=16MB".to_owned(),
            // Tests kill processes, not the machine.
            "fsync=off".to_owned(),
        ];
        for setting in own.iter().chain(&self.settings) {
            command.arg("-c").arg(setting);
        }
        command.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log);
        command.spawn()
    }

    /// Waits until the server answers, or says that it will not.
    fn answers(&self) -> bool {
        let socket = self.root.path().display().to_string().replace('/', "%2F");
        let url = format!("postgres://postgres:{PASSWORD}@{socket}:{}/postgres", self.port);
        for _ in 0..ATTEMPTS {
            if postgres::Client::connect(&url, postgres::NoTls).is_ok() {
                return true;
            }
            if self.log().contains("FATAL:  could not") || self.log().contains("pre-existing") {
                return false;
            }
            sleep(Duration::from_millis(50));
        }
        false
    }
}

impl Drop for PgLab {
    fn drop(&mut self) {
        self.kill();
    }
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn alive(pid: u32) -> bool {
    // A process that ended but was not collected yet counts as gone.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn children(parent: u32) -> Vec<u32> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let parent = parent.to_string();
    processes
        .filter_map(|process| process.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let fields = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
            fields.split(' ').nth(1) == Some(parent.as_str())
        })
        .collect()
}

/// The user a server runs as: ourselves, or if we are root, one who may do little.
fn owner() -> Result<Option<(u32, u32)>, String> {
    use std::os::unix::fs::MetadataExt;
    let me = fs::metadata("/proc/self").map_err(|error| format!("/proc: {error}"))?;
    if me.uid() != 0 {
        return Ok(None);
    }
    let users =
        fs::read_to_string("/etc/passwd").map_err(|error| format!("/etc/passwd: {error}"))?;
    ["postgres", "nobody"]
        .iter()
        .find_map(|name| users.lines().find_map(|line| numbers(line, name)))
        .map(Some)
        .ok_or_else(|| "there is neither a user postgres nor nobody".to_owned())
}

fn numbers(line: &str, name: &str) -> Option<(u32, u32)> {
    let mut fields = line.split(':');
    if fields.next() != Some(name) {
        return None;
    }
    let user = fields.nth(1)?.parse().ok()?;
    Some((user, fields.next()?.parse().ok()?))
}

/// The folder of the server's programs; the Debian package is installed if there is none.
fn programs() -> Result<PathBuf, String> {
    if let Some(bin) = installed() {
        return Ok(bin);
    }
    // Tests of several crates may come here at once.
    let guard = std::env::temp_dir().join("overrule-install-postgresql.lock");
    let guard =
        fs::File::create(&guard).map_err(|error| format!("{}: {error}", guard.display()))?;
    guard.lock().map_err(|error| format!("the lock for installing: {error}"))?;
    if let Some(bin) = installed() {
        return Ok(bin);
    }
    install()?;
    installed().ok_or_else(|| "the package postgresql brought no server".to_owned())
}

fn installed() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    versions
        .filter_map(|version| {
            let path = version.ok()?.path();
            let number: u32 = path.file_name()?.to_str()?.parse().ok()?;
            let bin = path.join("bin");
            let whole = bin.join("initdb").exists() && bin.join("postgres").exists();
            whole.then_some((number, bin))
        })
        .max()
        .map(|(_, bin)| bin)
}

fn install() -> Result<(), String> {
    // The package would otherwise make a cluster and start a server that nobody asked for.
    let settings = Path::new("/etc/postgresql-common/createcluster.d");
    let _ = fs::create_dir_all(settings);
    let _ = fs::write(settings.join("overrule.conf"), "create_main_cluster = false\n");
    let apt = |arguments: &[&str]| {
        run(Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
            .map_err(|error| format!("apt-get {}: {error}", arguments.join(" ")))
    };
    apt(&["update"])?;
    apt(&["install", "-y", "--no-install-recommends", "postgresql"])
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    ))
}
