// SPDX-License-Identifier: Apache-2.0
//! In: requests and states. Out: figures in the text form of OpenMetrics. Not here: serving them.
//!
//! What is counted about a state is computed when it is asked for, once per version.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use overrule::engine::LadderId;
use overrule::source::Severity;
use overrule::view;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use crate::live::State;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    endpoint: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Endpoint {
    endpoint: &'static str,
}

/// Writes whose answer nobody heard.
type Undelivered = Family<Endpoint, Counter>;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refused {
    why: &'static str,
}

/// How long stores took. One for the process: who waits for a store need not know the server.
static STORE: LazyLock<Histogram> =
    LazyLock::new(|| Histogram::new(exponential_buckets(0.000_05, 2.0, 18)));

/// Counts what the store took.
pub fn stored(took: Duration) {
    STORE.observe(took.as_secs_f64());
}

/// What is counted.
pub struct Metrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    latency: Family<Endpoint, Histogram>,
    refusals: Family<Refused, Counter>,
    undelivered: Undelivered,
    resolves: Counter,
    resolving: Histogram,
    tls: AtomicBool,
    /// The figures of the version asked about last.
    figures: Mutex<Option<(u64, Arc<str>)>>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Nothing counted yet.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("overrule");
        let requests = Family::<Request, Counter>::default();
        registry.register("requests", "Requests by endpoint and status", requests.clone());
        let latency = Family::<Endpoint, Histogram>::new_with_constructor(|| {
            Histogram::new(exponential_buckets(0.000_05, 2.0, 18))
        });
        registry.register_with_unit(
            "request_duration",
            "Time from request to answer",
            Unit::Seconds,
            latency.clone(),
        );
        let refusals = Family::<Refused, Counter>::default();
        registry.register(
            "refused_requests",
            "Requests that were refused before any endpoint saw them",
            refusals.clone(),
        );
        registry.register_with_unit(
            "store_duration",
            "Time that the store took, waiting for it included",
            Unit::Seconds,
            STORE.clone(),
        );
        let undelivered = Undelivered::default();
        registry.register(
            "undelivered_answers",
            "Writes whose client hung up, or whose time was over, before they were answered",
            undelivered.clone(),
        );
        let resolves = Counter::default();
        registry.register("resolves", "Versions that were resolved", resolves.clone());
        let resolving = Histogram::new(exponential_buckets(0.000_1, 2.0, 20));
        registry.register_with_unit(
            "resolve_duration",
            "Time from the resources of a version to everything in force",
            Unit::Seconds,
            resolving.clone(),
        );
        Self {
            registry,
            requests,
            latency,
            refusals,
            undelivered,
            resolves,
            resolving,
            tls: AtomicBool::new(false),
            figures: Mutex::default(),
        }
    }

    /// Counts a request.
    pub fn request(&self, endpoint: &'static str, status: StatusCode, took: Duration) {
        self.requests.get_or_create(&Request { endpoint, status: status.as_u16() }).inc();
        self.latency.get_or_create(&Endpoint { endpoint }).observe(took.as_secs_f64());
    }

    /// Counts a request that got nowhere.
    pub fn refused(&self, why: &'static str) {
        self.refusals.get_or_create(&Refused { why }).inc();
    }

    /// Counts a write whose answer nobody heard.
    pub fn undelivered(&self, endpoint: &'static str) {
        self.undelivered.get_or_create(&Endpoint { endpoint }).inc();
    }

    /// Counts a resolution.
    pub fn resolved(&self, took: Duration) {
        self.resolves.inc();
        self.resolving.observe(took.as_secs_f64());
    }

    /// Says that connections are encrypted, for links in answers.
    pub fn set_tls(&self, tls: bool) {
        self.tls.store(tls, Ordering::Relaxed);
    }

    /// Whether connections are encrypted.
    pub fn tls(&self) -> bool {
        self.tls.load(Ordering::Relaxed)
    }

    /// Everything as text, with the figures of this moment.
    pub fn text(&self, state: &State, now: &str) -> String {
        let mut out = String::new();
        // Writing to memory does not fail.
        let _ = encode_registry(&mut out, &self.registry);
        out.push_str(&self.figures(state));
        out.push_str(now);
        let _ = encode_eof(&mut out);
        out
    }

    fn figures(&self, state: &State) -> Arc<str> {
        let mut kept = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((revision, text)) = &*kept
            && *revision == state.revision
        {
            return Arc::clone(text);
        }
        let mut out = String::new();
        let _ = encode_registry(&mut out, &figures(state));
        let text: Arc<str> = out.into();
        *kept = Some((state.revision, Arc::clone(&text)));
        text
    }
}

type Labels = Vec<(&'static str, String)>;

/// Gauges of one name.
pub(crate) struct Gauges<'a> {
    registry: &'a mut Registry,
}

impl<'a> Gauges<'a> {
    pub(crate) fn of(registry: &'a mut Registry) -> Self {
        Self { registry }
    }

    pub(crate) fn add(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels, i64)>,
    ) {
        let family = Family::<Labels, Gauge>::default();
        for (labels, value) in values {
            family.get_or_create(&labels).set(value);
        }
        self.registry.register(name, help, family);
    }
}

pub(crate) fn number(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// The figures of a state.
fn figures(state: &State) -> Registry {
    let mut registry = Registry::default();
    let mut gauges = Gauges::of(&mut registry);
    let analysis = &state.analysis;
    let one = |value| [(Labels::new(), value)];
    gauges.add(
        "overrule_version",
        "The version of the store that answers come from",
        one(i64::try_from(state.revision).unwrap_or(i64::MAX)),
    );
    let micros = i64::try_from(state.took.as_micros()).unwrap_or(i64::MAX);
    gauges.add(
        "overrule_last_resolve_microseconds",
        "How long resolving that version took",
        one(micros),
    );
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for key in state.records.keys() {
        *kinds.entry(&key.kind).or_default() += 1;
    }
    let kinds = kinds.into_iter().map(|(k, n)| (vec![("kind", k.to_owned())], number(n)));
    gauges.add("overrule_resources", "Stored resources by kind", kinds);
    let severities = [Severity::Error, Severity::Warning, Severity::Note].map(|severity| {
        let count = analysis.diagnostics.iter().filter(|d| d.severity() == severity).count();
        (vec![("severity", severity.word().to_owned())], number(count))
    });
    gauges.add("overrule_findings", "Findings of `check` by severity", severities);
    let unmet: usize =
        analysis.shown().flat_map(|a| &a.missing).map(|(_, paths)| paths.len()).sum();
    gauges.add(
        "overrule_requirements_unmet",
        "Paths on which a policy that must exist does not",
        one(number(unmet)),
    );
    policies(state, &mut gauges);
    registry
}

/// What the control plane's owners ask: how many policies there are, what became of them and of their rules, and where
/// something is in force. Where a family's controller has metrics of its own, they are here by its names, so that its
/// dashboards work.
fn policies(state: &State, gauges: &mut Gauges<'_>) {
    let stage = state.analysis.stage();
    let scene = stage.scene();
    let mut outcomes: BTreeMap<(String, &str, &str), i64> = BTreeMap::new();
    let mut rules: BTreeMap<(String, &str, &str), i64> = BTreeMap::new();
    let mut enforced: BTreeMap<(&str, String, bool), i64> = BTreeMap::new();
    let mut totals: BTreeMap<(&str, String), i64> = BTreeMap::new();
    let mut effective: BTreeMap<(String, &str), (i64, i64)> = BTreeMap::new();
    for part in scene.parts {
        for policy in view::policies(&scene, part, &|_| true).items {
            let key = (policy.policy_kind.clone(), policy.family, policy.outcome);
            *outcomes.entry(key).or_default() += 1;
            for rule in &policy.rules {
                let in_force = if rule.by.is_empty() && rule.removed_by.is_empty() {
                    "in force"
                } else if rule.removed_by.is_empty() {
                    "overridden"
                } else {
                    "removed"
                };
                let key = (policy.policy_kind.clone(), policy.family, in_force);
                *rules.entry(key).or_default() += 1;
            }
            *totals.entry((policy.family, policy.policy_kind.clone())).or_default() += 1;
            let fine = policy.outcome == "in force" || policy.outcome == "partly";
            *enforced.entry((policy.family, policy.policy_kind, fine)).or_default() += 1;
        }
        for (id, kind) in part.resolution.kinds() {
            let name = scene.snapshot.text(kind.kind).to_owned();
            let entry = effective.entry((name, part.family)).or_default();
            for (_, ladder) in part.resolution.contexts(id) {
                if ladder == LadderId::EMPTY { entry.1 += 1 } else { entry.0 += 1 }
            }
        }
    }
    let labelled = |((kind, family, outcome), n): ((String, &str, &str), i64)| {
        let labels =
            vec![("kind", kind), ("family", family.to_owned()), ("outcome", outcome.to_owned())];
        (labels, n)
    };
    gauges.add(
        "overrule_policies",
        "Policies by what became of them",
        outcomes.into_iter().map(labelled),
    );
    gauges.add(
        "overrule_policy_rules",
        "Rules of policies by what became of them",
        rules.into_iter().map(labelled),
    );
    let of_kind = |(kind, family): &(String, &str)| {
        vec![("kind", kind.clone()), ("family", (*family).to_owned())]
    };
    let covered = effective.iter().map(|(key, (n, _))| (of_kind(key), *n));
    gauges.add("overrule_effective_policies", "Paths on which something is in force", covered);
    let open = effective.iter().map(|(key, (_, n))| (of_kind(key), *n));
    gauges.add("overrule_uncovered_paths", "Paths that no policy of a kind covers", open);
    for family in overrule::families() {
        let Some(names) = family.metrics() else { continue };
        let own = totals.iter().filter(|((of, _), _)| *of == family.name());
        let own = own.map(|((_, kind), n)| (vec![("kind", kind.clone())], *n));
        gauges.add(names.policies.0, names.policies.1, own);
        let own = enforced.iter().filter(|((of, _, _), _)| *of == family.name());
        let own = own.map(|((_, kind, fine), n)| {
            (vec![("kind", kind.clone()), ("status", fine.to_string())], *n)
        });
        gauges.add(names.enforced.0, names.enforced.1, own);
    }
}
