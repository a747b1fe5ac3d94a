// SPDX-License-Identifier: Apache-2.0
//! In: built-in descriptors, the user's descriptors, CustomResourceDefinitions of the input.
//! Out: the policy kinds of one run, each with its rules as data. Not here: the policies themselves.

mod descriptor;
mod discover;
mod foreign;
mod paths;
mod read;

use std::sync::LazyLock;

use foreign::Others;
pub use foreign::unresolved;
use hashbrown::HashMap;
use overrule_family::OwnKind;
use overrule_model::{GroupKind, Names, Snapshot, Sym};
use overrule_source::{Diagnostic, Documents};

pub use descriptor::{CrossNamespace, Descriptor, PolicyClass, Provenance, Strategy, TargetKind};
pub use paths::FieldPath;

/// Descriptors every copy of Overrule carries, as the documents a user would write.
pub static BUILT_IN: &[(&str, &str)] = &[
    ("built-in/backendtlspolicy.yaml", include_str!("../../kinds/backendtlspolicy.yaml")),
    ("built-in/xbackendtrafficpolicy.yaml", include_str!("../../kinds/xbackendtrafficpolicy.yaml")),
];

/// What they say. Read once: a world of a few resources is resolved in less time than that takes.
static DESCRIBED: LazyLock<Vec<Descriptor>> = LazyLock::new(|| {
    let mut found = Vec::new();
    for (name, text) in BUILT_IN {
        let read = overrule_source::read_one(name, text, &overrule_source::ReadOptions::default());
        for doc in read.documents.ids() {
            let root = read.documents.root(doc);
            // They are ours, and a test reads them: there is nothing to find wrong.
            found.extend(read::descriptor(root, Provenance::BuiltIn, &mut Vec::new()));
        }
    }
    found
});

/// All policy kinds of one run.
#[derive(Debug, Default)]
pub struct Kinds {
    descriptors: Vec<Descriptor>,
    /// Places of descriptors, by the name of the kind.
    by_name: HashMap<Box<str>, Vec<usize>>,
}

impl Kinds {
    /// Every kind, by group and kind.
    pub fn iter(&self) -> impl Iterator<Item = &Descriptor> {
        self.descriptors.iter()
    }

    /// The kinds of a family with rules of its own, which attaches its policies the way generic ones are.
    pub fn of(descriptors: Vec<Descriptor>) -> Self {
        let mut kinds = Self { descriptors, by_name: HashMap::new() };
        for (place, descriptor) in kinds.descriptors.iter().enumerate() {
            kinds.by_name.entry(descriptor.kind.clone()).or_default().push(place);
        }
        kinds
    }

    fn named(&self, group: &str, kind: &str) -> Option<&Descriptor> {
        let places = self.by_name.get(kind)?.iter();
        places.filter_map(|place| self.descriptors.get(*place)).find(|d| *d.group == *group)
    }

    /// The kind of an object, if it is a policy.
    pub fn find(&self, names: &Names, kind: GroupKind) -> Option<&Descriptor> {
        self.named(names.text(kind.group), names.text(kind.kind))
    }

    /// Collects the kinds of a run: descriptors in the input first, then the built-in ones, then kinds discovered by
    /// the label of their CustomResourceDefinition. The first that names a kind holds.
    pub fn collect(documents: &Documents, snapshot: &Snapshot) -> (Self, Vec<Diagnostic>) {
        Self::collect_beside(documents, snapshot, &[])
    }

    /// The same where other families resolve some kinds. These are neither guessed at nor refused.
    pub fn collect_beside(
        documents: &Documents,
        snapshot: &Snapshot,
        own_kinds: &[OwnKind],
    ) -> (Self, Vec<Diagnostic>) {
        let others = Others { own_kinds };
        let mut kinds = Self::default();
        let mut diagnostics = Vec::new();
        for object in snapshot.of_kind(read::GROUP, read::KIND) {
            kinds.add(read::descriptor(
                documents.view(object.root),
                Provenance::User,
                &mut diagnostics,
            ));
        }
        DESCRIBED.iter().for_each(|descriptor| kinds.add(Some(descriptor.clone())));
        discover::from_crds(documents, snapshot, others, &mut kinds, &mut diagnostics);
        kinds.descriptors.sort_by(|a, b| (&a.group, &a.kind).cmp(&(&b.group, &b.kind)));
        let kinds = Self::of(kinds.descriptors);
        foreign::report(documents, snapshot, others, &kinds, &mut diagnostics);
        (kinds, diagnostics)
    }

    fn add(&mut self, descriptor: Option<Descriptor>) {
        let Some(new) = descriptor else { return };
        if self.named(&new.group, &new.kind).is_none() {
            self.by_name.entry(new.kind.clone()).or_default().push(self.descriptors.len());
            self.descriptors.push(new);
        }
    }
}

/// Whether an object kind is the descriptor document itself.
pub fn is_descriptor(names: &Names, group: Sym, kind: Sym) -> bool {
    names.text(group) == read::GROUP && names.text(kind) == read::KIND
}
