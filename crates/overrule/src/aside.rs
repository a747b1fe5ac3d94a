// SPDX-License-Identifier: Apache-2.0
//! In: an analysis. Out: what of the input takes no part in it, and why. Not here: deciding that.

use overrule_model::GroupKind;
use overrule_source::{SourceId, Why};

use crate::Analysis;
use crate::concerns::concerns;

impl Analysis {
    /// Documents that are none of ours: the text, the number of the document in it, and why. They take no part, and nothing
    /// is wrong with them.
    pub fn passed(&self) -> Vec<(SourceId, u32, Why)> {
        let (documents, snapshot) = (&self.documents, &self.snapshot);
        let texts = documents.sources.iter();
        let read = texts.flat_map(|(id, source)| source.passed().iter().map(move |p| (id, *p)));
        let all = read.chain(self.base.passed.iter().copied());
        let mut all: Vec<_> = all.map(|(id, p)| (id, p.document, p.why)).collect();
        for (_, objects) in snapshot.kinds().filter(|(kind, _)| !self.takes_part(*kind)) {
            let of = |doc| documents.get(doc).map(|d| (d.source, d.index, Why::OtherKind));
            all.extend(objects.iter().filter_map(|object| of(object.root.doc)));
        }
        all.sort_unstable();
        all
    }

    /// Whether resources of a kind take part in an answer.
    pub fn takes_part(&self, kind: GroupKind) -> bool {
        let (group, name) = (self.snapshot.text(kind.group), self.snapshot.text(kind.kind));
        // What defines kinds says which of them are policies.
        concerns().has(group, name)
            || name == "CustomResourceDefinition"
            || self.kinds().find(self.snapshot.names(), kind).is_some()
    }

    /// Texts with definitions of resources that are defined elsewhere too, and are not used.
    pub fn variants(&self) -> impl Iterator<Item = &str> {
        let sources = self.base.variants.iter();
        sources.filter_map(|source| Some(self.documents.sources.get(*source)?.name()))
    }
}
