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

    fn by_design(&self, asking: Asking<'_>) -> Said {
        let found = self.compiled.decide(&asking.request);
        let all = naive::decide(&self.listed, &asking.request);
        let mut said = Said {
            verdict: found.verdict,
            by: found.by.map(By::Match),
            by_tree: found.by_tree.map(By::Match),
            matched: all.matched.into_iter().map(By::Match).collect(),
            shadow: found.shadow.map(By::Match),
        };
        let sets: Vec<Subset> = self.from.iter().map(|f| f.clients.clone()).collect();
        let Some(at) = decide(&sets, asking.tags) else { return said };
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
        let sets: Vec<Subset> = self.from.iter().map(|f| f.clients.clone()).collect();
        let built = build(&sets, true, MOST_RULES);
        let action = |at: Option<&usize>| at.and_then(|a| self.from.get(*a)).map(|f| f.action);
        let mut admits = built.rules.iter().filter(|rule| {
            let allows = action(rule.relevant.last()).is_some_and(Action::allows);
            allows && (rule.subset.tags().is_empty() || rule.subset.contains_element(asking.tags))
        });
        let admitted = if built.cut { None } else { admits.next() };
        let last = decide(&sets, asking.tags);
        let by = admitted.and_then(|r| r.relevant.last()).copied().or(last).map(By::From);
        let shadow = admitted.and_then(|r| r.relevant.last()).copied();
        let shadow = shadow.filter(|at| action(Some(at)) == Some(Action::AllowWithShadowDeny));
        Said {
            verdict: if admitted.is_some() { Verdict::Allowed } else { Verdict::Denied },
            by,
            by_tree: by,
            matched: last.map(By::From).into_iter().collect(),
            shadow: shadow.map(By::From),
        }
    }

    /// The sets of clients that the release makes of elements of `from`, and what it does with each; none if it would
    /// make more than are worth making.
    pub fn release_sets(&self) -> Vec<(Subset, Action)> {
        let sets: Vec<Subset> = self.from.iter().map(|f| f.clients.clone()).collect();
        let built = build(&sets, true, MOST_RULES);
        let rules = if built.cut { Vec::new() } else { built.rules };
        let action = |at: &usize| self.from.get(*at).map(|f| f.action);
        let set = |rule: crate::subset::Rule| {
            let action = rule.relevant.last().and_then(action)?;
            Some((rule.subset, action))
        };
        rules.into_iter().filter_map(set).collect()
    }

    /// Elements of `from` in an order in which the first match decides.
    pub fn deciding_from(&self) -> Vec<&From> {
        let sets: Vec<Subset> = self.from.iter().map(|f| f.clients.clone()).collect();
        let rules = deciding(&sets);
        rules.iter().filter_map(|r| self.from.get(*r.relevant.last()?)).collect()
    }
}
