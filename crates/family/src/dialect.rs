// SPDX-License-Identifier: Apache-2.0
//! Out: how policy tests (`overrule test`) speak of a family's answers, where that differs from what every family says.
//! Not here: comparing.

use overrule_source::Code;

/// What policy tests need to know of a family.
#[derive(Debug, Clone, Copy, Default)]
pub struct Dialect {
    /// The profile under which tests compare `status` and `affected`; under others they are left alone. None if the
    /// conditions of its controller are not known.
    pub status_profile: Option<&'static str>,
    /// Whether every kind has its paths in a test, even if no policy of it is there.
    pub has_all_kinds: bool,
    /// The kind of the nodes that begin its paths and that tests leave out. They always leave out classes.
    pub root_kind: Option<&'static str>,
    /// Whether routes delegate to routes. Tests then name the routes of a chain without the rules between them, need not
    /// list paths without fields, single backends or what rules say themselves, and give the hostnames of a path without
    /// those of more specific listeners.
    pub delegates: bool,
    /// How it refuses a policy because of another one; none if it never does.
    pub conflicts: Option<Conflicts>,
    /// Which fields count as features in tests that list `features`, by kind.
    pub judged: &'static [JudgedKind],
    /// Fields that count as another one there.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Lists whose elements are known by a member there: the field and the member.
    pub keyed: &'static [(&'static str, &'static str)],
    /// Settings that tests have unless they say otherwise.
    pub settings: &'static [(&'static str, bool)],
}

/// Which fields of a kind tests judge as features.
#[derive(Debug, Clone, Copy)]
pub struct JudgedKind {
    /// The kind.
    pub kind: &'static str,
    /// The fields; none for all of them.
    pub fields: Option<&'static [&'static str]>,
    /// Whether a policy that has none of them in force is there all the same.
    pub counts_empty: bool,
}

/// How a family refuses a policy because another one has its target and the two do not merge.
#[derive(Debug, Clone, Copy)]
pub struct Conflicts {
    /// The reason, by identifier.
    pub reason: &'static str,
    /// The finding.
    pub code: Code,
}
