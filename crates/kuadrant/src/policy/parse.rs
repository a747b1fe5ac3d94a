// SPDX-License-Identifier: Apache-2.0
//! In: an object of one of Kuadrant's kinds. Out: a [`Policy`]. Not here: whether its target exists.

use overrule_condition::CelCondition;
use overrule_gateway::kinds::Descriptor;
use overrule_gateway::policy::{ToRead, read_again, read_all, references};
use overrule_model::{At, Fields, Object, Snapshot};
use overrule_source::{Diagnostic, Documents, NodeKind, NodeRef, View, locate};
use smallvec::SmallVec;

use super::{Policies, Policy, Removal, RuleBlock, Violation, When, rules, validate};
use crate::codes;
use crate::kinds::{ALL, KindInfo, MergeClass};

/// Reads every policy. Findings that keep a policy out are in its violations: they count by profile.
pub fn parse(documents: &Documents, snapshot: &mut Snapshot) -> (Policies, Vec<Diagnostic>) {
    let (list, kinds, found) = read_all(snapshot, ALL, |snapshot, fields, policy| {
        read(documents, snapshot, fields, policy)
    });
    let removal_entries = list.iter().map(|policy| policy.removal_entries()).sum();
    (Policies { list, kinds, removal_entries }, found)
}

/// Reads one policy again.
pub(crate) fn reparse(
    documents: &Documents,
    snapshot: &mut Snapshot,
    policies: &Policies,
    was: &Policy,
) -> Option<(Policy, Vec<Diagnostic>)> {
    let known = (was.kind, was.info, was.object);
    read_again(snapshot, &policies.kinds, known, |snapshot, fields, policy| {
        read(documents, snapshot, fields, policy)
    })
}

fn read(
    documents: &Documents,
    snapshot: &mut Snapshot,
    fields: &mut Fields,
    ToRead { kind, info, descriptor, object }: ToRead<'_, KindInfo>,
) -> Policy {
    let mut reader = Reader { documents, info, object, violations: Vec::new() };
    reader.policy(kind, descriptor, snapshot, fields)
}

struct Reader<'a> {
    documents: &'a Documents,
    info: &'static KindInfo,
    object: &'a Object,
    violations: Vec<Violation>,
}

impl<'a> Reader<'a> {
    fn policy(
        &mut self,
        kind: usize,
        descriptor: &Descriptor,
        snapshot: &mut Snapshot,
        fields: &mut Fields,
    ) -> Policy {
        let root = self.documents.view(self.object.root);
        let before = fields.diagnostics.len();
        let references = references(fields, snapshot, descriptor, root);
        // A target reference that cannot be read is reported there and refuses itself.
        let readable = fields.diagnostics.len() == before;
        let spec = root.get("spec").filter(|v| v.kind() == NodeKind::Map);
        let mut policy = Policy {
            object: self.object.id,
            info: self.info,
            kind,
            references,
            spec: self.at(spec.unwrap_or(root)),
            blocks: SmallVec::new(),
            removals: Vec::new(),
            violations: Vec::new(),
            at: self.object.at,
        };
        match spec {
            None => self.no_spec(root),
            Some(spec) => {
                if self.info.class == MergeClass::Inherited {
                    policy.blocks = self.blocks(spec);
                    policy.removals = self.removals(spec);
                }
                let found = validate::spec(self.info, spec, self.object.at, readable);
                self.violations.extend(found);
                self.version(snapshot, root);
            }
        }
        policy.violations = std::mem::take(&mut self.violations);
        policy
    }

    fn at(&self, view: View<'_>) -> NodeRef {
        NodeRef { doc: self.object.root.doc, node: view.id() }
    }

    fn refuse(&mut self, diagnostic: Diagnostic) {
        self.violations.push(Violation { shipped_only: false, diagnostic });
    }

    /// A cluster serves one version of each kind.
    fn version(&mut self, snapshot: &Snapshot, root: View<'_>) {
        let version = snapshot.text(self.object.version);
        if version != self.info.version {
            let message = format!(
                "no matches for kind \"{}\" in version \"{}/{version}\"",
                self.info.kind, self.info.group
            );
            let at = root.get("apiVersion").map_or(self.object.at, View::span);
            let diagnostic = Diagnostic::new(&codes::INVALID, message).at(at).field("apiVersion");
            let help = format!("write `apiVersion: {}/{}`", self.info.group, self.info.version);
            self.violations
                .push(Violation { shipped_only: true, diagnostic: diagnostic.help(help) });
        }
    }

    fn no_spec(&mut self, root: View<'_>) {
        let mut fields = Fields::default();
        match root.get("spec").filter(|v| !v.is_null()) {
            Some(spec) => fields.wrong_type(&At::ROOT.key("spec"), spec, "a mapping"),
            None => fields.missing(&At::ROOT.key("spec"), root),
        }
        for diagnostic in fields.diagnostics {
            self.refuse(diagnostic);
        }
    }

    /// The blocks a policy has, in the order they are processed.
    fn blocks(&mut self, spec: View<'a>) -> SmallVec<[RuleBlock; 1]> {
        let mut blocks = SmallVec::new();
        blocks.extend(self.explicit(spec, "defaults"));
        self.containers(spec, &At::ROOT.key("spec"));
        let rules = rules::of_block(self.info, self.object.root, spec);
        let written = spec.get(self.info.content).is_some_and(|v| !v.is_null());
        if written || !rules.is_empty() {
            let node = self.at(spec);
            blocks.push(RuleBlock { name: "bare", merge: false, node, rules, when: None });
        }
        blocks.extend(self.explicit(spec, "overrides"));
        blocks
    }

    fn explicit(&mut self, spec: View<'a>, name: &'static str) -> Option<RuleBlock> {
        let block = spec.get(name).filter(|v| !v.is_null())?;
        let path = At::ROOT.key("spec");
        let path = path.key(name);
        if block.kind() != NodeKind::Map {
            let mut fields = Fields::default();
            fields.wrong_type(&path, block, "a mapping");
            fields.diagnostics.into_iter().for_each(|d| self.refuse(d));
            return None;
        }
        self.containers(block, &path);
        let merge = self.strategy(block, &path);
        let when = self.when(block, &path);
        let rules = rules::of_block(self.info, self.object.root, block);
        Some(RuleBlock { name, merge, node: self.at(block), rules, when })
    }

    /// Whatever holds rules must be a mapping: a list or a number there would silently be no rules at all.
    fn containers(&mut self, block: View<'a>, path: &At<'_>) {
        let mut seen: Vec<&[&str]> = Vec::new();
        let mut fields = Fields::default();
        for group in self.info.groups {
            let depth = if group.named { group.path.len() } else { group.path.len() - 1 };
            for end in 1..=depth {
                let Some(way) = group.path.get(..end).filter(|way| !seen.contains(way)) else {
                    continue;
                };
                seen.push(way);
                let place = way.iter().try_fold(block, |view, key| view.get(key));
                if let Some(place) = place.filter(|v| !v.is_null() && v.kind() != NodeKind::Map) {
                    let dotted = way.join(".");
                    fields.wrong_type(&path.key(&dotted), place, "a mapping");
                }
            }
        }
        // At the top of a spec `when` is a rule, and nothing else.
        let bare = block.get("when").filter(|_| block.get("targetRef").is_some());
        if let Some(when) = bare.filter(|v| !v.is_null() && v.kind() != NodeKind::List) {
            fields.wrong_type(&path.key("when"), when, "a list of predicates");
        }
        fields.diagnostics.into_iter().for_each(|d| self.refuse(d));
    }

    fn strategy(&mut self, block: View<'a>, path: &At<'_>) -> bool {
        let Some(strategy) = block.get("strategy").filter(|v| !v.is_null()) else { return false };
        match strategy.as_str() {
            Some("merge") => true,
            Some("atomic") => false,
            _ => {
                let written = strategy.scalar_text().unwrap_or("");
                let message = format!(
                    "Unsupported value: \"{written}\": supported values: \"atomic\", \"merge\""
                );
                let d = Diagnostic::new(&codes::INVALID, message).at(strategy.span());
                let help = "write `atomic` (all rules or none) or `merge` (rule by rule)";
                self.refuse(d.field(path.key("strategy").to_string()).help(help));
                false
            }
        }
    }

    /// A `when` that is text is a condition on the policies below; as a list it holds predicates on requests.
    fn when(&mut self, block: View<'a>, path: &At<'_>) -> Option<When> {
        let when = block.get("when").filter(|v| !v.is_null() && v.kind() != NodeKind::List)?;
        let path = path.key("when");
        let node = self.at(when);
        let Some(text) = when.as_str() else {
            let mut fields = Fields::default();
            fields.wrong_type(&path, when, "a CEL expression in a string, or a list of predicates");
            fields.diagnostics.into_iter().for_each(|d| self.refuse(d));
            return None;
        };
        let field = path.to_string();
        let message =
            format!("Invalid value: \"string\": {field} in body must be of type array: \"string\"");
        let shipped =
            Diagnostic::new(&codes::INVALID, message).at(when.span()).field(field.clone());
        self.violations.push(Violation {
            shipped_only: true,
            diagnostic: shipped.help("the shipped CRD only accepts a list of predicates on requests here; conditions on policies are not released yet"),
        });
        let condition = match CelCondition::parse(text) {
            Ok(condition) => Some(condition),
            Err(refusal) => {
                let span = locate(self.documents, node, refusal.start);
                let d = Diagnostic::new(&codes::BAD_CONDITION, refusal.message).at(span);
                self.refuse(d.field(field).help(refusal.help));
                None
            }
        };
        Some(When { condition, node })
    }

    fn removals(&mut self, spec: View<'a>) -> Vec<Removal> {
        let mut found = Vec::new();
        for field in ["remove", "unset"] {
            let Some(list) = spec.get(field).filter(|v| !v.is_null()) else { continue };
            let path = At::ROOT.key("spec");
            let path = path.key(field);
            let mut fields = Fields::default();
            if list.kind() != NodeKind::List {
                fields.wrong_type(&path, list, "a list");
            }
            let mut entries = Vec::new();
            for (i, entry) in list.items().enumerate() {
                match entry.as_str() {
                    // People copy paths from manifests.
                    Some(text) => {
                        let text = text.strip_prefix("spec.").unwrap_or(text);
                        entries.push((Box::from(text), self.at(entry)));
                    }
                    None => fields.wrong_type(&path.index(i), entry, "a string"),
                }
            }
            // A default that nobody may see is worse than a policy that does not land.
            fields.diagnostics.into_iter().for_each(|d| self.refuse(d));
            found.push(Removal { field, node: self.at(list), entries });
        }
        found
    }
}
