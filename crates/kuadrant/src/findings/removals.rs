// SPDX-License-Identifier: Apache-2.0
//! In: removal lists and what they took out. Out: entries without effect, and plain names that mean several rules.

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{Fate, PolicyId};
use overrule_source::Diagnostic;

use super::Findings;
use crate::codes;
use crate::policy::{Policy, Removal, means, span};

/// Rule ids a list took out, by policy and field.
type Taken = BTreeMap<(PolicyId, &'static str), BTreeSet<String>>;

/// Reports on every removal list that is read.
pub(super) fn report(findings: &Findings<'_>, out: &mut Vec<Diagnostic>) {
    let profile = findings.world.profile;
    if !findings.world.policies.list.iter().any(|p| p.removals(profile).next().is_some()) {
        return;
    }
    let taken = taken(findings);
    for (id, policy) in (0..).map(PolicyId).zip(&findings.world.policies.list) {
        // A policy that reaches nothing has been told so.
        if findings.resolution.tally(id).paths() == 0 {
            continue;
        }
        for removal in policy.removals(profile) {
            let rules = taken.get(&(id, removal.field));
            entries(findings, id, policy, removal, rules, out);
        }
    }
}

fn taken(findings: &Findings<'_>) -> Taken {
    let mut found = Taken::new();
    for (_, effective) in findings.ladders() {
        for loss in effective.losses.iter().filter(|l| l.fate == Fate::Removed) {
            let list = loss.by.first().and_then(|s| findings.resolution.ladders.get_step(*s));
            let Some(list) = list else { continue };
            let id = loss.pointer.trim_start_matches('/').replace('/', ".");
            let id = id.replace("~1", "/").replace("~0", "~");
            found.entry((list.policy, list.block)).or_default().insert(id);
        }
    }
    found
}

fn entries(
    findings: &Findings<'_>,
    id: PolicyId,
    policy: &Policy,
    removal: &Removal,
    taken: Option<&BTreeSet<String>>,
    out: &mut Vec<Diagnostic>,
) {
    for (i, (entry, node)) in removal.entries.iter().enumerate() {
        let hits: Vec<&String> =
            taken.into_iter().flatten().filter(|rule| means(entry, rule)).collect();
        let field = format!("spec.{}[{i}]", removal.field);
        let at = span(findings.world.documents, *node);
        match hits.as_slice() {
            [] => out.push(nothing(findings, id, policy, entry).at(at).field(field)),
            [_, _, ..] if !entry.contains('.') => {
                let names: Vec<String> = hits.iter().map(|h| format!("`{h}`")).collect();
                let message = format!(
                    "`{entry}` means several rules, and all of them are removed: {}",
                    names.join(", ")
                );
                let d = Diagnostic::new(&codes::AMBIGUOUS_REMOVAL, message).at(at).field(field);
                out.push(d.help("write the whole path of the one that is meant"));
            }
            _ => {}
        }
    }
}

fn nothing(findings: &Findings<'_>, id: PolicyId, policy: &Policy, entry: &str) -> Diagnostic {
    let documents = findings.world.documents;
    let others = (0..).map(PolicyId).zip(&findings.world.policies.list);
    let others = others.filter(|(other, p)| *other != id && p.kind == policy.kind);
    let mut known = BTreeSet::new();
    let mut overriding = None;
    for (other, p) in others {
        for block in &p.blocks {
            for rule in &block.rules {
                let rule = rule.id(documents);
                if block.is_override() && means(entry, &rule) {
                    overriding.get_or_insert(other);
                }
                if !block.is_override() {
                    known.insert(rule);
                }
            }
        }
    }
    let own = policy.blocks.iter().flat_map(|b| &b.rules).any(|r| means(entry, &r.id(documents)));
    let (message, help) = match overriding {
        _ if own && overriding.is_none() => (
            format!(
                "`{entry}` is a rule of this policy itself; a removal list acts on defaults above it"
            ),
            "drop the rule instead, or the entry".to_owned(),
        ),
        Some(other) => (
            format!(
                "`{entry}` is an override of `{}`, and overrides cannot be removed",
                findings.name(other)
            ),
            "ask the owner of the override, or drop the entry".to_owned(),
        ),
        None => {
            let near = overrule_model::nearest(entry, known.iter().map(String::as_str), 1);
            let help = match near.first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => "name a rule by its path: `rules.authentication.a`, `limits.a`".to_owned(),
            };
            (
                format!(
                    "no default rule above this policy is called `{entry}`, so nothing is removed"
                ),
                help,
            )
        }
    };
    Diagnostic::new(&codes::REMOVES_NOTHING, message).help(help)
}
