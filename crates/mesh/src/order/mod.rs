// SPDX-License-Identifier: Apache-2.0
//! In: policies, and entries of them. Out: the order in which they are merged, least specific first, and what decides
//! between any two. Not here: which of them apply.
//!
//! One table of keys says all of it: ranks, comparisons of two, the words of explanations.
//!
//! In 2.13 a Dataplane that is named beats one that is selected by labels, and one that is neither ties with both. Where all
//! three meet there need be no first and no last, so lists are sorted by comparing pairs and not by rank; such lists are
//! sorted by inserting, as the release does with lists of their usual length.

pub mod matches;

use std::cmp::Ordering;
use std::sync::LazyLock;

use hashbrown::HashMap;
use overrule_engine::{KeyValues, Rank, RankKey, RankKeys};

use crate::kinds::{self, KindName};
use crate::kri::Kri;
use crate::policy::Policy;
use crate::profile::Profile;
use crate::resource::Meta;
use crate::targetref::TargetRef;

/// Kinds of targets, by how specific they are; what is not known comes first.
const KINDS: [&str; 10] = {
    let [a, b, c, d, e, f, g, h, i] = kinds::TARGETS;
    ["another kind", a.name, b.name, c.name, d.name, e.name, f.name, g.name, h.name, i.name]
};

/// How specific a kind of target is.
pub fn kind_rank(kind: &KindName) -> u8 {
    let place = (1..).zip(kinds::TARGETS).find(|(_, known)| *kind == *known);
    place.map_or(0, |(rank, _)| rank)
}

/// What of a policy is compared.
#[derive(Clone, Copy)]
pub struct Ranked<'a> {
    /// Who it is.
    pub meta: &'a Meta,
    /// What it targets.
    pub target: &'a TargetRef,
}

/// Which list is ordered; not every key counts in every list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed<'a> {
    /// Whole policies, and `from` entries, which keep the order of their policies.
    Policies,
    /// Entries about inbound traffic.
    Inbound,
    /// Entries about destinations, and what this one is about.
    To(&'a TargetRef),
}

/// One that is ordered, under a profile.
#[derive(Clone, Copy)]
struct Item<'a> {
    profile: &'a Profile,
    of: Ranked<'a>,
    listed: Listed<'a>,
}

/// One key of the order.
struct Key {
    /// Its name, and what its values stand for.
    of: RankKey,
    /// Whether it counts under a profile.
    counts: fn(&Profile) -> bool,
    value: fn(&Item<'_>) -> i64,
    /// Says who of two is more specific, where their values do not.
    pair: Option<fn(&Item<'_>, &Item<'_>) -> Ordering>,
}

impl Key {
    const fn new(name: &'static str, values: KeyValues, value: fn(&Item<'_>) -> i64) -> Self {
        Self { of: RankKey::new(name, values), counts: |_| true, value, pair: None }
    }

    fn compare(&self, a: &Item<'_>, b: &Item<'_>) -> Ordering {
        self.pair.map_or_else(|| (self.value)(a).cmp(&(self.value)(b)), |pair| pair(a, b))
    }
}

const SECTIONS: KeyValues = KeyValues::Words(&["no section", "a section"]);

/// The order: keys, the most important first; a greater value is more specific.
static KEYS: [Key; 9] = [
    Key::new("kind of target", KeyValues::Words(&KINDS), |i| kind_rank(&i.of.target.kind).into()),
    Key {
        pair: Some(by_name_or_labels),
        ..Key::new("name before labels", KeyValues::Words(&["labels or nothing", "a name"]), |i| {
            (is_dataplane(i.of.target) && by_name(i.of.target)).into()
        })
    },
    Key::new("section of target", SECTIONS, |i| {
        (is_dataplane(i.of.target) && !i.of.target.section_name().is_empty()).into()
    }),
    Key::new(
        "origin",
        KeyValues::Words(&["an unknown value", "global", "no origin", "zone"]),
        |i| i.of.meta.origin() as i64,
    ),
    // Only whole policies are told apart by the tags of a gateway.
    Key::new("tags", KeyValues::Unspoken, |i| match i.listed {
        Listed::Policies if i.of.target.kind == kinds::GATEWAY => {
            number(i.of.target.tags.as_ref().map(|t| t.len()))
        }
        _ => 0,
    }),
    Key {
        counts: |profile| *profile == Profile::Release,
        ..Key::new(
            "role",
            KeyValues::Words(&[
                "an unknown role",
                "system",
                "producer",
                "consumer",
                "workload-owner",
            ]),
            |i| i.of.meta.role() as i64,
        )
    },
    Key {
        counts: |profile| *profile != Profile::Release,
        ..Key::new(
            "namespace",
            KeyValues::Words(&["the system namespace or none", "a namespace of its own"]),
            |i| match (i.profile, i.of.meta.namespace()) {
                (Profile::Design { system }, own) => (!own.is_empty() && own != &**system).into(),
                (Profile::Release, _) => 0,
            },
        )
    },
    Key::new("kind of entry", KeyValues::Words(&KINDS), |i| match i.listed {
        Listed::To(to) => kind_rank(&to.kind).into(),
        _ => 0,
    }),
    Key::new("section of entry", SECTIONS, |i| match i.listed {
        Listed::To(to) => (to.kind == kinds::SERVICE && !to.section_name().is_empty()).into(),
        _ => 0,
    }),
];

/// Keys whose values are places in a list of all there are. Between two the first name wins; what is left is decided by
/// the order in which lists come.
const LAST: [RankKey; 3] = [
    RankKey::new("display name", KeyValues::NamesLastWins),
    RankKey::new("identity", KeyValues::Unspoken),
    RankKey::new("place of entry", KeyValues::Written("it is written later")),
];

fn number(count: Option<usize>) -> i64 {
    count.map_or(0, |n| i64::try_from(n).unwrap_or(i64::MAX))
}

fn is_dataplane(target: &TargetRef) -> bool {
    target.kind == kinds::DATAPLANE
}

fn by_name(target: &TargetRef) -> bool {
    !target.name().is_empty() || !target.namespace().is_empty()
}

/// A name beats labels; who has neither ties with both.
fn by_name_or_labels(a: &Item<'_>, b: &Item<'_>) -> Ordering {
    let (a, b) = (a.of.target, b.of.target);
    match is_dataplane(a) && is_dataplane(b) {
        true if by_name(a) && b.has_labels() => Ordering::Greater,
        true if a.has_labels() && by_name(b) => Ordering::Less,
        _ => Ordering::Equal,
    }
}

/// The keys that count under a profile.
fn keys(profile: &Profile) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| (key.counts)(profile))
}

/// The keys of ranks under a profile.
pub(crate) fn rank_keys(profile: &Profile) -> RankKeys {
    static RELEASE: LazyLock<Vec<RankKey>> = LazyLock::new(|| all_under(&Profile::Release));
    static DESIGN: LazyLock<Vec<RankKey>> =
        LazyLock::new(|| all_under(&Profile::Design { system: Profile::SYSTEM.into() }));
    match profile {
        Profile::Release => &RELEASE,
        Profile::Design { .. } => &DESIGN,
    }
}

fn all_under(profile: &Profile) -> Vec<RankKey> {
    keys(profile).map(|key| key.of).chain(LAST).collect()
}

/// Places of names, and of identities, in their order.
#[derive(Debug, Default)]
pub(crate) struct Names {
    names: HashMap<String, i64>,
    identities: HashMap<Kri, i64>,
}

impl Names {
    pub(crate) fn new<'p>(policies: impl Iterator<Item = &'p Policy> + Clone) -> Self {
        let mut names: Vec<String> =
            policies.clone().map(|p| p.meta.display_name().to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        let mut identities: Vec<Kri> = policies.map(|p| p.meta.kri()).collect();
        identities.sort_unstable();
        identities.dedup();
        Self {
            names: names.into_iter().zip(0..).collect(),
            identities: identities.into_iter().zip(0..).collect(),
        }
    }

    /// The rank of the entry at a place of its list, or of the one conf of a policy.
    pub(crate) fn rank(
        &self,
        profile: &Profile,
        policy: &Policy,
        index: u32,
        listed: Listed<'_>,
    ) -> Rank {
        let item = Item { profile, of: policy.into(), listed };
        let name = self.names.get(policy.meta.display_name()).copied().unwrap_or(0);
        let identity = self.identities.get(&policy.meta.kri()).copied().unwrap_or(0);
        let last = [-name, -identity, i64::from(index)];
        Rank::new(keys(profile).map(|key| (key.value)(&item)).chain(last))
    }
}

/// Whether nothing but identity tells two ranks apart.
pub(crate) fn is_tie(profile: &Profile, a: &Rank, b: &Rank) -> bool {
    let first_of_identity = keys(profile).count() + 1;
    a.against(b).key.is_none_or(|key| key >= first_of_identity)
}

impl<'a> From<&'a Policy> for Ranked<'a> {
    fn from(policy: &'a Policy) -> Self {
        Self { meta: &policy.meta, target: &policy.target }
    }
}

/// Compares two of a list: `Greater` if the first is more specific; and the key that decides, if one does.
pub(crate) fn compare(
    profile: &Profile,
    (a, in_a): (Ranked<'_>, Listed<'_>),
    (b, in_b): (Ranked<'_>, Listed<'_>),
) -> (Ordering, Option<RankKey>) {
    let one = Item { profile, of: a, listed: in_a };
    let two = Item { profile, of: b, listed: in_b };
    let differ = |order: Ordering, name| (order != Ordering::Equal).then_some((order, Some(name)));
    let [name, ..] = LAST;
    keys(profile)
        .find_map(|key| differ(key.compare(&one, &two), key.of))
        .or_else(|| differ(b.meta.display_name().cmp(a.meta.display_name()), name))
        .unwrap_or((Ordering::Equal, None))
}

/// Compares two references to Dataplanes, other keys aside.
pub fn dataplane_refs(a: &TargetRef, b: &TargetRef) -> (Ordering, Option<RankKey>) {
    let meta = Meta::default();
    let of = |target| (Ranked { meta: &meta, target }, Listed::Policies);
    if is_dataplane(a) && is_dataplane(b) {
        compare(&Profile::Release, of(a), of(b))
    } else {
        (Ordering::Equal, None)
    }
}

/// Compares two policies of one type.
pub fn policies(profile: &Profile, a: Ranked<'_>, b: Ranked<'_>) -> (Ordering, Option<RankKey>) {
    compare(profile, (a, Listed::Policies), (b, Listed::Policies))
}

/// Compares two entries about destinations.
pub fn to_entries(
    profile: &Profile,
    (a, a_to): (Ranked<'_>, &TargetRef),
    (b, b_to): (Ranked<'_>, &TargetRef),
) -> (Ordering, Option<RankKey>) {
    compare(profile, (a, Listed::To(a_to)), (b, Listed::To(b_to)))
}

/// Sorts by a comparison of pairs, least specific first; what ties keeps its order. `target` says what the policy of an
/// item targets.
pub fn sort<'t, T: Clone>(
    list: &[T],
    target: impl Fn(&T) -> &'t TargetRef,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Vec<T> {
    if has_order(list.iter().map(target)) {
        let mut sorted = list.to_vec();
        sorted.sort_by(compare);
        return sorted;
    }
    let mut sorted: Vec<T> = Vec::with_capacity(list.len());
    for item in list {
        let after = sorted.iter().rposition(|known| compare(known, item) != Ordering::Greater);
        sorted.insert(after.map_or(0, |i| i + 1), item.clone());
    }
    sorted
}

/// Whether the comparison of policies with these targets is an order: not all three ways to mean Dataplanes meet.
pub(crate) fn has_order<'t>(targets: impl Iterator<Item = &'t TargetRef>) -> bool {
    let mut ways = [false; 3];
    for target in targets.filter(|t| t.kind == kinds::DATAPLANE) {
        // Name and labels together are refused by validation, and beat themselves.
        if by_name(target) && target.has_labels() {
            return false;
        }
        let way = match (by_name(target), target.has_labels()) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        if let Some(met) = ways.get_mut(way) {
            *met = true;
        }
    }
    ways != [true; 3]
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use serde_json::json;

    use super::{Listed, Names, Ranked, policies, rank_keys, sort};
    use crate::kinds::ResourceKind;
    use crate::labels::{NAMESPACE, ORIGIN, POLICY_ROLE};
    use crate::policy::{MeshEntry, Policy};
    use crate::profile::Profile;
    use crate::resource::Meta;
    use crate::targetref::TargetRef;

    fn policy(name: &str, labels: &[(&str, &str)]) -> Meta {
        let labels = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Meta { name: name.to_owned(), labels, ..Meta::default() }
    }

    fn decided(profile: &Profile, a: &Meta, b: &Meta) -> (Ordering, Option<&'static str>) {
        let target = TargetRef::whole_mesh();
        let (a, b) = (Ranked { meta: a, target: &target }, Ranked { meta: b, target: &target });
        let (order, key) = policies(profile, a, b);
        (order, key.map(|key| key.name))
    }

    #[test]
    fn a_namespace_of_its_own_decides_in_the_design_and_a_role_in_the_release() {
        let design = Profile::Design { system: Profile::SYSTEM.into() };
        let own = policy("z", &[(NAMESPACE, "shop")]);
        let system = policy("a", &[(NAMESPACE, Profile::SYSTEM)]);
        assert_eq!(decided(&design, &own, &system), (Ordering::Greater, Some("namespace")));
        assert_eq!(
            decided(&Profile::Release, &own, &system),
            (Ordering::Less, Some("display name"))
        );
        let consumer = policy("z", &[(POLICY_ROLE, "consumer")]);
        assert_eq!(
            decided(&Profile::Release, &consumer, &system),
            (Ordering::Greater, Some("role"))
        );
        let zone = policy("z", &[(ORIGIN, "zone")]);
        assert_eq!(decided(&design, &own, &zone), (Ordering::Less, Some("origin")));
    }

    #[test]
    fn the_first_name_ends_last_and_wins() {
        let target = TargetRef::whole_mesh();
        let list = ["b", "a", "c"].map(|name| policy(name, &[]));
        let ranked = |m: &Meta| m.clone();
        let sorted =
            sort(&list, |_| &target, |a, b| decided(&Profile::Release, &ranked(a), &ranked(b)).0);
        let names: Vec<&str> = sorted.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["c", "b", "a"]);
    }

    /// Ranks decide every pair as comparing does, and by the same key.
    #[test]
    fn ranks_and_comparisons_agree() {
        let read = overrule_source::read(
            vec![overrule_source::Input::new("a.yaml", "{}")],
            &overrule_source::ReadOptions::default(),
        );
        let id = read.documents.ids().next().unwrap();
        let root = overrule_source::Documents::node_ref(read.documents.root(id), id);
        let targets = [
            json!({"kind": "Mesh"}),
            json!({"kind": "Dataplane", "name": "a"}),
            json!({"kind": "Dataplane", "name": "a", "sectionName": "x"}),
            json!({"kind": "Dataplane", "labels": {"a": "b"}}),
            json!({"kind": "MeshGateway", "name": "g", "tags": {"a": "b"}}),
            json!({"kind": "MeshGateway", "name": "g"}),
        ];
        let labels = [(ORIGIN, "zone"), (POLICY_ROLE, "consumer"), (NAMESPACE, "a"), (ORIGIN, "")];
        let mut all: Vec<Policy> = Vec::new();
        for (place, (target, label)) in
            (0_u32..).zip(targets.iter().flat_map(|t| labels.map(|l| (t, l))))
        {
            all.push(Policy {
                meta: policy(&format!("p{}", place % 5), &[label]),
                place,
                kind: ResourceKind::by_type("MeshTimeout").unwrap(),
                root,
                target: TargetRef::read(target).unwrap(),
                to: Vec::new(),
                from: Vec::new(),
                rules: Vec::new(),
                single: None,
                whole: MeshEntry { target: TargetRef::whole_mesh(), node: root, index: 0 },
            });
        }
        let names = Names::new(all.iter());
        for profile in [Profile::Release, Profile::Design { system: Profile::SYSTEM.into() }] {
            let rank = |p| names.rank(&profile, p, 0, Listed::Policies);
            for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
                let (order, key) = policies(&profile, a.into(), b.into());
                let ranked = rank(a).against(&rank(b));
                if let Some(key) = key {
                    let at = ranked.key.and_then(|at| rank_keys(&profile).get(at));
                    assert_eq!((order, Some(&key)), (ranked.order, at), "{a:?} {b:?}");
                } else {
                    assert!(super::is_tie(&profile, &rank(a), &rank(b)), "{a:?} {b:?}");
                }
            }
        }
    }
}
