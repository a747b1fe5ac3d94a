// SPDX-License-Identifier: Apache-2.0
//! In: a report, and what must not happen. Out: what happened all the same. Not here: exit codes.

use overrule::view::v1;

/// Something that a change must not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MergeGate {
    /// Anything in force changes.
    Changed,
    /// Something is in force where nothing was.
    Added,
    /// Nothing is in force any more where something was.
    Removed,
    /// A target that stays loses every policy of a kind.
    Uncovered,
    /// A requirement is no longer met.
    Requirement,
    /// A finding of severity error is new.
    NewError,
    /// A finding of severity error or warning is new.
    NewWarning,
    /// Any finding is new.
    NewFinding,
}

impl MergeGate {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Changed,
        Self::Added,
        Self::Removed,
        Self::Uncovered,
        Self::Requirement,
        Self::NewError,
        Self::NewWarning,
        Self::NewFinding,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Uncovered => "uncovered",
            Self::Requirement => "requirement",
            Self::NewError => "new-error",
            Self::NewWarning => "new-warning",
            Self::NewFinding => "new-finding",
        }
    }

    /// How many times it is met, and what that means for people.
    fn met(
        self,
        changes: &v1::EffectiveChanges,
        report: &v1::ChangeReport,
    ) -> (usize, &'static str) {
        let counts = changes.counts;
        let of = |severities: &[&str]| {
            let new = report.findings.new.iter();
            new.filter(|finding| severities.contains(&finding.severity)).count()
        };
        match self {
            Self::Changed => (changes.items.len(), "effective policies change"),
            Self::Added => (counts.added, "effective policies are added"),
            Self::Removed => (counts.removed, "effective policies are removed"),
            Self::Uncovered => {
                let groups = report.groups.iter().filter(|group| group.uncovered);
                (groups.map(|group| group.items.len()).sum(), "targets lose every policy of a kind")
            }
            Self::Requirement => {
                let new = report.findings.new.iter();
                let unmet = new.filter(|f| f.code == REQUIREMENT_NOT_MET);
                (unmet.count(), "requirements are no longer met")
            }
            Self::NewError => (of(&["error"]), "new errors"),
            Self::NewWarning => (of(&["error", "warning"]), "new errors and warnings"),
            Self::NewFinding => (of(&["error", "warning", "note"]), "new findings"),
        }
    }
}

/// The code of a requirement that is not met.
const REQUIREMENT_NOT_MET: &str = overrule::gateway::codes_policy::REQUIREMENT_NOT_MET.id;

/// What a change must not do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeGates {
    /// Conditions.
    pub fail_on: Vec<MergeGate>,
    /// Routes that may be affected, at most.
    pub max_routes: Option<usize>,
}

impl MergeGates {
    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        self.fail_on.is_empty() && self.max_routes.is_none()
    }

    /// Writes those that are met into the report. Returns whether the change must not pass: a gate is met or, where there
    /// is none, something in force changes.
    pub fn close(&self, changes: &mut v1::EffectiveChanges) -> bool {
        let Some(mut report) = changes.report.take() else { return !changes.items.is_empty() };
        report.gates = self.hits(changes, &report);
        let closed =
            if self.is_empty() { !changes.items.is_empty() } else { !report.gates.is_empty() };
        changes.report = Some(report);
        closed
    }

    fn hits(&self, changes: &v1::EffectiveChanges, report: &v1::ChangeReport) -> Vec<v1::GateHit> {
        let mut hits = Vec::new();
        for gate in &self.fail_on {
            let (count, what) = gate.met(changes, report);
            if count > 0 {
                hits.push(v1::GateHit { gate: gate.name(), because: format!("{count} {what}") });
            }
        }
        let routes = report.radius.routes.affected;
        if let Some(most) = self.max_routes.filter(|most| routes > *most) {
            let because = format!("{routes} routes are affected, more than {most}");
            hits.push(v1::GateHit { gate: "max-routes", because });
        }
        hits
    }
}
