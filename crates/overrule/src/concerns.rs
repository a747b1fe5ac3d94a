// SPDX-License-Identifier: Apache-2.0
//! In: what families read. Out: which resources take part in an answer. Not here: how that is told of a document; `source`
//! looks at texts, `model` at resources.

use std::sync::LazyLock;

use overrule_source::{ConcernedKinds, Concerns, Input};

use crate::families;

/// Every kind that some family reads.
static READ: LazyLock<(Concerns, Concerns)> = LazyLock::new(|| {
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
    let described = ConcernedKinds { custom: true, ..kinds.clone() };
    (Concerns::only(kinds), Concerns::only(described))
});

/// The resources that take part in an answer. Kinds that the input describes as policies do, too.
pub(crate) fn concerns() -> &'static Concerns {
    &READ.0
}

/// What of these inputs must be read whole. A kind that one of them describes may say what it targets in its own way.
pub(crate) fn concerns_of<'i>(inputs: impl IntoIterator<Item = &'i Input>) -> &'static Concerns {
    let describes = |input: &Input| memchr::memmem::find(&input.bytes, b"PolicyKind").is_some();
    match inputs.into_iter().any(describes) {
        true => &READ.1,
        false => &READ.0,
    }
}
