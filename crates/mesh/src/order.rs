// SPDX-License-Identifier: Apache-2.0
//! In: policies, and entries of them. Out: the order in which they are merged, least specific first, and what decides
//! between any two. Not here: which of them apply.
//!
//! In 2.13 a Dataplane that is named beats one that is selected by labels, and one that is neither ties with both. Where all
//! three meet there need be no first and no last, so this is a comparison of pairs and no rank; such lists are sorted by
//! inserting, as the release does with lists of their usual length.

use std::cmp::Ordering;

use crate::profile::Profile;
use crate::resource::Meta;
use crate::targetref::TargetRef;

/// What decides between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// Kind of what the policy targets.
    Kind,
    /// A name beats labels.
    Named,
    /// A section beats none.
    Section,
    /// A zone beats the global control plane.
    Origin,
    /// More tags of a gateway beat fewer.
    Tags,
    /// What the policy is for.
    Role,
    /// A namespace of its own beats the system's.
    Namespace,
    /// Kind of what the entry targets.
    EntryKind,
    /// A section of the entry beats none.
    EntrySection,
    /// The name that comes first wins.
    Name,
    /// Who it is in full: nothing else decides.
    Identity,
}

/// Kinds of targets, by how specific they are; what is not known comes first.
pub(crate) const KINDS: [&str; 10] = [
    "another kind",
    "Mesh",
    "Dataplane",
    "MeshSubset",
    "MeshGateway",
    "MeshService",
    "MeshExternalService",
    "MeshMultiZoneService",
    "MeshServiceSubset",
    "MeshHTTPRoute",
];

/// How specific a kind of target is.
pub fn kind_rank(kind: &str) -> u8 {
    let place = (0..).zip(KINDS).skip(1).find(|(_, known)| *known == kind);
    place.map_or(0, |(rank, _)| rank)
}

fn by_name(target: &TargetRef) -> bool {
    !target.name().is_empty() || !target.namespace().is_empty()
}

/// Compares two references to Dataplanes: `Greater` if the first is more specific.
pub fn dataplane_refs(a: &TargetRef, b: &TargetRef) -> (Ordering, Key) {
    let dataplanes = a.kind == "Dataplane" && b.kind == "Dataplane";
    if !dataplanes {
        return (Ordering::Equal, Key::Named);
    }
    if by_name(a) && b.has_labels() {
        return (Ordering::Greater, Key::Named);
    }
    if a.has_labels() && by_name(b) {
        return (Ordering::Less, Key::Named);
    }
    ((!a.section_name().is_empty()).cmp(&!b.section_name().is_empty()), Key::Section)
}

/// What of a policy is compared.
#[derive(Clone, Copy)]
pub struct Ranked<'a> {
    /// Who it is.
    pub meta: &'a Meta,
    /// What it targets.
    pub target: &'a TargetRef,
}

/// Whether a policy stands in a namespace of its own, not in that of the mesh's operators.
fn has_own_namespace(meta: &Meta, system: &str) -> bool {
    !meta.namespace().is_empty() && meta.namespace() != system
}

/// Compares what both orders begin with: kind, Dataplane, origin, tags, role or namespace.
fn head(profile: &Profile, a: Ranked<'_>, b: Ranked<'_>, tags: bool) -> (Ordering, Key) {
    let by = |order: Ordering, key| (order != Ordering::Equal).then_some((order, key));
    let count = |r: &TargetRef| r.tags.as_ref().map_or(0, |t| t.len());
    let gateways = tags && a.target.kind == "MeshGateway" && b.target.kind == "MeshGateway";
    by(kind_rank(&a.target.kind).cmp(&kind_rank(&b.target.kind)), Key::Kind)
        .or_else(|| {
            let (order, key) = dataplane_refs(a.target, b.target);
            by(order, key)
        })
        .or_else(|| by(a.meta.origin().cmp(&b.meta.origin()), Key::Origin))
        .or_else(|| {
            gateways.then(|| by(count(a.target).cmp(&count(b.target)), Key::Tags)).flatten()
        })
        .or_else(|| match profile {
            Profile::Release => by(a.meta.role().cmp(&b.meta.role()), Key::Role),
            Profile::Design { system } => {
                let own = |m| has_own_namespace(m, system);
                by(own(a.meta).cmp(&own(b.meta)), Key::Namespace)
            }
        })
        .unwrap_or((Ordering::Equal, Key::Role))
}

/// The name that comes first is more specific.
fn names(a: &Meta, b: &Meta) -> (Ordering, Key) {
    (b.display_name().cmp(a.display_name()), Key::Name)
}

fn then(first: (Ordering, Key), next: impl FnOnce() -> (Ordering, Key)) -> (Ordering, Key) {
    if first.0 == Ordering::Equal { next() } else { first }
}

/// Compares two policies of one type: `Greater` if the first is more specific.
pub fn policies(profile: &Profile, a: Ranked<'_>, b: Ranked<'_>) -> (Ordering, Key) {
    then(head(profile, a, b, true), || names(a.meta, b.meta))
}

/// Compares two policies as entries of what comes in are sorted: tags of gateways do not count.
pub fn inbound_policies(profile: &Profile, a: Ranked<'_>, b: Ranked<'_>) -> (Ordering, Key) {
    then(head(profile, a, b, false), || names(a.meta, b.meta))
}

/// Compares two entries about destinations.
pub fn to_entries(
    profile: &Profile,
    (a, a_to): (Ranked<'_>, &TargetRef),
    (b, b_to): (Ranked<'_>, &TargetRef),
) -> (Ordering, Key) {
    let kinds = || (kind_rank(&a_to.kind).cmp(&kind_rank(&b_to.kind)), Key::EntryKind);
    let services = a_to.kind == "MeshService" && b_to.kind == "MeshService";
    let sections = || match services {
        true => (
            (!a_to.section_name().is_empty()).cmp(&!b_to.section_name().is_empty()),
            Key::EntrySection,
        ),
        false => (Ordering::Equal, Key::EntrySection),
    };
    then(then(then(head(profile, a, b, false), kinds), sections), || names(a.meta, b.meta))
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
    for target in targets.filter(|t| t.kind == "Dataplane") {
        // Name and labels together are refused by validation, and beat themselves.
        if by_name(target) && target.has_labels() {
            return false;
        }
        let way = match (by_name(target), target.has_labels()) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        ways.iter_mut().skip(way).take(1).for_each(|w| *w = true);
    }
    ways != [true; 3]
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::{Key, Ranked, policies, sort};
    use crate::labels::{NAMESPACE, ORIGIN, POLICY_ROLE};
    use crate::profile::Profile;
    use crate::resource::Meta;
    use crate::targetref::TargetRef;

    fn policy(name: &str, labels: &[(&str, &str)]) -> Meta {
        let labels = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Meta { name: name.to_owned(), labels, ..Meta::default() }
    }

    fn decided(profile: &Profile, a: &Meta, b: &Meta) -> (Ordering, Key) {
        let target = TargetRef::whole_mesh();
        policies(profile, Ranked { meta: a, target: &target }, Ranked { meta: b, target: &target })
    }

    #[test]
    fn a_namespace_of_its_own_decides_in_the_design_and_a_role_in_the_release() {
        let design = Profile::Design { system: Profile::SYSTEM.into() };
        let own = policy("z", &[(NAMESPACE, "shop")]);
        let system = policy("a", &[(NAMESPACE, Profile::SYSTEM)]);
        assert_eq!(decided(&design, &own, &system), (Ordering::Greater, Key::Namespace));
        assert_eq!(decided(&Profile::Release, &own, &system), (Ordering::Less, Key::Name));
        let consumer = policy("z", &[(POLICY_ROLE, "consumer")]);
        assert_eq!(decided(&Profile::Release, &consumer, &system), (Ordering::Greater, Key::Role));
        let zone = policy("z", &[(ORIGIN, "zone")]);
        assert_eq!(decided(&design, &own, &zone), (Ordering::Less, Key::Origin));
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
}
