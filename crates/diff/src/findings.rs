// SPDX-License-Identifier: Apache-2.0
//! In: two analyses. Out: findings that came and went. Not here: finding anything.
//!
//! A finding is the same if it says the same about the same field in the same resource or file, on whatever line: lines
//! above it may have come or gone.

use std::collections::BTreeMap;

use overrule::Analysis;
use overrule::source::Diagnostic;
use overrule::view::{self, v1};

/// What is the same in both states: code, message, field.
type Key<'a> = (&'static str, &'a str, &'a str);

fn key(found: &Diagnostic) -> Key<'_> {
    (found.code.id, &found.message, &found.field)
}

pub(crate) fn findings(before: &Analysis, after: &Analysis) -> v1::FindingChanges {
    let mut left: BTreeMap<Key<'_>, usize> = BTreeMap::new();
    for found in before.diagnostics.iter() {
        *left.entry(key(found)).or_default() += 1;
    }
    let (mut new, mut unchanged) = (Vec::new(), 0);
    for found in after.diagnostics.iter() {
        match left.get_mut(&key(found)).filter(|count| **count > 0) {
            Some(count) => {
                *count -= 1;
                unchanged += 1;
            }
            None => new.push(found.clone()),
        }
    }
    let mut fixed = Vec::new();
    for found in before.diagnostics.iter() {
        if let Some(count) = left.get_mut(&key(found)).filter(|count| **count > 0) {
            *count -= 1;
            fixed.push(found.clone());
        }
    }
    let items = |analysis: &Analysis, found: &[Diagnostic]| {
        view::diagnostics(&analysis.documents.sources, found).items
    };
    v1::FindingChanges { new: items(after, &new), fixed: items(before, &fixed), unchanged }
}
