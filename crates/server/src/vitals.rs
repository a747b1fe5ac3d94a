// SPDX-License-Identifier: Apache-2.0
//! In: a server that runs. Out: what it uses now and what it is doing, as figures. Not here: what has been counted since
//! it started (`metrics`).

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use overrule_store::StoreConnections;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::Registry;

use crate::app::App;
use crate::metrics::{Gauges, number};
use crate::work::WorkClass;

/// How often the store is measured.
const MEASURING: Duration = Duration::from_secs(15);

/// The figures of this moment, in the text form of OpenMetrics.
pub fn text(app: &App) -> String {
    let mut registry = Registry::default();
    let mut gauges = Gauges::of(&mut registry);
    let one = |value: i64| [(Vec::new(), value)];
    let class = |class: WorkClass| vec![("class", class.word().to_owned())];
    let load = WorkClass::ALL.map(|c| (c, app.work.load(c)));
    gauges.add(
        "overrule_work_in_flight",
        "Work under way by class, and what is held of it",
        load.map(|(c, (taken, _))| (class(c), number(taken))),
    );
    gauges.add(
        "overrule_work_waiting",
        "Work that waits for its turn, by class",
        load.map(|(c, (_, waiting))| (class(c), number(waiting))),
    );
    gauges.add("overrule_watchers", "Clients that watch", one(number(app.watching())));
    if let Some(in_flight) = app.in_flight.get() {
        let number = number(in_flight.in_use());
        gauges.add("overrule_requests_in_flight", "Requests that have a place", one(number));
    }
    let expires = app.acceptor.get().and_then(Option::as_ref).and_then(|a| a.expires());
    if let Some(expires) = expires {
        let name = "overrule_certificate_expiry_timestamp_seconds";
        gauges.add(name, "When the certificate of the server expires", one(expires));
    }
    if let Some(bytes) = app.store_size.known() {
        let help = "Bytes of the store: its files, or its tables in PostgreSQL";
        gauges.add("overrule_store_bytes", help, one(bytes));
    }
    if let Some(StoreConnections { used, idle, most }) = app.store.connections() {
        let state = |state: &str| vec![("state", state.to_owned())];
        let all = [("used", used), ("idle", idle)].map(|(word, n)| (state(word), number(n)));
        let help = "Connections to PostgreSQL, by what they do";
        gauges.add("overrule_store_connections", help, all);
        let help = "Most connections to PostgreSQL that there may be";
        gauges.add("overrule_store_connections_max", help, one(number(most)));
    }
    if app.spans.wanted() {
        let dropped = i64::try_from(app.spans.dropped()).unwrap_or(i64::MAX);
        gauges.add("overrule_dropped_spans", "Spans that no collector took", one(dropped));
    }
    process(&mut registry);
    let mut out = String::new();
    // Writing to memory does not fail.
    let _ = encode_registry(&mut out, &registry);
    out
}

/// What the store takes, as measured last: whoever asks for figures must not wait for a store that stands still.
#[derive(Debug, Default)]
pub struct StoreSize(OnceLock<AtomicI64>);

impl StoreSize {
    fn known(&self) -> Option<i64> {
        self.0.get().map(|bytes| bytes.load(Ordering::Relaxed))
    }

    fn set(&self, bytes: u64) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.0.get_or_init(AtomicI64::default).store(bytes, Ordering::Relaxed);
    }
}

/// Measures the store now and then. If it does not answer, the last figure stays.
pub async fn measure(app: Arc<App>) {
    loop {
        let store = Arc::clone(&app.store);
        if let Ok(Ok(bytes)) = tokio::task::spawn_blocking(move || store.size()).await {
            app.store_size.set(bytes);
        }
        tokio::time::sleep(MEASURING).await;
    }
}

/// What the process uses, under the names that all programs have for it. Only what this system tells.
fn process(registry: &mut Registry) {
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = Duration::try_from(cpu).unwrap_or_default().as_secs_f64();
    let help = "Time that processors have spent";
    registry.register("process_cpu_seconds", help, ConstCounter::new(seconds));
    let mut gauges = Gauges::of(registry);
    let mut add = |name: &str, help: &str, value: Option<i64>| {
        if let Some(value) = value {
            gauges.add(name, help, [(Vec::new(), value)]);
        }
    };
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let figure = |name: &str| -> Option<i64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let bytes = |name: &str| figure(name).map(|kibibytes| kibibytes.saturating_mul(1024));
    add("process_resident_memory_bytes", "Memory in use", bytes("VmRSS"));
    add("process_resident_memory_max_bytes", "Most memory in use at a time", bytes("VmHWM"));
    add("process_virtual_memory_bytes", "Memory that is reserved", bytes("VmSize"));
    add("process_threads", "Threads", figure("Threads"));
    let open = std::fs::read_dir("/proc/self/fd").ok().map(|all| number(all.count()));
    add("process_open_fds", "Open files and connections", open);
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let limit = limit.and_then(|limit| i64::try_from(limit).ok());
    add("process_max_fds", "Most open files and connections", limit);
}
