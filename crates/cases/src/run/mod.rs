// SPDX-License-Identifier: Apache-2.0
//! In: a case. Out: one result per profile it names. Not here: resolving (families), text of results.

mod entry;
mod features;
mod findings;
mod lost;

use std::collections::BTreeSet;

use overrule::family_kit::AnyFamily;
use overrule_model::nearest;
use overrule_source::Position;

use crate::case::{Case, Nothing, Walk};
use crate::family::{self, Answer, Comparison, is_path, path_name};
use crate::result::{CaseResult, DifferenceKind, Mismatch};
use crate::value;

/// How many differences of one kind a result lists before it counts the rest.
const LISTED: usize = 20;
/// How many paths are looked at to find the nearest one.
const CONSIDERED: usize = 200;

/// Runs a case under every profile it names, or the default one. `profile` narrows that down: a name, or
/// `family=name`, which leaves cases of other families alone.
pub fn run(case: &Case, profile: Option<&str>) -> Vec<CaseResult> {
    let family = overrule::family(&case.family);
    let default = family.and_then(|f| f.profiles().first()).copied().unwrap_or("design");
    let mut names: Vec<&str> = case.profiles.iter().map(|p| p.text.as_str()).collect();
    if names.is_empty() {
        names.push(default);
    }
    names.retain(|name| wanted(&case.family, name, profile));
    let results = names.into_iter().map(|name| {
        let mismatches = match family {
            Some(family) => under(family, case, name),
            None => vec![not_supported(case)],
        };
        CaseResult::new(case, name, mismatches)
    });
    results.collect()
}

fn wanted(family: &str, name: &str, profile: Option<&str>) -> bool {
    match profile.map(|p| p.split_once('=').map_or((None, p), |(f, p)| (Some(f), p))) {
        None => true,
        Some((Some(of), _)) if of != family => true,
        Some((_, profile)) => profile == name,
    }
}

fn not_supported(case: &Case) -> Mismatch {
    let message = format!("family `{}` is not supported by this version", case.family);
    Mismatch::new(DifferenceKind::Family, &case.at, message)
}

fn under(family: &'static dyn AnyFamily, case: &Case, profile: &str) -> Vec<Mismatch> {
    if !family.profiles().contains(&profile) {
        let at = case.profiles.iter().find(|p| p.text == profile).map_or(&case.at, |p| &p.at);
        let message = format!("family `{}` has no profile `{profile}`", case.family);
        return vec![
            Mismatch::new(DifferenceKind::Profile, at, message)
                .expected_is(family.profiles().join(", ")),
        ];
    }
    let answer = &Answer::new(case, family, profile);
    let mut run = Run { answer, mismatches: Vec::new() };
    run.settings(case, family);
    run.unreadable(case);
    let listed = run.expectations(case);
    match Run::is_about_features(case) {
        true => run.unlisted_features(case, &listed),
        false => run.unlisted(case, &listed),
    }
    for nothing in &case.none {
        run.nothing(nothing);
    }
    for walk in &case.absent {
        run.absent(walk);
    }
    run.conditions(case, family.dialect().status_profile, profile);
    if let Some(given) = &case.conflicted {
        run.check(
            DifferenceKind::Conflicted,
            "conflicted",
            &given.at,
            run.answer.conflicted(given),
        );
    }
    if let Some(given) = &case.invalid {
        run.check(DifferenceKind::Invalid, "invalid", &given.at, run.answer.invalid(given));
    }
    run.findings(case);
    for can in &case.can {
        run.check(DifferenceKind::Can, "can", &can.at, run.answer.can(can));
    }
    run.mismatches
}

/// The comparison of one case with one answer.
struct Run<'a> {
    answer: &'a Answer,
    mismatches: Vec<Mismatch>,
}

impl Run<'_> {
    fn add(&mut self, mismatch: Mismatch) {
        self.mismatches.push(mismatch);
    }

    /// Conditions are compared under the profile of the controller that writes them.
    fn conditions(&mut self, case: &Case, written: Option<&str>, profile: &str) {
        if written.is_some_and(|written| written != profile) {
            return;
        }
        let check = |compare: &dyn Fn() -> Comparison| match written {
            Some(_) => compare(),
            None => Comparison::Unsupported,
        };
        for status in &case.status {
            let checked = check(&|| self.answer.status(status));
            self.check(DifferenceKind::Status, "status", &status.at, checked);
        }
        if let Some(given) = &case.affected {
            let checked = check(&|| self.answer.affected(given));
            self.check(DifferenceKind::Affected, "affected", &given.at, checked);
        }
    }

    fn settings(&mut self, case: &Case, family: &dyn AnyFamily) {
        for setting in &case.settings {
            if let Err(known) = family::setting(family, &setting.key, &setting.value) {
                let message = format!("family `{}` cannot be set like this", case.family);
                let given = format!("{}: {}", setting.key, value::short(&setting.value));
                let mismatch = Mismatch::new(DifferenceKind::Setting, &setting.at, message);
                self.add(mismatch.expected_is(known).actual_is(given));
            }
        }
    }

    /// A comparison that was not made entry by entry.
    fn check(&mut self, what: DifferenceKind, key: &str, at: &Position, check: Comparison) {
        match check {
            Comparison::Unsupported => {
                let message = format!("`{key}` is not supported by this version for this family");
                self.add(Mismatch::new(DifferenceKind::Unsupported, at, message));
            }
            Comparison::Done(differences) => {
                for difference in differences {
                    let mut mismatch = Mismatch::new(what, &difference.at, difference.message);
                    mismatch.expected = difference.expected;
                    mismatch.actual = difference.actual;
                    self.add(mismatch);
                }
            }
        }
    }

    /// Compares every entry of `expect` and returns the targets they mean.
    fn expectations(&mut self, case: &Case) -> BTreeSet<usize> {
        let mut listed = BTreeSet::new();
        for expect in case.expect.iter().flat_map(|given| &given.items) {
            let several = self.meant_by(expect);
            let target = match several.as_slice() {
                // Paths that a test cannot tell apart by name: one of them must be as expected.
                [_, _, ..] if self.answer.long_path(0).is_some() => {
                    listed.extend(&several);
                    several
                        .iter()
                        .copied()
                        .find(|t| self.holds(expect, *t))
                        .or(several.first().copied())
                }
                [one] => Some(*one),
                _ => self.target(&expect.path, &expect.kind.text),
            };
            if let Some(target) = target {
                listed.insert(target);
                let effective = self.answer.effective(target);
                match Self::is_about_features(case) {
                    true => self.featured(expect, target, &effective),
                    false => self.entry(expect, &effective),
                }
            }
        }
        listed
    }

    /// Whether a target is as an entry expects it.
    fn holds(&self, expect: &crate::case::Expectation, target: usize) -> bool {
        let mut run = Run { answer: self.answer, mismatches: Vec::new() };
        run.entry(expect, &self.answer.effective(target));
        run.mismatches.is_empty()
    }

    /// The targets a path and a kind mean.
    fn meant(&self, path: &Walk, kind: &str) -> Vec<usize> {
        let of_kind = self.answer.targets().iter().enumerate().filter(|(_, t)| t.is_kind(kind));
        of_kind.filter(|(_, t)| self.is_at(t.path, path)).map(|(i, _)| i).collect()
    }

    /// The one target a path and a kind mean, or a mismatch that says why there is none.
    fn target(&mut self, path: &Walk, kind: &str) -> Option<usize> {
        let found = self.meant(path, kind);
        match found.as_slice() {
            [one] => return Some(*one),
            [] => self.no_target(path, kind),
            several => {
                let message = "the path is ambiguous; write `Kind namespace/name`".to_owned();
                let mismatch =
                    Mismatch::new(DifferenceKind::Ambiguous, &path.at, message).about(path, kind);
                let count = several.len();
                self.add(mismatch.expected_is("one path").actual_is(format!("{count} paths")));
            }
        }
        None
    }

    fn no_target(&mut self, path: &Walk, kind: &str) {
        if !self.exists(path) {
            let mut mismatch =
                Mismatch::new(DifferenceKind::NoPath, &path.at, "there is no such path")
                    .about(path, kind);
            mismatch.actual =
                self.nearest_path(path).map(|near| format!("the nearest path is {near}"));
            return self.add(mismatch);
        }
        let of_kind: Vec<_> = self.answer.targets().iter().filter(|t| t.is_kind(kind)).collect();
        let actual = match of_kind.first() {
            None => {
                let kinds: BTreeSet<&str> =
                    self.answer.targets().iter().map(|t| t.kind.as_str()).collect();
                let kinds: Vec<&str> = kinds.into_iter().collect();
                format!("no policy kind of this name; known: {}", or_nothing(&kinds.join(", ")))
            }
            Some(first) => {
                let at =
                    self.answer.paths().get(first.path).map(|p| path_name(p)).unwrap_or_default();
                format!("effective policies of this kind are at paths like {at}")
            }
        };
        let message = "no effective policy of this kind can be at this path";
        self.add(
            Mismatch::new(DifferenceKind::NoTarget, &path.at, message)
                .about(path, kind)
                .actual_is(actual),
        );
    }

    fn exists(&self, path: &Walk) -> bool {
        (0..self.answer.paths().len()).any(|index| self.is_at(index, path))
    }

    /// Whether a test means this path, with or without the nodes it may leave out.
    fn is_at(&self, index: usize, path: &Walk) -> bool {
        let short = self.answer.paths().get(index).map(Vec::as_slice);
        let long = self.answer.long_path(index);
        short.into_iter().chain(long).any(|nodes| is_path(nodes, &path.steps))
    }

    /// The path that differs in one step only, by the name nearest to what is written there.
    fn nearest_path(&self, path: &Walk) -> Option<String> {
        let differs = |nodes: &&Vec<family::ActualNode>| {
            let other = nodes.iter().zip(&path.steps).filter(|(node, text)| !node.is(text)).count();
            nodes.len() == path.steps.len() && other == 1
        };
        let close: Vec<_> = self.answer.paths().iter().filter(differs).take(CONSIDERED).collect();
        let names: Vec<String> = close.iter().map(|nodes| path_name(nodes)).collect();
        let near = nearest(&path.to_string(), names.iter().map(String::as_str), 1);
        near.first().map(|name| (*name).to_owned()).or_else(|| names.first().cloned())
    }

    /// `expect` is complete: what else is in force somewhere is a mismatch.
    fn unlisted(&mut self, case: &Case, listed: &BTreeSet<usize>) {
        let Some(given) = case.expect.as_ref().filter(|_| !case.partial) else { return };
        let targets = self.answer.targets().iter().enumerate();
        let rest: Vec<(usize, String, String)> = targets
            .filter(|(i, target)| target.reached && !listed.contains(i))
            .map(|(i, target)| {
                let path =
                    self.answer.paths().get(target.path).map(|p| path_name(p)).unwrap_or_default();
                (i, path, target.kind.clone())
            })
            .collect();
        for (i, path, kind) in rest.iter().take(LISTED) {
            let effective = self.answer.effective(*i);
            let spec = effective.spec.as_ref().map_or_else(|| "nothing".to_owned(), value::short);
            let from = effective.policies.join(", ");
            let mut mismatch = Mismatch::new(
                DifferenceKind::Unlisted,
                &given.at,
                "`expect` does not list this effective policy",
            );
            (mismatch.path, mismatch.kind) = (path.clone(), kind.clone());
            self.add(mismatch.expected_is("nothing").actual_is(format!("{spec} from {from}")));
        }
        if let Some(more) = rest.len().checked_sub(LISTED).filter(|n| *n > 0) {
            let message = format!("`expect` does not list {more} more effective policies");
            self.add(Mismatch::new(DifferenceKind::Unlisted, &given.at, message));
        }
    }

    fn nothing(&mut self, nothing: &Nothing) {
        let (path, kind) = (&nothing.path, nothing.kind.text.as_str());
        if nothing.no_path {
            return self.absent(path);
        }
        if self.cannot_stand(path, kind) {
            return;
        }
        let Some(target) = self.target(path, kind) else { return };
        if self.answer.targets().get(target).is_some_and(|t| t.reached) {
            let effective = self.answer.effective(target);
            let message = "a policy reaches this path";
            let mismatch =
                Mismatch::new(DifferenceKind::HasPolicy, &nothing.at, message).about(path, kind);
            self.add(mismatch.expected_is("no policy").actual_is(effective.policies.join(", ")));
        }
    }

    /// Whether a path exists at which a known kind never acts: nothing of it can be in force there.
    fn cannot_stand(&self, path: &Walk, kind: &str) -> bool {
        let mut of_kind = self.answer.targets().iter().filter(|t| t.is_kind(kind));
        self.answer.knows(kind) && self.exists(path) && !of_kind.any(|t| self.is_at(t.path, path))
    }

    fn absent(&mut self, path: &Walk) {
        if self.exists(path) {
            let mut mismatch =
                Mismatch::new(DifferenceKind::PathExists, &path.at, "this path exists");
            mismatch.path = path.to_string();
            self.add(mismatch.expected_is("no such path"));
        }
    }
}

/// A list for people, also when it is empty.
fn or_nothing(list: &str) -> &str {
    if list.is_empty() { "none" } else { list }
}

impl Mismatch {
    fn new(what: DifferenceKind, at: &Position, message: impl Into<String>) -> Self {
        Self {
            what,
            at: at.clone(),
            path: String::new(),
            kind: String::new(),
            message: message.into(),
            expected: None,
            actual: None,
            difference: None,
        }
    }

    fn about(mut self, path: &Walk, kind: &str) -> Self {
        self.path = path.to_string();
        kind.clone_into(&mut self.kind);
        self
    }

    fn expected_is(mut self, text: impl Into<String>) -> Self {
        self.expected = Some(text.into());
        self
    }

    fn actual_is(mut self, text: impl Into<String>) -> Self {
        self.actual = Some(text.into());
        self
    }
}
