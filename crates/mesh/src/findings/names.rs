// SPDX-License-Identifier: Apache-2.0
//! In: names of resources. Out: those that are cut on the way to another control plane, that identifiers do not bring
//! back, or that no control plane takes. Not here: names of Kubernetes objects that Kubernetes refuses.

use std::collections::BTreeMap;

use overrule_model::ObjectId;
use overrule_source::Diagnostic;

use super::{World, count};
use crate::codes;
use crate::kinds::{KindScope, ResourceKind};
use crate::resource::Meta;

/// What is left of a name after sync; the rest is a hash.
const LONGEST: usize = 236;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Trouble {
    Underscore,
    NotDns,
    Long,
}

/// Each trouble once for each kind: a fleet may have thousands of proxies that are named alike.
pub(super) fn report(world: &World<'_>, out: &mut Vec<Diagnostic>) {
    let mut all: BTreeMap<(Trouble, &str), (ObjectId, usize)> = BTreeMap::new();
    for (object, meta) in &world.resources.metas {
        let Some(kind) = meta.kind.known().filter(|k| k.short.is_some()) else { continue };
        if let Some(trouble) = trouble(meta, kind) {
            all.entry((trouble, kind.name)).or_insert((*object, 0)).1 += 1;
        }
    }
    for ((trouble, kind), (first, number)) in all {
        let Some(meta) = world.resources.metas.get(&first) else { continue };
        out.push(told(world, trouble, kind, meta.display_name(), first, number));
    }
}

fn trouble(meta: &Meta, kind: &ResourceKind) -> Option<Trouble> {
    let name = meta.display_name();
    match name {
        _ if name.contains('_') => Some(Trouble::Underscore),
        _ if !is_subdomain(name) => Some(Trouble::NotDns),
        _ if name.len() > LONGEST && kind.scope == KindScope::Mesh => Some(Trouble::Long),
        _ => None,
    }
}

fn is_subdomain(name: &str) -> bool {
    let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let is_label = |part: &str| {
        part.bytes().all(|b| good(b) || b == b'-')
            && part.bytes().next().is_some_and(good)
            && part.bytes().last().is_some_and(good)
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

fn told(
    world: &World<'_>,
    trouble: Trouble,
    kind: &str,
    name: &str,
    first: ObjectId,
    number: usize,
) -> Diagnostic {
    let shown: String = name.chars().take(60).collect();
    let dots = if shown.len() < name.len() { "…" } else { "" };
    let others = match number {
        1 => String::new(),
        _ => format!(
            "; {} the same problem",
            count(number - 1, "other of its kind has", "others of its kind have")
        ),
    };
    let (because, help) = match trouble {
        Trouble::Underscore => (
            "has an underscore, which separates the parts of a KRI, so its KRI refers to something else",
            "use hyphens",
        ),
        Trouble::NotDns => (
            "is not a DNS subdomain, so Kubernetes rejects it",
            "use lower case letters, digits, hyphens and dots, with a letter or digit at both ends of each part, at most 253 characters",
        ),
        Trouble::Long => (
            "is longer than 236 characters, so other zones replace the rest with a hash",
            "shorten it",
        ),
    };
    let message = format!("{kind} `{shown}{dots}` {because}{others}");
    world.at_object(Diagnostic::new(&codes::NAME, message), first).help(help)
}
