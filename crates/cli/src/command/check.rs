// SPDX-License-Identifier: Apache-2.0
//! `overrule check`: every finding of every stage.

use overrule::Analysis;
use overrule::model::Object;
use overrule::source::{Diagnostic, Severity, Span};
use overrule::view;

use super::{form, write_value};
use crate::args::{Check, FailOn, Form, Shared};
use crate::output::{Exit, Out, Outcome};
use crate::select::Filter;
use crate::world::{self, Needs, counted};

pub fn run(shared: &Shared, check: &Check, out: &mut Out) -> Outcome {
    let mut world = world::load(shared, out, &Needs::default())?;
    let filter = Filter::new(&mut world.analysis, shared)?;
    let analysis = &world.analysis;
    let sources = &analysis.documents.sources;
    let found: Vec<Diagnostic> = kept(analysis, &filter).cloned().collect();
    let threshold = match check.fail_on {
        FailOn::Error => Some(Severity::Error),
        FailOn::Warning => Some(Severity::Warning),
        FailOn::Note => Some(Severity::Note),
        FailOn::Never => None,
    };
    let failed = threshold.is_some_and(|t| found.iter().any(|d| d.severity() >= t));
    match form(shared, Form::Table)? {
        Form::Table | Form::Wide => {
            let loud = |d: &&Diagnostic| !shared.quiet || d.severity() == Severity::Error;
            let shown: Vec<Diagnostic> = found.iter().filter(loud).cloned().collect();
            let text = if check.short {
                view::diagnostics_short(sources, &shown, &out.styles)
            } else {
                view::diagnostics_text(sources, &shown, &out.styles)
            };
            out.result(&text)?;
            if !sources.is_empty() {
                out.remark(&summary(analysis, &found));
            }
        }
        form => write_value(out, form, &view::diagnostics(sources, &found))?,
    }
    Ok(if failed { world.exit.worst(Exit::Findings) } else { world.exit })
}

fn summary(analysis: &Analysis, found: &[Diagnostic]) -> String {
    let counts = view::summary(found);
    let policies = analysis.shown().map(|a| a.resolution.declared().count()).sum();
    let kinds =
        analysis.shown().map(|a| a.resolution.kinds().filter(|(_, k)| !k.implicit).count()).sum();
    format!(
        "{} in {}, {} of {}: {}",
        counted(analysis.snapshot.len(), "resource"),
        counted(analysis.documents.sources.len(), "file"),
        counted(policies, "policy"),
        counted(kinds, "kind"),
        if counts.is_empty() { "no findings" } else { &counts },
    )
}

/// Findings about the objects that -n and -l leave, and those about no object (a file that cannot be read).
fn kept<'a>(analysis: &'a Analysis, filter: &'a Filter) -> impl Iterator<Item = &'a Diagnostic> {
    let span_of = |o: &Object| analysis.documents.view(o.root).span();
    let mut objects: Vec<(Span, &Object)> =
        analysis.snapshot.objects().map(|o| (span_of(o), o)).collect();
    objects.sort_by_key(|(span, _)| *span);
    analysis.diagnostics.iter().filter(move |d| {
        let Some(at) = d.primary.as_ref().map(|l| l.span) else { return true };
        let before =
            objects.partition_point(|(span, _)| (span.source, span.start) <= (at.source, at.start));
        let around = before.checked_sub(1).and_then(|i| objects.get(i));
        let inside = around.filter(|(span, _)| span.source == at.source && at.start < span.end);
        inside.is_none_or(|(_, object)| filter.object(&analysis.snapshot, object))
    })
}
