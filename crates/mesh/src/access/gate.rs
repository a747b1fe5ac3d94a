// SPDX-License-Identifier: Apache-2.0
//! In: the permissions of an inbound, and a client. Out: whether the client gets in, why, and who says so, under either
//! rule set. Not here: which permissions select the inbound (`resolve`), text for people.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use overrule_access::{
    AccessRule, Because, Certificate, Clause, ClientTags, Compiled, Effect, Enforcement, Match,
    Request, RuleSource, Ruling, Verdict, client_set, naive, received,
};
use overrule_source::{Documents, NodeRef};

use crate::entries::{Item, clients, inbound_entries};
use crate::permission::{MatchLocation, Permissions, permissions};
use crate::profile::Profile;
use crate::resources::MeshResources;
use crate::rules::MOST_RULES;
use crate::subset::{Subset, build, deciding};

#[cfg(test)]
thread_local! {
    /// How many gates this thread compiled.
    static COMPILED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// What an element of `from` does, by its `action`.
fn effect(action: &str) -> Option<Effect> {
    match action {
        "Allow" => Some(Effect::Allow),
        "Deny" => Some(Effect::Deny),
        "AllowWithShadowDeny" => Some(Effect::AllowWithShadowDeny),
        _ => None,
    }
}

/// An element of `from`: clients by their tags.
#[derive(Debug, Clone)]
pub struct FromClients {
    /// The policy, by place.
    pub policy: u32,
    /// The place in its list.
    pub entry: u32,
    /// The element.
    pub node: NodeRef,
    /// Which clients.
    pub clients: Subset,
    /// What it does.
    pub effect: Effect,
}

/// Everything that decides at an inbound under a profile.
#[derive(Debug)]
pub struct Gate {
    /// By identity.
    pub permissions: Permissions,
    /// By tags, in merge order.
    pub from: Vec<FromClients>,
    /// Whether some policy has `rules`.
    pub has_rules: bool,
    /// Whether any policy selects the inbound.
    is_selected: bool,
    profile: Profile,
    listed: Vec<AccessRule>,
    compiled: Compiled,
    /// Elements of `from` in an order in which the first that contains a client decides, none of a set that is there
    /// before.
    order: OnceLock<Vec<usize>>,
    /// The sets of clients that the release makes of elements of `from`, each with the place of the element that decides.
    release: OnceLock<Vec<(Subset, usize)>>,
}

/// The permissions that select an inbound. Inbounds with the same list share it.
#[derive(Debug, Default)]
pub struct PermissionList {
    number: u32,
    list: Vec<u32>,
}

impl PermissionList {
    /// Permissions by place, in merge order; each list has a number of its own.
    pub(crate) fn new(number: u32, list: Vec<u32>) -> Self {
        Self { number, list }
    }

    /// The permissions.
    pub fn list(&self) -> &[u32] {
        &self.list
    }
}

/// The gates that lists of permissions are, by the number of the list. They are what permissions say, and lists are not,
/// so that a permission that says something else changes these only.
#[derive(Debug, Default)]
pub struct Gates(Vec<OnceLock<Box<Gate>>>);

impl Gates {
    /// Of so many lists; none of them is compiled.
    pub fn new(lists: u32) -> Self {
        Self((0..lists).map(|_| OnceLock::new()).collect())
    }

    /// As many, none of them compiled.
    pub fn fresh(&self) -> Self {
        Self(self.0.iter().map(|_| OnceLock::new()).collect())
    }

    /// The gate of a list. It is compiled when it is first asked for, from what the list was resolved from.
    pub fn get(
        &self,
        list: &PermissionList,
        documents: &Documents,
        mesh: &MeshResources,
        profile: &Profile,
    ) -> Option<&Gate> {
        let gate = self.0.get(list.number as usize)?;
        Some(gate.get_or_init(|| Box::new(Gate::new(documents, mesh, profile, &list.list))))
    }
}

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Asking<'a> {
    /// Whether the proxy knows its clients.
    pub enforcement: Enforcement,
    /// The certificate that the client shows.
    pub certificate: Certificate,
    /// The request.
    pub request: Request<'a>,
    /// The tags of the client, as certificates of the older kind have them.
    pub tags: &'a ClientTags,
}

/// The number of a clause: a match of a permission, or an element of `from`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// By number of the source.
    Match(RuleSource),
    /// By place in [`Gate::from`].
    From(usize),
}

/// Where a clause is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClauseAt<'a> {
    /// The policy, by place.
    pub policy: u32,
    /// The clause.
    pub clause: Clause<'a>,
    /// Its node.
    pub node: NodeRef,
}

/// What permissions say, before anything else counts.
struct Said {
    verdict: Verdict,
    by: Option<By>,
    by_tree: Option<By>,
    matched: Vec<By>,
    shadow: Option<By>,
}

impl Gate {
    /// The gate of an inbound with these permissions, by place, in merge order.
    fn new(documents: &Documents, mesh: &MeshResources, profile: &Profile, list: &[u32]) -> Self {
        #[cfg(test)]
        COMPILED.with(|count| count.set(count.get() + 1));
        let policies = mesh.policies_at(list);
        let entries = inbound_entries(profile, &policies);
        let entries: Vec<_> =
            entries.iter().map(|(i, _)| (i.policy, i.entry.index, i.entry.node)).collect();
        let has_rules = !entries.is_empty();
        let permissions = permissions(documents, profile, entries);
        let mut from = Vec::new();
        for (Item { policy, entry }, clients) in clients(&policies) {
            let node = entry.node;
            let action = documents.view(node).get("default").and_then(|d| d.get("action"));
            if let Some(effect) = action.and_then(|a| a.scalar_text()).and_then(effect) {
                let (policy, entry) = (policy.place, entry.index);
                from.push(FromClients { policy, entry, node, clients, effect });
            }
        }
        let listed = naive::in_list_order(permissions.rules.clone());
        let compiled = Compiled::new(&listed);
        Self {
            permissions,
            from,
            has_rules,
            is_selected: !list.is_empty(),
            profile: profile.clone(),
            listed,
            compiled,
            order: OnceLock::new(),
            release: OnceLock::new(),
        }
    }

    /// Rules in the order of a list: denies first.
    pub fn listed(&self) -> &[AccessRule] {
        &self.listed
    }

    /// Decides. What permissions say counts only where the proxy knows its clients, and only for those who show who they
    /// are; an inbound with rules takes none that has several identities.
    pub fn decide(&self, asking: Asking<'_>) -> Ruling<By> {
        let Asking { enforcement, certificate, .. } = asking;
        let Said { verdict, by, by_tree, matched, shadow } = self.say(asking);
        let has_too_many = certificate == Certificate::Several && self.has_rules;
        let said = match by {
            Some(by) => (verdict, Because::Clause(by)),
            None if self.is_selected => (verdict, Because::NoMatch),
            None => (verdict, Because::NoPermission),
        };
        // Only filters of ours ask for paths, and have the proxy refuse what they could not judge.
        let paths =
            matches!(self.profile, Profile::Design { .. }) && enforcement != Enforcement::Off;
        let refused = match paths {
            true => self.compiled.rejects(&asking.request),
            false => received(&asking.request, false).err(),
        };
        let (verdict, because) = match (enforcement, certificate) {
            (Enforcement::Strict, Certificate::Missing) => {
                (Verdict::Denied, Because::NoCertificate)
            }
            // Those without a certificate do not meet the filters.
            (Enforcement::Permissive, Certificate::Missing)
                if refused.is_some_and(|why| why.is_by_rules()) =>
            {
                (Verdict::Allowed, Because::Plaintext)
            }
            _ if let Some(why) = refused => (Verdict::Denied, Because::Refused(why)),
            (Enforcement::Off, _) => (Verdict::Allowed, Because::NotEnforced),
            (Enforcement::Permissive, Certificate::Missing) => {
                (Verdict::Allowed, Because::Plaintext)
            }
            _ if has_too_many => (Verdict::Denied, Because::SeveralIdentities),
            _ => said,
        };
        let by_clause = matches!(because, Because::Clause(_));
        // Where nothing is enforced yet, what would be refused one day is worth knowing.
        let is_off = enforcement == Enforcement::Off && !has_too_many;
        Ruling {
            enforcement,
            verdict,
            because,
            by_tree: by_tree.filter(|_| by_clause),
            matched,
            shadow: shadow.filter(|_| by_clause || is_off),
        }
    }

    /// The clause of a number.
    pub fn clause(&self, by: By) -> Option<ClauseAt<'_>> {
        match by {
            By::Match(RuleSource(number)) => {
                let written = self.permissions.written.get(number as usize)?;
                let AccessRule { effect, matches, .. } =
                    self.permissions.rules.get(number as usize)?;
                let MatchLocation { policy, entry, index, node, .. } = *written;
                let clause = Clause::Rule { entry, index, effect: *effect, matches };
                Some(ClauseAt { policy, clause, node })
            }
            By::From(place) => {
                let FromClients { policy, entry, node, clients, effect } = self.from.get(place)?;
                let clients = clients.to_string();
                let clause = Clause::From { entry: *entry, effect: *effect, clients };
                Some(ClauseAt { policy: *policy, clause, node: *node })
            }
        }
    }

    /// Under the founding documents a deny of either kind counts, whoever allows; the release has its own ways.
    fn say(&self, asking: Asking<'_>) -> Said {
        match self.profile {
            Profile::Design { .. } => self.by_design(asking),
            Profile::Release if self.has_rules => self.by_release(asking),
            Profile::Release => self.tags_by_release(asking),
        }
    }

    /// The clients of each element of `from`.
    fn sets(&self) -> Vec<Subset> {
        self.from.iter().map(|f| f.clients.clone()).collect()
    }

    fn order(&self) -> &[usize] {
        let relevant = |rule: crate::subset::ElementRule| rule.relevant.last().copied();
        self.order.get_or_init(|| deciding(&self.sets()).into_iter().filter_map(relevant).collect())
    }

    /// The element of `from` that decides about a client, where only some count as admitting.
    ///
    /// A client with several values of a tag can be in sets that have nobody else in common. Of those a refusal counts,
    /// whatever the order: that is how filters have it.
    fn decisive(&self, client: &ClientTags, admits: impl Fn(Effect) -> bool) -> Option<usize> {
        let element = |at: &usize| self.from.get(*at);
        let contains = |at: &&usize| element(at).is_some_and(|f| f.clients.contains_client(client));
        let counts = |at: &usize| element(at).is_some_and(|f| admits(f.effect));
        let order = self.order();
        let first = *order.iter().find(contains)?;
        if !counts(&first) || client.values().all(|values| values.len() < 2) {
            return Some(first);
        }
        let apart = |a: &usize, b: &usize| match (element(a), element(b)) {
            (Some(a), Some(b)) => {
                client_set::disjoint(a.clients.conditions(), b.clients.conditions())
            }
            _ => true,
        };
        let refusing = order.iter().enumerate().find(|(turn, at)| {
            let before = order.iter().take(*turn);
            contains(at) && !counts(at) && before.filter(|b| counts(b)).all(|b| apart(b, at))
        });
        Some(refusing.map_or(first, |(_, at)| *at))
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
        let Some(at) = self.decisive(asking.tags, Effect::allows) else { return said };
        let Some(last) = self.from.get(at) else { return said };
        let shadow = self.decisive(asking.tags, |effect| effect == Effect::AllowWithShadowDeny);
        let shadow = shadow.filter(|at| self.effect_of(*at) == Some(Effect::AllowWithShadowDeny));
        said.shadow = said.shadow.or(shadow.map(By::From));
        let denied = said.by.is_some() && said.verdict == Verdict::Denied;
        said.matched.push(By::From(at));
        if denied || (last.effect.allows() && said.verdict == Verdict::Allowed) {
            return said;
        }
        said.verdict = if last.effect.allows() { Verdict::Allowed } else { Verdict::Denied };
        (said.by, said.by_tree) = (Some(By::From(at)), Some(By::From(at)));
        said
    }

    fn effect_of(&self, at: usize) -> Option<Effect> {
        self.from.get(at).map(|f| f.effect)
    }

    /// The release looks at entries one after another, and takes the first match. One of which nothing is left fits
    /// everybody.
    fn by_release(&self, asking: Asking<'_>) -> Said {
        let rules = &self.permissions.rules;
        let one = |rule: &AccessRule| {
            if rule.matches == Match::default() {
                return true;
            }
            let alone = naive::decide(std::slice::from_ref(rule), &asking.request);
            !alone.matched.is_empty()
        };
        let matched: Vec<&AccessRule> = rules.iter().filter(|r| one(r)).collect();
        let first = matched.first();
        let allowed = first.is_some_and(|r| r.effect.allows());
        let by = first.map(|r| By::Match(r.source));
        let shadow = matched.iter().find(|r| r.effect == Effect::AllowWithShadowDeny);
        Said {
            verdict: if allowed { Verdict::Allowed } else { Verdict::Denied },
            by,
            by_tree: by,
            matched: matched.iter().map(|r| By::Match(r.source)).collect(),
            shadow: shadow.map(|r| By::Match(r.source)),
        }
    }

    /// What the release's own filter decides.
    fn tags_by_release(&self, asking: Asking<'_>) -> Said {
        let rules = self.release_rules().iter();
        let mut about = rules.filter(|(clients, _)| clients.contains_client(asking.tags));
        let containing: BTreeSet<usize> = about.clone().map(|(_, at)| *at).collect();
        let admits = |at: usize| self.effect_of(at).is_some_and(Effect::allows);
        let admitted = about.find(|(_, at)| admits(*at)).map(|(_, at)| *at);
        let last = self.decisive(asking.tags, Effect::allows);
        let by = admitted.or(last.filter(|at| !admits(*at))).map(By::From);
        let mut containing = containing.into_iter();
        let shadow = containing.find(|at| self.effect_of(*at) == Some(Effect::AllowWithShadowDeny));
        Said {
            verdict: if admitted.is_some() { Verdict::Allowed } else { Verdict::Denied },
            by,
            by_tree: by,
            matched: last.map(By::From).into_iter().collect(),
            shadow: shadow.map(By::From),
        }
    }

    /// The sets of clients that the release makes; none if it would make more than are worth making.
    fn release_rules(&self) -> &[(Subset, usize)] {
        self.release.get_or_init(|| {
            let built = build(&self.sets(), true, MOST_RULES);
            let rules = if built.cut { Vec::new() } else { built.rules };
            let rules = rules.into_iter();
            rules.filter_map(|rule| Some((rule.subset, *rule.relevant.last()?))).collect()
        })
    }

    /// The same sets, each with what is done with it.
    pub fn release_sets(&self) -> Vec<(Subset, Effect)> {
        let sets = self.release_rules().iter();
        sets.filter_map(|(clients, at)| Some((clients.clone(), self.from.get(*at)?.effect)))
            .collect()
    }

    /// Whether a deny counts wherever it stands; otherwise the first clause that matches does.
    pub fn denies_first(&self) -> bool {
        matches!(self.profile, Profile::Design { .. })
    }

    /// Every clause that can decide: rules in the order in which they count, then elements of `from`, of which the first
    /// that contains a client counts.
    pub fn clauses(&self) -> Vec<By> {
        let design = self.denies_first();
        let rules = if design { &self.listed } else { &self.permissions.rules };
        let rules = rules.iter().map(|rule| By::Match(rule.source));
        // The release does not look at them where there are rules.
        let from = if design || !self.has_rules { self.order() } else { &[] };
        rules.chain(from.iter().copied().map(By::From)).collect()
    }

    /// Elements of `from` in an order in which the first match decides.
    pub fn deciding_from(&self) -> Vec<&FromClients> {
        self.order().iter().filter_map(|at| self.from.get(*at)).collect()
    }
}

#[cfg(test)]
mod tests;
