// SPDX-License-Identifier: Apache-2.0
//! In: policies and filters of rules. Out: where each lands, its step and rank, and the group of policies of each node.
//! Not here: paths.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use overrule_engine::{
    Attachment, Group, LadderId, Landed, LocalLadders, NodeId, PolicyId, Rank, Rejection,
    ResolutionBuilder, Rung, Step, StepId, Traced,
};
use overrule_gateway::kinds::Strategy as GenericStrategy;
use overrule_gateway::policy as generic;
use overrule_gateway::resolve::name_order_with;
use overrule_gateway::topology::{RouteKind, RuleIx, level};
use overrule_model::{GroupKind, ObjectId, ObjectKey, Scope};
use overrule_source::{Diagnostic, Span, View};

use super::builtin::BuiltIns;
use super::plans::{Role, spec};
use super::{Active, attach_references, values};
use crate::World;
use crate::kinds::{ALL, GROUP, KindShape};
use crate::policy::{Policy, strategy};
use crate::{InheritedPriority, codes, reasons};

/// How a policy came to its place; the position is the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// A filter of the rule names it.
    Filter,
    /// It targets a section: a rule, a listener.
    Section,
    /// It targets the whole object.
    Whole,
    /// The rule says it itself.
    BuiltIn,
}

impl Class {
    const NAMES: [&str; 4] = ["by filter", "by section", "by object", "built in"];

    /// What explanations say of the `mode` of a step: how it is attached, and for a rule's own fields the annotation.
    pub(crate) fn mode_name(mode: u16) -> &'static str {
        Self::NAMES.get(usize::from(mode & 3)).copied().unwrap_or("")
    }

    fn mode(self, strategy: InheritedPriority) -> u16 {
        self as u16 | strategy.code() << 2
    }

    /// The strategy of the level a built-in comes from.
    pub(crate) fn strategy_of(mode: u16) -> InheritedPriority {
        InheritedPriority::from_code(mode >> 2)
    }
}

/// A filter of a rule that names one of our objects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filter {
    /// The rule.
    pub(crate) rule: RuleIx,
    /// Position among the filters.
    pub(crate) index: u32,
    /// The policy; none if it does not exist.
    pub(crate) policy: Option<PolicyId>,
    /// The backend whose filter it is; none for a filter of the rule.
    pub(crate) backend: Option<NodeId>,
    /// Where it is written.
    pub(crate) at: Span,
}

/// Where policies landed.
pub(crate) struct Attached {
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) rejections: Vec<Rejection>,
    /// Filters of rules, by rule.
    pub(crate) filters: Vec<Filter>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// A policy as generic attachment wants it.
pub(crate) fn generic(world: World<'_>, policy: &Policy) -> generic::Policy {
    let mut references = policy.references.clone();
    for reference in references.iter_mut().filter(|r| is_host(world, r)) {
        reference.who = generic::Who::Unreadable;
    }
    generic::Policy {
        object: policy.object,
        kind: policy.kind,
        references: references.into(),
        content: policy.admitted.then_some(generic::Content {
            block: "bare",
            value: policy.spec,
            strategy: GenericStrategy::None,
        }),
        at: policy.at,
    }
}

/// Policies without references that no filter leads to, or that an API server refuses: each ends somewhere.
fn without_place(world: World<'_>, filters: &[Filter]) -> Vec<Rejection> {
    let by_filter: BTreeSet<PolicyId> = filters.iter().filter_map(|f| f.policy).collect();
    let alone = (0..).map(PolicyId).zip(&world.policies.list);
    let alone = alone.filter(|(id, p)| p.references.is_empty() && !by_filter.contains(id));
    let rejection = |(policy, p): (PolicyId, &Policy)| {
        let reason: overrule_engine::Reason = match p.admitted {
            true => &overrule_gateway::reasons::NO_TARGET,
            false => &overrule_gateway::reasons::INVALID_POLICY,
        };
        Rejection { policy, reference: 0, reason, at: p.at }
    };
    alone.map(rejection).collect()
}

/// Whether a reference means a host name of Istio's registry, which no manifest holds.
fn is_host(world: World<'_>, reference: &generic::Reference) -> bool {
    let text = |sym| world.snapshot.text(sym);
    (text(reference.group), text(reference.kind)) == ("networking.istio.io", "Hostname")
}

/// Attaches policies to their targets, and to the rules whose filters name them.
pub(crate) fn attach(world: World<'_>) -> Attached {
    let generic::Attached { attachments, mut rejections, mut diagnostics } =
        attach_references(world);
    for rejection in &mut rejections {
        let reference = world
            .policies
            .get(rejection.policy)
            .and_then(|p| p.references.get(rejection.reference as usize));
        if reference.is_some_and(|r| is_host(world, r)) {
            rejection.reason = &reasons::NOT_AN_OBJECT;
        }
    }
    let mut kept = Vec::with_capacity(attachments.len());
    for reference in attachments.chunk_by(|a, b| (a.policy, a.reference) == (b.policy, b.reference))
    {
        // What a rule is called by its position is a name of ours; a section means a name that is written.
        let (named, unnamed): (Vec<Attachment>, Vec<Attachment>) =
            reference.iter().partition(|a| {
                let rule = world.topology.rule_of(a.node).and_then(|r| world.topology.rule(r));
                rule.is_none_or(|r| r.named)
            });
        let Some(Attachment { policy, reference, at, .. }) = unnamed.first().copied() else {
            kept.extend(named);
            continue;
        };
        if named.is_empty() {
            rejections.push(Rejection { policy, reference, reason: &reasons::UNNAMED_RULE, at });
        }
        kept.extend(named);
        let d = Diagnostic::new(
            &codes::UNNAMED_RULE,
            "this section is the position of a rule without a name; kgateway finds rules by their written name only",
        );
        diagnostics.push(d.at(at).help("give the rule this `name` in its route"));
    }
    let filters = filters(world);
    rejections.extend(without_place(world, &filters));
    Attached { attachments: kept, rejections, filters, diagnostics }
}

/// Every ExtensionRef of ours on a rule or one of its backends.
fn filters(world: World<'_>) -> Vec<Filter> {
    // What an API server refuses does not exist.
    let admitted = (0..).map(PolicyId).zip(&world.policies.list).filter(|(_, p)| p.admitted);
    let policies: HashMap<ObjectId, PolicyId> = admitted.map(|(id, p)| (p.object, id)).collect();
    let mut found = Vec::new();
    for (rule, spec) in world.topology.all_rules() {
        let Some(route) = world.topology.route(spec.route) else { continue };
        if !matches!(route.kind, RouteKind::Http | RouteKind::Grpc) {
            continue;
        }
        let tree = world.documents.view(spec.tree);
        let namespace = world.snapshot.get(route.object).map(|o| o.scope);
        let mut add = |list: View<'_>, backend| {
            for (index, item) in (0..).zip(list.items()) {
                let Some(reference) = item.get("extensionRef").filter(|r| is_ours(*r)) else {
                    continue;
                };
                let policy = namespace.and_then(|ns| target(world, ns, reference));
                let policy = policy.and_then(|o| policies.get(&o).copied());
                found.push(Filter { rule, index, policy, backend, at: reference.span() });
            }
        };
        for (key, value) in tree.entries() {
            match key.key_text() {
                "filters" => add(value, None),
                "backendRefs" => {
                    for backend in value.items() {
                        if let Some(list) = backend.get("filters") {
                            add(list, backend_at(world, rule, backend.span()));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// The backend that a reference of a rule leads to.
fn backend_at(world: World<'_>, rule: RuleIx, written: Span) -> Option<NodeId> {
    let written = written.start..written.end;
    let used = world.topology.uses_of(rule).iter().find(|u| written.contains(&u.start))?;
    world.topology.backend(used.backend).map(|b| b.node)
}

/// Whether a reference names a kind that this family attaches by filters.
fn is_ours(reference: View<'_>) -> bool {
    let member = |key| reference.get(key).and_then(View::as_str);
    member("group") == Some(GROUP)
        && matches!(member("kind"), Some("TrafficPolicy" | "DirectResponse"))
}

/// The object a filter names, in the namespace of the route.
fn target(world: World<'_>, scope: Scope, reference: View<'_>) -> Option<ObjectId> {
    let names = world.snapshot.names();
    let member = |key| names.lookup(reference.get(key).and_then(View::as_str)?);
    let kind = GroupKind { group: member("group")?, kind: member("kind")? };
    world.snapshot.find(ObjectKey { kind, scope, name: member("name")? }).map(|o| o.id)
}

/// What a step brings.
pub(crate) struct Content {
    /// Its value in the form merges work on.
    pub(crate) value: Traced,
    /// Why it breaks every rule it reaches.
    pub(crate) problem: Option<overrule_engine::Reason>,
    /// Whose it is; none for what a rule says itself.
    pub(crate) policy: Option<PolicyId>,
}

/// Groups of the policies attached to each node itself, and what their steps bring.
pub(crate) struct Locals {
    pub(crate) ladders: LocalLadders,
    /// By step.
    pub(crate) contents: Vec<Content>,
    /// The slots that built-ins of a rule take.
    pub(crate) slots: BTreeMap<RuleIx, super::builtin::Slots>,
    /// Rules with a filter that leads nowhere.
    pub(crate) broken: BTreeMap<RuleIx, Span>,
    /// Backends with filters of their own, by rule.
    pub(crate) backends: BTreeMap<RuleIx, Vec<OnBackend>>,
}

/// What filters name for one backend of a rule.
pub(crate) struct OnBackend {
    pub(crate) node: NodeId,
    /// For each kind, the group of policies.
    pub(crate) groups: Vec<LadderId>,
    /// A filter that leads nowhere.
    pub(crate) broken: Option<Span>,
}

/// Steps, ranks and groups.
pub(crate) fn build(
    world: World<'_>,
    builder: &mut ResolutionBuilder,
    kinds: &[Active],
    attached: &Attached,
    built_ins: &BuiltIns,
) -> Locals {
    for policy in &world.policies.list {
        let kind = kinds.iter().find(|k| k.index == policy.kind).map(|k| k.id);
        builder.policy(policy.object, kind.unwrap_or(overrule_engine::KindId(u16::MAX)));
    }
    attached.attachments.iter().for_each(|a| builder.attach(*a));
    attached.rejections.iter().for_each(|r| builder.reject(*r));
    let objects: Vec<ObjectId> = world.policies.list.iter().map(|p| p.object).collect();
    // The controller writes the section behind a name, so that `p-a/web` comes before `p/web`.
    let names = ["", "/"].map(|behind| name_order_with(world.snapshot, &objects, behind));
    let mut maker = Maker {
        world,
        builder,
        kinds,
        names,
        contents: Vec::new(),
        places: Vec::new(),
        strategies: HashMap::new(),
    };
    for attachment in &attached.attachments {
        maker.attachment(attachment);
    }
    let mut broken = BTreeMap::new();
    for filter in attached.filters.iter().filter(|f| f.backend.is_none()) {
        match filter.policy {
            Some(policy) => maker.filter(filter, policy),
            None => {
                broken.entry(filter.rule).or_insert(filter.at);
            }
        }
    }
    let backends = maker.backends(attached);
    let slots = maker.built_ins(built_ins);
    let ladders = maker.groups();
    Locals { ladders, contents: maker.contents, slots, broken, backends }
}

struct Maker<'a, 'b> {
    world: World<'a>,
    builder: &'b mut ResolutionBuilder,
    kinds: &'b [Active],
    /// Position of each policy by name: on whole objects, on sections.
    names: [Vec<i64>; 2],
    contents: Vec<Content>,
    /// Everything that landed.
    places: Vec<Landed>,
    /// The strategy of each object that was asked for.
    strategies: HashMap<ObjectId, InheritedPriority>,
}

impl Maker<'_, '_> {
    fn attachment(&mut self, attachment: &Attachment) {
        let node = self.world.topology.nodes.get(attachment.node);
        let Some(node) = node else { return };
        let class = if node.section.is_empty() { Class::Whole } else { Class::Section };
        self.policy(attachment.policy, class, 0, attachment.node);
    }

    fn filter(&mut self, filter: &Filter, policy: PolicyId) {
        let Some(rule) = self.world.topology.rule(filter.rule) else { return };
        self.reached_by(filter, policy, rule.node);
    }

    /// A filter leads to a policy, which counts at a node.
    fn reached_by(&mut self, filter: &Filter, policy: PolicyId, node: NodeId) {
        let references = self.world.policies.get(policy).map_or(0, |p| p.references.len());
        self.builder.attach(Attachment {
            policy,
            // Filters come after the references of the policy.
            reference: u32::try_from(references).unwrap_or(u32::MAX),
            node,
            at: filter.at,
        });
        self.policy(policy, Class::Filter, filter.index, node);
    }

    fn policy(&mut self, id: PolicyId, class: Class, filter: u32, at: NodeId) {
        let world = self.world;
        let Some(policy) = world.policies.get(id).filter(|p| p.admitted) else { return };
        let Some(kind) = self.kinds.iter().position(|k| k.index == policy.kind) else { return };
        let object = world.snapshot.get(policy.object);
        let created = object.map_or(i64::MAX, |o| world.profile.created(o.created));
        let names = self.names.get(usize::from(class == Class::Section));
        let name = names.and_then(|n| n.get(id.0 as usize)).copied().unwrap_or(0);
        let level = world.topology.nodes.get(at).map_or(0, |n| n.level.0);
        let step = Step {
            policy: id,
            entry: None,
            block: block(class, level),
            level,
            value: policy.spec,
            mode: class.mode(InheritedPriority::default()),
            extra: filter,
        };
        let order = match class {
            // The order of the filters alone counts.
            Class::Filter => [0, i64::from(filter), 0, 0, 0],
            _ => [class as i64, 0, -i64::from(policy.weight), created, name],
        };
        let step = self.builder.step(step, Rank::new(order));
        if step.0 as usize == self.contents.len() {
            let value = values::of_policy(world.documents, step, policy);
            self.contents.push(Content { value, problem: policy.problem, policy: Some(id) });
        }
        self.landed(kind, at, step);
    }

    fn landed(&mut self, kind: usize, node: NodeId, step: StepId) {
        let kind = u16::try_from(kind).unwrap_or(u16::MAX);
        self.places.push(Landed { kind, node, step });
    }

    /// Policies that filters of single backends name.
    fn backends(&mut self, attached: &Attached) -> BTreeMap<RuleIx, Vec<OnBackend>> {
        let mut found: BTreeMap<RuleIx, Vec<OnBackend>> = BTreeMap::new();
        let before = std::mem::take(&mut self.places);
        let all = attached.filters.iter().filter(|f| f.backend.is_some());
        let all: Vec<&Filter> = all.collect();
        for filters in all.chunk_by(|a, b| (a.rule, a.backend) == (b.rule, b.backend)) {
            let Some((first, node)) = filters.first().and_then(|f| Some((f, f.backend?))) else {
                continue;
            };
            for filter in filters {
                if let Some(policy) = filter.policy {
                    self.reached_by(filter, policy, node);
                }
            }
            let places = std::mem::take(&mut self.places);
            let groups = (0..self.kinds.len()).map(|kind| {
                let own = places.iter().filter(|l| usize::from(l.kind) == kind);
                let rungs = own.map(|l| Rung::Step(l.step)).collect();
                let spec = spec(kind, Role::Level, InheritedPriority::default());
                let group = Group { spec, extra: 0, rungs };
                if group.rungs.is_empty() {
                    LadderId::EMPTY
                } else {
                    self.builder.ladders.group(group)
                }
            });
            let groups = groups.collect();
            let broken = filters.iter().find(|f| f.policy.is_none()).map(|f| f.at);
            found.entry(first.rule).or_default().push(OnBackend { node, groups, broken });
        }
        self.places = before;
        found
    }

    /// What rules say themselves.
    fn built_ins(&mut self, built_ins: &BuiltIns) -> BTreeMap<RuleIx, super::builtin::Slots> {
        let mut slots = BTreeMap::new();
        let Some(kind) = self.kinds.iter().position(|k| k.info.shape == KindShape::BuiltIn) else {
            return slots;
        };
        let Some(id) = self.kinds.get(kind).map(|k| k.id) else { return slots };
        let mut last: Option<(ObjectId, PolicyId)> = None;
        for (rule, parts) in built_ins.rules() {
            let Some(spec) = self.world.topology.rule(rule) else { continue };
            let Some(route) = self.world.topology.route(spec.route) else { continue };
            let policy = match last {
                Some((object, policy)) if object == route.object => policy,
                _ => self.builder.policy(route.object, id),
            };
            last = Some((route.object, policy));
            self.builder.attach(Attachment {
                policy,
                reference: spec.index,
                node: spec.node,
                at: self.world.documents.view(spec.tree).span(),
            });
            let strategy = self.strategy(route.object);
            let step = Step {
                policy,
                entry: None,
                block: "rule",
                level: level::RULE.0,
                value: spec.tree,
                mode: Class::BuiltIn.mode(strategy),
                extra: 0,
            };
            let step = self.builder.step(step, Rank::new([Class::BuiltIn as i64, 0, 0, 0, 0]));
            if step.0 as usize == self.contents.len() {
                let value = parts.value(step);
                self.contents.push(Content { value, problem: None, policy: None });
            }
            self.landed(kind, spec.node, step);
            slots.insert(rule, parts.slots(step));
        }
        slots
    }

    fn strategy(&mut self, object: ObjectId) -> InheritedPriority {
        let world = self.world;
        *self
            .strategies
            .entry(object)
            .or_insert_with(|| strategy(world.documents, world.snapshot, object))
    }

    /// The strategy of the object a node belongs to.
    fn strategy_at(&mut self, node: NodeId) -> InheritedPriority {
        let Some(found) = self.world.topology.nodes.get(node) else {
            return InheritedPriority::default();
        };
        let above = found.level < level::ROUTE;
        match found.object {
            Some(_) if above && !self.world.profile.reads_annotation_above_routes() => {
                InheritedPriority::default()
            }
            // Nothing inherits from a route that hands nothing over.
            Some(_) if !above && !self.hands_over(node) => InheritedPriority::default(),
            Some(object) if found.level <= level::RULE => self.strategy(object),
            _ => InheritedPriority::default(),
        }
    }

    /// Whether a route, or the route of a rule, delegates.
    fn hands_over(&self, node: NodeId) -> bool {
        let topology = self.world.topology;
        let rule = topology.rule_of(node).and_then(|r| topology.rule(r)).map(|r| r.route);
        let Some(route) = topology.route_of(node).or(rule) else { return false };
        topology.rules_of(route).any(|(rule, _)| !topology.delegations_of(rule).is_empty())
    }

    /// The group of each node, in the order of ranks.
    fn groups(&mut self) -> LocalLadders {
        let landed = std::mem::take(&mut self.places);
        let strategies = landed.iter().map(|l| l.node).map(|node| (node, self.strategy_at(node)));
        let strategies: HashMap<NodeId, InheritedPriority> = strategies.collect();
        let size = (self.kinds.len(), self.world.topology.nodes.len());
        self.builder.local_ladders(size, landed, |kind, node| {
            let strategy = strategies.get(&node).copied().unwrap_or_default();
            spec(usize::from(kind), Role::Level, strategy)
        })
    }
}

/// What a step is called: how its policy is attached.
fn block(class: Class, at: u8) -> &'static str {
    match (class, at) {
        (Class::Filter, _) => "extensionRef",
        (Class::Section, at) if at == level::RULE.0 => "rule",
        (Class::Section, _) => "listener",
        (Class::Whole, at) if at == level::GATEWAY.0 => "gateway",
        (Class::Whole, at) if at == level::LISTENER_SET.0 => "listenerset",
        (Class::Whole, at) if at >= level::BACKEND.0 => "backend",
        (Class::Whole, _) => "route",
        (Class::BuiltIn, _) => "rule",
    }
}

/// The kind of a policy, for what is told about it.
impl Policy {
    pub(crate) fn kind_name(&self) -> &'static str {
        ALL.get(self.kind).map_or("", |k| k.kind)
    }
}
