// SPDX-License-Identifier: Apache-2.0
//! In: a kind and a path. Out: the effective policy there, as data. Not here: text (`effective_text.rs`).

use std::collections::BTreeMap;

use overrule_engine::{Effective, KindId, LadderId, PathId};

use crate::diagnostics::item;
use crate::losses::{Losses, Sorted};
use crate::{Part, Scene, v1, value};

/// The effective policy of one kind at one path; its `spec` is null where nothing is in force.
pub fn effective(
    scene: &Scene<'_>,
    part: &Part<'_>,
    kind: KindId,
    path: PathId,
) -> v1::EffectivePolicy {
    let resolution = part.resolution;
    let ladder = resolution.ladder(kind, path);
    let result = resolution.kind(kind);
    let text = |sym| scene.snapshot.text(sym).to_owned();
    let found = resolution.effective(ladder);
    let (spec, origins) = found.map(|e| spec(scene, part, e)).unwrap_or_default();
    let lost = found.map(|e| lost(scene, part, ladder, e)).unwrap_or_default();
    let Sorted { shadowed, masked, removed, skipped } = lost;
    v1::EffectivePolicy {
        api_version: v1::API_VERSION,
        kind: "EffectivePolicy",
        policy_kind: result.map(|k| text(k.kind)).unwrap_or_default(),
        policy_group: result.map(|k| text(k.group)).unwrap_or_default(),
        family: result.map_or("", |k| k.family),
        profile: result.map_or("", |k| k.profile),
        assumed: result.is_some_and(|k| k.assumed),
        path: part.path_elements(scene, path),
        target: part.path_target(scene, path),
        policies: contributors(scene, part, ladder),
        spec,
        origins,
        shadowed,
        masked,
        removed,
        skipped,
        error: found.map(|e| failures(scene, part, e)).unwrap_or_default(),
        other_profiles: Vec::new(),
        diagnostics: findings(scene, part, ladder),
    }
}

fn contributors(scene: &Scene<'_>, part: &Part<'_>, ladder: LadderId) -> Vec<v1::Contributor> {
    let outcomes = part.resolution.outcomes(ladder).iter();
    let contributor = |(policy, outcome): &(_, overrule_engine::Outcome)| v1::Contributor {
        policy: part.policy_name(scene, *policy),
        outcome: outcome.word(),
    };
    outcomes.map(contributor).collect()
}

type Origins = BTreeMap<String, Vec<v1::Origin>>;

fn spec(scene: &Scene<'_>, part: &Part<'_>, effective: &Effective) -> (Option<v1::Value>, Origins) {
    let mut origins = Origins::new();
    let Some(traced) = &effective.value else { return (None, origins) };
    let spec = value::traced(scene.documents, traced, &mut |leaf| {
        let origin = leaf.step.map(|step| v1::Origin {
            policy: part.step_name(scene, step),
            block: part.resolution.ladders.get_step(step).map_or("", |s| s.block),
            at: leaf.node.map(|n| scene.place_of(n)),
            implied: leaf.node.is_none(),
        });
        origins.entry(leaf.pointer.to_owned()).or_default().extend(origin);
    });
    (Some(spec), origins)
}

fn lost(scene: &Scene<'_>, part: &Part<'_>, ladder: LadderId, effective: &Effective) -> Sorted {
    let steps = part.resolution.ladders.steps(ladder);
    Losses { scene, part, effective }.sorted(&steps)
}

fn failures(scene: &Scene<'_>, part: &Part<'_>, effective: &Effective) -> Vec<v1::Failure> {
    let poison = effective.poison.iter().map(|(step, reason)| v1::Failure {
        policy: part.step_name(scene, *step),
        reason: reason.id,
        because: reason.sentence,
    });
    poison.collect()
}

/// What was found wrong in the documents of the policies on the ladder.
fn findings(scene: &Scene<'_>, part: &Part<'_>, ladder: LadderId) -> Vec<v1::DiagnosticItem> {
    let Some(findings) = scene.findings else { return Vec::new() };
    let policies = part.resolution.outcomes(ladder).iter();
    let objects = policies
        .filter_map(|(policy, _)| part.resolution.policy(*policy))
        .filter_map(|p| scene.snapshot.get(p.object));
    let spans = objects.map(|o| scene.documents.view(o.root).span());
    let found = spans.flat_map(|span| findings.within(span));
    found.map(|d| item(&scene.documents.sources, d)).collect()
}
