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
                passed_over(known, shared, sink);
            }
        }
        form => write_value(sink, form, &view::diagnostics(sources, &found))?,
    }
    Ok(Exit::findings(failed))
}

/// One line about documents that are none of ours, or all of them. Who may not read everything is not told what else is
/// there.
fn passed_over(known: &Known<'_>, shared: &Shared, sink: &mut dyn Sink) {
    let passed = match known.restricted() {
        true => Vec::new(),
        false => known.analysis.passed(),
    };
    if passed.is_empty() {
        return;
    }
    if shared.verbose {
        for same in passed.chunk_by(|(a, _, x), (b, _, y)| (a, x) == (b, y)) {
            let Some((source, _, why)) = same.first() else { continue };
            let name = known.analysis.documents.sources.get(*source).map_or("", |s| s.name());
            let many = match same.len() {
                1 => String::new(),
                n => format!(" ({n} documents)"),
            };
            let line = format!("passed over: {name}{many}: {}", why.text());
            sink.remark(&view::escape::terminal(&line));
        }
    }
    let list = if shared.verbose { "" } else { "; -v lists them" };
    sink.remark(&format!(
        "{} passed over that no answer is about{list}",
        counted(passed.len(), "document")
    ));
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
    let own = || {
        let all = snapshot.kinds().filter(|(kind, _)| analysis.takes_part(*kind));
        let all = all.flat_map(|(_, objects)| objects).filter(|o| known.sees(o));
        all.filter(|o| snapshot.assumed(o.id).is_none())
    };
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
