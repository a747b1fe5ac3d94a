// SPDX-License-Identifier: Apache-2.0
//! In: a case of Kuma's kinds. Out: what the pipeline answers, read from the same data as `-o json`. Not here: any rule;
//! the `mesh` crate has them.

use overrule::{Analysis, Question};
use overrule_mesh::conf::duration::canonical;
use overrule_mesh::{FAMILY, Profile};
use overrule_view::v1;
use serde_json::Value;

use super::analysed::{self, Analysed};
use super::{Answer, Check, Difference, Effective, Family, Finding, Node, Target};
use crate::case::{Can, Case, Given, Invalid};

/// The family of Kuma's kinds.
#[derive(Debug, Clone, Copy)]
pub struct Kuma;

impl Family for Kuma {
    fn name(&self) -> &'static str {
        FAMILY
    }

    fn profiles(&self) -> &'static [&'static str] {
        Profile::NAMES
    }

    fn setting(&self, key: &str, value: &Value) -> Result<(), String> {
        analysed::setting(FAMILY, key, value)
    }

    fn resolve(&self, case: &Case, profile: &str) -> Box<dyn Answer> {
        let options = analysed::options(case, FAMILY, profile);
        let analysis = Analysis::new(case.inputs.clone(), &options);
        Box::new(Resolved { analysed: Analysed::new(analysis, FAMILY) })
    }
}

impl Resolved {
    /// The decisions a test asks about: one per inbound.
    fn decisions(&self, asked: &Can) -> Result<Vec<v1::AccessDecision>, String> {
        let analysis = &self.analysed.analysis;
        let (to, section) =
            analysis.named(&asked.to).ok_or_else(|| format!("`{}` does not exist", asked.to))?;
        let from = analysis
            .client(&asked.from)
            .ok_or_else(|| format!("`{}` is neither a SPIFFE ID nor a dataplane", asked.from))?;
        let question = Question {
            from,
            method: asked.method.as_deref(),
            path: asked.path.as_deref(),
            sni: asked.sni.as_deref(),
        };
        let inbounds = analysis.inbounds(to, section.as_deref());
        if inbounds.is_empty() {
            return Err(format!("`{}` has no such inbound", asked.to));
        }
        let asked_of = inbounds.into_iter();
        Ok(asked_of.filter_map(|at| analysis.can(question, &asked.from, at)).collect())
    }
}

/// The answer about one case.
struct Resolved {
    analysed: Analysed,
}

impl Answer for Resolved {
    fn paths(&self) -> &[Vec<Node>] {
        &self.analysed.paths
    }

    fn targets(&self) -> &[Target] {
        &self.analysed.targets
    }

    fn effective(&self, target: usize) -> Effective {
        self.analysed.effective(target, &|_, _| None)
    }

    fn normal(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => canonical(text).map_or_else(|| value.clone(), Value::String),
            Value::Array(items) => items.iter().map(|item| self.normal(item)).collect(),
            Value::Object(members) => {
                let members = members.iter();
                members.map(|(key, value)| (key.clone(), self.normal(value))).collect()
            }
            other => other.clone(),
        }
    }

    fn findings(&self) -> Vec<Finding> {
        self.analysed.findings()
    }

    fn can(&self, expected: &Can) -> Check {
        let mut differences = Vec::new();
        let mut say = |message: String, wanted: String, actual: String| {
            differences.push(Difference {
                at: expected.at.clone(),
                message,
                expected: Some(wanted),
                actual: Some(actual),
            });
        };
        let decisions = match self.decisions(expected) {
            Ok(decisions) => decisions,
            Err(what) => {
                let wanted = expected.verdict.clone();
                say(what, wanted, "no such thing".to_owned());
                return Check::Done(differences);
            }
        };
        let wanted = if expected.verdict.starts_with("allow") { "allowed" } else { "denied" };
        for decision in &decisions {
            let about = format!("`{}` calls `{}`", decision.from, decision.to);
            if decision.verdict != wanted {
                let actual = format!("{}: {}", decision.verdict, decision.because);
                say(about.clone(), wanted.to_owned(), actual);
            }
            let by: Vec<&str> = decision.by.iter().map(|b| b.policy.as_str()).collect();
            if expected.by.as_ref().is_some_and(|names| *names != by) {
                let names = expected.by.iter().flatten().cloned().collect::<Vec<_>>().join(", ");
                say(format!("who decides when {about}"), names, by.join(", "));
            }
        }
        Check::Done(differences)
    }

    fn invalid(&self, expected: &Given<Invalid>) -> Check {
        let meshes = self.analysed.analysis.meshes().resources.meshes.iter();
        let refused = meshes.flat_map(|mesh| {
            let objects = mesh.refused.keys().map(|p| mesh.policy_objects.get(*p as usize));
            objects.flatten().copied()
        });
        self.analysed.invalid(expected, refused)
    }
}
