// SPDX-License-Identifier: Apache-2.0
//! In: a row, and who claims what above it. Out: its ladder: its candidates, the most specific first, with what is done
//! with each. Not here: paths.

use hashbrown::HashMap;
use overrule_engine::{
    Group, LadderId, NodeId, PolicyId, Rank, Reason, ResolutionBuilder, Rung, Step, StepId,
};
use overrule_gateway::resolve::name_order;
use overrule_gateway::topology::{ListenerIx, RouteKind, level};
use overrule_model::ObjectId;
use overrule_source::{Documents, NodeRef};
use smallvec::SmallVec;

use super::algebra::{Form, ROUTING};
use super::recipe::{Deed, Recipe, Recipes, RungPlan};
use crate::kinds::{FieldSet, KindInfo, KindRole};
use crate::plan::{MergedSpec, Plan};
use crate::policy::{MergeType, Policy};
use crate::reasons;
use crate::translate::{Translation, security};

/// Where a candidate stands: its place in the order of specificity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Specificity {
    Rule,
    Route,
    Listener,
    Set,
    Gateway,
    Class,
}

impl Specificity {
    fn of(level: u8) -> Self {
        match level {
            l if l == level::RULE.0 => Self::Rule,
            l if l == level::ROUTE.0 => Self::Route,
            l if l == level::LISTENER.0 => Self::Listener,
            l if l == level::LISTENER_SET.0 => Self::Set,
            l if l == level::CLASS.0 => Self::Class,
            _ => Self::Gateway,
        }
    }

    fn block(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Route => "route",
            Self::Listener => "listener",
            Self::Set => "listenerset",
            Self::Gateway => "gateway",
            Self::Class => "class",
        }
    }
}

/// A row, as far as its ladder depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Row {
    pub(super) listener: ListenerIx,
    pub(super) kind: RouteKind,
    /// The route, if a policy claims it or one of its rules.
    pub(super) route: Option<NodeId>,
    /// The rule, if a policy claims it.
    pub(super) rule: Option<NodeId>,
    /// Whether the route is attached by the name of the listener.
    pub(super) by_section: bool,
}

/// Makes ladders.
pub(super) struct Rows<'a, 'p, 'b> {
    pub(super) plan: &'a Plan<'p>,
    pub(super) builder: &'b mut ResolutionBuilder,
    pub(super) recipes: Recipes,
    /// Positions of policies by name.
    names: Vec<i64>,
    steps: HashMap<(PolicyId, NodeId), StepId>,
    known: HashMap<(usize, Row), LadderId>,
}

/// What is done with a candidate.
pub(super) struct Verdict {
    pub(super) deed: Deed,
    pub(super) reason: Reason,
    pub(super) keep: FieldSet,
    pub(super) failed: FieldSet,
    pub(super) left_out: Vec<(u8, usize)>,
    pub(super) fails: bool,
}

impl Verdict {
    pub(super) fn idle(deed: Deed, reason: Reason) -> Self {
        let (keep, failed) = (FieldSet::ALL, FieldSet::NONE);
        Self { deed, reason, keep, failed, left_out: Vec::new(), fails: false }
    }
}

impl<'a, 'p, 'b> Rows<'a, 'p, 'b> {
    pub(super) fn new(plan: &'a Plan<'p>, builder: &'b mut ResolutionBuilder) -> Self {
        let world = plan.world();
        let objects: Vec<ObjectId> = world.policies.list.iter().map(|p| p.object).collect();
        let names = name_order(world.snapshot, &objects);
        Self {
            plan,
            builder,
            recipes: Recipes::default(),
            names,
            steps: HashMap::new(),
            known: HashMap::new(),
        }
    }

    /// The step of a policy at a node.
    fn step(&mut self, id: PolicyId, node: NodeId) -> Option<StepId> {
        if let Some(known) = self.steps.get(&(id, node)) {
            return Some(*known);
        }
        let world = self.plan.world();
        let policy = self.plan.policy(id)?;
        let level = world.topology.nodes.level_of(node)?.0;
        let specificity = Specificity::of(level);
        let age = world.snapshot.get(policy.object).map(|o| world.profile.age(o.created));
        let name = self.names.get(id.0 as usize).copied().unwrap_or(0);
        let first = match policy.info.role {
            KindRole::Patch => policy.priority,
            _ => specificity as i64,
        };
        let rank = Rank::new([first, age.unwrap_or(0), name]);
        let mode = match policy.merge {
            None => 0,
            Some(MergeType::Strategic) => 1,
            Some(MergeType::Json) => 2,
            Some(MergeType::Replace) => 3,
        };
        let step = Step {
            policy: id,
            entry: None,
            block: specificity.block(),
            level,
            value: policy.spec,
            mode,
            extra: 0,
        };
        let step = self.builder.step(step, rank);
        self.steps.insert((id, node), step);
        Some(step)
    }

    pub(super) fn rung(
        &mut self,
        id: PolicyId,
        node: NodeId,
        verdict: Verdict,
    ) -> Option<(Rung, RungPlan)> {
        let step = self.step(id, node)?;
        let Verdict { deed, reason, keep, failed, left_out, fails } = verdict;
        let left_out = self.recipes.leave_out(&left_out);
        let fails = fails.then_some(step);
        Some((Rung::Step(step), RungPlan { deed, keep, failed, left_out, fails, reason }))
    }

    /// A policy and the one it is merged with, as one candidate.
    pub(super) fn unit(
        &mut self,
        kind: usize,
        merge: MergeType,
        (child, parent): ((PolicyId, NodeId), (PolicyId, NodeId)),
        verdict: Verdict,
    ) -> Option<(Rung, RungPlan)> {
        let lower = self.step(child.0, child.1)?;
        let upper = self.step(parent.0, parent.1)?;
        let rungs = [Rung::Step(lower), Rung::Step(upper)].into_iter().collect();
        let spec = Form::Unit(merge).spec(kind);
        let unit = self.builder.ladders.group(Group { spec, extra: 0, rungs });
        self.recipes.has_units = true;
        let Verdict { deed, reason, keep, failed, left_out, fails } = verdict;
        let left_out = self.recipes.leave_out(&left_out);
        let fails = fails.then_some(lower);
        Some((Rung::Group(unit), RungPlan { deed, keep, failed, left_out, fails, reason }))
    }

    pub(super) fn ladder_of(
        &mut self,
        kind: usize,
        rungs: Vec<(Rung, RungPlan)>,
        routing: Option<(StepId, NodeRef)>,
    ) -> LadderId {
        if rungs.is_empty() {
            return LadderId::EMPTY;
        }
        let (rungs, plans): (SmallVec<[Rung; 4]>, SmallVec<[RungPlan; 4]>) =
            rungs.into_iter().unzip();
        let extra = self.recipes.number(Recipe { rungs: plans, routing });
        let spec = Form::Candidates.spec(kind);
        self.builder.ladders.group(Group { spec, extra, rungs })
    }

    /// The ladder of a kind on a row.
    pub(super) fn ladder(&mut self, kind: usize, info: &'static KindInfo, row: Row) -> LadderId {
        if let Some(known) = self.known.get(&(kind, row)) {
            return *known;
        }
        let candidates = self.candidates(kind, &row);
        let routing = match info.role {
            KindRole::Traffic => self.routing(kind, &row),
            _ => None,
        };
        let rungs = match row.kind {
            RouteKind::Http | RouteKind::Grpc => self.first_takes(kind, info, &row, &candidates),
            _ => self.field_by_field(kind, info, &row, &candidates),
        };
        let routing = routing.and_then(|(id, node)| {
            let world = self.plan.world();
            let spec = self.plan.policy(id)?.spec;
            let view = world.documents.view(spec).get(ROUTING)?;
            Some((self.step(id, node)?, Documents::node_ref(view, spec.doc)))
        });
        let ladder = self.ladder_of(kind, rungs, routing);
        self.known.insert((kind, row), ladder);
        ladder
    }

    /// Who claims a place on or above a row, the most specific first.
    fn candidates(&self, kind: usize, row: &Row) -> Vec<(PolicyId, NodeId)> {
        let upper = self.upper(row.listener);
        let places = row.rule.into_iter().chain(row.route).chain(upper);
        places.filter_map(|node| Some((self.plan.holder(kind, node)?, node))).collect()
    }

    /// The places above a listener that have policies for its rows: those of a Gateway's own listeners and those of
    /// ListenerSets are siblings.
    pub(super) fn upper(&self, listener: ListenerIx) -> SmallVec<[NodeId; 3]> {
        let topology = self.plan.world().topology;
        let Some(listener) = topology.listener(listener) else { return SmallVec::new() };
        let set = listener.set.and_then(|ix| topology.set(ix)).map(|set| set.node);
        let gateway = listener.gateway.and_then(|ix| topology.gateway(ix)).map(|g| g.node);
        [Some(listener.node), set, gateway].into_iter().flatten().collect()
    }

    fn is_lower(&self, node: NodeId) -> bool {
        self.plan.world().topology.nodes.level_of(node).is_some_and(|l| l >= level::ROUTE)
    }

    /// A candidate with the policy it is merged with on a listener, if it asks for that and there is one.
    fn merged(
        &self,
        kind: usize,
        (id, node): (PolicyId, NodeId),
        listener: ListenerIx,
    ) -> Option<(MergeType, PolicyId, NodeId, std::rc::Rc<MergedSpec>)> {
        let merge = self.plan.policy(id)?.merge.filter(|_| self.is_lower(node))?;
        let (parent, at) = self.plan.parent_of(kind, listener)?;
        Some((merge, parent, at, self.plan.merged(id, parent)?))
    }

    /// HTTP: the first candidate takes the row whole.
    fn first_takes(
        &mut self,
        kind: usize,
        info: &'static KindInfo,
        row: &Row,
        candidates: &[(PolicyId, NodeId)],
    ) -> Vec<(Rung, RungPlan)> {
        let mut rungs = Vec::with_capacity(candidates.len());
        let (mut taken, mut in_unit) = (false, None);
        for &(id, node) in candidates {
            if in_unit == Some(node) {
                continue;
            }
            if taken {
                let verdict = Verdict::idle(Deed::Shadowed, &reasons::FIRST_TAKES_ALL);
                rungs.extend(self.rung(id, node, verdict));
                continue;
            }
            let merged = self.merged(kind, (id, node), row.listener);
            let verdict = match &merged {
                Some((_, _, _, of)) => {
                    self.verdict(info, (id, node), row, (&of.value, &of.translation))
                }
                None => {
                    let own = (self.plan.spec(id), self.plan.translation(id));
                    self.verdict(info, (id, node), row, own)
                }
            };
            taken = verdict.deed == Deed::Take;
            let rung = match merged {
                Some((merge, parent, at, _)) if taken => {
                    in_unit = Some(at);
                    self.unit(kind, merge, ((id, node), (parent, at)), verdict)
                }
                _ => self.rung(id, node, verdict),
            };
            rungs.extend(rung);
        }
        rungs
    }

    /// What becomes of a candidate that nobody was before.
    fn verdict(
        &self,
        info: &'static KindInfo,
        (id, node): (PolicyId, NodeId),
        row: &Row,
        (spec, translation): (&serde_json::Value, &Translation),
    ) -> Verdict {
        let failed = translation.failed();
        let takes = |fails: bool| Verdict {
            deed: Deed::Take,
            reason: &reasons::TAKES,
            keep: translation.effective(),
            failed,
            left_out: translation.left_out.clone(),
            fails,
        };
        match info.role {
            KindRole::Security => {
                let refused = self.plan.is_refused(id, node)
                    || (self.is_lower(node) && security::refused(spec, false).is_some());
                if refused {
                    return Verdict::idle(Deed::Skip, &reasons::OWN_VALIDATION);
                }
                let location = self.plan.location_problem(spec, row.listener).is_some();
                let closed = failed.without(translation.opens);
                takes(location || !closed.is_empty())
            }
            KindRole::Extension if failed.without(translation.opens).is_empty() => takes(false),
            _ if translation.is_sound() => takes(false),
            _ => Verdict::idle(Deed::Fail, &reasons::BROKEN),
        }
    }

    /// TCP, TLS and UDP: each field is that of the first candidate that has it.
    fn field_by_field(
        &mut self,
        kind: usize,
        info: &'static KindInfo,
        row: &Row,
        candidates: &[(PolicyId, NodeId)],
    ) -> Vec<(Rung, RungPlan)> {
        let mut rungs = Vec::with_capacity(candidates.len());
        for &(id, node) in candidates {
            let lower = self.is_lower(node);
            let Some(fields) = self.fields_of(info, row, node) else {
                let verdict = Verdict::idle(Deed::Skip, &reasons::SETS_NOTHING_HERE);
                rungs.extend(self.rung(id, node, verdict));
                continue;
            };
            let merged = self.merged(kind, (id, node), row.listener);
            let (spec, translation) = match &merged {
                Some((_, _, _, of)) => (&of.value, &of.translation),
                None => (self.plan.spec(id), self.plan.translation(id)),
            };
            let refused = info.role == KindRole::Security
                && lower
                && (self.plan.is_refused(id, node) || security::refused(spec, true).is_some());
            // A timeout is applied as far as it goes.
            let inert = translation.inert.without(info.set(&["timeout"]));
            let keep = translation.present.without(inert).and(fields);
            let verdict = match (refused, keep.is_empty()) {
                (true, _) => Verdict::idle(Deed::Skip, &reasons::OWN_VALIDATION),
                (_, true) => Verdict::idle(Deed::Skip, &reasons::SETS_NOTHING_HERE),
                _ => Verdict {
                    keep,
                    failed: translation.failed(),
                    ..Verdict::idle(Deed::Fill, &reasons::FIRST_FIELD)
                },
            };
            let fills = verdict.deed == Deed::Fill;
            let rung = match merged {
                Some((merge, parent, at, _)) if fills => {
                    self.unit(kind, merge, ((id, node), (parent, at)), verdict)
                }
                _ => self.rung(id, node, verdict),
            };
            rungs.extend(rung);
        }
        rungs
    }

    /// The fields that a candidate at a node can give to a row that is not HTTP; none if it never gives any.
    fn fields_of(&self, info: &'static KindInfo, row: &Row, node: NodeId) -> Option<FieldSet> {
        let level = self.plan.world().topology.nodes.level_of(node)?;
        let lower = level >= level::ROUTE;
        match (info.role, row.kind) {
            (KindRole::Traffic, RouteKind::Tls)
                if level == level::RULE && !self.plan.world().profile.names_tls_rules() =>
            {
                None
            }
            (KindRole::Traffic, RouteKind::Udp) => Some(info.set(&["loadBalancer", "dns"])),
            (KindRole::Traffic, _) => {
                let fields = info.set(&[
                    "loadBalancer",
                    "proxyProtocol",
                    "healthCheck",
                    "circuitBreaker",
                    "tcpKeepalive",
                    "timeout",
                    "connection",
                    "dns",
                ]);
                // Above routes the controller forgets this one.
                let forgotten = if lower { FieldSet::NONE } else { info.set(&["connection"]) };
                Some(fields.without(forgotten))
            }
            (KindRole::Security, RouteKind::Tls) if lower => None,
            (KindRole::Security, RouteKind::Udp) => None,
            (KindRole::Security, _) => Some(info.set(&["authorization"])),
            _ => None,
        }
    }

    /// Who says where the traffic of a row goes. The lookup of the controller is one of its own: it sees policies that
    /// are broken, and a listener's only from routes that name the listener.
    fn routing(&self, kind: usize, row: &Row) -> Option<(PolicyId, NodeId)> {
        let says = |id: PolicyId| self.plan.spec(id).get(ROUTING).is_some_and(|v| !v.is_null());
        let policy = |node: NodeId| Some((self.plan.holder(kind, node)?, node));
        let lower = row.rule.and_then(policy).or_else(|| row.route.and_then(policy));
        if let Some((id, node)) = lower {
            let merges = self.plan.policy(id).is_some_and(|policy: &Policy| policy.merge.is_some());
            if says(id) || !merges {
                return says(id).then_some((id, node));
            }
        }
        let topology = self.plan.world().topology;
        let listener = topology.listener(row.listener)?;
        let by_section = row.by_section.then_some(listener.node);
        let set = listener.set.and_then(|ix| topology.set(ix)).map(|set| set.node);
        let gateway = listener.gateway.and_then(|ix| topology.gateway(ix)).map(|g| g.node);
        let places = [by_section, set, gateway].into_iter().flatten();
        places.filter_map(policy).find(|(id, _)| says(*id))
    }
}

impl Rows<'_, '_, '_> {
    /// Whether a ladder sends traffic to a Service; none if it does not say.
    pub(super) fn says_service(&self, ladder: LadderId) -> Option<bool> {
        let extra = self.builder.ladders.get(ladder).extra;
        let (_, node) = self.recipes.get(extra)?.routing?;
        let text = self.plan.world().documents.view(node).as_str()?;
        Some(text == "Service")
    }
}
