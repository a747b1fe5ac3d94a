// SPDX-License-Identifier: Apache-2.0
//! In: two analyses, before and after. Out: what changes in force between them, how far that reaches, and whether it may be
//! merged. Not here: where the two states come from (`overrule-cli`), comparing effective policies (`overrule::view`).
//!
//! ```text
//! before ──┐
//!          ├─► EffectiveDiff ─► changes, groups ─┬─► radius, owners ─► report ─► gates ─► text, markdown, ...
//! after  ──┘         └──────── other profiles ───┘       ▲
//!                     findings of both ──────────────────┘
//! ```

mod findings;
mod gates;
mod markdown;
mod owners;
mod profiles;
mod radius;
mod read;
mod text;

use overrule::Analysis;
use overrule::view::{EffectiveDiff, v1};

pub use gates::{MergeGate, MergeGates};
pub use markdown::markdown;
pub use owners::CodeOwners;
pub use read::{StateTexts, read_both};
pub use text::report_text;

/// One of the two states.
#[derive(Clone, Copy)]
pub struct NamedState<'a> {
    /// As the user named it.
    pub name: &'a str,
    /// What is in force there.
    pub analysis: &'a Analysis,
}

/// What changes from one state to the other. Give both analyses the policy kinds of each other
/// ([`kinds_in_force`]), so that a kind that is gone leaves targets without a policy.
pub fn compare(
    before: NamedState<'_>,
    after: NamedState<'_>,
    owners: &CodeOwners,
) -> v1::EffectiveChanges {
    let (old, new) = (before.analysis.bare_stage(), after.analysis.bare_stage());
    let (old_scene, new_scene) = (old.scene(), new.scene());
    let diff = EffectiveDiff::between(&old_scene, &new_scene);
    let (mut changes, mut groups) = diff.grouped(&old_scene, &new_scene);
    let causes = diff.causes(&old_scene, &new_scene);
    // The widest first; of equals, in the order of targets.
    groups.sort_by_key(|group| std::cmp::Reverse((group.uncovered, group.items.len())));
    let report = v1::ChangeReport {
        before: before.name.to_owned(),
        after: after.name.to_owned(),
        radius: radius::radius(before.analysis, after.analysis, &changes, &causes),
        findings: findings::findings(before.analysis, after.analysis),
        profiles: profiles::profiles(before.analysis, after.analysis, &changes),
        owners: owners.affected(before.analysis, after.analysis, &changes, &causes),
        gates: Vec::new(),
        groups,
    };
    changes.report = Some(Box::new(report));
    changes
}

/// The kinds that have policies, as [`overrule::Options::include_kinds`] takes them.
pub fn kinds_in_force(analysis: &Analysis) -> Vec<String> {
    let kinds = analysis.shown().flat_map(|answer| answer.resolution.kinds());
    kinds.map(|(_, kind)| analysis.snapshot.text(kind.kind).to_lowercase()).collect()
}
