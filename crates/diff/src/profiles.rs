// SPDX-License-Identifier: Apache-2.0
//! In: two analyses with more than one profile. Out: what the same change changes under the other profiles. Not here: the
//! changes under the profile that is shown.

use std::collections::BTreeSet;

use overrule::view::{EffectiveDiff, Scene, ScenePart, v1};
use overrule::{Analysis, Stage};

/// What tells a change from another one: kind, target, path.
type Key = (String, String, String);

pub(crate) fn profiles(
    before: &Analysis,
    after: &Analysis,
    changes: &v1::EffectiveChanges,
) -> Vec<v1::ProfileChanges> {
    let (old, new) = (before.bare_stage(), after.bare_stage());
    let mut found = Vec::new();
    for part in others(&new) {
        let here: BTreeSet<Key> =
            changes.items.iter().filter(|item| item.family == part.family).map(key).collect();
        let then = others(&old).find(|o| (o.family, o.profile) == (part.family, part.profile));
        let (then, now): (Vec<ScenePart<'_>>, _) = (then.into_iter().collect(), [part]);
        let (before, after) = (with(&old, &then), with(&new, &now));
        let told = EffectiveDiff::between(&before, &after).told(&before, &after);
        let there: BTreeSet<Key> = told.items.iter().map(key).collect();
        if here.is_empty() && there.is_empty() {
            continue;
        }
        let only = |these: &BTreeSet<Key>, those: &BTreeSet<Key>| -> Vec<String> {
            let named: BTreeSet<String> = these
                .difference(those)
                .map(|(kind, target, _)| format!("{kind} at {target}"))
                .collect();
            named.into_iter().collect()
        };
        found.push(v1::ProfileChanges {
            family: part.family,
            profile: part.profile,
            counts: told.counts,
            only_there: only(&there, &here),
            only_here: only(&here, &there),
        });
    }
    found
}

fn others<'a>(stage: &'a Stage<'a>) -> impl Iterator<Item = ScenePart<'a>> {
    stage.scene().others.iter().map(|other| other.part)
}

/// The scene of a stage, with other parts.
fn with<'a>(stage: &'a Stage<'a>, parts: &'a [ScenePart<'a>]) -> Scene<'a> {
    let scene = stage.scene();
    Scene::new(scene.documents, scene.snapshot, parts)
}

fn key(item: &v1::EffectiveChange) -> Key {
    let path: Vec<String> = item
        .path
        .iter()
        .map(|e| format!("{}/{}/{}", e.kind, e.namespace.as_deref().unwrap_or(""), e.name))
        .collect();
    (item.policy_kind.clone(), item.target.clone(), path.join(">"))
}
