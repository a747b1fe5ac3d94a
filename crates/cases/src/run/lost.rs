// SPDX-License-Identifier: Apache-2.0
//! In: `shadowed`, `masked`, `removed`, `skipped` of an entry and what lost. Out: mismatches. Not here: what is in force.
//!
//! A test names a field, the answer names the largest part that one policy wrote; both are compared leaf by leaf, so
//! that it does not matter how the fold cut them. A list that is given is complete.

use std::collections::BTreeSet;

use super::Run;
use super::entry::{differs, list};
use crate::case::{Expectation, ExpectedLoss, Given};
use crate::family::{ActualLoss, ActualPolicy};
use crate::field::{Field, leaves, pointer};
use crate::result::DifferenceKind;

/// A leaf that lost.
struct Leaf<'p> {
    part: &'p ActualLoss,
    segments: Vec<String>,
}

impl Leaf<'_> {
    fn is(&self, lost: &ExpectedLoss) -> bool {
        self.part.policy == lost.policy
            && lost.field.as_ref().is_none_or(|field| field.covers(&self.segments))
            && lost.block.as_ref().is_none_or(|block| *block == self.part.block)
    }
}

fn leaves_of(parts: &[ActualLoss]) -> Vec<Leaf<'_>> {
    let mut found = Vec::new();
    for part in parts {
        let below = part.value.as_ref().map(|value| leaves(part.segments.clone(), value));
        let segments = match below {
            Some(below) => below.into_iter().map(|(segments, _)| segments).collect(),
            None => vec![part.segments.clone()],
        };
        found.extend(segments.into_iter().map(|segments| Leaf { part, segments }));
    }
    found
}

impl Run<'_> {
    /// Compares everything that lost.
    pub(super) fn lost(&mut self, expect: &Expectation, effective: &ActualPolicy) {
        if let Some(given) = &expect.shadowed {
            self.losses(DifferenceKind::Shadowed, "shadowed", expect, given, &effective.shadowed);
        }
        if let Some(given) = &expect.removed {
            self.losses(DifferenceKind::Removed, "removed", expect, given, &effective.removed);
        }
        if let Some(given) = &expect.masked {
            self.masked(expect, given, &effective.masked);
        }
        self.skipped(expect, &effective.skipped);
    }

    fn losses(
        &mut self,
        what: DifferenceKind,
        word: &str,
        expect: &Expectation,
        given: &Given<ExpectedLoss>,
        parts: &[ActualLoss],
    ) {
        let leaves = leaves_of(parts);
        for lost in &given.items {
            let matched: Vec<&Leaf<'_>> = leaves.iter().filter(|leaf| leaf.is(lost)).collect();
            let name = lost.field.as_ref().map_or_else(
                || format!("`{}`", lost.policy),
                |field| format!("`{}` of `{}`", field.text, lost.policy),
            );
            if matched.is_empty() {
                let message = format!("{name} is not {word}");
                let actual = said(parts, &lost.policy);
                self.add(
                    differs(what, &lost.at, expect, message).expected_is(word).actual_is(actual),
                );
                continue;
            }
            let Some(by) = &lost.by else { continue };
            let wanted: BTreeSet<&str> = by.iter().map(String::as_str).collect();
            let actual: BTreeSet<&str> =
                matched.iter().flat_map(|leaf| &leaf.part.by).map(String::as_str).collect();
            if wanted != actual {
                let message = format!("{name} is {word} by others");
                let mismatch = differs(what, &lost.at, expect, message);
                self.add(mismatch.expected_is(list(&wanted)).actual_is(list(&actual)));
            }
        }
        let rest = leaves.iter().filter(|leaf| !given.items.iter().any(|lost| leaf.is(lost)));
        let rest: BTreeSet<(String, String)> =
            rest.map(|leaf| (leaf.part.policy.clone(), pointer(&leaf.segments))).collect();
        for (policy, field) in rest {
            let message =
                format!("`{field}` of `{policy}` is {word}, but the entry does not list it");
            let actual = said(parts, &policy);
            self.add(differs(what, &given.at, expect, message).actual_is(actual));
        }
    }

    fn masked(&mut self, expect: &Expectation, given: &Given<Field>, parts: &[ActualLoss]) {
        let leaves = leaves_of(parts);
        for field in
            given.items.iter().filter(|f| !leaves.iter().any(|leaf| f.covers(&leaf.segments)))
        {
            let message = format!("`{}` is not masked", field.text);
            self.add(differs(DifferenceKind::Masked, &field.at, expect, message));
        }
        let rest =
            leaves.iter().filter(|leaf| !given.items.iter().any(|f| f.covers(&leaf.segments)));
        let rest: BTreeSet<String> = rest.map(|leaf| pointer(&leaf.segments)).collect();
        for field in rest {
            let message = format!("`{field}` is masked, but the entry does not list it");
            self.add(differs(DifferenceKind::Masked, &given.at, expect, message));
        }
    }

    fn skipped(&mut self, expect: &Expectation, parts: &[ActualLoss]) {
        let Some(given) = &expect.skipped else { return };
        let is = |part: &ActualLoss, one: &crate::case::ExpectedSkip| {
            part.policy == one.policy
                && one.block.as_ref().is_none_or(|block| *block == part.block)
                && one.reason.as_ref().is_none_or(|reason| *reason == part.reason)
        };
        for one in given.items.iter().filter(|one| !parts.iter().any(|part| is(part, one))) {
            let message = format!("`{}` is not skipped as expected", one.policy);
            let expected = one.reason.clone().unwrap_or_else(|| "skipped".to_owned());
            let actual = said(parts, &one.policy);
            let mismatch = differs(DifferenceKind::Skipped, &one.at, expect, message);
            self.add(mismatch.expected_is(expected).actual_is(actual));
        }
        for part in parts.iter().filter(|part| !given.items.iter().any(|one| is(part, one))) {
            let message = format!("`{}` is skipped, but the entry does not list it", part.policy);
            self.add(
                differs(DifferenceKind::Skipped, &given.at, expect, message)
                    .actual_is(part.reason.clone()),
            );
        }
    }
}

/// What is known of a policy's losses, in short.
fn said(parts: &[ActualLoss], policy: &str) -> String {
    let of_policy = parts.iter().filter(|part| part.policy == policy);
    let said: Vec<String> = of_policy
        .map(|part| {
            let name = if part.segments.is_empty() {
                "all of it".to_owned()
            } else {
                pointer(&part.segments)
            };
            format!("{name} by {} ({})", part.by.join(", "), part.reason)
        })
        .collect();
    super::or_nothing(&said.join("; ")).to_owned()
}
