// SPDX-License-Identifier: Apache-2.0
//! In: policies that meet. Out: those that nothing but their identity orders, and lists of `from` entries that make too
//! many sets of clients. Not here: the order.

use std::collections::{BTreeMap, BTreeSet};

use overrule_source::Diagnostic;

use super::{Here, some_of};
use crate::codes;

pub(super) fn report(here: &Here<'_>, out: &mut Vec<Diagnostic>) {
    ties(here, out);
    too_many(here, out);
}

/// Each group of policies that tie with each other once.
fn ties(here: &Here<'_>, out: &mut Vec<Diagnostic>) {
    let mut neighbours: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (a, b) in &here.found.ties {
        neighbours.entry(*a).or_default().push(*b);
        neighbours.entry(*b).or_default().push(*a);
    }
    let mut seen = BTreeSet::new();
    for first in neighbours.keys() {
        let mut group = BTreeSet::new();
        let mut open = vec![*first];
        while let Some(place) = open.pop() {
            if seen.insert(place) {
                group.insert(place);
                open.extend(neighbours.get(&place).into_iter().flatten());
            }
        }
        let group: Vec<u32> = group.into_iter().collect();
        if let [first, others @ ..] = group.as_slice()
            && !others.is_empty()
        {
            out.push(tie(here, *first, others));
        }
    }
}

fn tie(here: &Here<'_>, first: u32, others: &[u32]) -> Diagnostic {
    let names: Vec<String> = others.iter().map(|p| here.name_of(*p)).collect();
    let message = format!(
        "nothing decides between this policy and {}: the control plane leaves their order undefined, and here the one whose KRI comes first wins",
        some_of(&names)
    );
    let mut d = here.at_policy(Diagnostic::new(&codes::TIE, message), first);
    for other in others.iter().take(3) {
        let object = here.object_of(*other).and_then(|id| here.world.snapshot.get(id));
        if let Some(object) = object {
            d = d.see(object.at, "the other");
        }
    }
    d.help("give them different names: then the first name in the alphabet wins")
}

fn too_many(here: &Here<'_>, out: &mut Vec<Diagnostic>) {
    for list in &here.found.too_many {
        let Some(first) = list.first() else { continue };
        let names: Vec<String> = list.iter().map(|p| here.name_of(*p)).collect();
        let message = format!(
            "the `from` entries of {} make too many sets of clients to list; some are left out",
            some_of(&names)
        );
        let d = Diagnostic::new(&codes::TOO_MANY, message).field("spec.from");
        out.push(here.at_policy(d, *first).help(
            "use fewer different tags in one place, or `rules`; answers about a given client are still exact",
        ));
    }
}
