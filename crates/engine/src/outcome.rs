// SPDX-License-Identifier: Apache-2.0
//! In: effective values and losses. Out: what became of each step and policy. Not here: why (see the losses).

/// Why one part of a contribution is not in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// Something that outranks it took its place.
    Shadowed,
    /// A lower policy removed it.
    Removed,
    /// It is in the value and has no effect: a built-in took its slot, or something beside it switches it off.
    Masked,
    /// A condition kept it out.
    Skipped,
}

/// The outcome of a policy: at one path, at one target, or over all paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// All of it is in force.
    InForce,
    /// Some of it is in force, or all of it in some places.
    Partly,
    /// None of it: something outranks it.
    Shadowed,
    /// None of it: a built-in took its slots.
    Masked,
    /// None of it: lower policies removed it.
    Removed,
    /// None of it: a condition kept it out.
    Skipped,
    /// It is attached, but no path passes there, or it has nothing to contribute.
    Inert,
    /// It did not land at all.
    Rejected,
}

impl Outcome {
    /// The word for people and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::InForce => "in force",
            Self::Partly => "partly",
            Self::Shadowed => "shadowed",
            Self::Masked => "masked",
            Self::Removed => "removed",
            Self::Skipped => "skipped",
            Self::Inert => "inert",
            Self::Rejected => "rejected",
        }
    }
}

impl From<Fate> for Outcome {
    fn from(fate: Fate) -> Self {
        match fate {
            Fate::Shadowed => Self::Shadowed,
            Fate::Removed => Self::Removed,
            Fate::Masked => Self::Masked,
            Fate::Skipped => Self::Skipped,
        }
    }
}

/// Outcomes counted over paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Paths on which all of it is in force.
    pub in_force: u64,
    /// Paths on which some of it is.
    pub partly: u64,
    /// Paths on which it lost: shadowed, removed, masked, skipped.
    pub lost: [u64; 4],
    /// Paths it reaches but where it has nothing to contribute.
    pub inert: u64,
}

/// A tally as a resolution keeps it for each policy: there are never more paths than a `u32` counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts([u32; 7]);

impl From<Tally> for Counts {
    fn from(tally: Tally) -> Self {
        let [a, b, c, d] = tally.lost;
        let counts = [tally.in_force, tally.partly, a, b, c, d, tally.inert];
        Self(counts.map(|n| u32::try_from(n).unwrap_or(u32::MAX)))
    }
}

impl From<Counts> for Tally {
    fn from(counts: Counts) -> Self {
        let [in_force, partly, a, b, c, d, inert] = counts.0.map(u64::from);
        Self { in_force, partly, lost: [a, b, c, d], inert }
    }
}

impl Tally {
    /// Adds an outcome seen on a number of paths.
    pub fn add(&mut self, outcome: Outcome, paths: u64) {
        *self.count(outcome) += paths;
    }

    /// Takes an outcome back that was seen on a number of paths.
    pub(crate) fn remove(&mut self, outcome: Outcome, paths: u64) {
        let count = self.count(outcome);
        *count = count.saturating_sub(paths);
    }

    fn count(&mut self, outcome: Outcome) -> &mut u64 {
        let [shadowed, removed, masked, skipped] = &mut self.lost;
        match outcome {
            Outcome::InForce => &mut self.in_force,
            Outcome::Partly => &mut self.partly,
            Outcome::Shadowed => shadowed,
            Outcome::Removed => removed,
            Outcome::Masked => masked,
            Outcome::Skipped => skipped,
            Outcome::Inert | Outcome::Rejected => &mut self.inert,
        }
    }

    /// Paths it reaches.
    pub fn paths(&self) -> u64 {
        self.in_force + self.partly + self.lost.iter().sum::<u64>() + self.inert
    }

    /// The outcome over all these paths.
    pub fn outcome(&self) -> Outcome {
        let lost: u64 = self.lost.iter().sum();
        if self.partly > 0 || (self.in_force > 0 && lost > 0) {
            return Outcome::Partly;
        }
        if self.in_force > 0 {
            return Outcome::InForce;
        }
        let fates = [Outcome::Shadowed, Outcome::Removed, Outcome::Masked, Outcome::Skipped];
        let worst = fates.into_iter().zip(self.lost).find(|(_, n)| *n > 0);
        worst.map_or(Outcome::Inert, |(fate, _)| fate)
    }
}
