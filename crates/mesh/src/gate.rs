// SPDX-License-Identifier: Apache-2.0
//! In: an inbound of a proxy, and a client. Out: whether the client gets in, and who says so, under either rule set.
//! Not here: which permissions select the inbound (`resolve`), text for people.

use std::collections::BTreeMap;

use overrule_access::{Compiled, Effect, Request, Rule, Source, Verdict, naive};
use overrule_source::{Documents, NodeRef};

use crate::permission::{Permissions, permissions};
use crate::policy::Policy;
use crate::profile::Profile;
use crate::resources::MeshResources;
use crate::rules::{MOST_RULES, inbound_entries, subset_of};
use crate::subset::{Subset, build, decide, deciding};

/// What an element of `from` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Admits.
    Allow,
    /// Refuses.
    Deny,
    /// Admits, and counts.
    AllowWithShadowDeny,
}

impl Action {
    fn read(text: &str) -> Option<Self> {
        match text {
            "Allow" => Some(Self::Allow),
            "Deny" => Some(Self::Deny),
            "AllowWithShadowDeny" => Some(Self::AllowWithShadowDeny),
            _ => None,
        }
    }

    /// Whether it admits.
    pub fn allows(self) -> bool {
        self != Self::Deny
    }
}

/// An element of `from`: clients by their tags.
#[derive(Debug, Clone)]
pub struct From {
    /// The policy, by place.
    pub policy: u32,
    /// The place in its list.
    pub entry: u32,
    /// The element.
    pub node: NodeRef,
    /// Which clients.
    pub clients: Subset,
    /// What it does.
    pub action: Action,
}

/// Everything that decides at an inbound.
pub struct Gate {
    /// By identity.
    pub permissions: Permissions,
    /// By tags, in merge order.
    pub from: Vec<From>,
    /// Whether some policy has `rules`.
    pub has_rules: bool,
    /// Whether any policy selects the inbound.
    pub is_selected: bool,
    listed: Vec<Rule>,
    compiled: Compiled,
}

/// Who asks.
#[derive(Debug, Clone, Copy)]
pub struct Asking<'a> {
    /// The request.
    pub request: Request<'a>,
    /// The tags of the client, as certificates of the older kind have them.
    pub tags: &'a BTreeMap<String, String>,
}

/// Who decides: a match of a permission, or an element of `from`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// By number of the source.
    Match(Source),
    /// By place in [`Gate::from`].
    From(usize),
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Whether the client gets in.
    pub verdict: Verdict,
    /// Who decides, in the order of a list; none if nobody matches.
    pub by: Option<By>,
    /// Who decides, in the order of a tree.
    pub by_tree: Option<By>,
    /// Everybody who matches.
    pub matched: Vec<By>,
    /// Who would refuse if shadows counted.
    pub shadow: Option<By>,
}

impl Gate {
    /// The gate of an inbound with these permissions, by place, in merge order.
    pub fn new(
        documents: &Documents,
        mesh: &MeshResources,
        profile: &Profile,
        list: &[u32],
    ) -> Self {
        let policies: Vec<&Policy> =
            list.iter().filter_map(|p| mesh.policies.get(*p as usize)).collect();
        let entries = inbound_entries(profile, &policies);
        let entries: Vec<_> =
            entries.iter().map(|(i, _)| (i.policy, i.entry.index, i.entry.node)).collect();
        let has_rules = !entries.is_empty();
        let permissions = permissions(documents, entries);
        let mut from = Vec::new();
        for policy in &policies {
            for entry in &policy.from {
                let action =
                    documents.view(entry.node).get("default").and_then(|d| d.get("action"));
                let action = action.and_then(|a| a.scalar_text()).and_then(Action::read);
                if let (Some(clients), Some(action)) = (subset_of(&entry.target), action) {
                    let (policy, node) = (policy.place, entry.node);
                    from.push(From { policy, entry: entry.index, node, clients, action });
                }
            }
        }
        let listed = naive::in_list_order(permissions.rules.clone());
        let compiled = Compiled::new(&listed);
        Self { permissions, from, has_rules, is_selected: !list.is_empty(), listed, compiled }
    }

    /// Rules in the order of a list: denies first.
    pub fn listed(&self) -> &[Rule] {
        &self.listed
    }

    /// Decides. Under the founding documents a deny of either kind counts, whoever allows; the release has its own ways.
    pub fn decide(&self, profile: &Profile, asking: Asking<'_>) -> Said {
        match profile {
            Profile::Design { .. } => self.by_design(asking),
            Profile::Release if self.has_rules => self.by_release(asking),
            Profile::Release => self.tags_by_release(asking),
        }
    }

    /// The clients of each element of `from`.
    fn sets(&self) -> Vec<Subset> {
        self.from.iter().map(|f| f.clients.clone()).collect()
    }

    fn by_design(&self, asking: Asking<'_>) -> Said {
        let found = self.compiled.decide_fully(&asking.request);
        let mut said = Said {
            verdict: found.verdict,
            by: found.by.map(By::Match),
            by_tree: found.by_tree.map(By::Match),
            matched: found.matched.into_iter().map(By::Match).collect(),
            shadow: found.shadow.map(By::Match),
        };
        let Some(at) = decide(&self.sets(), asking.tags) else { return said };
        let Some(last) = self.from.get(at) else { return said };
        let denied = said.by.is_some() && said.verdict == Verdict::Denied;
        said.matched.push(By::From(at));
        if denied || (last.action.allows() && said.verdict == Verdict::Allowed) {
            return said;
        }
        said.verdict = if last.action.allows() { Verdict::Allowed } else { Verdict::Denied };
        (said.by, said.by_tree) = (Some(By::From(at)), Some(By::From(at)));
        if last.action == Action::AllowWithShadowDeny {
            said.shadow = Some(By::From(at));
        }
        said
    }

    /// The release looks at entries one after another, and takes the first match.
    fn by_release(&self, asking: Asking<'_>) -> Said {
        let rules = &self.permissions.rules;
        let one = |rule: &Rule| {
            let alone = naive::decide(std::slice::from_ref(rule), &asking.request);
            !alone.matched.is_empty()
        };
        let matched: Vec<&Rule> = rules.iter().filter(|r| one(r)).collect();
        let first = matched.first();
        let allowed = first.is_some_and(|r| r.effect.allows());
        let by = first.map(|r| By::Match(r.source));
        let shadow = matched.iter().find(|r| r.effect == Effect::AllowWithShadowDeny);
        Said {
            verdict: if allowed { Verdict::Allowed } else { Verdict::Denied },
            by,
            by_tree: by,
            matched: matched.iter().map(|r| By::Match(r.source)).collect(),
            shadow: shadow.filter(|_| allowed).map(|r| By::Match(r.source)),
        }
    }

    /// What the release's own filter decides.
    fn tags_by_release(&self, asking: Asking<'_>) -> Said {
        let contains = |s: &Subset| s.tags().is_empty() || s.contains_element(asking.tags);
        let mut sets = self.release_rules().into_iter();
        let admitted = sets.find(|(clients, at)| {
            contains(clients) && self.from.get(*at).is_some_and(|f| f.action.allows())
        });
        let admitted = admitted.map(|(_, at)| at);
        let last = decide(&self.sets(), asking.tags);
        let by = admitted.or(last).map(By::From);
        let counts = |at: &usize| {
            self.from.get(*at).is_some_and(|f| f.action == Action::AllowWithShadowDeny)
        };
        Said {
            verdict: if admitted.is_some() { Verdict::Allowed } else { Verdict::Denied },
            by,
            by_tree: by,
            matched: last.map(By::From).into_iter().collect(),
            shadow: admitted.filter(counts).map(By::From),
        }
    }

    /// The sets of clients that the release makes of elements of `from`, each with the place of the element that decides;
    /// none if it would make more than are worth making.
    fn release_rules(&self) -> Vec<(Subset, usize)> {
        let built = build(&self.sets(), true, MOST_RULES);
        let rules = if built.cut { Vec::new() } else { built.rules };
        let rules = rules.into_iter();
        rules.filter_map(|rule| Some((rule.subset, *rule.relevant.last()?))).collect()
    }

    /// The same sets, each with what is done with it.
    pub fn release_sets(&self) -> Vec<(Subset, Action)> {
        let sets = self.release_rules().into_iter();
        sets.filter_map(|(clients, at)| Some((clients, self.from.get(at)?.action))).collect()
    }

    /// Elements of `from` in an order in which the first match decides.
    pub fn deciding_from(&self) -> Vec<&From> {
        let rules = deciding(&self.sets());
        rules.iter().filter_map(|r| self.from.get(*r.relevant.last()?)).collect()
    }
}
