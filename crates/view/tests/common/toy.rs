// SPDX-License-Identifier: Apache-2.0
//! In: manifests and a ladder of their blocks. Out: a resolution of a family made up for tests, under several profiles.
//! Not here: anything a real family does.

use std::collections::BTreeSet;

use overrule_engine::{
    Action, Algebra, Attachment, Combine, FamilyWords, Fate, Group, Guard, GuardCheck, KeyValues,
    LadderId, Level, Loss, MergePlan, Merger, NewKind, Node, NodeId, Op, PolicyId, Prefer, Rank,
    RankKey, ReasonInfo, Resolution, ResolutionBuilder, Rung, SeenValue, Step, Topology, Traced,
    Turn,
};
use overrule_model::{Snapshot, Sym};
use overrule_source::{Documents, NodeRef, ReadOptions};
use overrule_view::{Other, Scene, ScenePart};

static MERGED: ReasonInfo = ReasonInfo { id: "merged", sentence: "the lower one fills" };
static REPLACED: ReasonInfo = ReasonInfo { id: "replaced", sentence: "the lower one replaces" };
static GUARD: ReasonInfo = ReasonInfo { id: "guard", sentence: "its condition is not met" };
static BESIDE: ReasonInfo = ReasonInfo { id: "beside", sentence: "nobody looks at both" };
static REMOVED: ReasonInfo = ReasonInfo { id: "removed", sentence: "a lower policy removed it" };

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// Fills what is missing in what is held.
    Fill,
    /// Takes the place of what is held.
    Replace,
    /// Is kept out by a condition.
    Skip,
    /// Has a condition that cannot be evaluated.
    Fail,
    /// Fills, after a condition let it.
    Met,
    /// Stands beside what is held.
    Beside,
    /// Fills without its member `gone`, which the first step removed.
    Lose,
}

const ALL: [Does; 7] =
    [Does::Fill, Does::Replace, Does::Skip, Does::Fail, Does::Met, Does::Beside, Does::Lose];

/// A rung: name of the policy, block, what it does.
pub type Rung3 = (&'static str, &'static str, Does);

struct Toy<'d>(&'d Documents);

impl Combine for Toy<'_> {
    fn combine(
        &self,
        _: u16,
        m: &mut Merger<'_>,
        held: Traced,
        incoming: Traced,
    ) -> Option<Traced> {
        m.atomic(held, incoming)
    }
}

fn check(turn: &Turn<'_>, verdict: Guard, error: &str) -> Option<GuardCheck> {
    let seen = |path: &str, json: Option<&str>| SeenValue {
        path: path.into(),
        json: json.map(Into::into),
    };
    let saw = vec![
        seen("spec.limits.a.rates", Some(r#"[{"limit": 5}]"#)),
        seen("spec.limits.\u{1b}[31mb", None),
    ];
    turn.step.map(|(step, _)| GuardCheck { step, verdict, error: error.into(), saw })
}

impl Algebra for Toy<'_> {
    type State = ();

    fn decide(
        &self,
        (): &mut (),
        turn: &Turn<'_>,
        _: Option<&Traced>,
        checks: &mut Vec<GuardCheck>,
    ) -> Action<'_> {
        static PLAN: std::sync::LazyLock<MergePlan> =
            std::sync::LazyLock::new(MergePlan::merge_patch);
        let does = turn.step.map_or(Does::Fill, |(_, s)| ALL[s.mode as usize]);
        let op = match does {
            Does::Skip => {
                checks.extend(check(turn, Guard::NotMet, ""));
                return Action::Skip(&GUARD);
            }
            Does::Fail => {
                checks.extend(check(turn, Guard::Failed, "no such key: \u{7}a"));
                return Action::Skip(&GUARD);
            }
            Does::Replace => Op::ReplaceAll,
            Does::Beside => Op::Beside,
            Does::Met => {
                checks.extend(check(turn, Guard::Met, ""));
                Op::Merge(Prefer::Held)
            }
            Does::Fill | Does::Lose => Op::Merge(Prefer::Held),
        };
        let reason = match does {
            Does::Replace => &REPLACED,
            Does::Beside => &BESIDE,
            _ => &MERGED,
        };
        Action::Apply { op, plan: &PLAN, reason }
    }

    fn filter(
        &self,
        (): &mut (),
        turn: &Turn<'_>,
        incoming: Traced,
        lose: &mut dyn FnMut(Loss),
    ) -> Option<Traced> {
        let (id, step) = turn.step?;
        let loses = ALL[step.mode as usize] == Does::Lose;
        let mut kept = Vec::new();
        for (key, value) in incoming.entries(self.0) {
            let text = key.text(self.0).to_owned();
            // A whole spec without references and without its other blocks.
            if step.block == "bare" && ["targetRef", "defaults", "overrides"].contains(&&*text) {
                continue;
            }
            if loses && text == "gone" {
                let Traced::Whole { node, .. } = value else { panic!("a written value") };
                let Rung::Step(remover) = turn.group.rungs[0] else { panic!("a step") };
                lose(Loss {
                    step: id,
                    pointer: "/gone".into(),
                    node: Some(node).into(),
                    fate: Fate::Removed,
                    by: [remover].into_iter().collect(),
                    reason: &REMOVED,
                });
                continue;
            }
            kept.push((key, value));
        }
        Some(Traced::map(kept))
    }
}

/// A topology of a whole with parts, and resolutions of it.
pub struct ToyWorld {
    pub documents: Documents,
    pub snapshot: Snapshot,
    pub topology: Topology,
    pub answers: Vec<(&'static str, Resolution)>,
}

/// One profile: its name, the parts that paths go to, and the ladder there, top first.
pub type Profile<'a> = (&'static str, &'a [u32], &'a [Rung3]);

/// Resolves `kind: Toy` documents under profiles; part N is node N, all policies are on the whole, node 0.
pub fn toy(manifests: &str, profiles: &[Profile<'_>]) -> ToyWorld {
    let documents =
        overrule_source::read_one("toy.yaml", manifests, &ReadOptions::default()).documents;
    let mut snapshot = overrule_model::parse(&documents).snapshot;
    let mut sym = |text: &str| snapshot.names_mut().intern(text);
    let (group, kind, thing) = (sym("test"), sym("Toy"), sym("Thing"));
    let mut topology = Topology::new(&["Whole", "Part"]);
    for (name, level) in [("whole", 0), ("one", 1), ("two", 1), ("three", 1)] {
        let name = sym(name);
        topology.add(Node {
            kind: thing,
            namespace: Sym::EMPTY,
            name,
            section: Sym::EMPTY,
            object: None,
            level: Level(level),
            at: None,
        });
    }
    let answers = profiles
        .iter()
        .map(|profile| (profile.0, resolve(&documents, &snapshot, (group, kind), profile)))
        .collect();
    ToyWorld { documents, snapshot, topology, answers }
}

fn resolve(
    documents: &Documents,
    snapshot: &Snapshot,
    (group, kind): (Sym, Sym),
    (profile, parts, rungs): &Profile<'_>,
) -> Resolution {
    let mut builder = ResolutionBuilder::default();
    static KEYS: [RankKey; 1] = [RankKey::new("weight", KeyValues::Weights)];
    let kind = builder.kind(NewKind {
        group,
        kind,
        family: "toy",
        profile,
        keys: &KEYS,
        assumed: false,
        covers: None,
        implicit: false,
    });
    let mut policies: Vec<(&str, PolicyId)> = Vec::new();
    let mut steps = Vec::new();
    let names: BTreeSet<&str> = rungs.iter().map(|r| r.0).collect();
    for name in names {
        let object = snapshot.objects().find(|o| snapshot.text(o.name) == name).unwrap();
        let policy = builder.policy(object.id, kind);
        builder.attach(Attachment { policy, reference: 0, node: NodeId(0), at: object.at });
        policies.push((name, policy));
    }
    for (weight, (name, block, does)) in (0_i64..).zip(*rungs) {
        let policy = policies.iter().find(|(n, _)| n == name).unwrap().1;
        let object = snapshot.objects().find(|o| snapshot.text(o.name) == *name).unwrap();
        let spec = documents.view(object.root).get("spec").unwrap();
        let value = if *block == "bare" { spec } else { spec.get(block).unwrap() };
        let value = NodeRef { doc: object.root.doc, node: value.id() };
        let mode = u16::try_from(ALL.iter().position(|d| d == does).unwrap()).unwrap();
        let step = Step { policy, entry: None, block, level: 0, value, mode, extra: 0 };
        steps.push(Rung::Step(builder.step(step, Rank::new([weight]))));
    }
    let ladder =
        builder.ladders.group(Group { spec: 0, extra: 0, rungs: steps.into_iter().collect() });
    let top = builder.paths.add(None, NodeId(0));
    let mut ladders = vec![LadderId::NONE];
    for part in *parts {
        builder.paths.add(Some(top), NodeId(*part));
        ladders.push(ladder);
    }
    builder.set_ladders(kind, &ladders);
    builder.finish(documents, &Toy(documents))
}

/// How answers of the toy family are told.
#[derive(Debug)]
struct ToyWords(&'static [&'static str]);

impl FamilyWords for ToyWords {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn strategy_name(&self, mode: u16) -> &'static str {
        ["fill", "replace", "skip", "fail", "met", "beside", "lose"][mode as usize]
    }

    fn rule_patterns(&self) -> &'static [&'static str] {
        self.0
    }
}

impl ToyWorld {
    /// Calls with a scene that shows the first profile and compares with the others; the last is the shipped one.
    pub fn see<R>(&self, look: impl FnOnce(&Scene<'_>, &ScenePart<'_>) -> R) -> R {
        self.see_with(&[], look)
    }

    /// The same, with patterns of rules.
    pub fn see_with<R>(
        &self,
        rule_patterns: &'static [&'static str],
        look: impl FnOnce(&Scene<'_>, &ScenePart<'_>) -> R,
    ) -> R {
        let last = self.answers.len() - 1;
        let words = &ToyWords(rule_patterns);
        let part =
            |(i, (profile, resolution)): (usize, &'_ (&'static str, Resolution))| ScenePart {
                family: "toy",
                profile,
                shipped: last > 0 && i == last,
                topology: &self.topology,
                // The lifetime of the closure's argument is that of the world.
                resolution: &self.answers[i].1,
                words: if resolution.paths.is_empty() { &ToyWords(&[]) } else { words },
            };
        let mut all = self.answers.iter().enumerate().map(part);
        let parts = [all.next().unwrap()];
        let others: Vec<Other<'_>> = all.map(Other::new).collect();
        let scene = Scene::new(&self.documents, &self.snapshot, &parts);
        look(&Scene { others: &others, ..scene }, &parts[0])
    }
}
