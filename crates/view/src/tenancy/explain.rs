// SPDX-License-Identifier: Apache-2.0
//! In: a kind and a path. Out: why what is in force there is, as a reader may know it: its own rungs, and the result.
//! Not here: the result itself (`effective.rs`).

use std::collections::BTreeSet;

use overrule_engine::{KindId, LadderId, PathId, StepId};
use overrule_model::nearest;

use super::effective::LOST;
use super::{Reader, alike_once};
use crate::field::{name, pointer, segments};
use crate::focus::node_at;
use crate::losses::Losses;
use crate::{ScenePart, explain, v1, value};

impl Reader<'_> {
    /// The explanation of one kind at one path; none if there is nothing for the reader to know.
    pub fn explain(
        &self,
        part: &ScenePart<'_>,
        kind: KindId,
        path: PathId,
        field: Option<&str>,
    ) -> Option<v1::Explanation> {
        let effective = self.effective(part, kind, path)?;
        if self.tells_all(part, kind, path) {
            let mut all = explain(self.scene, part, path, Some(kind), field);
            for kind in &mut all.kinds {
                kind.effective.diagnostics.clone_from(&effective.diagnostics);
            }
            return Some(all);
        }
        let ladder = part.resolution.ladder(kind, path);
        let field = field.map(|asked| self.field(part, ladder, &effective, asked));
        Some(v1::Explanation {
            api_version: v1::API_VERSION,
            kind: "Explanation",
            target: effective.target.clone(),
            path: effective.path.clone(),
            kinds: vec![v1::ExplainedKind {
                order: explain::order(part.resolution.kind(kind)).to_owned(),
                ladder: self.rungs(part, ladder, path),
                written: Vec::new(),
                steps: Vec::new(),
                field,
                effective,
            }],
        })
    }

    /// The explanations of many paths, those alike once.
    pub fn explanations<'p>(
        &self,
        contexts: impl IntoIterator<Item = (&'p ScenePart<'p>, KindId, PathId)>,
        field: Option<&str>,
    ) -> Vec<v1::Explanation> {
        let contexts = contexts.into_iter();
        let mut found: Vec<_> =
            contexts.filter_map(|(part, k, path)| self.explain(part, k, path, field)).collect();
        alike_once(&mut found);
        found
    }

    /// The reader's own steps, in the order of the ladder.
    fn own_steps(&self, part: &ScenePart<'_>, ladder: LadderId) -> Vec<StepId> {
        let steps = part.resolution.ladders.steps(ladder).into_iter();
        steps.filter(|s| self.step(part, *s)).collect()
    }

    fn rungs(&self, part: &ScenePart<'_>, ladder: LadderId, path: PathId) -> Vec<v1::Rung> {
        let nodes = self.nodes(part, path);
        let level = |n| part.topology.get(n).map(|n| n.level.0);
        let mut rungs = Vec::new();
        for id in self.own_steps(part, ladder) {
            let Some(step) = part.resolution.ladders.get_step(id) else { continue };
            let object = part.resolution.policy(step.policy).map(|p| p.object);
            let object = object.and_then(|o| self.scene.snapshot.get(o));
            let attached = part
                .resolution
                .attachments_of(step.policy)
                .filter(|a| nodes.contains(&a.node) && level(a.node) == Some(step.level));
            rungs.push(v1::Rung {
                position: rungs.len() + 1,
                policy: part.policy_name(self.scene, step.policy),
                attached_to: attached.map(|a| part.target_name(self.scene, a.node)).collect(),
                block: step.block_name(),
                strategy: part.words.strategy_name(step.mode),
                outcome: self.fate(part, ladder, step.policy).outcome,
                at: match step.entry {
                    Some(_) => Some(self.scene.place_of(step.value)),
                    None => object.map(|o| self.scene.place(o.at)),
                },
                created: object.map_or_else(String::new, |o| o.created.to_string()),
                decided_by: None,
                because: None,
                condition: None,
            });
        }
        rungs
    }

    /// One field: what is in force, and what the reader's own policies wrote there.
    fn field(
        &self,
        part: &ScenePart<'_>,
        ladder: LadderId,
        effective: &v1::EffectivePolicy,
        asked: &str,
    ) -> v1::FieldFocus {
        let mut rest = segments(asked);
        if rest.first().is_some_and(|s| s == "spec") {
            rest.remove(0);
        }
        let pointer = pointer(rest.iter().map(String::as_str));
        let value =
            effective.spec.as_ref().and_then(|s| s.at(rest.iter().map(String::as_str))).cloned();
        let mut candidates = Vec::new();
        let found = part.resolution.effective(ladder);
        for (position, id) in (1..).zip(self.own_steps(part, ladder)) {
            let Some(found) = found else { continue };
            let losses = Losses { scene: self.scene, part, effective: found };
            let Some(node) = node_at(&losses, id, &pointer) else { continue };
            let mut by = losses.in_force(&pointer);
            let holds = by.contains(&id);
            by.retain(|s| *s != id);
            candidates.push(v1::HadValue {
                position,
                policy: part.step_name(self.scene, id),
                block: part.block(id),
                value: value::of_node(self.scene.documents, node),
                at: Some(self.scene.place_of(node)),
                outcome: if holds { "in force" } else { "shadowed" },
                by: if holds { Vec::new() } else { losses.names(&by) },
                reason: (!holds).then_some(LOST.0),
                because: (!holds).then_some(LOST.1),
            });
        }
        let suggestions = match value.is_none() && candidates.is_empty() {
            true => near(effective, &pointer),
            false => Vec::new(),
        };
        v1::FieldFocus { asked: asked.to_owned(), pointer, value, candidates, suggestions }
    }
}

/// Fields with a value in force, or one of the reader's own, that are named alike.
fn near(effective: &v1::EffectivePolicy, asked: &str) -> Vec<String> {
    let known = effective.origins.keys().chain(effective.shadowed.iter().map(|l| &l.pointer));
    let known: BTreeSet<String> = known.filter(|p| !p.is_empty()).map(|p| name(p)).collect();
    let near = nearest(&name(asked), known.iter().map(String::as_str), 3);
    near.into_iter().map(str::to_owned).collect()
}
