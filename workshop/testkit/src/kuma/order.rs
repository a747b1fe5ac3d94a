// SPDX-License-Identifier: Apache-2.0
//! In: two policies or two entries. Out: which comes first; later ones win. Not here: sorting, merging.

use std::cmp::Ordering;

use super::Profile;
use super::read::{Entry, Policy, Ref};

/// Two policies of one kind. No two tie: their identifiers differ.
pub(super) fn policies(a: &Policy, b: &Policy, profile: Profile) -> Ordering {
    standing(a, b, profile)
        .then_with(|| names(a, b))
        .then_with(|| b.meta.kri("").cmp(&a.meta.kri("")))
}

/// Two entries of `to`. Those that tie stay as they are: in the order of policies, then as written.
pub(super) fn entries(a: (&Policy, &Entry), b: (&Policy, &Entry), profile: Profile) -> Ordering {
    let (x, y) = (&a.1.target, &b.1.target);
    let both = x.kind == "MeshService" && y.kind == "MeshService";
    let sections = if both { sections(x, y) } else { Ordering::Equal };
    standing(a.0, b.0, profile)
        .then(kind(x).cmp(&kind(y)))
        .then(sections)
        .then_with(|| names(a.0, b.0))
}

/// What a policy is, whatever it is called: the kind it targets, how it names a proxy, where it was made, for whom.
fn standing(a: &Policy, b: &Policy, profile: Profile) -> Ordering {
    kind(&a.target)
        .cmp(&kind(&b.target))
        .then_with(|| dataplanes(&a.target, &b.target))
        .then_with(|| origin(a).cmp(&origin(b)))
        .then_with(|| place(a, profile).cmp(&place(b, profile)))
}

/// The smaller name is last.
fn names(a: &Policy, b: &Policy) -> Ordering {
    b.meta.display.cmp(&a.meta.display)
}

fn kind(target: &Ref) -> u8 {
    match target.kind.as_str() {
        "Mesh" => 1,
        "Dataplane" => 2,
        "MeshSubset" => 3,
        "MeshGateway" => 4,
        "MeshService" => 5,
        "MeshExternalService" => 6,
        "MeshMultiZoneService" => 7,
        "MeshServiceSubset" => 8,
        "MeshHTTPRoute" => 9,
        _ => 0,
    }
}

/// By name beats by labels, and what is neither ties with both; then a section beats none.
fn dataplanes(a: &Ref, b: &Ref) -> Ordering {
    if a.kind != "Dataplane" || b.kind != "Dataplane" {
        return Ordering::Equal;
    }
    let by_name = |r: &Ref| !r.name.is_empty();
    let by_labels = |r: &Ref| !by_name(r) && r.labels.is_some();
    if by_name(a) && by_labels(b) {
        return Ordering::Greater;
    }
    if by_labels(a) && by_name(b) {
        return Ordering::Less;
    }
    sections(a, b)
}

fn sections(a: &Ref, b: &Ref) -> Ordering {
    (!a.section.is_empty()).cmp(&!b.section.is_empty())
}

fn origin(policy: &Policy) -> u8 {
    match policy.meta.origin() {
        "global" => 1,
        "zone" => 3,
        _ => 2,
    }
}

/// The step in which the rule sets differ.
fn place(policy: &Policy, profile: Profile) -> u8 {
    match profile {
        Profile::Design => u8::from(policy.meta.is_in_custom_namespace()),
        Profile::Release => match policy.role.as_str() {
            "producer" => 2,
            "consumer" => 3,
            "workload-owner" => 4,
            _ => 1,
        },
    }
}
