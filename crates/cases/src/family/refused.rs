// SPDX-License-Identifier: Apache-2.0
//! In: the policies that a test expects to be refused. Out: where that differs from an answer. Not here: any rule.

use std::collections::BTreeMap;

use overrule::family_kit::Conflicts;
use overrule_model::ObjectId;

use super::answer::Answer;
use super::{Comparison, Difference};
use crate::case::{Conflicted, Given, Invalid};

/// A policy that is refused because of others.
#[derive(Default)]
struct Conflict {
    /// The others, as far as the answer names them; the messages do in any case.
    by: Vec<String>,
    said: Vec<String>,
}

impl Conflict {
    fn is(&self, expected: &Conflicted) -> bool {
        let mut by = expected.by.clone();
        by.sort();
        let says = |text: &str| self.said.iter().any(|said| said.contains(text));
        let names = match self.by.is_empty() {
            true => by.iter().all(|by| says(&format!(" {by}:"))),
            false => self.by == by,
        };
        names && expected.message.as_deref().is_none_or(says)
    }

    fn text(&self) -> String {
        match self.by.is_empty() {
            true => self.said.join("; "),
            false => format!("rejected because of {}", self.by.join(", ")),
        }
    }
}

impl Answer {
    /// Compares all policies that are refused because of another one.
    pub(crate) fn conflicted(&self, expected: &Given<Conflicted>) -> Comparison {
        let Some(conflicts) = self.family().dialect().conflicts else {
            return Comparison::Unsupported;
        };
        let mut actual = self.conflicts(conflicts);
        let mut differences = Vec::new();
        for one in &expected.items {
            let found = actual.remove(&(one.kind.clone(), one.policy.clone()));
            if !found.as_ref().is_some_and(|found| found.is(one)) {
                let message = one.message.iter().map(|message| format!(": {message}"));
                let message: String = message.collect();
                differences.push(Difference {
                    at: one.at.clone(),
                    message: format!("`{}` does not conflict as expected", one.policy),
                    expected: Some(format!("rejected because of {}{message}", one.by.join(", "))),
                    actual: Some(found.map_or_else(|| "not rejected".to_owned(), |c| c.text())),
                });
            }
        }
        differences.extend(actual.into_iter().map(|((kind, policy), conflict)| Difference {
            at: expected.at.clone(),
            message: format!("{kind} `{policy}` conflicts, but the test does not list it"),
            expected: None,
            actual: Some(conflict.text()),
        }));
        Comparison::Done(differences)
    }

    /// Kind and name of every policy that is refused because of others: it does not land, or it loses as a whole.
    fn conflicts(&self, how: Conflicts) -> BTreeMap<(String, String), Conflict> {
        let mut found: BTreeMap<(String, String), Conflict> = BTreeMap::new();
        for (i, target) in self.targets().iter().enumerate().filter(|(_, t)| t.reached) {
            let lost = self.view(i).into_iter().flat_map(|view| view.shadowed);
            for lost in lost.filter(|lost| lost.reason == how.reason) {
                let by = &mut found.entry((target.kind.clone(), lost.policy)).or_default().by;
                by.extend(lost.by);
                by.sort();
                by.dedup();
            }
        }
        let Some(resolution) = self.resolution() else { return found };
        for rejection in resolution.rejections.iter().filter(|r| r.reason.id == how.reason) {
            let Some(policy) = resolution.policy(rejection.policy) else { continue };
            let kind = resolution.kind(policy.kind);
            let kind = kind.map_or("", |k| self.analysis.snapshot.text(k.kind)).to_owned();
            found.entry((kind, self.object_name(policy.object))).or_default();
        }
        for (_, policy) in resolution.policies() {
            let kind = resolution.kind(policy.kind);
            let kind = kind.map_or("", |k| self.analysis.snapshot.text(k.kind)).to_owned();
            let Some(conflict) = found.get_mut(&(kind, self.object_name(policy.object))) else {
                continue;
            };
            conflict.said.extend(self.messages(policy.object, Some(how.code.id)));
        }
        found
    }

    /// Compares all policies that are refused for what they say themselves.
    pub(crate) fn invalid(&self, expected: &Given<Invalid>) -> Comparison {
        let Some(shown) = self.shown() else { return Comparison::Unsupported };
        let refused = self.analysis.refused(shown).into_iter();
        let actual: Vec<_> = refused.filter_map(|o| self.described(o)).collect();
        let mut differences = Vec::new();
        for one in &expected.items {
            let found =
                actual.iter().find(|(kind, name, _)| *kind == one.kind && *name == one.policy);
            let wanted = one.message.as_deref().unwrap_or("");
            if found.is_none_or(|(_, _, messages)| !messages.iter().any(|m| m.contains(wanted))) {
                differences.push(Difference {
                    at: one.at.clone(),
                    message: format!("{} `{}` is not rejected as expected", one.kind, one.policy),
                    expected: one.message.clone(),
                    actual: Some(
                        found.map_or_else(|| "not rejected".to_owned(), |f| f.2.join("; ")),
                    ),
                });
            }
        }
        Comparison::Done(differences)
    }

    /// Kind, name and the messages of findings about an object.
    fn described(&self, object: ObjectId) -> Option<(String, String, Vec<String>)> {
        let found = self.analysis.snapshot.get(object)?;
        let kind = self.analysis.snapshot.text(found.kind.kind).to_owned();
        Some((kind, self.object_name(object), self.messages(object, None)))
    }

    /// The messages of findings about an object; of one code, if it is given.
    fn messages(&self, object: ObjectId, code: Option<&str>) -> Vec<String> {
        let analysis = &self.analysis;
        let Some(found) = analysis.snapshot.get(object) else { return Vec::new() };
        let span = analysis.documents.view(found.root).span();
        let about = analysis.diagnostics.iter().filter(|d| {
            code.is_none_or(|code| d.code.id == code)
                && d.primary.as_ref().is_some_and(|label| {
                    label.span.source == span.source
                        && (span.start..span.end).contains(&label.span.start)
                })
        });
        about.map(|d| d.message.to_string()).collect()
    }
}
