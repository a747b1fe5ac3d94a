// SPDX-License-Identifier: Apache-2.0
//! In: policies as written and their kinds. Out: those that can attach to nothing, wherever their targets are. Not here:
//! looking for targets (`attach`).

use overrule_model::Snapshot;
use overrule_source::Diagnostic;

use super::attach::{AttachOptions, Refusal};
use super::{Policy, Reference, Who};
use crate::codes_policy as codes;
use crate::kinds::{Descriptor, Kinds};
use crate::reasons;

/// What [`attach`](super::attach) finds wrong with policies whatever else there is: they name no target, or one of a kind
/// that they cannot target.
pub fn judge(
    snapshot: &Snapshot,
    kinds: &Kinds,
    policies: &[Policy],
    options: AttachOptions,
) -> Vec<Diagnostic> {
    let descriptors: Vec<&Descriptor> = kinds.iter().collect();
    let mut found = Vec::new();
    for policy in policies {
        let Some(descriptor) = descriptors.get(policy.kind) else { continue };
        if policy.references.is_empty() && !options.targets_optional {
            found.push(no_target(policy, descriptor));
        }
        if policy.content.is_none() {
            continue;
        }
        let readable = policy.references.iter().filter(|r| !matches!(r.who, Who::Unreadable));
        let refused = readable.filter_map(|r| kind_allowed(snapshot, descriptor, r).err());
        found.extend(refused.map(|(_, diagnostic)| *diagnostic));
    }
    found
}

/// A policy without references.
pub(super) fn no_target(policy: &Policy, descriptor: &Descriptor) -> Diagnostic {
    let many = !descriptor.target_refs.is_nowhere();
    let field = if many { &descriptor.target_refs } else { &descriptor.target_ref };
    Diagnostic::new(&codes::NO_TARGET, "this policy targets nothing and has no effect")
        .at(policy.at)
        .field(field.to_string())
        .help(format!("add a target in `{field}`"))
}

/// Whether policies of a kind may target what a reference means, if it exists.
pub(super) fn kind_allowed(
    snapshot: &Snapshot,
    descriptor: &Descriptor,
    reference: &Reference,
) -> Result<(), Refusal> {
    let (group, kind) = (snapshot.text(reference.group), snapshot.text(reference.kind));
    if descriptor.targets.is_empty() {
        return Ok(());
    }
    match descriptor.targets.iter().find(|t| *t.group == *group && *t.kind == *kind) {
        Some(target) if target.sections || reference.section.is_none() => Ok(()),
        Some(_) => {
            let message = format!("`{}` cannot target a section of a `{kind}`", descriptor.kind);
            let at = reference.section.map_or(reference.at, |(_, at)| at);
            let d = Diagnostic::new(&codes::TARGET_KIND_NOT_ALLOWED, message).at(at);
            Err((
                &reasons::KIND_NOT_ALLOWED,
                Box::new(
                    d.field(format!("{}.sectionName", reference.field))
                        .help("remove `sectionName`"),
                ),
            ))
        }
        None => {
            let allowed: Vec<String> =
                descriptor.targets.iter().map(|t| t.kind.to_string()).collect();
            let message = format!("`{}` cannot target a `{kind}`", descriptor.kind);
            let d = Diagnostic::new(&codes::TARGET_KIND_NOT_ALLOWED, message)
                .at(reference.at)
                .field(format!("{}.kind", reference.field))
                .help(format!("target one of: {}", allowed.join(", ")));
            Err((&reasons::KIND_NOT_ALLOWED, Box::new(d)))
        }
    }
}
