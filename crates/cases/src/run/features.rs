// SPDX-License-Identifier: Apache-2.0
//! In: entries that list features instead of values, and what is in force. Out: mismatches. Not here: values (`entry.rs`).
//!
//! A feature is a top-level field in force. Such tests say for which kinds they are complete, and a path that a policy
//! has taken without a feature is there all the same, if its kind says so.

use std::collections::BTreeSet;

use overrule_source::Position;
use serde_json::Value;

use super::entry::{differs, list, writers};
use super::{LISTED, Run};
use crate::case::{Case, Expectation, ExpectedSource, Given};
use crate::family::{ActualPolicy, path_name};
use crate::result::{DifferenceKind, Mismatch};
use crate::value::same;

impl Run<'_> {
    /// Whether a test is about features.
    pub(super) fn is_about_features(case: &Case) -> bool {
        let entries = case.expect.iter().flat_map(|given| &given.items);
        !case.complete_for.is_empty() || entries.into_iter().any(|entry| entry.features.is_some())
    }

    /// The targets an entry means. One that only says that its path fails may be about a kind further up.
    pub(super) fn meant_by(&self, expect: &Expectation) -> Vec<usize> {
        let found = self.meant(&expect.path, &expect.kind.text);
        if !found.is_empty() || expect.features.is_some() || expect.error.is_none() {
            return found;
        }
        let mut path = expect.path.clone();
        while path.steps.pop().is_some() {
            let above = self.meant(&path, &expect.kind.text);
            if !above.is_empty() && self.exists(&expect.path) {
                return above;
            }
        }
        Vec::new()
    }

    /// Compares an entry of such a test, besides values.
    pub(super) fn featured(
        &mut self,
        expect: &Expectation,
        target: usize,
        effective: &ActualPolicy,
    ) {
        let of_values = Expectation { sources: None, error: None, ..expect.clone() };
        self.entry(&of_values, effective);
        for source in expect.sources.iter().flatten() {
            self.shared(expect, source, target, effective);
        }
        if let Some(given) = &expect.features {
            let actual = self.features(&expect.kind.text, effective);
            self.same_set(
                expect,
                DifferenceKind::Unexpected,
                "the features differ",
                given,
                &actual,
            );
        }
        if let Some(given) = &expect.policies {
            let actual = effective.makers.iter().map(String::as_str).collect();
            self.same_set(expect, DifferenceKind::Source, "the policies differ", given, &actual);
        }
        if let Some(wanted) = &expect.routing {
            let actual = effective.routing.as_deref().unwrap_or("");
            if actual != wanted.text {
                let message = "traffic goes elsewhere";
                let mismatch = differs(DifferenceKind::Value, &wanted.at, expect, message);
                self.add(mismatch.expected_is(&wanted.text).actual_is(actual));
            }
        }
        let wanted = expect.error.as_ref().is_some_and(|(wanted, _)| *wanted);
        if wanted != effective.poisoned {
            let say = |error| if error { "it fails closed" } else { "it does not fail" };
            let message = "whether policies of the kind make the target fail differs";
            let mismatch = differs(DifferenceKind::Error, &expect.at, expect, message);
            self.add(mismatch.expected_is(say(wanted)).actual_is(say(effective.poisoned)));
        }
    }

    /// Compares who has a share in a field: whoever wrote a part of it, or says the same as one.
    fn shared(
        &mut self,
        expect: &Expectation,
        source: &ExpectedSource,
        target: usize,
        effective: &ActualPolicy,
    ) {
        let field = source.field.text.as_str();
        let segments = [field.to_owned()];
        let mut actual: BTreeSet<&str> = writers(effective, &segments);
        let value = effective.spec.as_ref().and_then(|spec| spec.get(field));
        for policy in &source.policies {
            let said = self.answer.said(target, policy, field);
            let key = self.answer.key_of(field);
            if said.zip(value).is_some_and(|(said, value)| says_some(&said, value, key)) {
                actual.insert(policy);
            }
        }
        let wanted: BTreeSet<&str> = source.policies.iter().map(String::as_str).collect();
        if wanted != actual {
            let message = format!("`{field}` comes from elsewhere");
            let mismatch = differs(DifferenceKind::Source, &source.field.at, expect, message);
            self.add(mismatch.expected_is(list(&wanted)).actual_is(list(&actual)));
        }
    }

    fn same_set(
        &mut self,
        expect: &Expectation,
        what: DifferenceKind,
        message: &str,
        given: &Given<String>,
        actual: &BTreeSet<&str>,
    ) {
        let wanted: BTreeSet<&str> = given.items.iter().map(String::as_str).collect();
        if wanted != *actual {
            let mismatch = differs(what, &given.at, expect, message);
            self.add(mismatch.expected_is(list(&wanted)).actual_is(list(actual)));
        }
    }

    /// The features of a kind in force.
    fn features<'e>(&self, kind: &str, effective: &'e ActualPolicy) -> BTreeSet<&'e str> {
        let judged = self.answer.judged(kind);
        let fields = effective.spec.as_ref().and_then(|spec| spec.as_object());
        let fields = fields.into_iter().flatten().map(|(key, _)| key.as_str());
        let named = fields.map(|field| self.answer.alias(field));
        let counts = |field: &&str| {
            *field != ROUTING
                && judged
                    .and_then(|judged| judged.fields)
                    .is_none_or(|fields| fields.contains(field))
        };
        named.filter(counts).collect()
    }

    /// Paths with policies that such a test does not list.
    pub(super) fn unlisted_features(&mut self, case: &Case, listed: &BTreeSet<usize>) {
        let Some(at) = case.expect.as_ref().map(|given| given.at.clone()) else { return };
        let mut found = Vec::new();
        for (i, target) in self.answer.targets().iter().enumerate() {
            let complete =
                case.complete_for.is_empty() || case.complete_for.iter().any(|k| target.is_kind(k));
            let silent = case.unasserted.iter().any(|walk| self.begins(target.path, walk));
            if !target.reached || listed.contains(&i) || !complete || silent {
                continue;
            }
            let effective = self.answer.effective(i);
            let counts_empty =
                self.answer.judged(&target.kind).is_none_or(|judged| judged.counts_empty);
            let there = match counts_empty {
                true => !effective.makers.is_empty() || effective.poisoned,
                // Where it fails, nobody looks at what else there would be.
                false => !effective.poisoned && !self.features(&target.kind, &effective).is_empty(),
            };
            if there {
                found.push((target.path, target.kind.clone(), effective));
            }
        }
        self.say_unlisted(&at, found);
    }

    fn say_unlisted(&mut self, at: &Position, found: Vec<(usize, String, ActualPolicy)>) {
        for (path, kind, effective) in found.into_iter().take(LISTED) {
            let message = "`expect` does not list this effective policy";
            let mut mismatch = Mismatch::new(DifferenceKind::Unlisted, at, message);
            let path = self.answer.paths().get(path).map(|p| path_name(p)).unwrap_or_default();
            let features = list(&self.features(&kind, &effective));
            (mismatch.path, mismatch.kind) = (path, kind);
            let actual = format!("{features} from {}", effective.makers.join(", "));
            self.add(mismatch.expected_is("nothing").actual_is(actual));
        }
    }

    /// Whether a path begins with what a test says, or the other way round.
    fn begins(&self, index: usize, walk: &crate::case::Walk) -> bool {
        let nodes = self.answer.paths().get(index).map_or(&[][..], Vec::as_slice);
        let pairs = nodes.iter().zip(&walk.steps);
        nodes.len() >= walk.steps.len() && pairs.into_iter().all(|(node, text)| node.is(text))
    }
}

/// Whether a value says a part of another one: a member of a mapping, or an element of a list, whole or by its key.
fn says_some(said: &Value, value: &Value, key: Option<&str>) -> bool {
    match (said, value) {
        (Value::Object(said), Value::Object(value)) if !said.is_empty() => said
            .iter()
            .any(|(name, said)| value.get(name).is_some_and(|value| says_some(said, value, key))),
        (Value::Array(said), Value::Array(value)) => {
            let is_same = |said: &Value, value: &Value| match key {
                Some(key) => said.get(key).is_some_and(|said| value.get(key) == Some(said)),
                None => same(said, value),
            };
            said.iter().any(|said| value.iter().any(|value| is_same(said, value)))
        }
        (said, value) => same(said, value),
    }
}

/// A field that tests name apart from features.
const ROUTING: &str = "routingType";
