// SPDX-License-Identifier: Apache-2.0
//! In: a path. Out: why its effective policies are what they are, as data: ladder, log of the fold, result.
//! Not here: prose (`explain_text.rs`), deciding anything again.

use overrule_engine::{
    Effective, Guard, GuardCheck, KeyValues, KindId, KindResult, LadderId, PathId, StepId,
};

use crate::decide::{Decided, decided};
use crate::focus::focus;
use crate::losses::Losses;
use crate::steps::{Folded, winner};
use crate::{Scene, ScenePart, effective, v1, written};

/// Explains one kind at a path, or every kind that can have an effective policy there. `field` (a dotted path or a
/// JSON pointer) adds everything about one field.
pub fn explain(
    scene: &Scene<'_>,
    part: &ScenePart<'_>,
    path: PathId,
    kind: Option<KindId>,
    field: Option<&str>,
) -> v1::Explanation {
    let all = part.resolution.kinds().map(|(id, _)| id);
    let asked = all.filter(|id| kind.map_or_else(|| has_ladder(part, *id, path), |k| k == *id));
    v1::Explanation {
        api_version: v1::API_VERSION,
        kind: "Explanation",
        target: part.path_target(scene, path),
        path: part.path_elements(scene, path),
        kinds: asked.map(|id| explain_kind(scene, part, path, id, field)).collect(),
    }
}

fn has_ladder(part: &ScenePart<'_>, kind: KindId, path: PathId) -> bool {
    part.resolution.ladder(kind, path) != LadderId::NONE
}

fn explain_kind(
    scene: &Scene<'_>,
    part: &ScenePart<'_>,
    path: PathId,
    kind: KindId,
    field: Option<&str>,
) -> v1::ExplainedKind {
    let ladder = part.resolution.ladder(kind, path);
    let steps = part.resolution.ladders.steps(ladder);
    let found = part.resolution.effective(ladder);
    let homes = part.resolution.ladders.homes(ladder);
    let at = Explained { scene, part, path, kind, steps: &steps, homes: &homes };
    let (ladder_id, (ladder, written)) = (ladder, at.ladder(found));
    let folded = Folded { scene, part, ladder: ladder_id, steps: &steps, homes: &homes };
    let log = found.map(|e| folded.log(e)).unwrap_or_default();
    let order = order(part.resolution.kind(kind));
    v1::ExplainedKind {
        order: winner(&log).map_or_else(|| order.to_owned(), |wins| format!("{order}: {wins}")),
        ladder,
        written,
        steps: log,
        field: field.map(|f| match found {
            Some(effective) => focus(Losses { scene, part, effective }, &steps, f),
            None => v1::FieldFocus {
                asked: f.to_owned(),
                pointer: crate::field::pointer(
                    crate::field::segments(f).iter().map(String::as_str),
                ),
                value: None,
                candidates: Vec::new(),
                suggestions: Vec::new(),
            },
        }),
        effective: effective(scene, part, kind, path),
    }
}

/// How a ladder of the kind is ordered, in words. The first key of its ranks says so.
pub(crate) fn order(kind: Option<&KindResult>) -> &'static str {
    match kind.and_then(|k| k.keys.first()).map(|key| key.values) {
        Some(KeyValues::Sections | KeyValues::Strategies | KeyValues::Targets(_)) => {
            "most specific first"
        }
        Some(KeyValues::Ages) => "oldest first",
        _ => "least specific first",
    }
}

struct Explained<'a> {
    scene: &'a Scene<'a>,
    part: &'a ScenePart<'a>,
    path: PathId,
    kind: KindId,
    steps: &'a [StepId],
    /// The group of each step.
    homes: &'a [LadderId],
}

impl Explained<'_> {
    /// The rungs, and what their policies wrote.
    fn ladder(&self, found: Option<&Effective>) -> (Vec<v1::Rung>, Vec<v1::WrittenPolicy>) {
        let nodes = self.part.resolution.paths.nodes(self.path);
        let mut above = None;
        let mut rungs = Vec::with_capacity(self.steps.len());
        let mut policies = Vec::new();
        let mut group: Option<(LadderId, String)> = None;
        for ((position, id), home) in (1..).zip(self.steps).zip(self.homes) {
            let Some(step) = self.part.resolution.ladders.get_step(*id) else { continue };
            let kind = self.part.resolution.kind(self.kind);
            let object = self.part.resolution.policy(step.policy).map(|p| p.object);
            let object = object.and_then(|o| self.scene.snapshot.get(o));
            let attached = self.part.resolution.attachments_of(step.policy);
            let level = |n| self.part.topology.get(n).map(|n| n.level.0);
            let attached = attached
                .filter(|a| nodes.contains(&a.node) && level(a.node) == Some(step.level))
                .map(|a| self.part.target_name(self.scene, a.node));
            let attached: Vec<String> = attached.collect();
            let decision = match (above, group.as_ref()) {
                // Ranks are compared within a group; groups have an order of their own.
                (Some((n, _)), Some((before, place))) if before != home => {
                    Some(Decided::by_group(n, place, &attached.join(", ")))
                }
                (Some(above), _) => decided(self.scene, self.part, kind, above, (position, *id)),
                (None, _) => None,
            };
            above = Some((position, *id));
            group = Some((*home, attached.join(", ")));
            let rung = v1::Rung {
                position,
                policy: self.part.policy_name(self.scene, step.policy),
                attached_to: attached,
                block: step.block_name(),
                strategy: self.part.words.strategy_name(step.mode),
                outcome: found
                    .map_or("inert", |e| e.outcome(&self.part.resolution.ladders, *id).word()),
                // Of several entries, the one that is meant.
                at: match step.entry {
                    Some(_) => Some(self.scene.place_of(step.value)),
                    None => object.map(|o| self.scene.place(o.at)),
                },
                created: object.map_or_else(String::new, |o| o.created.to_string()),
                decided_by: decision.as_ref().and_then(|d| d.key),
                because: decision.map(|d| d.because),
                condition: found.and_then(|e| condition(e, *id)),
            };
            written::add(&mut policies, self.scene, &rung, step);
            rungs.push(rung);
        }
        written::settle(&mut policies);
        (rungs, policies)
    }
}

/// What the condition of a step found.
fn condition(effective: &Effective, step: StepId) -> Option<v1::RungCondition> {
    let GuardCheck { verdict, error, saw, .. } =
        effective.checks().iter().find(|c| c.step == step)?;
    let parsed = |json: &str| {
        serde_json::from_str(json).unwrap_or_else(|_| v1::Value::String(json.to_owned()))
    };
    let saw = saw.iter().map(|seen| v1::SeenValue {
        path: seen.path.to_string(),
        value: seen.json.as_deref().map(parsed),
    });
    Some(v1::RungCondition {
        verdict: match verdict {
            Guard::Met => "holds",
            Guard::NotMet => "does not hold",
            Guard::Failed => "failed",
        },
        error: (!error.is_empty()).then(|| error.to_string()),
        saw: saw.collect(),
    })
}
