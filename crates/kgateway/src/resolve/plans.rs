// SPDX-License-Identifier: Apache-2.0
//! In: a profile and the settings. Out: how two values become one, as data, for every meeting there is: inside a level,
//! along a chain, between tiers. Not here: doing it (`algebra`).

use overrule_engine::{ListRule, MergePlan, MergeRule, Nulls};

use crate::kinds::{KindShape, TWO_UNITS};
use crate::{InheritedPriority, Profile, Settings};

/// What a group is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Policies of one level, or of one tier.
    Level,
    /// Levels of a chain of routes, the leaf first.
    Chain,
    /// A chain, then the tiers.
    Path,
    /// Tiers of one Gateway, the listener first.
    Side,
}

/// What `Group::spec` holds: kind, role, strategy of the object the level belongs to.
pub(crate) fn spec(kind: usize, role: Role, strategy: InheritedPriority) -> u16 {
    let kind = u16::try_from(kind).unwrap_or(u16::MAX >> 4);
    kind << 4 | (role as u16) << 2 | strategy.code()
}

/// The kind of a group, as a place among the active ones.
pub(crate) fn kind_of(spec: u16) -> usize {
    usize::from(spec >> 4)
}

/// The role of a group.
pub(crate) fn role_of(spec: u16) -> Role {
    match spec >> 2 & 3 {
        0 => Role::Level,
        1 => Role::Chain,
        2 => Role::Path,
        _ => Role::Side,
    }
}

/// The strategy of a group.
pub(crate) fn strategy_of(spec: u16) -> InheritedPriority {
    InheritedPriority::from_code(spec & 3)
}

/// Numbers of the combinators.
pub(crate) mod combinator {
    /// What is held stays, whoever is preferred.
    pub(crate) const KEEP_HELD: u16 = 1;
    /// Access lists: joined, unless they contradict each other.
    pub(crate) const ACL: u16 = 2;
    /// One direction of a transformation.
    pub(crate) const DIRECTION: u16 = 3;
    /// Providers along a chain or inside a level.
    pub(crate) const PROVIDERS: u16 = 4;
    /// Providers of several tiers.
    pub(crate) const TIER_PROVIDERS: u16 = 5;
    /// Values of several tiers that all count.
    pub(crate) const TIER_LEVELS: u16 = 6;
    /// Values of several tiers that all count if their providers differ.
    pub(crate) const TIER_KEYED: u16 = 7;
}

/// Every plan of a run.
#[derive(Debug)]
pub(crate) struct Plans {
    /// Inside a level.
    pub(crate) level: MergePlan,
    /// Along a chain, by strategy.
    chain: [MergePlan; 4],
    /// Between tiers, by strategy.
    tier: [MergePlan; 4],
    /// Of what rules say themselves.
    pub(crate) builtin: MergePlan,
    /// Of a kind that stands on listeners.
    pub(crate) listener: MergePlan,
    /// Field by field.
    pub(crate) fields: MergePlan,
    /// Inside an access list.
    pub(crate) acl: MergePlan,
    /// Inside one direction of a transformation.
    pub(crate) direction: MergePlan,
}

impl Plans {
    pub(crate) fn new(profile: Profile, settings: &Settings) -> Self {
        let by_strategy =
            |make: &dyn Fn(InheritedPriority) -> MergePlan| InheritedPriority::ALL.map(make);
        Self {
            level: units(&|unit| deep(unit).filter(|_| settings.is_deep(unit))),
            chain: by_strategy(&|strategy| chain(profile, strategy)),
            tier: by_strategy(&tier),
            builtin: builtin(profile),
            listener: listener(),
            fields: units(&|_| None),
            acl: plan([
                (vec!["defaultAction"], MergeRule::Atomic),
                (vec!["rules"], MergeRule::List(ListRule::PreferredFirst)),
                (vec!["denyResponse", "headers"], MergeRule::List(ListRule::PreferredFirst)),
                (vec!["denyResponse", "*"], MergeRule::Atomic),
                (vec!["*"], MergeRule::Atomic),
            ]),
            direction: plan([
                (vec!["add"], MergeRule::List(ListRule::PreferredLast)),
                (vec!["remove"], MergeRule::List(ListRule::PreferredLast)),
                (vec!["set"], MergeRule::List(ListRule::PreferredLast)),
                (vec!["dynamicMetadata"], MergeRule::List(ListRule::PreferredLast)),
                (vec!["*"], MergeRule::Atomic),
            ]),
        }
    }

    pub(crate) fn chain(&self, strategy: InheritedPriority) -> &MergePlan {
        self.chain.get(strategy as usize).unwrap_or(&self.level)
    }

    pub(crate) fn tier(&self, strategy: InheritedPriority) -> &MergePlan {
        self.tier.get(strategy as usize).unwrap_or(&self.level)
    }

    /// The plan of one level of a kind.
    pub(crate) fn of_level(&self, shape: KindShape) -> &MergePlan {
        match shape {
            KindShape::Path => &self.level,
            KindShape::Listener => &self.listener,
            KindShape::BuiltIn => &self.builtin,
            KindShape::Backend | KindShape::Sequential => &self.fields,
        }
    }
}

type Rules<'a> = Vec<(Vec<&'a str>, MergeRule)>;

fn plan<'a>(rules: impl IntoIterator<Item = (Vec<&'a str>, MergeRule)>) -> MergePlan {
    MergePlan::with_rules(rules, Nulls::Keep)
}

/// How a unit is combined in a deep merge; none if it is not.
fn deep(unit: &str) -> Option<Rules<'_>> {
    let direction = || MergeRule::Combinator(combinator::DIRECTION);
    match unit {
        "transformation" => Some(vec![
            (vec![unit, "request"], direction()),
            (vec![unit, "response"], direction()),
            (vec![unit, "*"], MergeRule::Atomic),
        ]),
        "extAuth" | "extProc" => {
            Some(vec![(vec![unit], MergeRule::Combinator(combinator::PROVIDERS))])
        }
        "acl" => Some(vec![(vec![unit], MergeRule::Combinator(combinator::ACL))]),
        _ => None,
    }
}

/// Fields that can be combined.
const DEEP: [&str; 4] = ["transformation", "extAuth", "extProc", "acl"];

/// Unit by unit: some combined, all others whole.
fn units<'a>(combined: &dyn Fn(&'a str) -> Option<Rules<'a>>) -> MergePlan {
    let mut rules: Rules<'a> = vec![(vec!["*"], MergeRule::Atomic)];
    for field in TWO_UNITS {
        rules.push((vec![*field, "*"], MergeRule::Atomic));
    }
    rules.extend(DEEP.iter().filter_map(|unit| combined(unit)).flatten());
    plan(rules)
}

/// Along a chain: whole fields, or combined ones. Where the controller prefers the parent for what it combines and the
/// child for all else, fields that cannot be combined are told so one by one.
fn chain(profile: Profile, strategy: InheritedPriority) -> MergePlan {
    if !strategy.is_deep() {
        return units(&|_| None);
    }
    if profile.plain_prefers(strategy) == strategy.prefers() {
        return units(&deep);
    }
    let keep = || MergeRule::Combinator(combinator::KEEP_HELD);
    let mut rules: Rules<'_> = vec![(vec!["*"], keep())];
    rules.extend(TWO_UNITS.iter().map(|field| (vec![*field, "*"], keep())));
    rules.extend(DEEP.iter().filter_map(|unit| deep(unit)).flatten());
    plan(rules)
}

/// Between tiers: filters of different providers all run, header changes of all tiers are made, timeouts are filled in
/// one by one; everything else is whole.
fn tier(strategy: InheritedPriority) -> MergePlan {
    let mut rules: Rules<'_> = vec![
        (vec!["*"], MergeRule::Atomic),
        (vec!["timeouts", "*"], MergeRule::Atomic),
        (vec!["headerModifiers"], MergeRule::Combinator(combinator::TIER_LEVELS)),
        (vec!["jwtAuth"], MergeRule::Combinator(combinator::TIER_KEYED)),
        (vec!["oauth2"], MergeRule::Combinator(combinator::TIER_KEYED)),
        (vec!["rateLimit", "*"], MergeRule::Atomic),
        (vec!["rateLimit", "global"], MergeRule::Combinator(combinator::TIER_KEYED)),
        (vec!["compression", "*"], MergeRule::Atomic),
    ];
    if strategy.is_deep() {
        rules.extend(["transformation", "acl"].iter().filter_map(|unit| deep(unit)).flatten());
    }
    for unit in ["extAuth", "extProc"] {
        rules.push((vec![unit], MergeRule::Combinator(combinator::TIER_PROVIDERS)));
    }
    plan(rules)
}

/// Built-ins: one slot each; a rewrite has two; header changes and mirrors pile up.
fn builtin(profile: Profile) -> MergePlan {
    let filters =
        if profile.general_header_wins() { ListRule::Append } else { ListRule::PreferredLast };
    plan([
        (vec!["*"], MergeRule::Atomic),
        (vec!["urlRewrite", "*"], MergeRule::Atomic),
        (vec!["filters"], MergeRule::List(filters)),
    ])
}

/// Settings of listeners, one by one: those for all ports, and those of each port.
fn listener() -> MergePlan {
    let mut rules: Rules<'static> = vec![
        (vec!["*"], MergeRule::Atomic),
        (vec!["default", "*"], MergeRule::Atomic),
        (vec!["default", "httpSettings", "*"], MergeRule::Atomic),
    ];
    for list in ["perPort", "perPortPolicy"] {
        let element = MergePlan::REST;
        rules.push((vec![list], MergeRule::List(ListRule::Keyed { key: "port".into(), element })));
        rules.push((vec![list, "*"], MergeRule::Atomic));
        rules.push((vec![list, "listener", "*"], MergeRule::Atomic));
        rules.push((vec![list, "listener", "httpSettings", "*"], MergeRule::Atomic));
    }
    plan(rules)
}
