// SPDX-License-Identifier: Apache-2.0
//! In: a kind and a path. Out: the effective policy there, as data. Not here: text (`effective_text.rs`).

use std::collections::BTreeMap;

use overrule_engine::{Effective, FoldAction, KindId, LadderId, PathId, Rung, StepId};

use crate::diagnostics::item;
use crate::losses::{Losses, Sorted};
use crate::written::written;
use crate::{Scene, ScenePart, assumed, compare, v1, value};

/// The effective policy of one kind at one path; its `spec` is null where nothing is in force. If the scene has other
/// profiles, it tells where they differ.
pub fn effective(
    scene: &Scene<'_>,
    part: &ScenePart<'_>,
    kind: KindId,
    path: PathId,
) -> v1::EffectivePolicy {
    let found = part.resolution.effective(part.resolution.ladder(kind, path));
    let mut here = result(scene, part, found);
    here.broken |= part.resolution.failures(path).next().is_some();
    let other_profiles = compare::others(scene, part, kind, path, &here);
    v1::EffectivePolicy { other_profiles, ..with(scene, part, kind, path, here) }
}

/// The same, compared with nothing, around what is in force.
pub(crate) fn with(
    scene: &Scene<'_>,
    part: &ScenePart<'_>,
    kind: KindId,
    path: PathId,
    result: Result,
) -> v1::EffectivePolicy {
    let resolution = part.resolution;
    let ladder = resolution.ladder(kind, path);
    let kind = resolution.kind(kind);
    let text = |sym| scene.snapshot.text(sym).to_owned();
    let found = resolution.effective(ladder);
    let Result { spec, origins, .. } = result;
    let lost = found.map(|e| lost(scene, part, ladder, e)).unwrap_or_default();
    let Sorted { shadowed, masked, removed, skipped } = lost;
    v1::EffectivePolicy {
        api_version: v1::API_VERSION,
        kind: "EffectivePolicy",
        policy_kind: kind.map(|k| text(k.kind)).unwrap_or_default(),
        policy_group: kind.map(|k| text(k.group)).unwrap_or_default(),
        family: kind.map_or("", |k| k.family),
        profile: kind.map_or("", |k| k.profile),
        assumed: kind.is_some_and(|k| k.assumed),
        only_elsewhere: false,
        path: part.path_elements(scene, path),
        assumptions: assumed::told(scene, &assumed::of_path(scene, part, path)),
        target: part.path_target(scene, path),
        policies: contributors(scene, part, ladder),
        spec,
        origins,
        beside: found.map(|e| beside(scene, part, e)).unwrap_or_default(),
        shadowed,
        masked,
        removed,
        skipped,
        error: failures(scene, part, path, found),
        other_profiles: Vec::new(),
        diagnostics: findings(scene, part, ladder),
    }
}

fn contributors(scene: &Scene<'_>, part: &ScenePart<'_>, ladder: LadderId) -> Vec<v1::Contributor> {
    let outcomes = part.resolution.outcomes(ladder).iter();
    let contributor = |(policy, outcome): &(_, overrule_engine::Outcome)| v1::Contributor {
        policy: part.policy_name(scene, *policy),
        outcome: outcome.word(),
    };
    outcomes.map(contributor).collect()
}

/// Who wrote each leaf, by JSON pointer.
pub(crate) type Origins = BTreeMap<String, Vec<v1::Origin>>;

/// What is in force: the value, who wrote it, and whether the target fails closed.
#[derive(Default)]
pub(crate) struct Result {
    pub(crate) spec: Option<v1::Value>,
    pub(crate) origins: Origins,
    pub(crate) broken: bool,
}

/// What a fold left in force.
pub(crate) fn result(
    scene: &Scene<'_>,
    part: &ScenePart<'_>,
    effective: Option<&Effective>,
) -> Result {
    let Some(effective) = effective else { return Result::default() };
    let mut origins = Origins::new();
    let origin = |step, node: Option<_>| v1::Origin {
        policy: part.step_name(scene, step),
        block: part.block(step),
        at: node.map(|n| scene.place_of(n)),
        implied: node.is_none(),
    };
    let spec = effective.value.as_ref().map(|traced| {
        value::traced(scene.documents, traced, &mut |leaf| {
            let one = leaf.step.map(|step| origin(step, leaf.node));
            origins.entry(leaf.pointer.to_owned()).or_default().extend(one);
        })
    });
    for step in effective.beside() {
        let node = part.resolution.ladders.get_step(*step).map(|s| s.value);
        origins.entry(String::new()).or_default().push(origin(*step, node));
    }
    Result { spec, origins, broken: !effective.poison().is_empty() }
}

/// What stands beside the value, because nothing decides between them.
fn beside(scene: &Scene<'_>, part: &ScenePart<'_>, effective: &Effective) -> Vec<v1::Beside> {
    let ladders = &part.resolution.ladders;
    let why = |step: StepId| {
        let verdicts = effective.log(ladders).filter(|v| v.done == FoldAction::Beside);
        let mut of_step = verdicts.filter(|v| match v.rung {
            Rung::Step(id) => id == step,
            Rung::Group(group) => ladders.steps(group).contains(&step),
        });
        of_step.next().map(|v| v.reason)
    };
    let steps = effective.beside().iter().filter_map(|id| Some((*id, ladders.get_step(*id)?)));
    let found = steps.map(|(id, step)| v1::Beside {
        policy: part.step_name(scene, id),
        block: step.block_name(),
        spec: written(scene, step),
        reason: why(id).map(|r| r.id),
        because: why(id).map(|r| r.sentence),
        at: Some(scene.place_of(step.value)),
    });
    found.collect()
}

fn lost(
    scene: &Scene<'_>,
    part: &ScenePart<'_>,
    ladder: LadderId,
    effective: &Effective,
) -> Sorted {
    let steps = part.resolution.ladders.steps(ladder);
    Losses { scene, part, effective }.sorted(&steps)
}

fn failures(
    scene: &Scene<'_>,
    part: &ScenePart<'_>,
    path: PathId,
    effective: Option<&Effective>,
) -> Vec<v1::Failure> {
    let poison = effective.map_or(&[][..], Effective::poison).iter();
    let poison = poison.map(|(step, reason)| v1::Failure {
        policy: part.step_name(scene, *step),
        reason: reason.id,
        because: reason.sentence,
        at: None,
    });
    let others = part.resolution.failures(path).map(|failure| v1::Failure {
        policy: String::new(),
        reason: failure.reason.id,
        because: failure.reason.sentence,
        at: failure.at.map(|span| scene.place(span)),
    });
    poison.chain(others).collect()
}

/// What was found wrong in the documents of the policies on the ladder.
fn findings(scene: &Scene<'_>, part: &ScenePart<'_>, ladder: LadderId) -> Vec<v1::DiagnosticItem> {
    let Some(findings) = scene.findings else { return Vec::new() };
    let policies = part.resolution.outcomes(ladder).iter();
    let objects = policies
        .filter_map(|(policy, _)| part.resolution.policy(*policy))
        .filter_map(|p| scene.snapshot.get(p.object));
    let spans = objects.map(|o| scene.documents.view(o.root).span());
    let found = spans.flat_map(|span| findings.within(span));
    found.map(|d| item(&scene.documents.sources, d)).collect()
}
