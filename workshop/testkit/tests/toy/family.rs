// SPDX-License-Identifier: Apache-2.0
//! A family that nobody has: `Paint` and `Shape` for Gateways and HTTPRoutes. Under `design` the route wins, under
//! `shipped` the Gateway does. Paints are merged field by field; a Shape counts whole.

use overrule::engine::{
    Action, Algebra, Attachment, Combine, FamilyWords, GuardCheck, KindId, LadderId, Landed, Level,
    LocalLadders, MergePlan, NewKind, NodeId, Op, PolicyId, Prefer, Rank, RankKey, RankKeys,
    ReasonInfo, Rejection, Resolution, ResolutionBuilder, Step, Traced, Turn,
};
use overrule::family_kit::{
    Condition, ControllerMetrics, Dialect, Family, Ground, OwnKind, Reading, ResolveOptions,
    Resolved, Setting, SettingValues, World,
};
use overrule::gateway::topology::level;
use overrule::gateway::walk::{Contexts, walk};
use overrule::model::{Object, ObjectId, TargetName};
use overrule::source::{Code, Diagnostic, Documents, NodeRef};
use serde_json::Value;

const NAME: &str = "toy";
const GROUP: &str = "toy.example.com";
/// The kinds; a policy's kind is its place here.
const KINDS: [OwnKind; 2] =
    [OwnKind { group: GROUP, kind: "Paint" }, OwnKind { group: GROUP, kind: "Shape" }];
static KEYS: RankKeys = &[RankKey::LEVEL, RankKey::CREATED, RankKey::NAME];

overrule::source::codes! {
    /// A policy whose target is not there.
    NO_TARGET = "OV9901", Error, World, "toy policy without target";
}

static BELOW: ReasonInfo = ReasonInfo { id: "below-wins", sentence: "the policy below wins" };
static ABOVE: ReasonInfo = ReasonInfo { id: "above-wins", sentence: "the policy above wins" };
static MISSING: ReasonInfo = ReasonInfo { id: "no-target", sentence: "its target is not there" };

/// The family.
#[derive(Debug)]
pub struct Toy;

/// Which side wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    Design,
    Shipped,
}

/// The namespace whose policies are left out.
#[derive(Debug, Default)]
pub struct Muted(Option<String>);

impl Ground for Muted {}

/// A policy as written.
#[derive(Debug)]
pub struct Policy {
    object: ObjectId,
    kind: usize,
    /// `Gateway` or `HTTPRoute`, and its name.
    target: (String, String),
    value: NodeRef,
}

impl FamilyWords for Toy {
    fn name(&self) -> &'static str {
        NAME
    }

    fn strategy_name(&self, mode: u16) -> &'static str {
        if mode == 0 { "merge" } else { "replace" }
    }
}

impl Family for Toy {
    type Profile = Profile;
    type Ground = Muted;
    type Policies = Vec<Policy>;
    type Extra = ();

    fn profiles(&self) -> &'static [&'static str] {
        &["design", "shipped"]
    }

    fn profile(&self, name: &str) -> Profile {
        if name == "shipped" { Profile::Shipped } else { Profile::Design }
    }

    fn kinds(&self) -> Vec<OwnKind> {
        KINDS.to_vec()
    }

    fn groups(&self) -> &'static [&'static str] {
        &[GROUP]
    }

    fn codes(&self) -> &'static [Code] {
        ALL
    }

    fn page(&self, code: &str) -> Option<&'static str> {
        (code == NO_TARGET.id).then_some("# OV9901: toy policy without target\n\nName a target.\n")
    }

    fn settings(&self) -> &'static [Setting] {
        &[Setting {
            option: "toy-mute",
            keys: &["mute"],
            value_name: "NAMESPACE",
            help: "Leave out the toy policies of this namespace",
        }]
    }

    fn check(&self, _: &str, value: &Value) -> Result<(), String> {
        value.as_str().map(drop).ok_or_else(|| "takes a namespace".to_owned())
    }

    fn metrics(&self) -> Option<ControllerMetrics> {
        Some(ControllerMetrics {
            policies: ("toy_policies_total", "Toy policies by kind"),
            enforced: ("toy_policies_enforced", "Toy policies that are enforced"),
        })
    }

    fn dialect(&self) -> Dialect {
        Dialect { status_profile: Some("shipped"), has_all_kinds: true, ..Dialect::default() }
    }

    fn read(&self, _: Reading<'_>, settings: &SettingValues) -> Muted {
        Muted(settings.of(NAME).find_map(|(_, value)| value.as_str()).map(str::to_owned))
    }

    fn policies(&self, reading: Reading<'_>, muted: &Muted) -> Vec<Policy> {
        let Reading { documents, snapshot, .. } = reading;
        let mut found = Vec::new();
        for (kind, own) in KINDS.iter().enumerate() {
            let counts = |o: &&Object| muted.0.as_deref() != Some(snapshot.text(o.scope.name()));
            for object in snapshot.of_kind(GROUP, own.kind).iter().filter(counts) {
                found.extend(policy(documents, object, kind));
            }
        }
        found
    }

    fn concerns(&self, world: World<'_, Self>, asked: &[String]) -> bool {
        let is_ours = |word: &String| KINDS.iter().any(|k| k.kind.eq_ignore_ascii_case(word));
        !world.policies.is_empty() || asked.iter().any(is_ours)
    }

    fn resolve(&self, world: World<'_, Self>, _: &ResolveOptions) -> Resolved {
        Resolving::new(world).resolve()
    }

    fn is_policy(&self, policies: &Vec<Policy>, object: ObjectId) -> bool {
        policies.iter().any(|p| p.object == object)
    }

    fn conditions(&self, _: World<'_, Self>, of: &Resolution) -> Vec<Vec<Condition>> {
        let accepted = |id: PolicyId| {
            let status = of.rejections_of(id).next().is_none();
            let reason = if status { "Accepted" } else { "TargetNotFound" };
            let message = String::new();
            vec![Condition { ancestor: None, kind: "Accepted", status, reason, message }]
        };
        of.policies().map(|(id, _)| accepted(id)).collect()
    }
}

fn policy(documents: &Documents, object: &Object, kind: usize) -> Option<Policy> {
    let spec = documents.view(object.root).get("spec")?;
    let target = spec.get("targetRef")?;
    let text = |key: &str| Some(target.get(key)?.scalar_text()?.to_owned());
    let value = Documents::node_ref(spec.get("looks")?, object.root.doc);
    Some(Policy { object: object.id, kind, target: (text("kind")?, text("name")?), value })
}

/// Where a policy acts.
fn node_of(world: World<'_, Toy>, policy: &Policy) -> Option<NodeId> {
    let object = world.snapshot.get(policy.object)?;
    let (kind, name) = policy.target.clone();
    let namespace = Some(world.snapshot.text(object.scope.name()).to_owned());
    let name = TargetName { kind, group: None, namespace, name, section: None };
    world.topology.object_node(world.snapshot.resolve(&name).first()?.id)
}

/// A resolution on the way.
struct Resolving<'a> {
    world: World<'a, Toy>,
    builder: ResolutionBuilder,
    kinds: Vec<KindId>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Resolving<'a> {
    fn new(world: World<'a, Toy>) -> Self {
        let mut builder = ResolutionBuilder::default();
        let profile = if world.profile == Profile::Design { "design" } else { "shipped" };
        let (names, rules) = (world.snapshot.names(), (NAME, profile));
        let kinds = KINDS
            .iter()
            .map(|own| builder.kind(NewKind::named(names, (own.group, own.kind), rules, KEYS)));
        let kinds = kinds.collect();
        Self { world, builder, kinds, diagnostics: Vec::new() }
    }

    fn resolve(mut self) -> Resolved {
        let policies = (0..).zip(self.world.policies);
        let landed = policies.filter_map(|(place, policy)| self.land(place, policy)).collect();
        let size = (KINDS.len(), self.world.topology.nodes.len());
        let mut locals = Locals(self.builder.local_ladders(size, landed, |kind, _| kind));
        let Self { world, mut builder, kinds, diagnostics } = self;
        let walked = walk(world.topology, &mut builder, &mut locals);
        for (kind, ladders) in kinds.iter().zip(walked.ladders) {
            builder.set_ladders(*kind, &ladders);
        }
        let merge = Merge { profile: world.profile, plan: MergePlan::merge_patch() };
        Resolved { resolution: builder.finish(world.documents, &merge), diagnostics, extra: () }
    }

    /// Attaches a policy, or says that its target is not there.
    fn land(&mut self, place: i64, policy: &Policy) -> Option<Landed> {
        let object = self.world.snapshot.get(policy.object)?;
        let id = self.builder.policy(policy.object, *self.kinds.get(policy.kind)?);
        let (reference, at) = (0, object.at);
        let Some(node) = node_of(self.world, policy) else {
            let (kind, name) = &policy.target;
            let message = format!("there is no {kind} `{name}`");
            let d = Diagnostic::new(&NO_TARGET, message).at(at).field("spec.targetRef");
            self.diagnostics.push(d.help("name a Gateway or an HTTPRoute of its namespace"));
            self.builder.reject(Rejection { policy: id, reference, reason: &MISSING, at });
            return None;
        };
        self.builder.attach(Attachment { policy: id, reference, node, at });
        let level = self.world.topology.nodes.level_of(node)?.0;
        let rank = Rank::new([i64::from(level), object.created.key(), place]);
        let kind = u16::try_from(policy.kind).ok()?;
        let step = Step {
            policy: id,
            entry: None,
            block: "looks",
            level,
            value: policy.value,
            mode: kind,
            extra: 0,
        };
        let step = self.builder.step(step, rank);
        Some(Landed { kind, node, step })
    }
}

/// Both kinds act on routes.
struct Locals(LocalLadders);

impl Contexts for Locals {
    fn kinds(&self) -> usize {
        KINDS.len()
    }

    fn stands_at(&self, _: usize) -> Option<Level> {
        Some(level::ROUTE)
    }

    fn local(&self, kind: usize, node: NodeId) -> LadderId {
        self.0.at(kind, node)
    }

    fn is_unused(&self, kind: usize) -> bool {
        self.0.is_empty(kind)
    }
}

/// How policies become one.
struct Merge {
    profile: Profile,
    plan: MergePlan,
}

impl Combine for Merge {}

impl Algebra for Merge {
    type State = ();

    fn decide(
        &self,
        (): &mut (),
        turn: &Turn<'_>,
        held: Option<&Traced>,
        _: &mut Vec<GuardCheck>,
    ) -> Action<'_> {
        let is_paint = turn.group.spec == 0;
        let (op, reason) = match self.profile {
            _ if held.is_none() => (Op::ReplaceAll, &BELOW),
            Profile::Design if is_paint => (Op::Merge(Prefer::Incoming), &BELOW),
            Profile::Design => (Op::ReplaceAll, &BELOW),
            Profile::Shipped if is_paint => (Op::Merge(Prefer::Held), &ABOVE),
            Profile::Shipped => (Op::Keep, &ABOVE),
        };
        Action::Apply { op, plan: &self.plan, reason }
    }
}
