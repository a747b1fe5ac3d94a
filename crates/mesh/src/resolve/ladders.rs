// SPDX-License-Identifier: Apache-2.0
//! In: lists of policies of one kind, in the order they are merged. Out: ladders: for each destination, for inbound traffic,
//! for the whole proxy. Each list is worked on once, whoever has it. Not here: which policies select whom.

use std::sync::Arc;

use hashbrown::HashMap;
use overrule_engine::{Group, LadderId, PolicyId, ResolutionBuilder, Rung, Step, StepId};
use overrule_source::{Documents, View};
use smallvec::SmallVec;

use super::found::FoundMesh;
use super::plans::Spec;
use crate::conf::{ConfStrategy, EntryPosition};
use crate::entries::{Destined, Item, clients, inbound_entries, services};
use crate::gate::PermissionList;
use crate::kinds;
use crate::order::{Listed, Names, is_tie};
use crate::policy::Policy;
use crate::profile::Profile;
use crate::resources::MeshResources;
use crate::rules::MOST_RULES;
use crate::steps::Steps;
use crate::subset::{Subset, build};
use crate::targets::DestinationIndex;
use crate::topology::{DATAPLANE, MESH, match_text};

/// Places of policies, in merge order.
pub(super) type List = Vec<u32>;

/// What policies of one kind say about destinations. The first hit counts whole.
#[derive(Debug, Default)]
pub struct Outbounds {
    /// By place: for no hostname in particular, and for each one that splits a route.
    by_place: HashMap<DestinationIndex, ByHostname>,
    /// Those that have a ladder, in order.
    pub(super) places: Vec<DestinationIndex>,
    /// What applies to destinations that nobody names; gateways send to all of them by hostname.
    mesh: ByHostname,
    /// Sets of services by their tags, in merge order.
    tagged: Vec<(Subset, StepId)>,
    spec: Option<Spec>,
}

/// Ladders by hostname; 0 stands for none in particular.
type ByHostname = SmallVec<[(u32, LadderId); 1]>;

/// What holds whatever the hostname. A route for some hostnames only says nothing about the others.
fn plain(all: &ByHostname) -> LadderId {
    all.iter().find(|(hostname, _)| *hostname == 0).map_or(LadderId::EMPTY, |(_, ladder)| *ladder)
}

impl Outbounds {
    /// What applies to a destination or to one of its ports: its own, that of the whole destination, that of the Mesh.
    fn at(&self, place: Option<DestinationIndex>) -> &ByHostname {
        let own = |place: DestinationIndex| {
            self.by_place.get(&place).or_else(|| self.by_place.get(&(place.0, 0)))
        };
        place.and_then(own).unwrap_or(&self.mesh)
    }

    /// The ladder of a destination or of one of its ports.
    pub fn of(&self, place: DestinationIndex) -> LadderId {
        plain(self.at(Some(place)))
    }

    /// The ladder of destinations that nobody names.
    pub(super) fn of_others(&self) -> LadderId {
        plain(&self.mesh)
    }

    /// The ladder that is its own.
    pub(super) fn own(&self, place: DestinationIndex) -> Option<LadderId> {
        self.by_place.get(&place).map(plain)
    }

    /// Ladders for single hostnames: of a destination, or of those that nobody names.
    pub(super) fn hostnames(
        &self,
        place: Option<DestinationIndex>,
    ) -> impl Iterator<Item = (u32, LadderId)> + '_ {
        self.at(place).iter().copied().filter(|(hostname, _)| *hostname > 0)
    }
}

/// What policies of one kind say about the traffic of one inbound.
#[derive(Debug, Default)]
pub(super) struct Inbounds {
    /// Whoever it is.
    pub(super) all: LadderId,
    /// Clients described by tags.
    pub(super) clients: Vec<(Subset, LadderId)>,
    /// Clients described by a match, the narrowest first.
    pub(super) matches: Vec<(Box<str>, LadderId)>,
}

/// Makes ladders of lists.
pub(super) struct Ladders<'a, 'b> {
    pub(super) documents: &'a Documents,
    pub(super) profile: &'a Profile,
    pub(super) mesh: &'a MeshResources,
    /// Ids of policies, by place.
    pub(super) ids: &'a [PolicyId],
    pub(super) names: &'b Names,
    /// The level of a mesh.
    pub(super) top: u8,
    pub(super) steps: &'b mut Steps<'a>,
    pub(super) builder: &'b mut ResolutionBuilder,
    pub(super) found: FoundMesh,
    /// What each `to` entry means, by place of its policy.
    pub(super) meant: Vec<Vec<Vec<DestinationIndex>>>,
    pub(super) to: HashMap<List, Arc<Outbounds>>,
    pub(super) inbound: HashMap<List, Arc<Inbounds>>,
    pub(super) permission_lists: HashMap<List, Arc<PermissionList>>,
    /// The number of the first of them: those of other meshes have lower ones.
    pub(super) first_permission_list: u32,
}

impl<'a> Ladders<'a, '_> {
    /// The step of an entry, with its rank.
    fn step(&mut self, item: Item<'a>, position: EntryPosition) -> StepId {
        let Item { policy, entry } = item;
        let below = if policy.target.kind == kinds::MESH { MESH } else { DATAPLANE };
        let (listed, block) = match position {
            EntryPosition::To => (Listed::To(&entry.target), "to"),
            EntryPosition::From => (Listed::Policies, "from"),
            EntryPosition::Rules => (Listed::Inbound, "rules"),
            EntryPosition::Single => (Listed::Policies, "default"),
        };
        let id = self.ids.get(policy.place as usize).copied();
        let Self { profile, names, top, builder, .. } = self;
        self.steps.step(item, position, |value| {
            let step = Step {
                policy: id.unwrap_or(PolicyId(u32::MAX)),
                entry: (position != EntryPosition::Single).then_some(entry.index),
                block,
                level: top.saturating_add(below),
                value,
                mode: 0,
                extra: 0,
            };
            builder.step(step, names.rank(profile, policy, entry.index, listed))
        })
    }

    fn ladder(
        &mut self,
        spec: Spec,
        hostname: u32,
        steps: impl IntoIterator<Item = StepId>,
    ) -> LadderId {
        let rungs: SmallVec<[Rung; 4]> = steps.into_iter().map(Rung::Step).collect();
        if rungs.is_empty() {
            return LadderId::EMPTY;
        }
        self.note_ties(&rungs);
        self.builder.ladders.group(Group { spec: spec.0, extra: hostname, rungs })
    }

    /// Notes neighbours that only their identity tells apart.
    fn note_ties(&mut self, rungs: &[Rung]) {
        for pair in rungs.windows(2) {
            let [Rung::Step(a), Rung::Step(b)] = pair else { continue };
            let (Some(one), Some(two)) = (self.builder.rank(*a), self.builder.rank(*b)) else {
                continue;
            };
            if !is_tie(self.profile, one, two) {
                continue;
            }
            let place = |step: &StepId| self.steps.item(*step).map(|item| item.policy.place);
            if let (Some(a), Some(b)) = (place(a), place(b))
                && a != b
            {
                self.found.ties.insert((a.min(b), a.max(b)));
            }
        }
    }

    /// The one conf of a kind without entries.
    pub(super) fn single(&mut self, spec: Spec, list: &[u32]) -> LadderId {
        let with_conf = self.mesh.policies_at(list).into_iter().filter(|p| p.single.is_some());
        let items = with_conf.map(|policy| Item { policy, entry: &policy.whole });
        let steps: Vec<StepId> = items.map(|item| self.step(item, EntryPosition::Single)).collect();
        self.ladder(spec, 0, steps)
    }

    pub(super) fn outbounds(&mut self, spec: Spec, list: &[u32]) -> Arc<Outbounds> {
        if let Some(known) = self.to.get(list) {
            return known.clone();
        }
        let made = Arc::new(self.make_outbounds(spec, list));
        self.to.insert(list.to_vec(), made.clone());
        made
    }

    fn make_outbounds(&mut self, spec: Spec, list: &[u32]) -> Outbounds {
        let policies = self.mesh.policies_at(list);
        let destinations = &self.mesh.destinations;
        let meant = &self.meant;
        let Destined { items, by_place } =
            Destined::new(self.profile, &policies, destinations, |item| {
                let entries = meant.get(item.policy.place as usize);
                entries.and_then(|m| m.get(item.entry.index as usize)).map_or(&[][..], |m| m)
            });
        let steps: Vec<StepId> =
            items.into_iter().map(|item| self.step(item, EntryPosition::To)).collect();
        let pick = |at: &[usize]| -> Vec<StepId> {
            at.iter().filter_map(|i| steps.get(*i).copied()).collect()
        };
        let strategy = spec.strategy();
        let is_mesh = |(place, _): &(DestinationIndex, Vec<usize>)| {
            destinations.get(place.0 as usize).is_some_and(|d| d.meta.kind == kinds::MESH)
        };
        let (whole, own): (Vec<_>, Vec<_>) = by_place.into_iter().partition(is_mesh);
        let mut made = Outbounds { spec: Some(spec), ..Outbounds::default() };
        let whole = whole.first().map(|(_, at)| pick(at)).unwrap_or_default();
        made.mesh = self.by_hostname(spec, &strategy, whole);
        for (place, at) in &own {
            let ladders = self.by_hostname(spec, &strategy, pick(at));
            made.by_place.insert(*place, ladders);
        }
        made.places = own.into_iter().map(|(place, _)| place).collect();
        let tagged = services(self.documents, &policies, &[]).into_iter();
        made.tagged = tagged.map(|(item, of)| (of, self.step(item, EntryPosition::To))).collect();
        made
    }

    /// Ladders by hostname: a step without hostnames is about no one in particular.
    fn by_hostname(
        &mut self,
        spec: Spec,
        strategy: &ConfStrategy,
        steps: Vec<StepId>,
    ) -> ByHostname {
        let groups = self.steps.confs.by_hostname(strategy, steps).into_iter();
        groups.map(|(hostname, met)| (hostname, self.ladder(spec, hostname, met))).collect()
    }

    /// The ladder of a service that is known by its tag.
    pub(super) fn service(&mut self, outbounds: &Outbounds, service: &str) -> LadderId {
        let Some(spec) = outbounds.spec else { return LadderId::EMPTY };
        let element = std::collections::BTreeMap::from([("kuma.io/service", service)]);
        let about = outbounds.tagged.iter();
        let about: Vec<StepId> = about
            .filter(|(s, _)| s.tags().is_empty() || s.contains_element(&element))
            .map(|(_, step)| *step)
            .collect();
        // Tags have no hostnames of their own, so what is split by hostname is shown without one.
        plain(&self.by_hostname(spec, &spec.strategy(), about))
    }

    pub(super) fn inbounds(&mut self, spec: Spec, list: &[u32]) -> Arc<Inbounds> {
        if let Some(known) = self.inbound.get(list) {
            return known.clone();
        }
        let made = Arc::new(self.make_inbounds(spec, list));
        self.inbound.insert(list.to_vec(), made.clone());
        made
    }

    /// The number of the next list of permissions.
    pub(super) fn next_permission_list(&self) -> u32 {
        let made = u32::try_from(self.permission_lists.len()).unwrap_or(u32::MAX);
        self.first_permission_list.saturating_add(made)
    }

    /// The permissions of an inbound.
    pub(super) fn permission_list(&mut self, list: List) -> Arc<PermissionList> {
        let number = self.next_permission_list();
        let made = || Arc::new(PermissionList::new(number, list.clone()));
        self.permission_lists.entry_ref(&list).or_insert_with(made).clone()
    }

    fn make_inbounds(&mut self, spec: Spec, list: &[u32]) -> Inbounds {
        let policies = self.mesh.policies_at(list);
        let entries = inbound_entries(self.profile, &policies);
        let mut all: Vec<StepId> = Vec::new();
        let mut matches: Vec<(Narrow, Box<str>, Vec<StepId>)> = Vec::new();
        let has_rules = !entries.is_empty();
        for (item, from) in entries {
            let position = if from { EntryPosition::From } else { EntryPosition::Rules };
            let step = self.step(item, position);
            let written = self.documents.view(item.entry.node).get("matches");
            let mut written = written.into_iter().flat_map(View::items).peekable();
            if written.peek().is_none() {
                all.push(step);
            }
            for one in written {
                let text = match_text(one);
                match matches.iter_mut().find(|(_, known, _)| **known == *text) {
                    Some((_, _, steps)) if steps.contains(&step) => {}
                    Some((_, _, steps)) => steps.push(step),
                    None => matches.push((Narrow::of(one), text.into(), vec![step])),
                }
            }
        }
        matches.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        let all_ladder = self.ladder(spec, 0, all);
        let mut made = Inbounds { all: all_ladder, ..Inbounds::default() };
        for (_, text, steps) in matches {
            let ladder = self.ladder(spec.first_counts(), 0, steps);
            made.matches.push((text, ladder));
        }
        self.clients(spec, &policies, has_rules, &mut made);
        made
    }

    /// Clients that `from` entries describe by tags. Where some policy has `rules`, they do not count.
    fn clients(&mut self, spec: Spec, policies: &[&'a Policy], rules: bool, made: &mut Inbounds) {
        let by_tags =
            |item: &Item<'_>| item.policy.kind.policy.is_some_and(|k| k.from && !k.from_as_rules);
        let entries = clients(policies).into_iter().filter(|(item, _)| by_tags(item));
        let entries: Vec<(Item<'a>, Subset)> =
            entries.map(|(item, clients)| (item, clients.canonical())).collect();
        if entries.is_empty() {
            return;
        }
        if rules {
            let ruling = policies.iter().find(|p| !p.rules.is_empty()).map_or(0, |p| p.place);
            // Who denies where nobody is admitted anyway changes nothing.
            let admits = policies.iter().any(|p| self.admits(p));
            let counts = |item: &Item<'_>| admits || !self.is_deny(item);
            let entries: Vec<Item<'_>> =
                entries.iter().map(|(item, _)| *item).filter(counts).collect();
            for item in &entries {
                self.found.displaced.insert((item.policy.place, ruling));
            }
            return;
        }
        self.note_too_many(policies, &entries);
        let mut distinct: Vec<&Subset> = entries.iter().map(|(_, s)| s).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let everyone = Subset::default();
        if !distinct.iter().any(|s| s.tags().is_empty()) {
            distinct.insert(0, &everyone);
        }
        for subset in distinct {
            let about = entries.iter().filter(|(_, s)| s.contains_subset(subset));
            let steps: Vec<StepId> =
                about.map(|(item, _)| self.step(*item, EntryPosition::From)).collect();
            let ladder = self.ladder(spec, 0, steps);
            if subset.tags().is_empty() {
                made.all = ladder
            } else {
                made.clients.push((subset.clone(), ladder))
            }
        }
    }

    /// Whether a policy has rules that let somebody in.
    fn admits(&self, policy: &Policy) -> bool {
        let lists = ["allow", "allowWithShadowDeny"];
        policy.rules.iter().any(|entry| {
            let conf = self.documents.view(entry.node).get("default");
            let list = |name| conf.and_then(|c| c.get(name));
            lists.iter().any(|name| list(*name).is_some_and(|l| !l.is_empty()))
        })
    }

    fn is_deny(&self, item: &Item<'_>) -> bool {
        let conf = self.documents.view(item.entry.node).get("default");
        conf.and_then(|c| c.get("action")).and_then(|a| a.scalar_text()) == Some("Deny")
    }

    /// The release makes a rule for every combination of tags; too many are told.
    fn note_too_many(&mut self, policies: &[&Policy], entries: &[(Item<'_>, Subset)]) {
        let subsets: Vec<Subset> = entries.iter().map(|(_, s)| s.clone()).collect();
        if *self.profile == Profile::Release && could_explode(&subsets) {
            let built = build(&subsets, true, MOST_RULES);
            let list: Vec<u32> = policies.iter().map(|p| p.place).collect();
            if built.cut {
                self.found.too_many.insert(list);
            }
        }
    }
}

/// Whether all combinations of tags are more than are worth counting; most lists are far from it.
fn could_explode(subsets: &[Subset]) -> bool {
    let mut values: std::collections::BTreeMap<&str, std::collections::BTreeSet<&str>> =
        std::collections::BTreeMap::new();
    for tag in subsets.iter().flat_map(Subset::tags) {
        values.entry(&tag.key).or_default().insert(&tag.value);
    }
    let all = values.values().fold(1_usize, |n, v| n.saturating_mul(v.len() + 1));
    all.saturating_mul(subsets.len()) > MOST_RULES
}

/// How narrow a match is: the narrowest first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Narrow {
    identity: u8,
    any_name: bool,
}

impl Narrow {
    fn of(view: View<'_>) -> Self {
        let kind = view.get("spiffeID").and_then(|s| s.get("type")).and_then(|t| t.scalar_text());
        let identity = match kind {
            Some("Exact") => 0,
            Some(_) => 1,
            None => 2,
        };
        Self { identity, any_name: view.get("sni").is_none() }
    }
}
