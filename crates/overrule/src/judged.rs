// SPDX-License-Identifier: Apache-2.0
//! In: texts as they were read. Out: what is wrong with them by themselves, whatever else exists. Not here: where
//! policies attach and what is in force, which depends on everything.

use overrule_family::{AnyPolicies, Derived, ReadWorld};
use overrule_model::Snapshot;
use overrule_source::Read;

use crate::analysis::{Base, Written};
use crate::finding_set::FindingSet;
use crate::{Options, families};

/// Texts that were read and judged by themselves.
#[derive(Debug)]
pub struct Judged {
    /// The resources in them.
    pub snapshot: Snapshot,
    /// What was found while reading the texts, the resources and the policies of every family; by place, none twice.
    pub diagnostics: FindingSet,
}

impl Judged {
    /// Runs the stages that look at one resource at a time. The texts must have been read with the same options.
    pub fn of(read: &Read, options: &Options) -> Self {
        let documents = &read.documents;
        let (mut snapshot, _, base) = Base::unconnected(documents, Derived::default(), options);
        let written = base.read_policies(documents, &mut snapshot);
        let mut diagnostics = read.diagnostics.clone();
        diagnostics.extend(base.diagnostics.iter().cloned());
        for (family, (ground, own)) in families().iter().zip(base.grounds.iter().zip(written)) {
            let Written { policies, diagnostics: found } = own;
            diagnostics.extend(found.iter().cloned());
            let (topology, policies): (_, &AnyPolicies) = (&base.topology, &policies);
            let known =
                ReadWorld { documents, snapshot: &snapshot, topology, ground: &**ground, policies };
            diagnostics.extend(family.judge(known, family.chosen(&options.profiles)));
        }
        Self { snapshot, diagnostics: diagnostics.into() }
    }
}
