// SPDX-License-Identifier: Apache-2.0
//! In: one policy as written. Out: what can be said of it without looking at any other. Not here: what keeps it out
//! (`policy/validate.rs`).

use overrule_condition::CelCondition;
use overrule_gateway::codes_policy::EMPTY_POLICY;
use overrule_model::{UNKNOWN_SHOWN, nearest, with_article};
use overrule_source::{Diagnostic, NodeKind, NodeRef, View};

use super::Findings;
use crate::kinds::{KUADRANT, MergeClass};
use crate::policy::{Policy, RuleBlock, span};
use crate::{Profile, codes};

/// Reports on a policy that takes part.
pub(super) fn report(findings: &Findings<'_>, policy: &Policy, out: &mut Vec<Diagnostic>) {
    let written = Written { findings, policy };
    match policy.info.class {
        MergeClass::Inherited => {
            policy.blocks(findings.world.profile).for_each(|b| written.condition(b, out));
            written.other_when(out);
            written.dead_blocks(out);
            written.empty(out);
            written.unread(out);
            written.unknown_fields(out);
        }
        MergeClass::Generates { kind, .. } => out.extend(written.generated(kind)),
        MergeClass::Direct => written.only(written.spec(), "spec", policy.info.fields(), out),
    }
}

/// Reports only misspelt fields: often they are why a policy is refused.
pub(super) fn fields(findings: &Findings<'_>, policy: &Policy, out: &mut Vec<Diagnostic>) {
    if policy.info.class == MergeClass::Inherited {
        Written { findings, policy }.unknown_fields(out);
    }
}

struct Written<'a> {
    findings: &'a Findings<'a>,
    policy: &'a Policy,
}

impl Written<'_> {
    fn profile(&self) -> Profile {
        self.findings.world.profile
    }

    fn at(&self, node: NodeRef) -> overrule_source::Span {
        span(self.findings.world.documents, node)
    }

    fn spec(&self) -> View<'_> {
        self.findings.world.documents.view(self.policy.spec)
    }

    fn condition(&self, block: &RuleBlock, out: &mut Vec<Diagnostic>) {
        let Some(when) = block.when.as_ref().filter(|_| self.profile().has_conditions()) else {
            return;
        };
        let field = format!("spec.{}.when", block.name);
        if !block.is_override() && !block.merge {
            let message = "this condition is useless: an atomic default applies only where policies below have no rules, so it has nothing to check";
            let d = Diagnostic::new(&codes::USELESS_CONDITION, message).at(self.at(when.node));
            let help = "remove the condition, or use `strategy: merge` or `overrides`";
            out.push(d.field(field.clone()).help(help));
        }
        let unguarded = when.condition.iter().flat_map(CelCondition::reads).filter(|r| !r.guarded);
        let mut missing: Vec<String> = unguarded
            .filter(|r| r.path.len() > 1 && r.path.first().is_some_and(|p| **p == *"spec"))
            .map(|r| r.path.join("."))
            .collect();
        missing.sort();
        missing.dedup();
        if let Some(first) = missing.first() {
            let all: Vec<String> = missing.iter().map(|m| format!("`{m}`")).collect();
            let message = format!(
                "this condition fails where a policy below has no {}; a failed condition counts as not met, so `{}` is skipped there",
                all.join(" or "),
                block.name
            );
            let d = Diagnostic::new(&codes::CONDITION_CAN_FAIL, message).at(self.at(when.node));
            out.push(d.field(field).help(format!(
                "decide what should happen there, and test each level, because `has` also fails if a parent is missing: `{} || …` applies the block",
                levels(first).join(" || ")
            )));
        }
    }

    /// `when` means a condition on policies as text, and predicates on requests as a list.
    fn other_when(&self, out: &mut Vec<Diagnostic>) {
        if self.profile() == Profile::Operator {
            return;
        }
        for block in self.policy.blocks(self.profile()).filter(|b| b.name != "bare") {
            let documents = self.findings.world.documents;
            let when = documents.view(block.node).get("when");
            // A condition is refused by the released CRD, which says so.
            let Some(when) = when.filter(|when| when.kind() == NodeKind::List) else { continue };
            let message = "this list contains predicates on requests and is merged like a rule; a condition on the policies below is a string";
            let d = Diagnostic::new(&codes::OTHER_WHEN, message).at(when.span());
            let help = "to check the policies below, write one CEL expression as a string";
            out.push(d.field(format!("spec.{}.when", block.name)).help(help));
        }
    }

    fn dead_blocks(&self, out: &mut Vec<Diagnostic>) {
        let of = |name: &str| self.policy.blocks.iter().find(|b| b.name == name);
        let (defaults, bare, overrides) = (of("defaults"), of("bare"), of("overrides"));
        let filled = |block: Option<&'_ RuleBlock>| block.is_some_and(|b| !b.rules.is_empty());
        let mut dead = |block: &RuleBlock, other: &RuleBlock, why: &str| {
            let message = format!("the {} of this policy are never in force: {why}", words(block));
            let d = Diagnostic::new(&codes::DEAD_BLOCK, message)
                .at_with(self.first_rule(block), "never in force")
                .see(self.at(other.node), "because of this")
                .field("spec");
            out.push(d.help(format!(
                "move these rules into `{}`, or into a policy of their own",
                other.name
            )));
        };
        let wiping = overrides.filter(|o| !o.merge && o.when.is_none());
        match (self.profile(), bare, defaults.or(overrides)) {
            (Profile::Latest, Some(bare), Some(other)) if filled(Some(bare)) => {
                dead(bare, other, "bare rules are ignored next to `defaults` or `overrides`");
            }
            (Profile::Design, Some(bare), _) if filled(Some(bare)) => {
                if let Some(defaults) = defaults.filter(|d| filled(Some(d)) && d.when.is_none()) {
                    dead(
                        bare,
                        defaults,
                        "`defaults` come first, and bare rules apply only where no rules are in force",
                    );
                } else if let Some(overrides) = wiping {
                    dead(bare, overrides, "its atomic `overrides` replace them everywhere");
                }
            }
            _ => {}
        }
        if let (Some(defaults), Some(overrides)) = (defaults.filter(|d| filled(Some(d))), wiping)
            && self.profile() != Profile::Operator
        {
            dead(defaults, overrides, "its atomic `overrides` replace them everywhere");
        }
    }

    fn first_rule(&self, block: &RuleBlock) -> overrule_source::Span {
        let node = block.rules.first().map_or(block.node, |r| r.key);
        self.at(node)
    }

    /// A policy that is there and says nothing.
    fn empty(&self, out: &mut Vec<Diagnostic>) {
        let profile = self.profile();
        let rules = self.policy.blocks(profile).any(|b| !b.rules.is_empty());
        let wipes = self.policy.blocks(profile).any(|b| b.is_override() && !b.merge);
        if rules || wipes || self.policy.removals(profile).any(|r| !r.entries.is_empty()) {
            return;
        }
        let message = "this policy sets nothing, so defaults above it apply as if it did not exist";
        let d = Diagnostic::new(&EMPTY_POLICY, message).at(self.policy.at).field("spec");
        out.push(d.help("add the missing settings, or remove the policy"));
    }

    /// Parts that a profile does not read at all.
    fn unread(&self, out: &mut Vec<Diagnostic>) {
        for removal in &self.policy.removals {
            if self.profile().reads_removals(removal.field) {
                continue;
            }
            let (message, help) = match self.profile() {
                Profile::Operator => (
                    format!(
                        "`{}` is not released yet: the cluster drops the field, and the rules stay",
                        removal.field
                    ),
                    "replace the rule in this policy instead, or ask for the default to be removed",
                ),
                _ => (
                    format!(
                        "`{}` is an older name that the latest design no longer has",
                        removal.field
                    ),
                    "write `unset`",
                ),
            };
            let d = Diagnostic::new(&codes::UNREAD_REMOVAL, message).at(self.at(removal.node));
            out.push(d.field(format!("spec.{}", removal.field)).help(help));
        }
        let explicit = self.policy.blocks.iter().any(|b| b.name != "bare");
        let predicates = self.spec().get_entry("when").filter(|(_, v)| v.kind() == NodeKind::List);
        if let (true, "limits", Some((key, _)), Profile::Operator) =
            (explicit, self.policy.info.content, predicates, self.profile())
        {
            let message = "these predicates are ignored: next to `defaults` or `overrides` only those inside the block count";
            let d = Diagnostic::new(&codes::UNREAD_PREDICATES, message).at(key.span());
            out.push(d.field("spec.when").help("move `when` into the block"));
        }
    }

    /// A misspelt field is dropped without a word by the API server; here it gets one.
    fn unknown_fields(&self, out: &mut Vec<Diagnostic>) {
        let groups = self.policy.info.groups;
        let firsts = || groups.iter().filter_map(|g| g.path.first().copied());
        let plumbing = ["targetRef", "defaults", "overrides", "remove", "unset"];
        let spec: Vec<&str> = plumbing.into_iter().chain(firsts()).collect();
        self.only(self.spec(), "spec", &spec, out);
        if let Some(target) = self.spec().get("targetRef") {
            let known = ["group", "kind", "name", "sectionName"];
            self.only(target, "spec.targetRef", &known, out);
        }
        let block: Vec<&str> = ["strategy", "when"].into_iter().chain(firsts()).collect();
        let mut holders = vec![(self.spec(), "spec".to_owned())];
        for name in ["defaults", "overrides"] {
            if let Some(view) = self.spec().get(name) {
                self.only(view, &format!("spec.{name}"), &block, out);
                holders.push((view, format!("spec.{name}")));
            }
        }
        for (holder, path) in holders {
            let Some(rules) = holder.get("rules") else { continue };
            let path = format!("{path}.rules");
            for depth in
                [["rules"].as_slice(), &["rules", "response"], &["rules", "response", "success"]]
            {
                let below = groups.iter().filter(|g| g.path.starts_with(depth));
                let known: Vec<&str> =
                    below.filter_map(|g| g.path.get(depth.len()).copied()).collect();
                let way = depth.get(1..).unwrap_or(&[]);
                let Some(view) = way.iter().try_fold(rules, |v, key| v.get(key)) else { break };
                let path = way.iter().fold(path.clone(), |path, key| format!("{path}.{key}"));
                if !known.is_empty() {
                    self.only(view, &path, &known, out);
                }
            }
        }
    }

    fn only(&self, of: View<'_>, path: &str, known: &[&str], out: &mut Vec<Diagnostic>) {
        let unknown = of.entries().filter(|(key, _)| !known.contains(&key.key_text()));
        for (key, _) in unknown.take(UNKNOWN_SHOWN) {
            let word = key.key_text();
            let message = format!(
                "`{word}` is not a field of {path} of {} and is ignored",
                with_article(self.policy.info.kind)
            );
            let help = match nearest(word, known.iter().copied(), 1).first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => "remove it, or check where it belongs".to_owned(),
            };
            let d = Diagnostic::new(&codes::UNKNOWN_FIELD, message).at(key.span());
            out.push(d.field(format!("{path}.{word}")).help(help));
        }
    }

    fn generated(&self, kind: &str) -> Option<Diagnostic> {
        let snapshot = self.findings.world.snapshot;
        let own = snapshot.get(self.policy.object)?;
        let mut others = snapshot.of_kind(KUADRANT, kind).iter();
        if others.any(|o| o.name == own.name && o.scope == own.scope) {
            return None;
        }
        let message = format!(
            "Kuadrant generates {} of the same name from this {}; it is not in the input, so answers do not contain its rules",
            with_article(kind),
            self.policy.info.kind
        );
        let d = Diagnostic::new(&codes::GENERATED, message).at(self.policy.at).field("kind");
        Some(d.help(format!("paths it reaches count as covered; add the generated {kind} to the input to see its rules")))
    }
}

/// Tests for every level of a path below `spec`: `!has(spec.limits)`, `!has(spec.limits.a)`.
fn levels(path: &str) -> Vec<String> {
    let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]).skip(1);
    ends.filter_map(|end| path.get(..end)).map(|level| format!("!has({level})")).collect()
}

/// A block as prose has it.
fn words(block: &RuleBlock) -> &'static str {
    match block.name {
        "defaults" => "`defaults`",
        "overrides" => "`overrides`",
        _ => "bare rules",
    }
}
