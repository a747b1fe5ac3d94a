// SPDX-License-Identifier: Apache-2.0
//! In: what families read. Out: which resources take part in an answer. Not here: how that is told of a document; `source`
//! looks at texts, `model` at resources.

use std::sync::LazyLock;

use overrule_family::OwnKind;
use overrule_source::{ConcernedKinds, Concerns, Input};

use crate::families;

/// What takes part, what is read whole, and what is read whole beside kinds that the input describes.
struct All {
    takes_part: Concerns,
    read: Concerns,
    described: Concerns,
}

/// Every kind that some family reads.
static ALL: LazyLock<All> = LazyLock::new(|| {
    let mut kinds = ConcernedKinds {
        // What a policy targets is always told by one of these.
        marks: vec!["targetRef", "targetSelectors"],
        ..ConcernedKinds::default()
    };
    for family in families() {
        kinds.groups.extend(family.groups());
        kinds.types.extend(family.types());
        for kind in family.kinds().iter().chain(family.reads()) {
            match kind.kind {
                "*" => {
                    kinds.groups.insert(kind.group);
                }
                name => {
                    kinds.kinds.insert((kind.group, name));
                }
            }
        }
    }
    let takes_part = Concerns::only(kinds.clone());
    kinds.kinds.extend(derived_from().map(|kind| (kind.group, kind.kind)));
    let described = ConcernedKinds { custom: true, ..kinds.clone() };
    All { takes_part, read: Concerns::only(kinds), described: Concerns::only(described) }
});

/// Kinds of resources that others are made of.
pub(crate) fn derived_from() -> impl Iterator<Item = &'static OwnKind> {
    families().iter().flat_map(|family| family.derives_from())
}

/// The resources that take part in an answer. Kinds that the input describes as policies do, too.
pub(crate) fn concerns() -> &'static Concerns {
    &ALL.takes_part
}

/// What of these inputs must be read whole. A kind that one of them describes may say what it targets in its own way.
pub(crate) fn concerns_of<'i>(inputs: impl IntoIterator<Item = &'i Input>) -> &'static Concerns {
    let describes = |input: &Input| memchr::memmem::find(&input.bytes, b"PolicyKind").is_some();
    match inputs.into_iter().any(describes) {
        true => &ALL.described,
        false => &ALL.read,
    }
}
