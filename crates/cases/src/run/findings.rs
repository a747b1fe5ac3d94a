// SPDX-License-Identifier: Apache-2.0
//! In: `diagnostics` and what was found. Out: mismatches. Not here: findings about the test itself (`read`).

use overrule_source::Severity;

use super::{LISTED, Run};
use crate::case::{Case, ExpectedFinding};
use crate::family::Finding;
use crate::result::{DifferenceKind, Mismatch};

impl ExpectedFinding {
    fn is(&self, finding: &Finding) -> bool {
        self.code == finding.code
            && self.message.as_ref().is_none_or(|text| finding.message.contains(text.as_str()))
            && self.field.as_ref().is_none_or(|field| *field == finding.field)
            && self.line.is_none_or(|line| finding.at.as_ref().is_some_and(|at| at.line == line))
    }
}

impl Run<'_> {
    /// Every finding the test names must be made, and every error must be named.
    pub(super) fn findings(&mut self, case: &Case) {
        let Some(given) = &case.diagnostics else { return };
        let findings = self.answer.findings();
        for one in given.items.iter().filter(|one| !findings.iter().any(|f| one.is(f))) {
            let same_code: Vec<String> =
                findings.iter().filter(|f| f.code == one.code).map(describe).take(LISTED).collect();
            let message = format!("{} is not found as expected", one.code);
            let actual =
                if same_code.is_empty() { "not found".to_owned() } else { same_code.join("; ") };
            let mismatch = Mismatch::new(DifferenceKind::Diagnostics, &one.at, message);
            self.add(mismatch.expected_is(wanted(one)).actual_is(actual));
        }
        let errors = findings.iter().filter(|f| f.severity == Severity::Error);
        for finding in errors.filter(|f| !given.items.iter().any(|one| one.is(f))).take(LISTED) {
            let message = format!("{} is found, but the test does not list it", finding.code);
            self.add(
                Mismatch::new(DifferenceKind::Diagnostics, &given.at, message)
                    .actual_is(describe(finding)),
            );
        }
    }

    /// Manifests that cannot be read at all make any answer a wrong one, unless the test is about that.
    pub(super) fn unreadable(&mut self, case: &Case) {
        if case.diagnostics.is_some() {
            return;
        }
        let reading = overrule_source::codes::ALL;
        let findings = self.answer.findings();
        let errors = findings.iter().filter(|f| f.severity == Severity::Error);
        for finding in errors.filter(|f| reading.iter().any(|code| code.id == f.code)).take(LISTED)
        {
            let at = finding.at.as_ref().unwrap_or(&case.at);
            let message = format!("the manifests cannot be read: {}", finding.message);
            self.add(Mismatch::new(DifferenceKind::Input, at, message));
        }
    }
}

fn describe(finding: &Finding) -> String {
    let at = finding.at.as_ref().map_or_else(String::new, |at| format!(" at {at}"));
    format!("{} ({}){at}", finding.message, finding.code)
}

fn wanted(one: &ExpectedFinding) -> String {
    let mut text = one.code.clone();
    for (word, value) in [("message", &one.message), ("field", &one.field)] {
        if let Some(value) = value {
            text.push_str(&format!(", {word} `{value}`"));
        }
    }
    if let Some(line) = one.line {
        text.push_str(&format!(", line {line}"));
    }
    text
}
