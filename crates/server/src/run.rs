// SPDX-License-Identifier: Apache-2.0
//! In: settings. Out: a server that runs until it is stopped, and then loses nothing. Not here: what settings mean
//! to each part.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use overrule::Options;
use overrule_guard::{
    Certificates, Doors, GateLayer, GateRefusal, GateSettings, HostNames, Report, Tls, Tokens,
    TrustedProxies, check_address,
};
use overrule_store::{PgTls, Retention, Store, StoreError};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tower::Layer;

use crate::app::{App, Parts};
use crate::concerns;
use crate::config::{Auth, Config, LogFormat};
use crate::first_token;
use crate::folder;
use crate::http::router;
use crate::live::{Live, Resolving};
use crate::probes::Probes;
use crate::problem::Problem;
use crate::settings::{DOCUMENTS, limits, reading, retention, tls};
use crate::stop::told_to_stop;
use crate::vitals;

/// The port of Kuma's API, so that its clients find us.
const PORT: u16 = 5681;
/// How often the history is pruned.
const PRUNING: Duration = Duration::from_secs(600);

/// How long work that nobody waits for may take at the end.
const LINGER: Duration = Duration::from_secs(1);

/// Why the server does not run.
#[derive(Debug)]
pub enum ServeError {
    /// The settings make no sense.
    Usage(String),
    /// Something outside does not work.
    World(String),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::World(text) => f.write_str(text),
        }
    }
}

impl From<StoreError> for ServeError {
    fn from(error: StoreError) -> Self {
        Self::World(error.to_string())
    }
}

pub(crate) fn usage(why: impl fmt::Display) -> ServeError {
    ServeError::Usage(why.to_string())
}

pub(crate) fn world(why: impl fmt::Display) -> ServeError {
    ServeError::World(why.to_string())
}

/// A server that runs.
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    /// The first admin token, if this start made it; of a server that was started by [`start`].
    pub admin_token: Option<String>,
    /// Whether connections are encrypted.
    pub tls: bool,
    /// Where probes are answered, if they have an address of their own.
    pub probes: Option<SocketAddr>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<Report>>,
}

impl Running {
    /// Stops it: requests in flight are finished, everything acknowledged is stored.
    pub fn stop(mut self) -> Report {
        self.end()
    }

    fn end(&mut self) -> Report {
        // Nobody at the other end: it has stopped by itself.
        self.stop.take().map(|stop| stop.send(()));
        let report = self.thread.take().and_then(|thread| thread.join().ok());
        report.unwrap_or_default()
    }

    /// Waits until it ends by a signal.
    pub fn wait(mut self) -> Report {
        // Kept until the end: without it, the server would take itself for stopped.
        let _stop = self.stop.take();
        let report = self.thread.take().and_then(|thread| thread.join().ok());
        report.unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Runs a server until a signal ends it. Says on standard output where it listens.
pub fn run(config: Config, files: Vec<PathBuf>, options: Options) -> Result<(), ServeError> {
    let config = complete(config)?;
    log(&config)?;
    let running = start_with(config, files, options, true)?;
    let scheme = if running.tls { "https" } else { "http" };
    let mut out = std::io::stdout();
    // Who does not read this does not need it.
    let _ = writeln!(out, "listening on {scheme}://{}", running.address);
    let _ = out.flush();
    let report = running.wait();
    tracing::info!(requests = report.requests, cut = report.cut, "stopped");
    Ok(())
}

/// Starts a server that runs until it is stopped; for tests and benchmarks.
pub fn start(config: Config, files: Vec<PathBuf>, options: Options) -> Result<Running, ServeError> {
    start_with(complete(config)?, files, options, false)
}

/// Starts a server that also has answers that never change, for comparing with; each by its path.
#[doc(hidden)]
pub fn start_beside(
    config: Config,
    files: Vec<PathBuf>,
    options: Options,
    fixed: Vec<(String, bytes::Bytes)>,
) -> Result<Running, ServeError> {
    let mut config = complete(config)?;
    config.fixed = fixed;
    start_with(config, files, options, false)
}

/// Where the embedded store is, if nothing else is said.
pub(crate) fn default_data() -> PathBuf {
    PathBuf::from("overrule-data")
}

/// Adds the file and the environment.
fn complete(mut config: Config) -> Result<Config, ServeError> {
    // Flags choose one store; only if they choose none does the environment, and only then the file.
    if !config.names_store() {
        config.postgres = variable("OVERRULE_POSTGRES").map(crate::config::Hidden);
    }
    if !config.names_store() {
        config.postgres_file = variable("OVERRULE_POSTGRES_FILE").map(PathBuf::from);
    }
    if !config.names_store() {
        config.data = variable("OVERRULE_DATA").map(PathBuf::from);
    }
    if !config.names_store() {
        let falsey = ["0", "false", "no", "off", "n", "f"];
        let said = variable("OVERRULE_EPHEMERAL").map(|text| text.to_ascii_lowercase());
        config.ephemeral = said.is_some_and(|text| !falsey.contains(&text.as_str()));
    }
    if let Some(path) = config.config.clone() {
        let text = std::fs::read_to_string(&path)
            .map_err(|e| usage(format!("cannot read {}: {e}", path.display())))?;
        let file = Config::read(&path.display().to_string(), &text, &config.extensions);
        let file = file.map_err(usage)?;
        config = config.or(file);
    }
    config.check().map_err(usage)?;
    Ok(config)
}

#[expect(clippy::disallowed_methods, reason = "which store it is may come by the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Logs to standard error. Fails where the filter makes no sense; a second call keeps the first.
fn log(config: &Config) -> Result<(), ServeError> {
    use tracing_subscriber::EnvFilter;
    let filter = config.log.as_deref().unwrap_or("info");
    let filter = EnvFilter::try_new(filter).map_err(|e| usage(format!("--log {filter}: {e}")))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let terminal = std::io::stderr().is_terminal();
    let _ = match config.log_format.unwrap_or(LogFormat::Text) {
        LogFormat::Text => builder.with_ansi(terminal).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    Ok(())
}

fn store(config: &Config) -> Result<Arc<dyn Store>, ServeError> {
    let url = match (&config.postgres, &config.postgres_file) {
        (Some(url), _) => Some(url.0.clone()),
        (None, Some(file)) => {
            let source = overrule_guard::SecretSource::File(file.clone());
            let secret = overrule_guard::read_secret(&source).map_err(usage)?;
            Some(secret.expose().trim().to_owned())
        }
        (None, None) => None,
    };
    let opened = match url {
        Some(url) => overrule_store::open_postgres(&url, pg_tls(config))?,
        None if config.ephemeral => overrule_store::open_memory()?,
        None => {
            let data = config.data.clone().unwrap_or_else(default_data);
            overrule_store::open_folder(&data)?
        }
    };
    Ok(Arc::from(opened))
}

/// Certificates that PostgreSQL is trusted by; without them `sslmode` of the connection must not ask for any.
fn pg_tls(config: &Config) -> PgTls {
    config.postgres_ca.clone().map_or(PgTls::Disabled, PgTls::Roots)
}

fn start_with(
    config: Config,
    files: Vec<PathBuf>,
    options: Options,
    signals: bool,
) -> Result<Running, ServeError> {
    let listen = config.listen.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, PORT).into());
    let auth =
        config.auth.unwrap_or(if listen.ip().is_loopback() { Auth::None } else { Auth::Token });
    let tls = tls(&config)?;
    check_address(listen, tls.is_some(), auth == Auth::Token).map_err(usage)?;
    let certificates = Certificates::new(config.certificates.clone()).map_err(usage)?;
    let history =
        retention("--history-age", config.history_entries, config.history_age.as_deref())?;
    let audit = retention("--audit-age", config.audit_entries, config.audit_age.as_deref())?;
    let proxies = TrustedProxies::new(&config.trusted_proxy).map_err(usage)?;
    let names = HostNames::new(&config.host).map_err(usage)?;
    let acceptor = tls.map(Tls::load).transpose().map_err(usage)?;
    let store = store(&config)?;
    if let Some(file) = &config.restore {
        restore(&*store, file)?;
    }
    let reading = reading(&config, options);
    // What these files had when the server ran last, and have no longer, is removed now.
    let before = if config.watch_files { folder::kept(&*store)? } else { Default::default() };
    let imported = folder::import(&*store, &files, &reading, &config.extensions, &before)?;
    for problem in &imported.problems {
        tracing::warn!(problem, "not imported");
    }
    let doors = match auth {
        Auth::None => Doors::open(),
        Auth::Token => Doors::closed(Tokens::default(), certificates)
            .with_public("/healthz")
            .with_public("/readyz")
            .with_public("/openapi.json")
            .with_public("/"),
    };
    let mut admin = None;
    if auth == Auth::Token {
        match (&config.admin_token_from, signals) {
            (Some(file), _) => first_token::take(&*store, file)?,
            (None, true) => first_token::show(&*store, &config)?,
            (None, false) => {
                let (row, token) = first_token::mint_admin()?;
                admin = store.first_token(&row)?.then_some(token);
            }
        }
    }
    let live = Live::open(Arc::clone(&store), Resolving::new(reading.clone()))?;
    let start_threads = |name: &str| {
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        let started = threads.thread_name(name).enable_all().build();
        started.map_err(|e| world(format!("cannot start threads: {e}")))
    };
    // Connections have threads of their own, on which nothing takes its time.
    let (connections, runtime) = (start_threads("connections")?, start_threads("requests")?);
    let app = App::new(Parts {
        store: Arc::clone(&store),
        live: Arc::new(live),
        reading: reading.clone(),
        extensions: config.extensions.clone(),
        doors: Arc::new(doors),
        request_limit: limits(&config).request_timeout,
        limits: overrule::source::Limits {
            documents: config.max_documents.unwrap_or(DOCUMENTS),
            ..Default::default()
        },
        runtime: runtime.handle().clone(),
    });
    app.metrics.set_tls(acceptor.is_some());
    if let Some(collector) = &config.otlp {
        app.spans.export_to(collector).map_err(world)?;
    }
    let _ = app.acceptor.set(acceptor.clone());
    let probes = match config.probe_listen {
        Some(address) => Some(Probes::start(address, router(&app))?),
        None => None,
    };
    app.metrics.resolved(app.live.state().took);
    let watcher = if config.watch_files && !files.is_empty() {
        let (store, extensions) = (Arc::clone(&store), config.extensions.clone());
        let followed = folder::follow(store, files, reading, extensions, imported.keys);
        Some(followed.map_err(|e| world(format!("cannot watch files: {e}")))?)
    } else {
        None
    };
    let bound = connections.block_on(TcpListener::bind(listen));
    let listener = bound.map_err(|e| world(format!("cannot listen on {listen}: {e}")))?;
    let address = listener.local_addr().map_err(world)?;
    let limits = limits(&config);
    let refusing = Arc::clone(&app);
    let gate = GateLayer::new(GateSettings {
        limits,
        names,
        proxies: proxies.clone(),
        authenticator: Arc::clone(&app.doors),
        answerer: Arc::new(
            move |asked: &overrule_guard::gate::RefusedRequest, refusal: &GateRefusal| {
                refusing.metrics.refused(refusal.word());
                let title = refusal.status().canonical_reason().unwrap_or("Refused");
                let problem = Problem::new(refusal.status(), title, refusal.to_string());
                problem.response(refusing.extensions.of(asked.uri.path()))
            },
        ),
    });
    let _ = app.in_flight.set(gate.places());
    let fixed = config.fixed;
    let probed = probes.as_ref().map(|probes| probes.address);
    let (stop, stopped) = oneshot::channel::<()>();
    let encrypted = acceptor.is_some();
    let thread = std::thread::spawn(move || {
        let _watcher = watcher;
        let _probes = probes;
        let report = connections.block_on(async move {
            app.runtime.spawn(keep_live(Arc::clone(&app)));
            app.runtime.spawn(keep_tokens(Arc::clone(&app)));
            app.runtime.spawn(keep_short(Arc::clone(&app), history, audit));
            app.runtime.spawn(concerns::tell(Arc::clone(&app.store)));
            app.runtime.spawn(vitals::measure(Arc::clone(&app)));
            let ending = Arc::clone(&app);
            let shutdown = async move {
                told_to_stop(stopped, signals).await;
                // Streams that never end by themselves are told; the rest is waited for.
                ending.end();
            };
            let adapt = tower::util::MapRequestLayer::new(|request: ::http::Request<_>| {
                request.map(Body::new)
            });
            let service = gate.layer(adapt.layer(with_fixed(router(&app), fixed)));
            overrule_guard::serve(listener, acceptor, limits, proxies, service, shutdown).await
        });
        // Requests have been answered or cut; what still computes is work that nobody waits for.
        runtime.shutdown_timeout(LINGER);
        connections.shutdown_timeout(LINGER);
        report
    });
    Ok(Running {
        address,
        admin_token: admin,
        tls: encrypted,
        probes: probed,
        stop: Some(stop),
        thread: Some(thread),
    })
}

/// Adds answers that never change.
fn with_fixed(router: axum::Router, fixed: Vec<(String, bytes::Bytes)>) -> axum::Router {
    fixed.into_iter().fold(router, |router, (path, bytes)| {
        let media = (::http::header::CONTENT_TYPE, "application/json");
        let answer = move || {
            let bytes = bytes.clone();
            async move { ([media], bytes) }
        };
        router.route(&path, axum::routing::get(answer))
    })
}

fn restore(store: &dyn Store, file: &Path) -> Result<(), ServeError> {
    let opened = std::fs::File::open(file);
    let opened = opened.map_err(|e| world(format!("cannot read {}: {e}", file.display())))?;
    let revision = store.restore(&mut std::io::BufReader::new(opened))?;
    tracing::info!(revision, file = %file.display(), "restored");
    Ok(())
}

/// Takes in changes as they come, resolves them, and publishes what is in force.
async fn keep_live(app: Arc<App>) {
    let mut changes = app.store.subscribe();
    loop {
        let taking = Arc::clone(&app);
        let advance = move || {
            let new = taking.live.advance()?;
            if new {
                taking.metrics.resolved(taking.live.state().took);
            }
            Ok::<(), StoreError>(())
        };
        match tokio::task::spawn_blocking(advance).await {
            Ok(Ok(())) => {
                if changes.changed().await.is_err() {
                    return;
                }
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "changes cannot be read; the last state stays");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            Err(error) => {
                tracing::error!(%error, "resolving failed; the last state stays");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

async fn keep_tokens(app: Arc<App>) {
    let mut changes = app.store.token_changes();
    while changes.changed().await.is_ok() {
        app.refresh_tokens().await;
    }
}

async fn keep_short(app: Arc<App>, history: Option<Retention>, audit: Option<Retention>) {
    while history.is_some() || audit.is_some() {
        if let Some(retention) = audit {
            let store = Arc::clone(&app.store);
            match tokio::task::spawn_blocking(move || store.prune_audit(&retention)).await {
                Ok(Ok(events)) if events > 0 => tracing::info!(events, "audit log pruned"),
                Ok(Err(error)) => tracing::warn!(%error, "audit log could not be pruned"),
                _ => {}
            }
        }
        let store = Arc::clone(&app.store);
        let prune = move || history.map(|retention| store.prune(&retention)).transpose();
        match tokio::task::spawn_blocking(prune).await {
            Ok(Ok(Some(pruned))) if pruned.entries > 0 => {
                tracing::info!(
                    entries = pruned.entries,
                    horizon = pruned.horizon,
                    "history pruned"
                );
            }
            Ok(Err(error)) => tracing::warn!(%error, "history could not be pruned"),
            _ => {}
        }
        tokio::time::sleep(PRUNING).await;
    }
}
