// SPDX-License-Identifier: Apache-2.0
//! In: a case of generic GEP-713 kinds. Out: what the pipeline answers, read from the same data as `-o json`.
//! Not here: any rule; the `gateway` crate has them.

use std::collections::BTreeMap;

use overrule::Analysis;
use overrule_engine::KindId;
use overrule_gateway::codes_policy::CONFLICT;
use overrule_gateway::{Gep713, reasons, resolve};
use serde_json::Value;

use super::analysed::{self, Analysed};
use super::{Answer, Check, Difference, Effective, Family, Finding, Node, Target};
use crate::case::{Case, Conflicted, Given, Invalid};

/// The family of generic kinds.
#[derive(Debug, Clone, Copy)]
pub struct Gateway;

impl Family for Gateway {
    fn name(&self) -> &'static str {
        resolve::FAMILY
    }

    fn profiles(&self) -> &'static [&'static str] {
        &[resolve::PROFILE]
    }

    fn setting(&self, key: &str, value: &Value) -> Result<(), String> {
        analysed::setting(resolve::FAMILY, key, value)
    }

    fn resolve(&self, case: &Case, profile: &str) -> Box<dyn Answer> {
        let analysis =
            Analysis::new(case.inputs.clone(), &analysed::options(case, resolve::FAMILY, profile));
        Box::new(Resolved(Analysed::new(analysis, resolve::FAMILY)))
    }
}

/// The answer about one case.
struct Resolved(Analysed);

impl Resolved {
    /// What a policy holds besides its plumbing, for those that lost as a whole.
    fn content(&self, kind: KindId, name: &str) -> Option<Value> {
        let analysis = &self.0.analysis;
        let of_kind = analysis.gateway().policies().filter(|(_, p)| p.kind == kind);
        let mut called = of_kind.filter(|(_, p)| self.0.object_name(p.object) == name);
        let (_, entry) = called.next()?;
        let policy = analysis.policies::<Gep713>()?.iter().find(|p| p.object == entry.object)?;
        let descriptor = analysis.kinds().iter().nth(policy.kind)?;
        let content = policy.content?;
        let plumbing = |key: &str| match content.block {
            "bare" => descriptor.is_plumbing(key),
            _ => *descriptor.block_strategy == *key,
        };
        let mut value = analysis.documents.view(content.value).to_json();
        if let Value::Object(members) = &mut value {
            members.retain(|key, _| !plumbing(key));
        }
        Some(value)
    }

    /// Kind, loser and winners of every policy that lost because its kind does not merge.
    fn conflicts(&self) -> BTreeMap<(String, String), Vec<String>> {
        let mut found: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for (i, target) in self.0.targets.iter().enumerate().filter(|(_, t)| t.reached) {
            let lost = self.0.view(i).into_iter().flat_map(|view| view.shadowed);
            for lost in lost.filter(|l| l.reason == reasons::OLDEST_ALONE.id) {
                let by = found.entry((target.kind.clone(), lost.policy)).or_default();
                by.extend(lost.by);
                by.sort();
                by.dedup();
            }
        }
        found
    }
}

impl Answer for Resolved {
    fn paths(&self) -> &[Vec<Node>] {
        &self.0.paths
    }

    fn targets(&self) -> &[Target] {
        &self.0.targets
    }

    fn effective(&self, target: usize) -> Effective {
        self.0.effective(target, &|kind, lost| self.content(kind, &lost.policy))
    }

    fn findings(&self) -> Vec<Finding> {
        self.0.findings()
    }

    fn conflicted(&self, expected: &Given<Conflicted>) -> Check {
        let mut actual = self.conflicts();
        let mut differences = Vec::new();
        for one in &expected.items {
            let found = actual.remove(&(one.kind.clone(), one.policy.clone()));
            let mut by = one.by.clone();
            by.sort();
            let said = |message: &String| {
                let conflict = |f: &Finding| f.code == CONFLICT.id && f.message.contains(message);
                self.findings().iter().any(conflict)
            };
            if found.as_ref() != Some(&by) || !one.message.as_ref().is_none_or(said) {
                differences.push(Difference {
                    at: one.at.clone(),
                    message: format!("`{}` does not conflict as expected", one.policy),
                    expected: Some(format!("rejected because of {}", by.join(", "))),
                    actual: Some(found.map_or_else(
                        || "not rejected".to_owned(),
                        |by| format!("rejected because of {}", by.join(", ")),
                    )),
                });
            }
        }
        differences.extend(actual.into_iter().map(|((kind, policy), by)| Difference {
            at: expected.at.clone(),
            message: format!("{kind} `{policy}` conflicts, but the test does not list it"),
            expected: None,
            actual: Some(format!("rejected because of {}", by.join(", "))),
        }));
        Check::Done(differences)
    }

    fn invalid(&self, expected: &Given<Invalid>) -> Check {
        let policies = self.0.analysis.policies::<Gep713>().into_iter().flatten();
        let refused = policies.filter(|p| p.content.is_none());
        self.0.invalid(expected, refused.map(|p| p.object))
    }
}
