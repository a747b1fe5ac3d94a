// SPDX-License-Identifier: Apache-2.0
//! In: texts as they were read. Out: what is wrong with them by themselves, whatever else exists. Not here: where
//! policies attach and what is in force, which depends on everything.

use overrule_family::{AnyPolicies, ReadWorld};
use overrule_gateway::requirements::GROUP as DESCRIPTORS;
use overrule_model::{Object, Parsed, Snapshot};
use overrule_source::{Diagnostic, Documents, Read};

use crate::analysis::{Base, Written};
use crate::concerns::concerns;
use crate::finding_set::FindingSet;
use crate::{Options, families, placeholders};

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
        let namespace = options.default_namespace();
        let parsed = overrule_model::parse_for(&read.documents, concerns(), namespace);
        let mut diagnostics = read.diagnostics.clone();
        let snapshot = judge(&read.documents, parsed, options, &mut diagnostics);
        placeholders::soften(&read.documents.sources, &mut diagnostics);
        Self { snapshot, diagnostics: diagnostics.into() }
    }
}

/// What is wrong with resources by themselves.
fn judge(
    documents: &Documents,
    parsed: Parsed,
    options: &Options,
    diagnostics: &mut Vec<Diagnostic>,
) -> Snapshot {
    let (mut snapshot, _, base) = Base::unconnected(documents, parsed, options);
    let written = base.read_policies(documents, &mut snapshot);
    diagnostics.extend(base.diagnostics.iter().cloned());
    for (family, (ground, own)) in families().iter().zip(base.grounds.iter().zip(written)) {
        let Written { policies, diagnostics: found } = own;
        diagnostics.extend(found.iter().cloned());
        let (topology, policies): (_, &AnyPolicies) = (&base.topology, &policies);
        let known =
            ReadWorld { documents, snapshot: &snapshot, topology, ground: &**ground, policies };
        diagnostics.extend(family.judge(known, family.chosen(&options.profiles)));
    }
    snapshot
}

/// What is wrong with definitions that are not used. Each is judged by itself, together with what says how to read it.
pub(crate) fn judge_variants(
    documents: &Documents,
    snapshot: &Snapshot,
    variants: &[Object],
    options: &Options,
) -> Vec<Diagnostic> {
    let describes = |object: &Object| {
        let (group, kind) = (snapshot.text(object.kind.group), snapshot.text(object.kind.kind));
        group == DESCRIPTORS || kind == "CustomResourceDefinition"
    };
    let mut found = Vec::new();
    for (spans, snapshot) in snapshot.of_variants(documents, variants.to_vec(), describes) {
        let parsed = Parsed { snapshot, ..Parsed::default() };
        let mut all = Vec::new();
        judge(documents, parsed, options, &mut all);
        all.retain(|d| {
            d.primary.as_ref().is_some_and(|label| {
                let before = spans.partition_point(|span| {
                    (span.source, span.start) <= (label.span.source, label.span.start)
                });
                let around = before.checked_sub(1).and_then(|i| spans.get(i));
                around.is_some_and(|s| s.source == label.span.source && label.span.start < s.end)
            })
        });
        found.extend(all);
    }
    found
}
