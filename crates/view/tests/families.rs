// SPDX-License-Identifier: Apache-2.0
//! What GEP-713 never does and other families will: groups, guards, removals, built-ins, implied values, poison.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that finds something else than it expects has to fail"
)]

mod common;

use common::golden;
use overrule_engine::{
    Action, Algebra, Attachment, Combine, FamilyWords, Fate, FieldKey, Group, GuardCheck,
    KeyValues, LadderId, Level, Loss, MergePlan, Merger, NewKind, Node, NodeId, Op, PathId, Prefer,
    Rank, RankKey, ReasonInfo, Resolution, ResolutionBuilder, Rung, Step, StepId, Topology, Traced,
    Turn,
};
use overrule_model::{Snapshot, Sym};
use overrule_source::{Documents, NodeRef, ReadOptions};
use overrule_view::{Graph, Scene, ScenePart, Styles};

static MERGED: ReasonInfo =
    ReasonInfo { id: "merged", sentence: "the lower one fills what is missing" };
static GUARD: ReasonInfo = ReasonInfo { id: "guard", sentence: "its condition is not met" };
static BROKEN: ReasonInfo = ReasonInfo { id: "broken", sentence: "it cannot be read" };
static TAKEN: ReasonInfo = ReasonInfo { id: "built-in", sentence: "a built-in takes the slot" };
static REMOVED: ReasonInfo = ReasonInfo { id: "removed", sentence: "a lower policy removed it" };

const MANIFESTS: &str = "\
apiVersion: test/v1
kind: Toy
metadata: {name: top, namespace: a}
spec: {x: 1, deep: {b: 2, c: [3]}}
---
apiVersion: test/v1
kind: Toy
metadata: {name: guarded, namespace: a}
spec: {x: 9}
---
apiVersion: test/v1
kind: Toy
metadata: {name: mixed, namespace: a}
spec: {x: 5, gone: 6, slot: 7, own: 8}
---
apiVersion: test/v1
kind: Toy
metadata: {name: bad, namespace: a}
spec: {x: 5}
";

/// Modes of the toy family.
const PLAIN: u16 = 0;
const SKIPPED: u16 = 1;
const MIXED: u16 = 2;
const POISON: u16 = 3;

struct Toy<'d>(&'d Documents);

impl Combine for Toy<'_> {
    fn combine(
        &self,
        _: u16,
        merger: &mut Merger<'_>,
        held: Traced,
        incoming: Traced,
    ) -> Option<Traced> {
        merger.atomic(held, incoming)
    }
}

impl Algebra for Toy<'_> {
    type State = ();

    fn decide(
        &self,
        (): &mut (),
        turn: &Turn<'_>,
        _: Option<&Traced>,
        _: &mut Vec<GuardCheck>,
    ) -> Action<'_> {
        let step = turn.step.map(|(_, s)| s);
        static PLAN: std::sync::LazyLock<MergePlan> =
            std::sync::LazyLock::new(MergePlan::merge_patch);
        match step.map(|s| s.mode) {
            Some(SKIPPED) => Action::Skip(&GUARD),
            Some(POISON) => Action::Poison(&BROKEN),
            _ => Action::Apply { op: Op::Merge(Prefer::Held), plan: &PLAN, reason: &MERGED },
        }
    }

    fn filter(
        &self,
        (): &mut (),
        turn: &Turn<'_>,
        incoming: Traced,
        lose: &mut dyn FnMut(Loss),
    ) -> Option<Traced> {
        let step = turn.step.map(|(_, s)| s);
        if step.is_none_or(|s| s.mode != MIXED) {
            return Some(incoming);
        }
        let mut kept: Vec<(FieldKey, Traced)> = Vec::new();
        for (key, value) in incoming.entries(self.0) {
            let (fate, reason) = match key.text(self.0) {
                "gone" => (Fate::Removed, &REMOVED),
                "slot" => (Fate::Masked, &TAKEN),
                _ => {
                    kept.push((key, value));
                    continue;
                }
            };
            let Traced::Whole { step, node } = value else { panic!("a written value") };
            let pointer = format!("/{}", key.text(self.0)).into();
            let by = std::iter::empty().collect();
            lose(Loss { step, pointer, node: Some(node).into(), fate, by, reason });
        }
        let step = incoming.steps()[0];
        let implied = Traced::Implied {
            step,
            json: r#"{"on": true, "list": [1, {}]}"#.into(),
            from: None.into(),
        };
        kept.push((FieldKey::Text("implied".into()), implied));
        Some(Traced::map(kept))
    }
}

#[derive(Debug)]
struct ToyWords;

impl FamilyWords for ToyWords {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn strategy_name(&self, mode: u16) -> &'static str {
        ["plain", "guarded", "mixed", "broken"][mode as usize]
    }
}

static KEYS: [RankKey; 1] = [RankKey::new("weight", KeyValues::Weights)];

struct World {
    documents: Documents,
    snapshot: Snapshot,
    topology: Topology,
    resolution: Resolution,
}

fn toy() -> World {
    let documents =
        overrule_source::read_one("toy.yaml", MANIFESTS, &ReadOptions::default()).documents;
    let mut snapshot = overrule_model::parse(&documents).snapshot;
    let mut sym = |text: &str| snapshot.names_mut().intern(text);
    let (group, kind, thing) = (sym("test"), sym("Toy"), sym("Thing"));
    let mut topology = Topology::new(&["Whole", "Part"]);
    let node = |name: Sym, level| Node {
        kind: thing,
        namespace: Sym::EMPTY,
        name,
        section: Sym::EMPTY,
        object: None,
        level: Level(level),
        at: None,
    };
    let whole = topology.add(node(sym("whole"), 0));
    let part = topology.add(node(sym("part"), 1));
    let mut builder = ResolutionBuilder::default();
    let kind = builder.kind(NewKind {
        group,
        kind,
        family: "toy",
        profile: "test",
        keys: &KEYS,
        assumed: true,
        covers: None,
        implicit: false,
    });
    let mut steps: Vec<StepId> = Vec::new();
    for (name, mode, weight) in
        [("top", PLAIN, 1), ("guarded", SKIPPED, 2), ("mixed", MIXED, 2), ("bad", POISON, 4)]
    {
        let object = snapshot.objects().find(|o| snapshot.text(o.name) == name).unwrap();
        let policy = builder.policy(object.id, kind);
        builder.attach(Attachment { policy, reference: 0, node: whole, at: object.at });
        let value = documents.view(object.root).get("spec").unwrap().id();
        let value = NodeRef { doc: object.root.doc, node: value };
        let step = Step { policy, entry: None, block: "spec", level: 0, value, mode, extra: 0 };
        steps.push(builder.step(step, Rank::new([weight])));
    }
    let inner =
        Group { spec: 0, extra: 0, rungs: steps[1..3].iter().map(|s| Rung::Step(*s)).collect() };
    let inner = builder.ladders.group(inner);
    let rungs = [Rung::Step(steps[0]), Rung::Group(inner), Rung::Step(steps[3])];
    let ladder =
        builder.ladders.group(Group { spec: 0, extra: 0, rungs: rungs.into_iter().collect() });
    let top = builder.paths.add(None, whole);
    builder.paths.add(Some(top), part);
    builder.set_ladders(kind, &[LadderId::NONE, ladder]);
    let resolution = builder.finish(&documents, &Toy(&documents));
    World { documents, snapshot, topology, resolution }
}

fn see<R>(world: &World, look: impl FnOnce(&Scene<'_>, &ScenePart<'_>) -> R) -> R {
    let parts = [ScenePart {
        family: "toy",
        profile: "test",
        shipped: false,
        topology: &world.topology,
        resolution: &world.resolution,
        words: &ToyWords,
    }];
    look(&Scene::new(&world.documents, &world.snapshot, &parts), &parts[0])
}

#[test]
fn guards_removals_built_ins_and_poison_are_told() {
    let world = toy();
    let (kind, path, plain) = (overrule_engine::KindId(0), PathId(1), Styles::plain());
    let mut out = String::new();
    see(&world, |scene, part| {
        overrule_view::effective_text(scene, part, kind, path, &plain, &mut out).unwrap();
        out.push('\n');
        overrule_view::explain_text(scene, part, path, None, None, &plain, &mut out).unwrap();
        for field in ["x", "slot", "implied.on", "deep"] {
            out.push('\n');
            overrule_view::explain_text(scene, part, path, None, Some(field), &plain, &mut out)
                .unwrap();
        }
        for (policy, _) in world.resolution.policies() {
            out.push('\n');
            let reach = overrule_view::reach(scene, part, policy, None);
            overrule_view::reach_text(&reach, true, &plain, &mut out).unwrap();
        }
        out.push('\n');
        let list = overrule_view::policies(scene, part, &|_| true);
        overrule_view::policies_table(&list, true, None, &plain, &mut out).unwrap();
        out.push('\n');
        Graph::build(scene, part, None).tree(&plain, &mut out).unwrap();
        golden(
            "families.json",
            &(overrule_view::json(&overrule_view::effective(scene, part, kind, path)) + "\n"),
        );
    });
    golden("families.txt", &out);
}

#[test]
fn a_circle_of_nodes_is_drawn_once() {
    let mut world = toy();
    // Delegation may lead from one object to another and, on another path, back.
    let mut builder = ResolutionBuilder::default();
    let a = builder.paths.add(None, NodeId(0));
    builder.paths.add(Some(a), NodeId(1));
    let b = builder.paths.add(None, NodeId(1));
    builder.paths.add(Some(b), NodeId(0));
    world.resolution = builder.finish(&world.documents, &Toy(&world.documents));
    see(&world, |scene, part| {
        let graph = Graph::build(scene, part, None);
        assert_eq!(graph.json().edges.len(), 2);
        let mut out = String::new();
        graph.tree(&Styles::plain(), &mut out).unwrap();
        assert!(out.contains("thing whole") && out.contains("thing part"), "{out}");
        assert!(graph.svg().contains("</svg>"));
    });
}
