// SPDX-License-Identifier: Apache-2.0
//! In: findings. Out: those about values that are not known yet, as one note for each placeholder of a file: what a tool
//! fills in later is unknown, not wrong. Not here: what counts as a placeholder (`model::placeholder`).

use std::collections::BTreeSet;

use overrule_model::{codes, placeholder};
use overrule_source::{Diagnostic, SourceId, SourceMap};

/// Turns findings about values with placeholders into notes. Whether there were any.
pub(crate) fn soften(sources: &SourceMap, findings: &mut Vec<Diagnostic>) -> bool {
    let mut told: BTreeSet<(SourceId, String)> = BTreeSet::new();
    let (mut notes, before) = (Vec::new(), findings.len());
    findings.sort_by_key(|d| d.primary.as_ref().map(|label| label.span));
    findings.retain(|finding| {
        let Some((span, name)) = unknown(sources, finding) else { return true };
        if told.insert((span.source, name.to_owned())) {
            let of = match &*finding.field {
                "" => String::new(),
                field => format!("`{field}` is not known yet: "),
            };
            let message = format!(
                "{of}`{name}` is filled in before this is applied; what depends on it is left open"
            );
            let note = Diagnostic::new(&codes::PLACEHOLDER, message).at(span).help(help(name));
            notes.push(note.field(finding.field.clone()));
        }
        false
    });
    let any = findings.len() < before;
    findings.append(&mut notes);
    any
}

/// The place of a finding and the placeholder in the value there.
fn unknown<'s>(
    sources: &'s SourceMap,
    finding: &Diagnostic,
) -> Option<(overrule_source::Span, &'s str)> {
    let span = finding.primary.as_ref()?.span;
    let text = sources.get(span.source)?.text();
    let value = text.get(span.start as usize..span.end as usize)?;
    let name = placeholder::first(value)?;
    // What stands on several lines is more than one value.
    (!value.contains('\n')).then_some((span, name))
}

fn help(name: &str) -> &'static str {
    match name.get(..2) {
        Some("{{") => "render it first: helm template CHART | overrule check -f -",
        Some("${") => {
            "fill it in first, as `flux build kustomization` or `envsubst` do, and check the result"
        }
        _ => "fill it in first, and check the result",
    }
}
