// SPDX-License-Identifier: Apache-2.0
//! `overrule check`: every finding of every stage.

use std::collections::BTreeSet;

use overrule::model::Object;
use overrule::source::{Diagnostic, Severity, Span};
use overrule::view;
use overrule::{Analysis, Answered};

use crate::filter::Filter;
use crate::{
    AskResult, Check, Exit, FailOn, Form, Known, Shared, Sink, counted, form, write_value,
};

pub(crate) fn run(
    known: &Known<'_>,
    shared: &Shared,
    check: &Check,
    sink: &mut dyn Sink,
) -> AskResult {
    let filter = Filter::new(known.analysis, shared)?;
    let analysis = known.analysis;
    let sources = &analysis.documents.sources;
    let findings = known.findings();
    let found: Vec<Diagnostic> =
        kept(analysis, &filter, findings.iter().map(|d| &**d)).cloned().collect();
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
                view::diagnostics_short(sources, &shown, &sink.styles())
            } else {
                view::diagnostics_text(sources, &shown, &sink.styles())
            };
            sink.result(&text)?;
            if !sources.is_empty() {
                sink.remark(&summary(known, &found));
            }
        }
        form => write_value(sink, form, &view::diagnostics(sources, &found))?,
    }
    Ok(Exit::findings(failed))
}

/// What was looked at, as far as the one who asks may read it.
fn summary(known: &Known<'_>, found: &[Diagnostic]) -> String {
    let analysis = known.analysis;
    let counts = view::summary(found);
    let declared = |a: &'_ Answered| {
        let own = a.resolution.declared().filter(|(_, p)| known.sees_id(p.object));
        own.map(|(_, p)| p.kind).collect::<Vec<_>>()
    };
    let policies = analysis.shown().map(|a| declared(a).len()).sum();
    let of = |a: &'_ Answered| match known.restricted() {
        true => declared(a).into_iter().collect::<BTreeSet<_>>().len(),
        false => a.resolution.kinds().filter(|(_, k)| !k.implicit).count(),
    };
    let kinds = analysis.shown().map(of).sum();
    let snapshot = &analysis.snapshot;
    let written = |o: &&Object| known.sees(o) && snapshot.assumed(o.id).is_none();
    let own = || snapshot.objects().filter(written);
    let files = match known.restricted() {
        true => {
            let read = analysis.snapshot.all_read().filter(|o| known.sees(o));
            read.map(|o| o.at.source).collect::<BTreeSet<_>>().len()
        }
        false => analysis.texts_read(),
    };
    let deleted = match analysis.snapshot.deleted().iter().filter(|o| known.sees(o)).count() {
        0 => String::new(),
        n => format!(" and {n} being deleted"),
    };
    format!(
        "{}{deleted} in {}, {} of {}: {}",
        counted(own().count(), "resource"),
        counted(files, "file"),
        counted(policies, "policy"),
        counted(kinds, "kind"),
        if counts.is_empty() { "no findings" } else { &counts },
    )
}

/// Findings about the objects that -n and -l leave, and those about no object (a file that cannot be read).
fn kept<'a>(
    analysis: &'a Analysis,
    filter: &'a Filter,
    found: impl Iterator<Item = &'a Diagnostic>,
) -> impl Iterator<Item = &'a Diagnostic> {
    let span_of = |o: &Object| analysis.documents.view(o.root).span();
    let written =
        analysis.snapshot.all_read().filter(|o| analysis.snapshot.assumed(o.id).is_none());
    let mut objects: Vec<(Span, &Object)> = written.map(|o| (span_of(o), o)).collect();
    objects.sort_by_key(|(span, _)| *span);
    found.filter(move |d| {
        let Some(at) = d.primary.as_ref().map(|l| l.span) else { return true };
        let before =
            objects.partition_point(|(span, _)| (span.source, span.start) <= (at.source, at.start));
        let around = before.checked_sub(1).and_then(|i| objects.get(i));
        let inside = around.filter(|(span, _)| span.source == at.source && at.start < span.end);
        inside.is_none_or(|(_, object)| filter.object(&analysis.snapshot, object))
    })
}
