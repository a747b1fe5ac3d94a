// SPDX-License-Identifier: Apache-2.0
//! In: rules of HTTPRoutes. Out: what each says itself: timeouts, retries, rewrites, redirects, header changes; and the
//! slots of a route that are taken by it. Not here: how slots of a chain compete with policies (`algebra`).

use std::collections::BTreeMap;

use overrule_engine::{FieldKey, Prefer, StepId, Traced};
use overrule_gateway::topology::{RouteKind, RuleIx};
use overrule_source::{NodeRef, View};
use smallvec::SmallVec;

use crate::World;
use crate::{InheritedPriority, Profile};

/// A slot of a route that one built-in can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Slot {
    Timeouts,
    Retry,
    Cors,
    Path,
    Hostname,
    Redirect,
}

impl Slot {
    /// The part of a TrafficPolicy that has no effect where the slot is taken.
    pub(crate) fn masks(self) -> &'static [&'static str] {
        match self {
            Self::Timeouts => &["timeouts", "request"],
            Self::Retry => &["retry"],
            Self::Cors => &["cors"],
            Self::Path => &["urlRewrite"],
            Self::Hostname => &["autoHostRewrite"],
            Self::Redirect => &[],
        }
    }
}

/// A slot, who takes it, and whether that masks anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Taken {
    pub(crate) slot: Slot,
    pub(crate) by: StepId,
    /// Timeouts that only limit single tries leave the policy's timeout alone.
    pub(crate) masks: bool,
}

/// The slots of a rule.
pub(crate) type Slots = SmallVec<[Taken; 2]>;

/// Slots along a chain: those held from below, and those of an ancestor with its strategy.
pub(crate) fn compete(
    profile: Profile,
    held: &mut Slots,
    above: &Slots,
    strategy: InheritedPriority,
) {
    for taken in above {
        let place = held.iter_mut().find(|t| t.slot == taken.slot);
        match (place, profile.builtin_prefers(strategy)) {
            (None, _) => held.push(*taken),
            (Some(place), Prefer::Incoming) => *place = *taken,
            (Some(_), Prefer::Held) => {}
        }
    }
}

/// What one rule says itself, as nodes of its document.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// Key and value of single settings; a key without a node is the name of a filter.
    settings: Vec<(FieldKey, NodeRef)>,
    /// Filters that pile up.
    filters: Vec<NodeRef>,
    slots: SmallVec<[(Slot, bool); 2]>,
}

/// What rules say themselves.
#[derive(Debug, Default)]
pub(crate) struct BuiltIns(BTreeMap<RuleIx, Parts>);

impl BuiltIns {
    /// Reads every rule of every HTTPRoute.
    pub(crate) fn read(world: World<'_>) -> Self {
        let mut found = BTreeMap::new();
        for (ix, rule) in world.topology.all_rules() {
            let route = world.topology.route(rule.route);
            if route.is_none_or(|r| r.kind != RouteKind::Http) {
                continue;
            }
            let parts = Parts::read(world.documents.view(rule.tree), rule.tree);
            if !parts.settings.is_empty() || !parts.filters.is_empty() {
                found.insert(ix, parts);
            }
        }
        Self(found)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// By rule.
    pub(crate) fn rules(&self) -> impl Iterator<Item = (RuleIx, &Parts)> {
        self.0.iter().map(|(rule, parts)| (*rule, parts))
    }
}

impl Parts {
    fn read(rule: View<'_>, root: NodeRef) -> Self {
        let at = |view: View<'_>| NodeRef { doc: root.doc, node: view.id() };
        let mut parts = Self::default();
        let mut filters = None;
        // One pass over the members: a fleet has a hundred thousand rules, and most of them say nothing of this.
        for (name, value) in rule.entries().filter(|(_, v)| !v.is_null()) {
            let slot = match name.key_text() {
                "timeouts" => Some((Slot::Timeouts, has_route_timeout(rule, value))),
                "retry" => Some((Slot::Retry, true)),
                "sessionPersistence" => None,
                "filters" => {
                    filters = Some(value);
                    continue;
                }
                _ => continue,
            };
            parts.settings.push((FieldKey::Node(at(name)), at(value)));
            parts.slots.extend(slot);
        }
        for filter in filters.into_iter().flat_map(View::items) {
            let Some(kind) = filter.get("type").and_then(View::as_str) else { continue };
            let setting = match kind {
                "URLRewrite" => "urlRewrite",
                "RequestRedirect" => "requestRedirect",
                "CORS" => "cors",
                "RequestHeaderModifier" | "ResponseHeaderModifier" | "RequestMirror" => {
                    parts.filters.push(at(filter));
                    continue;
                }
                _ => continue,
            };
            let Some(value) = filter.get(setting).filter(|v| !v.is_null()) else { continue };
            let key = FieldKey::Text(setting.into());
            if parts.settings.iter().any(|(known, _)| *known == key) {
                continue;
            }
            parts.settings.push((key, at(value)));
            let written = |member: &str| value.get(member).is_some_and(|v| !v.is_null());
            match setting {
                "cors" => parts.slots.push((Slot::Cors, true)),
                "requestRedirect" => parts.slots.push((Slot::Redirect, true)),
                _ => {
                    parts.slots.extend(written("path").then_some((Slot::Path, true)));
                    parts.slots.extend(written("hostname").then_some((Slot::Hostname, true)));
                }
            }
        }
        parts
    }

    /// The value of the step.
    pub(crate) fn value(&self, step: StepId) -> Traced {
        let whole = |node: &NodeRef| Traced::Whole { step, node: *node };
        let settings = self.settings.iter().map(|(key, node)| (key.clone(), whole(node)));
        let filters = (!self.filters.is_empty()).then(|| {
            let items = self.filters.iter().map(whole).collect();
            (FieldKey::Text("filters".into()), Traced::List(items))
        });
        Traced::map(settings.chain(filters).collect::<Vec<_>>())
    }

    /// The slots it takes.
    pub(crate) fn slots(&self, by: StepId) -> Slots {
        self.slots.iter().map(|(slot, masks)| Taken { slot: *slot, by, masks: *masks }).collect()
    }

    /// Whether it redirects.
    pub(crate) fn redirects(&self) -> bool {
        self.slots.iter().any(|(slot, _)| *slot == Slot::Redirect)
    }
}

/// Whether `timeouts` of a rule limit the whole request. A limit for the backend alone does, unless the rule retries:
/// then it is the limit of a single try.
fn has_route_timeout(rule: View<'_>, timeouts: View<'_>) -> bool {
    let written = |of: View<'_>, key: &str| of.get(key).is_some_and(|v| !v.is_null());
    written(timeouts, "request") || (written(timeouts, "backendRequest") && !written(rule, "retry"))
}
