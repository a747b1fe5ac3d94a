// SPDX-License-Identifier: Apache-2.0
//! The table of kinds.

use super::{KINDS, KindScope, ResourceKind, plural, policies};
use std::collections::BTreeSet;

#[test]
fn no_two_kinds_share_a_name_a_short_name_or_a_path() {
    let names: BTreeSet<_> = KINDS.iter().map(|k| k.name).collect();
    let paths: BTreeSet<_> = KINDS.iter().map(|k| k.path).collect();
    let shorts: Vec<_> = KINDS.iter().filter_map(|k| k.short).collect();
    assert_eq!(names.len(), KINDS.len());
    assert_eq!(paths.len(), KINDS.len());
    assert_eq!(shorts.iter().collect::<BTreeSet<_>>().len(), shorts.len());
    assert_eq!(shorts.len(), 28);
    assert!(shorts.iter().all(|s| !s.is_empty() && !s.contains('_')));
}

#[test]
fn every_kind_is_found_by_its_names() {
    for kind in KINDS {
        assert_eq!(ResourceKind::by_type(kind.name), Some(kind));
        assert_eq!(ResourceKind::by_path(kind.path), Some(kind));
        assert_eq!(kind.short.and_then(ResourceKind::by_short), kind.short.map(|_| kind));
    }
    assert_eq!(ResourceKind::by_type("meshtimeout"), None);
    assert_eq!(ResourceKind::by_short(""), None);
}

#[test]
fn policies_come_in_the_order_of_the_inspect_api() {
    let orders: Vec<u32> = policies().map(|(_, policy)| policy.order).collect();
    assert_eq!(orders.len(), 16);
    assert!(orders.is_sorted_by(|a, b| a < b));
}

#[test]
fn a_policy_holds_lists_or_a_single_item_and_reads_from_as_rules_only_if_it_has_both() {
    for (kind, policy) in policies() {
        let lists = policy.from || policy.to || policy.rules;
        assert_ne!(lists, policy.single, "{}", kind.name);
        assert!(!policy.from_as_rules || (policy.from && policy.rules), "{}", kind.name);
        assert_eq!((kind.scope, kind.is_new_style), (KindScope::Mesh, true), "{}", kind.name);
    }
}

#[test]
fn paths_of_kinds_with_a_spec_are_their_plurals() {
    for kind in KINDS.iter().filter(|kind| kind.is_new_style) {
        assert_eq!(plural(kind.name).to_lowercase(), kind.path);
    }
}

#[test]
fn plurals() {
    for (name, want) in [
        ("MeshGateway", "MeshGateways"),
        ("PolicY", "Policies"),
        ("Bus", "Buses"),
        ("Wish", "Wishes"),
        ("Branch", "Branches"),
        ("Y", "ies"),
        ("", "s"),
        ("Zoné", "Zonés"),
    ] {
        assert_eq!(plural(name), want);
    }
}
