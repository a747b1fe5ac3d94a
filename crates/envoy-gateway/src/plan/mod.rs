// SPDX-License-Identifier: Apache-2.0
//! In: policies and the part of the topology that the controller serves. Out: who claims what, what cannot be
//! translated, and the statuses, by going through the policies as the controller does. Not here: what is in force on a
//! row (`resolve`).
//!
//! ```text
//! for each kind, all policies in order, phase by phase:
//!     rules of routes, routes, listeners of ListenerSets, ListenerSets, listeners of Gateways, Gateways
//! a target is claimed by the first policy that names it, before anybody looks whether the policy is sound
//! ```

mod client;
mod lookup;
mod patch;
mod proxy;
mod routes;
mod upper;

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use hashbrown::{HashMap, HashSet};
use overrule_engine::{Attachment, NodeId, PolicyId, Reason, Rejection};
use overrule_family::Condition;
use overrule_gateway::topology::{GatewayIx, ListenerIx};
use overrule_model::{GroupKind, ObjectId, Sym};
use serde_json::Value;

use crate::fabric::Fabric;
use crate::kinds::{FieldSet, KindRole};
use crate::merge::{Plans, written};
use crate::policy::{MergeType, Policy};
use crate::status::{Place, ScopeGraph, Status};
use crate::translate::{Alone, Both, Translation, security, translate};
use crate::{World, reasons};

pub(crate) use proxy::ProxyOf;

/// Where a policy stands among the phases of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Rules,
    Routes,
    SetListeners,
    Sets,
    Listeners,
    Gateways,
}

impl Phase {
    const ALL: [Self; 6] = [
        Self::Rules,
        Self::Routes,
        Self::SetListeners,
        Self::Sets,
        Self::Listeners,
        Self::Gateways,
    ];

    /// Whether it is about sections.
    fn has_section(self) -> bool {
        matches!(self, Self::Rules | Self::SetListeners | Self::Listeners)
    }
}

/// A policy that lost a target to another one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conflict {
    pub(crate) policy: PolicyId,
    pub(crate) reference: u32,
    pub(crate) node: NodeId,
    pub(crate) winner: PolicyId,
}

/// What a ClientTrafficPolicy does to a listener.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientAt {
    pub(crate) policy: PolicyId,
    /// The place at which the policy is attached.
    pub(crate) node: NodeId,
    /// Whether it cannot be translated, so that the listener answers 500.
    pub(crate) fails: bool,
    /// Fields in force.
    pub(crate) fields: FieldSet,
}

/// Two policies as one.
#[derive(Debug)]
pub(crate) struct MergedSpec {
    pub(crate) value: Value,
    pub(crate) translation: Translation,
}

/// Why a reference did not land.
#[derive(Debug, Clone, Copy)]
struct Missed {
    reason: Reason,
}

/// Objects by kind and a pair of labels.
type LabelIndex = HashMap<(GroupKind, Sym, Sym), Vec<ObjectId>>;

/// What going through the policies gave.
pub(crate) struct Plan<'a> {
    pub(crate) fabric: Fabric<'a>,
    pub(crate) plans: Plans,
    specs: Vec<OnceCell<Value>>,
    translations: Vec<OnceCell<Translation>>,
    merged: RefCell<HashMap<(PolicyId, PolicyId), Rc<MergedSpec>>>,
    /// The first policies in order that name places above routes, by kind.
    firsts: HashMap<usize, HashMap<NodeId, PolicyId>>,
    /// Made when a selector is first looked up.
    labels: OnceCell<LabelIndex>,
    /// Who claims a node, by kind.
    slots: HashMap<(usize, NodeId), PolicyId>,
    /// SecurityPolicies that the controller refuses on a route or rule, and goes on.
    refused: HashSet<(PolicyId, NodeId)>,
    pub(crate) clients: HashMap<ListenerIx, ClientAt>,
    /// Listeners from which a ClientTrafficPolicy was kept off because others share the port.
    pub(crate) shared_ports: Vec<(PolicyId, ListenerIx)>,
    /// By Gateway.
    pub(crate) proxies: Vec<ProxyOf>,
    /// Whether statuses are wanted. They name all routes below a policy.
    tells: bool,
    statuses: Vec<Status>,
    overrides: ScopeGraph,
    merges: ScopeGraph,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) rejections: Vec<Rejection>,
    pub(crate) conflicts: Vec<Conflict>,
    missed: HashMap<(PolicyId, u32), Missed>,
    landed: HashSet<(PolicyId, u32)>,
}

impl<'a> Plan<'a> {
    /// Goes through all policies.
    pub(crate) fn new(world: World<'a>) -> Self {
        Self::go(world, false)
    }

    /// The same with the statuses that the controller writes meanwhile.
    pub(crate) fn with_statuses(world: World<'a>) -> Self {
        Self::go(world, true)
    }

    fn go(world: World<'a>, tells: bool) -> Self {
        let count = world.policies.list.len();
        let mut plan = Self {
            fabric: Fabric::new(world),
            plans: Plans::new(world.profile),
            specs: (0..count).map(|_| OnceCell::new()).collect(),
            translations: (0..count).map(|_| OnceCell::new()).collect(),
            merged: RefCell::default(),
            firsts: HashMap::new(),
            labels: OnceCell::new(),
            slots: HashMap::new(),
            refused: HashSet::new(),
            clients: HashMap::new(),
            shared_ports: Vec::new(),
            proxies: Vec::new(),
            tells,
            statuses: vec![Status::default(); if tells { count } else { 0 }],
            overrides: ScopeGraph::default(),
            merges: ScopeGraph::default(),
            attachments: Vec::new(),
            rejections: Vec::new(),
            conflicts: Vec::new(),
            missed: HashMap::new(),
            landed: HashSet::new(),
        };
        plan.find_proxies();
        plan.patches();
        plan.clients();
        for role in [KindRole::Traffic, KindRole::Security, KindRole::Extension] {
            plan.on_rows(role);
        }
        plan.reject_rest();
        plan
    }

    pub(crate) fn world(&self) -> World<'a> {
        self.fabric.world
    }

    pub(crate) fn policy(&self, id: PolicyId) -> Option<&'a Policy> {
        self.fabric.world.policies.get(id).map(|policy| &**policy)
    }

    /// Policies of a role in the order in which they are processed: by age, namespace and name.
    fn in_order(&self, role: KindRole) -> Vec<(PolicyId, &'a Policy)> {
        let world = self.fabric.world;
        let of_kind = world.policies.of_kind(crate::kinds::number(role));
        let mut list: Vec<(PolicyId, &'a Policy)> = of_kind.map(|(id, p)| (id, &**p)).collect();
        list.sort_by_cached_key(|(_, policy)| {
            let object = world.snapshot.get(policy.object);
            let patch = if role == KindRole::Patch { policy.priority } else { 0 };
            (patch, object.map(|object| self.fabric.object_order(object)))
        });
        list
    }

    /// All policies of a kind that rows take.
    fn on_rows(&mut self, role: KindRole) {
        (self.overrides, self.merges) = (ScopeGraph::default(), ScopeGraph::default());
        self.find_firsts(role);
        let policies = self.in_order(role);
        for phase in Phase::ALL {
            for (id, policy) in &policies {
                for found in self.targets(*id, policy, phase) {
                    match phase {
                        Phase::Rules | Phase::Routes => self.on_route(*id, policy, &found),
                        _ => self.on_upper(*id, policy, &found, phase),
                    }
                }
            }
        }
    }

    /// Claims a node for a policy; if another one has it, that one.
    fn claim(&mut self, id: PolicyId, policy: &Policy, node: NodeId) -> Result<(), PolicyId> {
        let holder = *self.slots.entry((policy.kind, node)).or_insert(id);
        if holder == id { Ok(()) } else { Err(holder) }
    }

    /// Who claims a node.
    pub(crate) fn holder(&self, kind: usize, node: NodeId) -> Option<PolicyId> {
        self.slots.get(&(kind, node)).copied()
    }

    /// Whether the controller refuses a policy at a node, and goes on to the next one.
    pub(crate) fn is_refused(&self, id: PolicyId, node: NodeId) -> bool {
        self.refused.contains(&(id, node))
    }

    fn land(&mut self, id: PolicyId, policy: &Policy, reference: u32, node: NodeId) {
        if let Some(target) = policy.targets.get(reference as usize) {
            self.attachments.push(Attachment { policy: id, reference, node, at: target.at });
            self.landed.insert((id, reference));
        }
    }

    fn miss(&mut self, id: PolicyId, reference: u32, reason: Reason) {
        self.missed.insert((id, reference), Missed { reason });
    }

    fn conflict(&mut self, id: PolicyId, reference: u32, node: NodeId, winner: PolicyId) {
        self.conflicts.push(Conflict { policy: id, reference, node, winner });
        self.miss(id, reference, &reasons::CONFLICTED);
    }

    fn status(&mut self, id: PolicyId) -> Option<&mut Status> {
        self.statuses.get_mut(id.0 as usize)
    }

    fn set(
        &mut self,
        id: PolicyId,
        at: &Place,
        kind: &'static str,
        (status, reason): (bool, &'static str),
        message: String,
    ) {
        if let Some(found) = self.status(id) {
            found.set(at, kind, (status, reason), message);
        }
    }

    /// The spec of a policy as JSON.
    pub(crate) fn spec(&self, id: PolicyId) -> &Value {
        static NONE: Value = Value::Null;
        let (Some(cell), Some(policy)) = (self.specs.get(id.0 as usize), self.policy(id)) else {
            return &NONE;
        };
        cell.get_or_init(|| self.fabric.world.documents.view(policy.spec).to_json())
    }

    pub(crate) fn namespace(&self, policy: &Policy) -> &'a str {
        self.fabric.text(policy.namespace)
    }

    /// What cannot be translated of a policy alone.
    pub(crate) fn translation(&self, id: PolicyId) -> &Translation {
        static NONE: Translation = Translation {
            faults: Vec::new(),
            present: FieldSet::NONE,
            inert: FieldSet::NONE,
            left_out: Vec::new(),
            opens: FieldSet::NONE,
            assumed: Vec::new(),
        };
        let (Some(cell), Some(policy)) = (self.translations.get(id.0 as usize), self.policy(id))
        else {
            return &NONE;
        };
        cell.get_or_init(|| {
            let owner = Alone(self.namespace(policy));
            translate(&self.fabric, policy.info, self.spec(id), &owner)
        })
    }

    /// A policy of a route merged with one above it.
    pub(crate) fn merged(&self, child: PolicyId, parent: PolicyId) -> Option<Rc<MergedSpec>> {
        if let Some(known) = self.merged.borrow().get(&(child, parent)) {
            return Some(Rc::clone(known));
        }
        let (own, above) = (self.policy(child)?, self.policy(parent)?);
        let how = (own.info.role, own.merge.unwrap_or(MergeType::Json));
        let (documents, sides) = (self.fabric.world.documents, [own.spec, above.spec]);
        let [lower, upper] = sides;
        let value = self.plans.merged(documents, how, written(0, lower), written(1, upper));
        let owners =
            Both { child: (self.spec(child), self.namespace(own)), parent: self.namespace(above) };
        let translation = translate(&self.fabric, own.info, &value, &owners);
        let merged = Rc::new(MergedSpec { value, translation });
        self.merged.borrow_mut().insert((child, parent), Rc::clone(&merged));
        Some(merged)
    }

    /// The policy that a policy with `mergeType` is merged with on a listener: the closest one, and only that.
    pub(crate) fn parent_of(
        &self,
        kind: usize,
        listener: ListenerIx,
    ) -> Option<(PolicyId, NodeId)> {
        let topology = self.fabric.world.topology;
        let listener = topology.listener(listener)?;
        let gateway = topology.gateway(listener.gateway?)?.node;
        let set = listener.set.and_then(|ix| topology.set(ix)).map(|set| set.node);
        let places = [Some(listener.node), set, Some(gateway)];
        let mut places = places.into_iter().flatten();
        places.find_map(|node| Some((self.holder(kind, node)?, node)))
    }

    /// What the controller says of a SecurityPolicy that asks where clients are, on a listener.
    pub(crate) fn location_problem(&self, spec: &Value, listener: ListenerIx) -> Option<String> {
        let topology = self.fabric.world.topology;
        let gateway = topology.listener(listener)?.gateway?;
        let client = self.clients.get(&listener).map(|client| self.spec(client.policy));
        let detection =
            client.and_then(|spec| spec.get("clientIPDetection")).filter(|d| !d.is_null());
        let proxy = self.proxies.get(gateway.at()).map(|proxy| &proxy.value);
        security::location_problem(spec, detection, proxy)
    }

    /// Whether Gateways of the class of one share a proxy.
    pub(crate) fn is_shared(&self, gateway: GatewayIx) -> bool {
        self.proxies.get(gateway.at()).is_some_and(|proxy| proxy.shared)
    }

    /// References that landed nowhere end in one rejection each.
    fn reject_rest(&mut self) {
        let world = self.fabric.world;
        for (id, policy) in (0..).map(PolicyId).zip(&world.policies.list) {
            for (reference, target) in (0..).zip(&policy.targets) {
                if self.landed.contains(&(id, reference)) {
                    continue;
                }
                let known = self.missed.get(&(id, reference)).map(|missed| missed.reason);
                let reason = known.unwrap_or_else(|| self.why_not(policy, target));
                self.rejections.push(Rejection { policy: id, reference, reason, at: target.at });
            }
            if policy.targets.is_empty() && !self.landed.contains(&(id, 0)) {
                let reason: Reason = match policy.info.role {
                    KindRole::Proxy => &reasons::UNUSED_PROXY,
                    _ => &overrule_gateway::reasons::NO_TARGET,
                };
                self.rejections.push(Rejection { policy: id, reference: 0, reason, at: policy.at });
            }
        }
    }

    fn text(&self, name: Sym) -> &'a str {
        self.fabric.text(name)
    }

    /// EnvoyPatchPolicies in the order in which they are applied.
    pub(crate) fn patches_in_order(&self) -> Vec<(PolicyId, &'a Policy)> {
        self.in_order(KindRole::Patch)
    }

    /// The conditions on each policy, in the order of policies.
    pub(crate) fn conditions(self) -> Vec<Vec<Condition>> {
        let Self { fabric, statuses, .. } = self;
        let node = |place: &Place| {
            let group = overrule_gateway::topology::GROUP;
            let topology = fabric.world.topology;
            let object = fabric.find(group, place.kind, &place.namespace, &place.name)?;
            if place.section.is_empty() {
                return topology.object_node(object.id);
            }
            let section = fabric.world.snapshot.names().lookup(&place.section)?;
            topology.section_node(object.id, section)
        };
        statuses.into_iter().map(|status| status.conditions(node)).collect()
    }
}
