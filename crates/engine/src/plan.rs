// SPDX-License-Identifier: Apache-2.0
//! In: a family's or a descriptor's rules. Out: how two values become one, as data per path.
//! Not here: doing it (`merge.rs`).

/// Index of a rule in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlanId(u16);

/// What to do where both sides have a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeRule {
    /// The preferred value, whole.
    Atomic,
    /// Mappings are united key by key; each member by its own rule, others by `rest`. Anything else: atomic.
    Fields {
        /// Rules of named members.
        named: Vec<(Box<str>, PlanId)>,
        /// Rule of all other members.
        rest: PlanId,
    },
    /// Lists are joined.
    List(ListRule),
    /// A combinator the family registers under a number.
    Combinator(u16),
}

/// How two lists become one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListRule {
    /// The value so far, then the next one.
    Append,
    /// The preferred side's elements, then the other's.
    PreferredFirst,
    /// The other side's elements, then the preferred.
    PreferredLast,
    /// Elements with equal keys are merged by a rule, at the position of the first; others are appended.
    Keyed {
        /// The member that identifies an element; compared as a whole value.
        key: Box<str>,
        /// Rule for two elements of one key.
        element: PlanId,
    },
}

/// What a null of the preferred side does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nulls {
    /// It is a value like any other.
    #[default]
    Keep,
    /// It deletes the member (RFC 7386).
    Delete,
}

/// Rules by path. Rule 0 applies at the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergePlan {
    rules: Vec<MergeRule>,
    /// Meaning of null.
    pub nulls: Nulls,
}

impl MergePlan {
    /// The rule at the root.
    pub const ROOT: PlanId = PlanId(0);

    /// One value wins whole.
    pub const ATOMIC: Self = Self { rules: Vec::new(), nulls: Nulls::Keep };

    /// RFC 7386: mappings recurse, everything else is replaced, null deletes.
    pub fn merge_patch() -> Self {
        let rest = Self::ROOT;
        Self { rules: vec![MergeRule::Fields { named: Vec::new(), rest }], nulls: Nulls::Delete }
    }

    /// The rule of every path that no other rule names, in plans made by [`MergePlan::with_rules`]: recurse.
    pub const REST: PlanId = PlanId(1);

    /// Recursing everywhere, with exceptions by path: `a.*.b` gets its own rule.
    pub fn with_rules<'a>(
        rules: impl IntoIterator<Item = (Vec<&'a str>, MergeRule)>,
        nulls: Nulls,
    ) -> Self {
        let recurse = MergeRule::Fields { named: Vec::new(), rest: Self::REST };
        let mut plan = Self { rules: vec![recurse.clone(), recurse], nulls };
        // Short paths first, so that a rule for a part of a keyed element finds the list it is about.
        let mut rules: Vec<(Vec<&str>, MergeRule)> = rules.into_iter().collect();
        rules.sort_by_key(|(path, _)| path.len());
        for (path, rule) in rules {
            let mut at = Self::ROOT;
            for segment in path {
                at = plan.child_for(at, segment);
            }
            plan.set(at, rule);
        }
        plan
    }

    /// The rule of an id.
    pub fn rule(&self, id: PlanId) -> &MergeRule {
        self.rules.get(id.0 as usize).unwrap_or(&MergeRule::Atomic)
    }

    /// The rule of a member below a rule.
    pub fn member(&self, id: PlanId, key: &str) -> PlanId {
        match self.rule(id) {
            MergeRule::Fields { named, rest } => {
                named.iter().find(|(name, _)| &**name == key).map_or(*rest, |(_, id)| *id)
            }
            _ => id,
        }
    }

    fn set(&mut self, id: PlanId, rule: MergeRule) {
        if let Some(slot) = self.rules.get_mut(id.0 as usize) {
            *slot = rule;
        }
    }

    /// The rule object for one more path segment, created if it is still shared with the rest.
    fn child_for(&mut self, at: PlanId, segment: &str) -> PlanId {
        let at = self.element_of(at);
        let known = match (self.rule(at), segment) {
            (MergeRule::Fields { rest, .. }, "*") => *rest,
            (MergeRule::Fields { named, .. }, _) => {
                named.iter().find(|(n, _)| &**n == segment).map_or(Self::REST, |(_, id)| *id)
            }
            _ => Self::REST,
        };
        if known != Self::REST {
            return known;
        }
        let new = PlanId(u16::try_from(self.rules.len()).unwrap_or(u16::MAX));
        self.rules.push(MergeRule::Fields { named: Vec::new(), rest: Self::REST });
        let Some(slot) = self.rules.get_mut(at.0 as usize) else { return new };
        if !matches!(slot, MergeRule::Fields { .. }) {
            *slot = MergeRule::Fields { named: Vec::new(), rest: Self::REST };
        }
        if let MergeRule::Fields { named, rest } = slot {
            if segment == "*" {
                *rest = new;
            } else {
                named.push((segment.into(), new));
            }
        }
        new
    }

    /// Below a keyed list stand its elements: the rule of an element, of its own once somebody asks for a part of it.
    fn element_of(&mut self, at: PlanId) -> PlanId {
        let MergeRule::List(ListRule::Keyed { key, element }) = self.rule(at) else { return at };
        if *element != Self::REST {
            return *element;
        }
        let new = PlanId(u16::try_from(self.rules.len()).unwrap_or(u16::MAX));
        let keyed = ListRule::Keyed { key: key.clone(), element: new };
        self.rules.push(MergeRule::Fields { named: Vec::new(), rest: Self::REST });
        self.set(at, MergeRule::List(keyed));
        new
    }
}
