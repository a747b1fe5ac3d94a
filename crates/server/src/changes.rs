// SPDX-License-Identifier: Apache-2.0
//! In: two states, and who asks. Out: which effective policies differ between them, as far as that reader may know.
//! Not here: comparing (`overrule::view`).

use overrule::source::Diagnostic;
use overrule::view::{self, Styles, tenancy, v1};

use crate::live::State;
use crate::reader::Reader;

/// What differs.
pub fn changes(before: &State, after: &State, reader: &Reader<'_>) -> v1::EffectiveChanges {
    let (old, new) = (before.analysis.stage(), after.analysis.stage());
    view::changes_for(&old.scene(), &new.scene(), reader)
}

/// The same for people.
pub fn text(changes: &v1::EffectiveChanges) -> String {
    let mut out = String::new();
    // Writing to memory does not fail.
    let _ = view::changes_text(changes, &Styles::plain(), &mut out);
    out
}

/// Findings as a reader may know them.
pub fn visible(state: &State, reader: &Reader<'_>, found: &[Diagnostic]) -> Vec<Diagnostic> {
    use tenancy::Sees;
    if reader.everything() {
        return found.to_vec();
    }
    let stage = state.analysis.stage();
    let scene = stage.scene();
    let restricted = tenancy::Reader::new(&scene, reader);
    found.iter().filter_map(|d| restricted.finding(d)).collect()
}
