// SPDX-License-Identifier: Apache-2.0
//! In: the decisions that a test expects. Out: where others are made. Not here: deciding.

use overrule::Question;
use overrule_view::v1;

use super::answer::Answer;
use super::{Comparison, Difference};
use crate::case::Can;

impl Answer {
    /// The decisions a test asks about: one per inbound.
    fn decisions(&self, asked: &Can) -> Result<Vec<v1::AccessDecision>, String> {
        let analysis = &self.analysis;
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
            http: None,
        };
        let inbounds = analysis.inbounds(to, section.as_deref());
        if inbounds.is_empty() {
            return Err(format!("`{}` has no such inbound", asked.to));
        }
        let asked_of = inbounds.into_iter();
        Ok(asked_of.filter_map(|at| analysis.can(question, &asked.from, at)).collect())
    }

    /// Compares one decision: all inbounds that are meant decide as expected.
    pub(crate) fn can(&self, expected: &Can) -> Comparison {
        if !self.shown().is_some_and(|shown| self.analysis.has_identities(shown)) {
            return Comparison::Unsupported;
        }
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
                return Comparison::Done(differences);
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
        Comparison::Done(differences)
    }
}
