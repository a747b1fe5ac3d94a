// SPDX-License-Identifier: Apache-2.0
//! In: a policy on a route or one of its rules. Out: its claim, its status, and the policies it is merged with. Not
//! here: Gateways and listeners (`upper`).

use overrule_engine::{NodeId, PolicyId};
use overrule_gateway::topology::{ListenerIx, ParentTarget, RouteIx, RouteKind};
use serde_json::Value;

use super::Plan;
use super::lookup::Found;
use crate::fabric::{ManagedParent, Wire};
use crate::kinds::KindRole;
use crate::policy::Policy;
use crate::status::{Place, ScopeKey, kind};
use crate::translate::{Translation, security};

/// A policy on a route: what is needed to say what became of it.
struct OnRoute<'p> {
    id: PolicyId,
    policy: &'p Policy,
    route: RouteIx,
    kind: RouteKind,
    /// The rule or the route.
    node: NodeId,
    parents: Vec<ManagedParent>,
    scope: ScopeKey,
}

impl Plan<'_> {
    /// Processes a policy on a route or rule.
    pub(super) fn on_route(&mut self, id: PolicyId, policy: &Policy, found: &Found) {
        let topology = self.fabric.world.topology;
        let Some(route) = topology.route_of(found.node) else { return };
        let Some(kind) = topology.route(route).map(|r| r.kind) else { return };
        let parents = self.fabric.parents(route).into_vec();
        if parents.is_empty() {
            return;
        }
        let scope =
            ScopeKey::Route(self.fabric.full_name(found.node), super::lookup::kind_word(kind));
        if self.tells {
            parents.iter().for_each(|parent| self.note_parent(parent, &scope));
        }
        let places: Vec<Place> =
            parents.iter().map(|parent| self.place_of_parent(parent)).collect();
        let node = match self.claim_route(id, policy, found, (route, kind)) {
            Ok(node) => node,
            Err((reason, message)) => {
                for place in &places {
                    self.set(id, place, kind::ACCEPTED, (false, reason), message.clone());
                }
                return;
            }
        };
        self.land(id, policy, found.reference, node);
        let on = OnRoute { id, policy, route, kind, node, parents, scope };
        if policy.info.role == KindRole::Security
            && let Some(text) = security::refused(self.spec(id), kind == RouteKind::Tcp)
        {
            let of = if kind == RouteKind::Tcp { " for TCP route" } else { "" };
            let text = format!("invalid SecurityPolicy{of}: {text}");
            self.refused.insert((id, node));
            if let Some(status) = self.status(id) {
                places.iter().for_each(|place| status.invalid(place, &text));
            }
            return;
        }
        if !self.tells {
            return;
        }
        match policy.merge {
            None => {
                let text = self.route_errors(&on, self.spec(id), self.translation(id), None);
                if let (Some(text), Some(status)) = (text, self.status(id)) {
                    places.iter().for_each(|place| status.invalid(place, &text));
                }
            }
            Some(_) => self.merge_on(&on),
        }
        let warning = super::upper::deprecated(policy.info.role, self.spec(id));
        let claimed = match found.section {
            None => self.claimed_rules(policy.kind, route),
            Some(_) => Vec::new(),
        };
        let Some(status) = self.status(id) else { return };
        for place in &places {
            status.accept(place);
            if let Some(warning) = &warning {
                status.warn(place, "DeprecatedField", warning);
            }
            if !claimed.is_empty() {
                let message = format!(
                    "This policy is being overridden by other {} for these route rules: [{}]",
                    policy.info.rule_plural,
                    claimed.join(" ")
                );
                status.set(place, kind::OVERRIDDEN, (true, "Overridden"), message);
            }
        }
    }

    /// Notes that something on a route overrides what stands at a parent of it.
    fn note_parent(&mut self, parent: &ManagedParent, scope: &ScopeKey) {
        let name = self.fabric.full_name(parent.node);
        let section = self.text(parent.section).to_owned();
        let above = match (parent.target, section.is_empty()) {
            (ParentTarget::Gateway(_), true) => ScopeKey::Gateway(name),
            (ParentTarget::Gateway(_), false) => ScopeKey::GatewayListener(name, section),
            (ParentTarget::Set(_), empty) => {
                let gateway = self.fabric.world.topology.gateway(parent.gateway);
                let gateway = gateway.map_or_else(String::new, |g| self.fabric.full_name(g.node));
                self.overrides.register(name.clone(), gateway);
                if empty { ScopeKey::Set(name) } else { ScopeKey::SetListener(name, section) }
            }
            (ParentTarget::Service(_), _) => return,
        };
        self.overrides.add(above, scope.clone());
    }

    fn place_of_parent(&self, parent: &ManagedParent) -> Place {
        let kind = match parent.target {
            ParentTarget::Gateway(_) => "Gateway",
            ParentTarget::Set(_) => "ListenerSet",
            ParentTarget::Service(_) => "Service",
        };
        self.place(kind, parent.node, self.text(parent.section))
    }

    /// Claims the route or the rule; else the reason and the message of the condition.
    fn claim_route(
        &mut self,
        id: PolicyId,
        policy: &Policy,
        found: &Found,
        (route, kind): (RouteIx, RouteKind),
    ) -> Result<NodeId, (&'static str, String)> {
        let topology = self.fabric.world.topology;
        let name = self.fabric.name(found.node);
        let node = match found.section {
            None => found.node,
            Some(section) => {
                // Only a written name means a rule.
                let mut rules = topology.rules_of(route).filter(|(_, rule)| rule.named);
                let named = rules.find(|(_, rule)| {
                    topology.nodes.get(rule.node).is_some_and(|node| node.section == section)
                });
                match named {
                    Some((_, rule)) => rule.node,
                    None => {
                        let positional = topology.rules_of(route).any(|(_, rule)| {
                            topology.nodes.get(rule.node).is_some_and(|n| n.section == section)
                        });
                        let reason = match positional {
                            true => &crate::reasons::UNNAMED_RULE,
                            false => &overrule_gateway::reasons::SECTION_NOT_FOUND,
                        };
                        self.miss(id, found.reference, reason);
                        let message = format!(
                            "No section name {} found for {} {}",
                            self.text(section),
                            kind.name(),
                            self.fabric.full_name(found.node)
                        );
                        return Err(("TargetNotFound", message));
                    }
                }
            }
        };
        if let Err(winner) = self.claim(id, policy, node) {
            self.conflict(id, found.reference, node, winner);
            let of = policy.info.kind;
            let what = match found.section {
                None => format!("{} {name}", kind.name()),
                Some(section) => format!("RouteRule {name}/{}", self.text(section)),
            };
            let message =
                format!("Unable to target {what}, another {of} has already attached to it");
            return Err(("Conflicted", message));
        }
        Ok(node)
    }

    /// Names of the rules of a route that policies have claimed so far.
    fn claimed_rules(&self, kind: usize, route: RouteIx) -> Vec<String> {
        let topology = self.fabric.world.topology;
        let rules = topology.rules_of(route).filter(|(_, rule)| rule.named);
        let claimed = rules.filter(|(_, rule)| self.holder(kind, rule.node).is_some());
        let named = claimed.filter_map(|(_, rule)| topology.nodes.get(rule.node));
        let mut names: Vec<String> = named.map(|node| self.text(node.section).to_owned()).collect();
        names.sort_unstable();
        names
    }

    /// Merges a policy with the closest one above it, listener by listener.
    fn merge_on(&mut self, on: &OnRoute<'_>) {
        for parent in &on.parents {
            for listener in self.fabric.kept(on.route, parent) {
                self.merge_at(on, listener);
            }
        }
    }

    fn merge_at(&mut self, on: &OnRoute<'_>, listener: ListenerIx) {
        let place = self.place_of_listener(listener);
        let Some((above, at)) = self.parent_of_phase(on, listener) else {
            let text =
                self.route_errors(on, self.spec(on.id), self.translation(on.id), Some(listener));
            if let (Some(text), Some(status)) = (text, self.status(on.id)) {
                status.invalid(&place, &text);
            }
            return;
        };
        let Some(merged) = self.merged(on.id, above) else { return };
        let refused = match on.policy.info.role {
            KindRole::Security => security::refused(&merged.value, on.kind == RouteKind::Tcp),
            _ => None,
        };
        let text = refused
            .or_else(|| self.route_errors(on, &merged.value, &merged.translation, Some(listener)));
        if let Some(text) = text {
            if let Some(status) = self.status(on.id) {
                status.invalid(&place, &text);
            }
            return;
        }
        let scope = self.scope_of(at);
        self.merges.add(scope, on.scope.clone());
        let name = self.policy(above).and_then(|p| self.fabric.world.snapshot.get(p.object));
        let name = name.map(|o| format!("{}/{}", self.text(o.scope.name()), self.text(o.name)));
        let message = format!("Merged with policy {}", name.unwrap_or_default());
        self.set(on.id, &place, kind::MERGED, (true, "Merged"), message);
    }

    /// The policy that one on a route is merged with. Those above are not processed yet: who claims a place is the first
    /// in order that names it.
    fn parent_of_phase(
        &self,
        on: &OnRoute<'_>,
        listener: ListenerIx,
    ) -> Option<(PolicyId, NodeId)> {
        let topology = self.fabric.world.topology;
        let listener = topology.listener(listener)?;
        let gateway = topology.gateway(listener.gateway?)?.node;
        let set = listener.set.and_then(|ix| topology.set(ix)).map(|set| set.node);
        let places = [Some(listener.node), set, Some(gateway)];
        let firsts = self.firsts.get(&on.policy.kind)?;
        let mut places = places.into_iter().flatten();
        places.find_map(|node| Some((*firsts.get(&node)?, node)))
    }

    /// What the controller says of a policy on a route: all of it, or the part about one listener.
    fn route_errors(
        &self,
        on: &OnRoute<'_>,
        spec: &Value,
        translation: &Translation,
        only: Option<ListenerIx>,
    ) -> Option<String> {
        let role = on.policy.info.role;
        let (first, each): (&[&str], &[&str]) = match role {
            KindRole::Security => {
                (&["basicAuth", "apiKeyAuth", "authorization"], &["extAuth", "oidc", "jwt"])
            }
            KindRole::Extension => (&["wasm"], &["lua", "extProc", "dynamicModule"]),
            _ => {
                return joined(translation.faults.iter().map(|fault| fault.text.clone()).collect());
            }
        };
        let texts = |fields: &[&str]| {
            let fields = fields.iter().filter_map(|field| on.policy.info.field(field));
            let faults =
                fields.flat_map(|n| translation.faults.iter().filter(move |f| f.field == n));
            faults.map(|fault| fault.text.clone()).collect::<Vec<_>>()
        };
        let mut found = texts(first);
        let gateway = only.and_then(|ix| self.fabric.world.topology.listener(ix)?.gateway);
        for parent in &on.parents {
            // Without a listener that lets the route in, the controller does not look further.
            if gateway.is_some_and(|gateway| gateway != parent.gateway)
                || self.fabric.kept(on.route, parent).is_empty()
            {
                continue;
            }
            found.extend(texts(each));
            if role == KindRole::Security {
                found.extend(self.location_errors(on, spec, parent, only));
            }
        }
        joined(found)
    }

    /// What listeners lack for a policy that asks where clients are.
    fn location_errors(
        &self,
        on: &OnRoute<'_>,
        spec: &Value,
        parent: &ManagedParent,
        only: Option<ListenerIx>,
    ) -> Vec<String> {
        if !matches!(on.kind, RouteKind::Http | RouteKind::Grpc) {
            return Vec::new();
        }
        let topology = self.fabric.world.topology;
        let kept = self.fabric.kept(on.route, parent).into_iter();
        let kept = kept.filter(|ix| only.is_none_or(|only| only == *ix));
        let serves = |ix: &ListenerIx| {
            let is_http = topology.listener(*ix).is_some_and(|l| self.fabric.wire(l) == Wire::Http);
            is_http && self.has_free_rows(on, *ix)
        };
        let problems = kept.filter(serves).filter_map(|ix| self.location_problem(spec, ix));
        problems.map(|text| format!("Authorization: {text}")).collect()
    }

    /// Whether a policy takes a row on a listener: one that no policy of a rule has taken.
    fn has_free_rows(&self, on: &OnRoute<'_>, listener: ListenerIx) -> bool {
        let topology = self.fabric.world.topology;
        let mut links = topology.links_of_route(on.route);
        if !links.any(|(ix, link)| link.listener == listener && self.fabric.carries(ix, link)) {
            return false;
        }
        let is_rule = topology.rule_of(on.node).is_some();
        is_rule
            || topology.rules_of(on.route).any(|(_, rule)| {
                self.holder(on.policy.kind, rule.node)
                    .is_none_or(|holder| self.is_refused(holder, rule.node))
            })
    }

    fn place_of_listener(&self, listener: ListenerIx) -> Place {
        let topology = self.fabric.world.topology;
        let Some(listener) = topology.listener(listener) else {
            return self.place("Gateway", NodeId(u32::MAX), "");
        };
        let kind = if listener.set.is_some() { "ListenerSet" } else { "Gateway" };
        self.place(kind, listener.node, self.text(listener.name))
    }
}

/// Several texts as one; nothing if there are none.
pub(super) fn joined(texts: Vec<String>) -> Option<String> {
    (!texts.is_empty()).then(|| texts.join("\n"))
}
