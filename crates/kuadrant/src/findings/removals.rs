// SPDX-License-Identifier: Apache-2.0
//! In: removal lists and what they took out. Out: entries without effect, and plain names that mean several rules.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use overrule_engine::{Fate, PolicyId, dotted};
use overrule_family::About;
use overrule_source::{Diagnostic, Documents};

use super::Findings;
use crate::codes;
use crate::policy::{Policy, Removal, means, span};
use crate::{Kuadrant, World};

/// How many unknown entries get a suggestion: finding names that are near costs, and a broken fleet has thousands.
pub(crate) const SUGGESTIONS: usize = 100;

/// Whether the findings about all removal lists but those of the subjects stay as they are: they name rules of any policy
/// of their kind.
pub(super) fn is_about_subjects(findings: &Findings<'_>, about: About<'_, Kuadrant>) -> bool {
    let now = findings.world;
    let rules = |world: World<'_>, id: PolicyId| -> BTreeSet<(bool, String)> {
        let blocks = world.policies.list.get(id.0 as usize).into_iter().flat_map(|p| &p.blocks);
        let ids = blocks.flat_map(|block| {
            block.rules.iter().map(|rule| (block.is_override(), rule.id(world.documents)))
        });
        ids.collect()
    };
    now.policies.removal_entries == 0
        || about.changed.iter().all(|id| rules(about.before, *id) == rules(now, *id))
}

/// Reports on every removal list of the subjects that is read.
pub(super) fn report(findings: &Findings<'_>, out: &mut Vec<Diagnostic>) {
    let profile = findings.world.profile;
    if findings.world.policies.removal_entries == 0 {
        return;
    }
    let subjects = findings.subjects.policies(findings.resolution);
    let policies = || {
        let all = subjects.iter().filter_map(|id| Some((*id, findings.policy(*id)?)));
        all.filter(|(_, policy)| policy.removals(profile).next().is_some())
    };
    if policies().next().is_none() {
        return;
    }
    let (known, budget) = (RefCell::default(), Cell::new(SUGGESTIONS));
    let lists = Lists { findings, taken: taken(findings), known, budget };
    for (id, policy) in policies() {
        // A policy that reaches nothing has been told so.
        if findings.resolution.tally(id).paths() > 0 {
            policy.removals(profile).for_each(|removal| lists.entries(id, policy, removal, out));
        }
    }
}

/// Rule ids, found by the whole id and by the last part of it.
#[derive(Default)]
struct Ids(BTreeMap<String, BTreeSet<String>>);

impl Ids {
    fn insert(&mut self, id: String) {
        let plain = id.rsplit('.').next().unwrap_or("").to_owned();
        self.0.entry(plain).or_default().insert(id.clone());
        self.0.entry(id.clone()).or_default().insert(id);
    }

    /// The rules an entry means.
    fn of(&self, entry: &str) -> impl Iterator<Item = &String> {
        self.0.get(entry).into_iter().flatten()
    }

    fn all(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(|id| id.contains('.') || *id == "when")
    }
}

/// Rule ids a list took out, by policy and field.
fn taken(findings: &Findings<'_>) -> BTreeMap<(PolicyId, &'static str), Ids> {
    let mut found: BTreeMap<_, Ids> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (_, effective) in findings.ladders() {
        for loss in effective.losses.iter().filter(|l| l.fate == Fate::Removed) {
            let list = loss.by.first().and_then(|s| findings.resolution.ladders.get_step(*s));
            let Some(list) = list.filter(|_| {
                seen.insert((
                    loss.by.first().copied(),
                    loss.node.get().map(|n| (n.doc.0, n.node.0)),
                ))
            }) else {
                continue;
            };
            found.entry((list.policy, list.block)).or_default().insert(dotted(&loss.pointer));
        }
    }
    found
}

/// What rules there are of a kind.
#[derive(Default)]
struct Known {
    defaults: Ids,
    /// An owner of each override, by whole id and by its last part.
    overrides: BTreeMap<String, PolicyId>,
}

impl Known {
    fn new(findings: &Findings<'_>, kind: usize) -> Self {
        let documents: &Documents = findings.world.documents;
        let mut known = Self::default();
        let policies = (0..).map(PolicyId).zip(&findings.world.policies.list);
        for (id, policy) in policies.filter(|(_, p)| p.kind == kind) {
            for block in &policy.blocks {
                for rule in block.rules.iter().map(|r| r.id(documents)) {
                    if !block.is_override() {
                        known.defaults.insert(rule);
                        continue;
                    }
                    let plain = rule.rsplit('.').next().unwrap_or("").to_owned();
                    known.overrides.entry(plain).or_insert(id);
                    known.overrides.entry(rule).or_insert(id);
                }
            }
        }
        known
    }
}

struct Lists<'a> {
    findings: &'a Findings<'a>,
    taken: BTreeMap<(PolicyId, &'static str), Ids>,
    /// By kind; made when an entry took nothing out.
    known: RefCell<BTreeMap<usize, Rc<Known>>>,
    budget: Cell<usize>,
}

impl Lists<'_> {
    fn entries(&self, id: PolicyId, policy: &Policy, removal: &Removal, out: &mut Vec<Diagnostic>) {
        let taken = self.taken.get(&(id, removal.field));
        for (i, (entry, node)) in removal.entries.iter().enumerate() {
            let hits: Vec<&String> = taken.into_iter().flat_map(|ids| ids.of(entry)).collect();
            let field = format!("spec.{}[{i}]", removal.field);
            let at = span(self.findings.world.documents, *node);
            match hits.as_slice() {
                [] => out.push(self.nothing(id, policy, entry).at(at).field(field)),
                [_, _, ..] if !entry.contains('.') => {
                    let names: Vec<String> = hits.iter().map(|h| format!("`{h}`")).collect();
                    let message = format!(
                        "`{entry}` matches several rules, and all of them are removed: {}",
                        names.join(", ")
                    );
                    let d = Diagnostic::new(&codes::AMBIGUOUS_REMOVAL, message).at(at).field(field);
                    out.push(d.help("write the full path of the rule you mean"));
                }
                _ => {}
            }
        }
    }

    /// An entry that took nothing out, and why.
    fn nothing(&self, id: PolicyId, policy: &Policy, entry: &str) -> Diagnostic {
        let documents = self.findings.world.documents;
        let mut own = policy.blocks.iter().flat_map(|b| &b.rules);
        let new = || Rc::new(Known::new(self.findings, policy.kind));
        let known = Rc::clone(self.known.borrow_mut().entry(policy.kind).or_insert_with(new));
        let overriding = known.overrides.get(entry).filter(|p| **p != id);
        let elsewhere = known.defaults.of(entry).next().is_some();
        let (message, help) = if let Some(other) = overriding {
            let name = self.findings.name(*other);
            (
                format!("`{entry}` is an override of `{name}`, and overrides cannot be removed"),
                "ask the owner of the override, or remove the entry".to_owned(),
            )
        } else if own.any(|r| means(entry, &r.id(documents))) {
            (
                format!(
                    "`{entry}` is a rule of this policy itself; a removal list only affects defaults above it"
                ),
                "remove the rule instead, or the entry".to_owned(),
            )
        } else if elsewhere {
            (
                format!(
                    "no policy above this one has `{entry}` as a default; only policies below or elsewhere do"
                ),
                "remove the entry: a removal list does not affect policies below".to_owned(),
            )
        } else {
            (
                format!("no default rule is called `{entry}`, so nothing is removed"),
                self.suggestion(&known, entry),
            )
        };
        Diagnostic::new(&codes::REMOVES_NOTHING, message).help(help)
    }

    fn suggestion(&self, known: &Known, entry: &str) -> String {
        let left = self.budget.get();
        self.budget.set(left.saturating_sub(1));
        let names = Some(known).filter(|_| left > 0).into_iter().flat_map(|k| k.defaults.all());
        match overrule_model::nearest(entry, names, 1).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => "name a rule by its path: `rules.authentication.a`, `limits.a`".to_owned(),
        }
    }
}
