// SPDX-License-Identifier: Apache-2.0
//! In: nothing. Out: how resources of a family can concern others, besides by naming or selecting them as Gateway API
//! does. Not here: who concerns whom.

/// How resources of a family can concern others. What is left out here makes answers after a change wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mentions {
    /// Targets of its own, by group and kind. The other resources of the group act on all of these and on nothing else.
    pub targets: Option<(&'static str, &'static str)>,
    /// A label by whose value resources are named.
    pub naming_label: Option<&'static str>,
    /// The namespace in which such a name means resources of every namespace.
    pub names_everywhere: Option<String>,
    /// The namespace whose selectors select in every namespace.
    pub selects_everywhere: Option<String>,
}
