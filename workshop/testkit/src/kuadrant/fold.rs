// SPDX-License-Identifier: Apache-2.0
//! In: the policies on a path, highest first. Out: their effective policy. Not here: who is on a path.
//!
//! One function for each flowchart of the design. The charts say that default rules "listed in `p.remove`" are left
//! out and not how the list gets into the effective policy `p`: lists are kept as policies are merged, lowest first.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::policy::{Block, Declared, Policy};
use super::{OracleEffective, OracleLoss, OracleRule, OracleSkip, condition};

/// The effective policy while it is built.
#[derive(Default)]
struct Building<'p, 'w> {
    /// Rules in force by id, with their place in the spec.
    rules: BTreeMap<String, (Vec<String>, OracleRule)>,
    /// Removal lists so far, lowest first, and whose they are.
    removals: Vec<(&'p str, &'p [&'w str])>,
    /// The lowest policy: the effective policy bears its name.
    lowest: Option<&'p Policy<'w>>,
    removed: BTreeSet<OracleLoss>,
    skipped: BTreeSet<OracleSkip>,
}

/// Chart "apply policies of a kind for an object".
pub(super) fn fold(highest_first: &[&Policy]) -> OracleEffective {
    let mut ep = Building::default();
    for policy in highest_first.iter().rev() {
        ep.merge_policy(policy);
    }
    let overridden = ep.overridden(highest_first);
    let rules = ep.rules.into_iter().map(|(id, (_, rule))| (id, rule)).collect();
    OracleEffective { rules, overridden, removed: ep.removed, skipped: ep.skipped }
}

impl<'p, 'w> Building<'p, 'w> {
    /// Chart "merging two policies together".
    fn merge_policy(&mut self, policy: &'p Policy<'w>) {
        for block in &policy.blocks {
            self.merge_block(policy, block);
        }
        // After its own blocks: a list is about the policies above.
        self.removals.push((&policy.name, &policy.removals));
        self.lowest = self.lowest.or(Some(policy));
    }

    /// Chart "merging a generic block with conditions".
    fn merge_block(&mut self, policy: &Policy, block: &Block) {
        let verdict = block.when.map_or(Some(true), |when| condition::evaluate(when, &self.view()));
        if verdict != Some(true) {
            let (policy, block) = (policy.name.clone(), block.name);
            self.skipped.insert(OracleSkip { policy, block, failed: verdict.is_none() });
        } else if block.overrides {
            self.merge_overrides(policy, block);
        } else {
            self.merge_defaults(policy, block);
        }
    }

    /// Chart "merge a defaults block".
    fn merge_defaults(&mut self, policy: &Policy, block: &Block) {
        let mut wanted = Vec::new();
        for rule in &block.rules {
            match self.remover(&rule.id) {
                Some(by) => {
                    let by = BTreeSet::from([by.to_owned()]);
                    self.removed.insert(lost(policy, block, rule, by));
                }
                None => wanted.push(rule),
            }
        }
        let was_empty = self.rules.is_empty();
        for rule in wanted {
            if was_empty || (block.merge && !self.rules.contains_key(&rule.id)) {
                self.put(policy, block, rule);
            }
        }
    }

    /// Chart "merge an overrides block".
    fn merge_overrides(&mut self, policy: &Policy, block: &Block) {
        if !block.merge {
            self.rules.clear();
        }
        for rule in &block.rules {
            self.put(policy, block, rule);
        }
    }

    fn put(&mut self, policy: &Policy, block: &Block, rule: &Declared) {
        let value = rule.value.clone();
        let entry = OracleRule { value, policy: policy.name.clone(), block: block.name };
        self.rules.insert(rule.id.clone(), (rule.place.clone(), entry));
    }

    /// The lowest policy that wants the rule gone, by its id, or by its name alone.
    fn remover(&self, id: &str) -> Option<&'p str> {
        let names = |entry: &str| {
            entry == id || (!entry.contains('.') && id.ends_with(&format!(".{entry}")))
        };
        let remover = self.removals.iter().find(|(_, list)| list.iter().any(|entry| names(entry)));
        remover.map(|(policy, _)| *policy)
    }

    /// What a condition sees: the rules in force written as bare rules, under the identity of the lowest policy.
    /// While that one is being merged itself, there is none yet.
    fn view(&self) -> Value {
        let mut spec = json!({});
        for (place, rule) in self.rules.values() {
            let (last, steps) = place.split_last().expect("a place");
            let parent = steps.iter().fold(&mut spec, |value, step| {
                members(value).entry(step.as_str()).or_insert_with(|| json!({}))
            });
            members(parent).insert(last.clone(), rule.value.clone());
        }
        let Some(lowest) = self.lowest else { return json!({"spec": spec}) };
        members(&mut spec).insert(String::from("targetRef"), lowest.target_ref.clone());
        json!({"kind": lowest.kind, "metadata": lowest.metadata, "spec": spec})
    }

    /// Declared in a block that took part, not removed, and not in force from there.
    fn overridden(&self, policies: &[&Policy]) -> BTreeSet<OracleLoss> {
        let contributors: BTreeSet<String> =
            self.rules.values().map(|(_, rule)| rule.policy.clone()).collect();
        let mut overridden = BTreeSet::new();
        for policy in policies {
            for block in policy.blocks.iter().filter(|block| !self.is_skipped(policy, block)) {
                for rule in block.rules.iter().filter(|rule| !self.is_removed(policy, block, rule))
                {
                    let by = match self.rules.get(&rule.id) {
                        Some((_, r)) if (&r.policy, r.block) == (&policy.name, block.name) => {
                            continue;
                        }
                        Some((_, r)) => BTreeSet::from([r.policy.clone()]),
                        None => contributors.clone(),
                    };
                    overridden.insert(lost(policy, block, rule, by));
                }
            }
        }
        overridden
    }

    fn is_skipped(&self, policy: &Policy, block: &Block) -> bool {
        self.skipped.iter().any(|s| (&s.policy, s.block) == (&policy.name, block.name))
    }

    fn is_removed(&self, policy: &Policy, block: &Block, rule: &Declared) -> bool {
        let this = (&policy.name, block.name, &rule.id);
        self.removed.iter().any(|r| (&r.policy, r.block, &r.rule) == this)
    }
}

fn members(value: &mut Value) -> &mut Map<String, Value> {
    value.as_object_mut().expect("a map")
}

fn lost(policy: &Policy, block: &Block, rule: &Declared, by: BTreeSet<String>) -> OracleLoss {
    OracleLoss { policy: policy.name.clone(), block: block.name, rule: rule.id.clone(), by }
}
