// SPDX-License-Identifier: Apache-2.0
//! In: two states, and who asks. Out: which effective policies differ between them, as far as that reader may know.
//! Not here: comparing (`overrule::view`).

use std::cmp::Reverse;

use overrule::engine::LadderId;
use overrule::source::Diagnostic;
use overrule::view::{self, EffectiveDiff, Styles, tenancy, v1};

use crate::live::State;
use crate::reader::Reader;

/// What differs.
pub fn changes(before: &State, after: &State, reader: &Reader<'_>) -> v1::EffectiveChanges {
    let (old, new) = (before.analysis.bare_stage(), after.analysis.bare_stage());
    view::changes_for(&old.scene(), &new.scene(), reader)
}

/// Where two states differ, for everybody; only these ladders are compared, if they are known. Their numbers are places
/// among all answers, not only those shown.
pub fn difference(
    before: &State,
    after: &State,
    touched: Option<Vec<(usize, LadderId)>>,
) -> EffectiveDiff {
    let (old, new) = (before.analysis.bare_stage(), after.analysis.bare_stage());
    let Some(touched) = touched else { return EffectiveDiff::between(&old.scene(), &new.scene()) };
    let answers = &after.analysis.answers;
    let shown = |at: usize| answers.get(at).is_some_and(|answer| answer.shown);
    let place = |at: usize| (0..at).filter(|at| shown(*at)).count();
    let touched = touched.into_iter().filter(|(at, _)| shown(*at));
    let ladders: Vec<(usize, LadderId)> = touched.map(|(at, l)| (place(at), l)).collect();
    EffectiveDiff::of_ladders(&old.scene(), &new.scene(), &ladders)
}

/// A difference as a reader may know it. The states must be those it is between.
pub fn told(
    difference: &EffectiveDiff,
    before: &State,
    after: &State,
    reader: &Reader<'_>,
) -> v1::EffectiveChanges {
    let (old, new) = (before.analysis.bare_stage(), after.analysis.bare_stage());
    difference.told_to(&old.scene(), &new.scene(), reader)
}

/// The same for people.
pub fn text(changes: &v1::EffectiveChanges) -> String {
    let mut out = String::new();
    // Writing to memory does not fail.
    let _ = view::changes_text(changes, &Styles::plain(), &mut out);
    out
}

/// Findings that an answer to a write lists. A body can give reason for as many as it has letters.
pub const LISTED: usize = 1_000;

/// Findings as a reader may know them: the gravest, as many as an answer lists, and how many more there are.
pub fn visible(
    state: &State,
    reader: &Reader<'_>,
    found: Vec<&Diagnostic>,
) -> (Vec<Diagnostic>, usize) {
    use tenancy::Sees;
    if reader.everything() {
        return gravest(found, |d| Some(d.clone()));
    }
    let stage = state.analysis.stage();
    let scene = stage.scene();
    let restricted = tenancy::Reader::new(&scene, reader);
    gravest(found, |d| restricted.finding(d))
}

/// The gravest findings, as they are told, and how many more would be. Only what is listed is kept.
pub fn gravest(
    mut found: Vec<&Diagnostic>,
    tell: impl Fn(&Diagnostic) -> Option<Diagnostic>,
) -> (Vec<Diagnostic>, usize) {
    if found.len() > LISTED {
        found.sort_by_key(|d| Reverse(d.severity()));
    }
    let mut told = found.into_iter().filter_map(tell);
    let listed = told.by_ref().take(LISTED).collect();
    (listed, told.count())
}
