// SPDX-License-Identifier: Apache-2.0
//! In: findings, and resources with several definitions. Out: the findings that also hold with the definitions that stand
//! nearest to them. Not here: which definition answers use; that is the first by path, and they say so.
//!
//! A file of `prod` refers to what is in `prod`. A finding about it that is true only with the definitions of `dev` is
//! none.

use std::collections::{BTreeMap, BTreeSet};

use overrule_model::{Object, ObjectKey, Parsed, key_of};
use overrule_source::{Basis, Diagnostic, SourceId, SourceMap, Span};

use crate::analysis::Base;
use crate::{Analysis, Options};

/// Each combination of definitions costs as much as an answer. Findings of more of them are told unseen.
const MOST: usize = 64;

/// The definitions of one resource, the one that is used first.
type Definitions<'a> = Vec<&'a Object>;

/// What a finding is, and where.
type Finding = (&'static str, Option<Span>);

/// Takes out findings that do not hold with the definitions nearest to them.
pub(crate) fn confirm(analysis: &mut Analysis, variants: &[Object], options: &Options) {
    if variants.is_empty() {
        return;
    }
    let mut all: BTreeMap<usize, Definitions<'_>> = BTreeMap::new();
    let mut last: Option<(ObjectKey, usize)> = None;
    for object in variants {
        let key = key_of(object);
        let place = match last {
            Some((before, place)) if before == key => place,
            _ => all.len(),
        };
        last = Some((key, place));
        let snapshot = &analysis.snapshot;
        let used = || snapshot.find(key).or_else(|| snapshot.find_deleted(key));
        all.entry(place).or_insert_with(|| used().into_iter().collect()).push(object);
    }
    let sources = &analysis.documents.sources;
    let mut doubtful: BTreeMap<SourceId, Vec<&Diagnostic>> = BTreeMap::new();
    for finding in analysis.diagnostics.iter().filter(|d| d.code.basis == Basis::World) {
        if let Some(label) = &finding.primary {
            doubtful.entry(label.span.source).or_default().push(finding);
        }
    }
    let mut worlds: BTreeMap<Vec<usize>, BTreeSet<&Diagnostic>> = BTreeMap::new();
    for (file, findings) in doubtful {
        let near: Vec<Vec<usize>> =
            all.values().map(|definitions| nearest(sources, definitions, file)).collect();
        for round in 0..near.iter().map(Vec::len).max().unwrap_or(0) {
            let one = |near: &Vec<usize>| near.get(round % near.len().max(1)).copied().unwrap_or(0);
            let choice = near.iter().map(one).collect();
            worlds.entry(choice).or_default().extend(findings.iter().copied());
        }
    }
    worlds.retain(|choice, _| choice.iter().any(|place| *place > 0));
    let mut gone: BTreeSet<Diagnostic> = BTreeSet::new();
    for (choice, findings) in worlds.into_iter().take(MOST) {
        let chosen = all.values().zip(&choice).filter(|(_, place)| **place > 0);
        let chosen: Vec<&Object> =
            chosen.filter_map(|(definitions, place)| definitions.get(*place).copied()).collect();
        let found = findings_with(analysis, &chosen, options);
        let untrue = |d: &&&Diagnostic| !found.contains(&what(d));
        gone.extend(findings.iter().filter(untrue).map(|d| (*d).clone()));
    }
    gone.iter().for_each(|finding| analysis.diagnostics.remove(finding));
}

fn what(finding: &Diagnostic) -> Finding {
    (finding.code.id, finding.primary.as_ref().map(|label| label.span))
}

/// What is found with other definitions.
fn findings_with(analysis: &Analysis, chosen: &[&Object], options: &Options) -> BTreeSet<Finding> {
    let documents = &analysis.documents;
    let snapshot = analysis.snapshot.choosing(documents, chosen);
    let parsed = Parsed { snapshot, ..Parsed::default() };
    let (mut snapshot, base) = Base::connected(documents, parsed, options);
    let written = base.read_policies(documents, &mut snapshot);
    let found = Analysis::findings_on(&base, documents, &snapshot, &written, options);
    found.iter().map(what).collect()
}

/// Which definitions a file may mean: those in it, or else those whose folder shares most with its own. If they are all
/// below its folder, any of them.
fn nearest(sources: &SourceMap, definitions: &[&Object], file: SourceId) -> Vec<usize> {
    if let Some(own) = definitions.iter().position(|object| object.at.source == file) {
        return vec![own];
    }
    let folder = |source: SourceId| {
        let name = sources.get(source).map_or("", |s| s.name());
        name.rsplit_once('/').map_or("", |(folder, _)| folder)
    };
    let own = folder(file);
    let shared = |object: &&Object| {
        let theirs = folder(object.at.source).split('/');
        own.split('/').zip(theirs).take_while(|(a, b)| a == b).count()
    };
    let all = || (0..definitions.len()).collect::<Vec<usize>>();
    let most = definitions.iter().map(shared).max().unwrap_or(0);
    let near = || all().into_iter().filter(|i| definitions.get(*i).map(shared) == Some(most));
    let below = |i: usize| {
        let theirs = definitions.get(i).map_or("", |object| folder(object.at.source));
        theirs.strip_prefix(own).is_some_and(|rest| rest.starts_with('/') || own.is_empty())
            && theirs != own
    };
    match near().all(below) {
        true => all(),
        false => near().collect(),
    }
}
