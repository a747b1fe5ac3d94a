// SPDX-License-Identifier: Apache-2.0
//! In: states that watchers saw last, and newer ones. Out: what they are told, worked out once for all who are told the
//! same. Not here: comparing (`overrule::view`), connections (`v1/watch`).
//!
//! Where two states differ depends on nobody's rights, so it is worked out once. What a reader may know of that is worked
//! out once for all with the same rights and the same question. Whoever comes while it is being worked out waits for it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use axum::body::Bytes;
use overrule::view::{EffectiveDiff, v1};
use overrule_guard::Grants;

use crate::changes;
use crate::live::{Live, State};
use crate::reader::Reader;

/// Pairs of states that are kept ready: those of watchers that keep up, and of those that are one behind.
const KEPT: usize = 2;
/// Bytes of answers that are kept for a pair. Larger ones are made for each who asks.
const ANSWERS: usize = 64 << 20;

/// What a watcher asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct WatchFilter {
    /// Only this policy kind.
    pub kind: Option<String>,
    /// Only targets that begin so.
    pub target: Option<String>,
    /// For people.
    pub table: bool,
}

/// Who is told the same: none for those who read everything.
type Audience = (Option<Grants>, WatchFilter);

/// An event; none if nothing is told.
type Event = Option<Bytes>;

/// Pairs of states that watchers asked about last.
#[derive(Default)]
pub struct Differences(Mutex<VecDeque<Arc<Between>>>);

/// Two states, and where they differ. It holds both, so that ids are always looked up where they belong.
struct Between {
    before: Arc<State>,
    after: Arc<State>,
    difference: OnceLock<EffectiveDiff>,
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    answers: BTreeMap<Audience, Arc<OnceLock<Event>>>,
    bytes: usize,
}

impl Differences {
    fn recent(&self) -> MutexGuard<'_, VecDeque<Arc<Between>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn between(&self, before: &Arc<State>, after: &Arc<State>) -> Arc<Between> {
        let mut recent = self.recent();
        if let Some(known) = find(&recent, before, after) {
            return known;
        }
        let new = Arc::new(Between {
            before: Arc::clone(before),
            after: Arc::clone(after),
            difference: OnceLock::new(),
            told: Mutex::default(),
        });
        recent.push_front(Arc::clone(&new));
        let kept = KEPT.min(recent.len());
        let gone = recent.split_off(kept);
        // What it holds may take a while to drop.
        drop(recent);
        drop(gone);
        new
    }

    /// The event that tells a reader what changed, if it is there already. Takes no longer than looking it up.
    pub fn ready(
        &self,
        before: &Arc<State>,
        after: &Arc<State>,
        grants: &Grants,
        wanted: &WatchFilter,
    ) -> Option<Event> {
        let between = find(&self.recent(), before, after)?;
        let told = between.told();
        told.answers.get(&audience(grants, wanted))?.get().cloned()
    }

    /// The event that tells a reader what changed between two states.
    pub fn event(
        &self,
        live: &Live,
        before: &Arc<State>,
        after: &Arc<State>,
        grants: &Grants,
        wanted: &WatchFilter,
    ) -> Event {
        let between = self.between(before, after);
        let audience = audience(grants, wanted);
        let answer = between.answer(&audience);
        let mut made = false;
        let event = answer.get_or_init(|| {
            made = true;
            between.tell(live, grants, wanted)
        });
        if made {
            between.keep(&audience, event.as_ref().map_or(0, Bytes::len));
        }
        event.clone()
    }

    /// Forgets everything: nobody watches any more.
    pub fn clear(&self) {
        let gone = std::mem::take(&mut *self.recent());
        drop(gone);
    }
}

/// The pair of these very states.
fn find(
    recent: &VecDeque<Arc<Between>>,
    before: &Arc<State>,
    after: &Arc<State>,
) -> Option<Arc<Between>> {
    let same = |b: &&Arc<Between>| Arc::ptr_eq(&b.before, before) && Arc::ptr_eq(&b.after, after);
    recent.iter().find(same).cloned()
}

fn audience(grants: &Grants, wanted: &WatchFilter) -> Audience {
    ((!grants.reads_all()).then(|| grants.clone()), wanted.clone())
}

impl Between {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where an answer is, or will be.
    fn answer(&self, audience: &Audience) -> Arc<OnceLock<Event>> {
        let mut told = self.told();
        match told.answers.get(audience) {
            Some(known) => Arc::clone(known),
            None => Arc::clone(told.answers.entry(audience.clone()).or_default()),
        }
    }

    /// Counts an answer, and drops it if it does not fit.
    fn keep(&self, audience: &Audience, bytes: usize) {
        let mut told = self.told();
        if told.bytes + bytes > ANSWERS {
            told.answers.remove(audience);
        } else {
            told.bytes += bytes;
        }
    }

    fn tell(&self, live: &Live, grants: &Grants, wanted: &WatchFilter) -> Event {
        let (before, after) = (&*self.before, &*self.after);
        let difference = self
            .difference
            .get_or_init(|| changes::difference(before, after, live.touched(before, after)));
        if difference.is_empty() {
            return None;
        }
        let mut told = changes::told(difference, before, after, &Reader(grants));
        only(&mut told, wanted);
        if told.items.is_empty() {
            return None;
        }
        let data = if wanted.table {
            changes::text(&told)
        } else {
            serde_json::to_string(&told).unwrap_or_default()
        };
        let data: String = data.lines().map(|line| format!("data: {line}\n")).collect();
        Some(format!("event: change\nid: {}\n{data}\n", after.revision).into())
    }
}

fn only(changes: &mut v1::EffectiveChanges, wanted: &WatchFilter) {
    let WatchFilter { kind, target, .. } = wanted;
    changes.items.retain(|item| {
        kind.as_ref().is_none_or(|k| item.policy_kind.eq_ignore_ascii_case(k))
            && target.as_ref().is_none_or(|t| item.target.starts_with(t))
    });
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
mod tests {
    use std::sync::Arc;

    use overrule::Options;
    use overrule_guard::{Grant, Grants};
    use overrule_store::{Author, Change, Precondition, Store};

    use super::{Differences, WatchFilter};
    use crate::changes;
    use crate::live::{Live, Resolving};
    use crate::reader::Reader;

    const WORLD: &str = "apiVersion: overrule/v1
kind: PolicyKind
metadata: {name: timeoutpolicies.policies.example.com}
spec:
  group: policies.example.com
  kind: TimeoutPolicy
  class: Inherited
  targets: [{kind: Gateway}, {kind: HTTPRoute}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: infra}
spec:
  gatewayClassName: c
  listeners:
  - {name: web, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec: {parentRefs: [{name: edge, namespace: infra}], rules: [{}, {}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: till, namespace: bank}
spec: {parentRefs: [{name: edge, namespace: infra}], rules: [{}]}
";

    fn policy(namespace: &str, kind: &str, target: &str, values: &str) -> String {
        format!(
            "apiVersion: policies.example.com/v1
kind: TimeoutPolicy
metadata: {{name: {target}, namespace: {namespace}}}
spec:
  targetRef: {{group: gateway.networking.k8s.io, kind: {kind}, name: {target}}}
  defaults: {{strategy: merge, timeouts: {{{values}}}}}
"
        )
    }

    fn put(store: &dyn Store, text: &str) {
        let (options, extensions) = (Options::default(), crate::Extensions::default());
        let admitted = crate::admission::admit("body", text.as_bytes(), &options, &extensions);
        let put = |m| crate::v1::write::put(m, Precondition::Any);
        let changes: Vec<Change> = admitted.manifests.into_iter().map(put).collect();
        store.commit(&Author::default(), &changes).unwrap();
    }

    fn grants(text: &str) -> Grants {
        Grants::new(text.split(' ').map(|grant| grant.parse::<Grant>().unwrap()).collect())
    }

    /// What is told from the ladders that were touched is what is told from everything, to every reader, over one version
    /// and over several.
    #[test]
    fn touched_ladders_tell_what_comparing_everything_tells() {
        let store: Arc<dyn Store> = Arc::from(overrule_store::open_memory().unwrap());
        let world = [
            WORLD.to_owned(),
            policy("infra", "Gateway", "edge", "request: 1s, idle: 1s"),
            policy("shop", "HTTPRoute", "cart", "request: 2s"),
            policy("bank", "HTTPRoute", "till", "idle: 3s"),
        ];
        put(&*store, &world.join("---\n"));
        let resolving = Resolving::new(Options::default());
        let live = Live::open(Arc::clone(&store), resolving).unwrap();
        let mut states = vec![live.state()];
        for text in [
            policy("infra", "Gateway", "edge", "request: 1s, idle: 9s"),
            policy("shop", "HTTPRoute", "cart", "request: 7s"),
            policy("infra", "Gateway", "edge", "request: 5s, idle: 9s"),
            policy("bank", "HTTPRoute", "till", "idle: 3s, request: 1s"),
            policy("shop", "HTTPRoute", "cart", "request: 2s"),
        ] {
            put(&*store, &text);
            assert!(live.advance().unwrap());
            states.push(live.state());
        }
        let readers = ["read", "read:namespace/shop", "read:namespace/bank", "read:mesh/m"];
        let (mut told, differences) = (0, Differences::default());
        for (at, after) in states.iter().enumerate() {
            for before in states.iter().take(at) {
                assert!(live.touched(before, after).is_some(), "it is known which ladders");
                for reader in readers.map(grants) {
                    let whole = changes::changes(before, after, &Reader(&reader));
                    let touched = live.touched(before, after);
                    let difference = changes::difference(before, after, touched);
                    let found = changes::told(&difference, before, after, &Reader(&reader));
                    let json = overrule::view::json(&found);
                    assert_eq!(json, overrule::view::json(&whole), "{reader:?}");
                    told += found.items.len();
                    let wanted = WatchFilter::default();
                    let event = differences.event(&live, before, after, &reader, &wanted);
                    assert_eq!(event.is_some(), !whole.items.is_empty());
                    let ready = differences.ready(before, after, &reader, &wanted);
                    assert_eq!(ready, Some(event), "it is there for the next who asks");
                }
            }
        }
        assert!(told > 20, "too little is told to test anything: {told}");
        let reader = grants("read:namespace/shop");
        let (first, last) = (&states[0], &states[2]);
        let seen = changes::changes(first, last, &Reader(&reader));
        assert!(seen.items.iter().all(|item| item.target.starts_with("httproute/shop/")));
    }

    /// A state that was computed anew has other ids, and is compared as a whole.
    #[test]
    fn ids_of_other_lineages_are_not_compared() {
        let store: Arc<dyn Store> = Arc::from(overrule_store::open_memory().unwrap());
        put(&*store, &format!("{WORLD}---\n{}", policy("shop", "HTTPRoute", "cart", "idle: 1s")));
        let resolving = Resolving::new(Options::default());
        let live = Live::open(Arc::clone(&store), resolving).unwrap();
        let before = live.state();
        put(&*store, &policy("bank", "HTTPRoute", "till", "idle: 2s"));
        assert!(live.advance().unwrap());
        let after = live.state();
        assert_eq!(live.touched(&before, &after), None);
        let (all, wanted) = (Grants::admin(), WatchFilter::default());
        let event = Differences::default().event(&live, &before, &after, &all, &wanted).unwrap();
        let event = String::from_utf8(event.to_vec()).unwrap();
        assert!(event.contains("httproute/bank/till"), "{event}");
    }
}
