// SPDX-License-Identifier: Apache-2.0
//! What views must know of a family to tell its answers. Not here: sentences (`view`).

/// What views must know of a family. They know nothing else of it.
pub trait FamilyWords: std::fmt::Debug + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Its word for the `mode` of a step: the name of a merge strategy.
    fn strategy_name(&self, mode: u16) -> &'static str;

    /// JSON pointers, in a block, at which its rules stand (`/limits/*`; `*` is any key). None if a rule is whatever a
    /// merge takes apart. A scalar at one without `*` is a setting of its block, not a rule.
    fn rule_patterns(&self) -> &'static [&'static str] {
        &[]
    }

    /// Kinds of objects that own the paths through them, besides the target at the end. In a mesh a path is of its proxy as
    /// much as of where it leads. What such a path names without an object exists only because policies describe it.
    fn path_owners(&self) -> &'static [&'static str] {
        &[]
    }
}
