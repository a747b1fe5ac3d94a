// SPDX-License-Identifier: Apache-2.0
//! In: findings and the texts they are about. Out: excerpts with carets, single lines, data. Not here: finding anything.

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use overrule_source::{Diagnostic, Label, Severity, SourceMap, Span};

use crate::excerpt::{Excerpt, excerpt, lines};
use crate::style::Painted;
use crate::{Styles, escape, v1, words};

/// Findings as data, by file, line, column, code.
pub fn diagnostics(sources: &SourceMap, found: &[Diagnostic]) -> v1::DiagnosticList {
    let count = |severity| found.iter().filter(|d| d.severity() == severity).count();
    v1::DiagnosticList {
        api_version: v1::API_VERSION,
        kind: "DiagnosticList",
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        notes: count(Severity::Note),
        items: sorted(sources, found).into_iter().map(|d| item(sources, d)).collect(),
    }
}

/// Findings with source excerpts, as rustc prints them, by file, line, column, code.
pub fn diagnostics_text(sources: &SourceMap, found: &[Diagnostic], styles: &Styles) -> String {
    let renderer = renderer(styles);
    let mut out = String::new();
    for diagnostic in sorted(sources, found) {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&render(&renderer, sources, diagnostic));
        out.push('\n');
    }
    out
}

/// Findings, one line each: `file:line:column: error[OV1301]: message (help)`.
pub fn diagnostics_short(sources: &SourceMap, found: &[Diagnostic], styles: &Styles) -> String {
    let mut out = String::new();
    for diagnostic in sorted(sources, found) {
        if let Some(label) = &diagnostic.primary {
            out.push_str(&words::place(&place(sources, label.span)));
            out.push_str(": ");
        }
        let severity = diagnostic.severity();
        let style = match severity {
            Severity::Error => styles.error,
            Severity::Warning => styles.warning,
            Severity::Note => styles.note,
        };
        let title = format!("{}[{}]", severity.word(), diagnostic.code.id);
        out.push_str(&format!("{}: ", Painted(style, &title)));
        out.push_str(&escape::terminal(&diagnostic.message));
        if let Some(help) = &diagnostic.help {
            out.push_str(&format!(" ({})", escape::terminal(help)));
        }
        out.push('\n');
    }
    out
}

/// `2 errors, 1 warning`; empty if there is nothing to count.
pub fn summary(found: &[Diagnostic]) -> String {
    let severities = [Severity::Error, Severity::Warning, Severity::Note];
    let counts = severities.into_iter().map(|severity| {
        let count = found.iter().filter(|d| d.severity() == severity).count();
        (count as u64, severity.word())
    });
    let counts: Vec<String> =
        counts.filter(|(n, _)| *n > 0).map(|(n, word)| words::count(n, word)).collect();
    counts.join(", ")
}

/// One finding as data.
pub(crate) fn item(sources: &SourceMap, diagnostic: &Diagnostic) -> v1::DiagnosticItem {
    let related = diagnostic.related.iter();
    v1::DiagnosticItem {
        code: diagnostic.code.id,
        severity: diagnostic.severity().word(),
        title: diagnostic.code.title,
        message: diagnostic.message.to_string(),
        at: diagnostic.primary.as_ref().map(|l| place(sources, l.span)),
        field: (!diagnostic.field.is_empty()).then(|| diagnostic.field.to_string()),
        related: related
            .map(|l| v1::Related { at: place(sources, l.span), text: l.text.to_string() })
            .collect(),
        help: diagnostic.help.as_ref().map(ToString::to_string),
    }
}

fn place(sources: &SourceMap, span: Span) -> v1::Place {
    let overrule_source::Position { file, line, column } = sources.position(span);
    v1::Place { file, line, column }
}

/// By file, place, code; those without a place come last.
fn sorted<'d>(sources: &SourceMap, found: &'d [Diagnostic]) -> Vec<&'d Diagnostic> {
    let name = |s: Span| sources.get(s.source).map_or("", |s| s.name());
    let key = |d: &&'d Diagnostic| {
        let place = d.primary.as_ref().map(|l| (name(l.span), l.span));
        (place.is_none(), place, d.code.id, &d.message)
    };
    let mut sorted: Vec<&Diagnostic> = found.iter().collect();
    sorted.sort_by(|a, b| key(a).cmp(&key(b)));
    sorted
}

fn renderer(styles: &Styles) -> Renderer {
    let renderer = if styles.is_colored() {
        let renderer = Renderer::styled().error(styles.error).warning(styles.warning);
        renderer.note(styles.note).help(styles.help)
    } else {
        Renderer::plain()
    };
    // Lines are cut before; the renderer must not cut them again.
    renderer.term_width(240)
}

fn render(renderer: &Renderer, sources: &SourceMap, diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(escape::terminal(&diagnostic.message)).id(diagnostic.code.id);
    let mut group = Group::with_title(title);
    let mut places_shown = Vec::new();
    for (i, place) in places(sources, diagnostic).into_iter().enumerate() {
        let (snippet, shown, real) = place.snippet(sources, i == 0);
        group = group.element(snippet);
        places_shown.push((shown, real));
    }
    if !diagnostic.field.is_empty() {
        let field = format!("field {}", escape::terminal(&diagnostic.field));
        group = group.element(Level::NOTE.message(field));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(escape::terminal(help)));
    }
    correct(renderer.render(&[group]), &places_shown)
}

/// The renderer counts columns in the text it is given, which is wrong where that text was cut or escaped: puts the
/// real places in. They come one after the other, each before its own excerpt.
fn correct(text: String, places: &[(String, String)]) -> String {
    if places.iter().all(|(shown, real)| shown == real) {
        return text;
    }
    let Some((title, mut rest)) = text.split_once('\n') else { return text };
    let mut out = format!("{title}\n");
    for (shown, real) in places {
        if let Some((before, after)) = rest.split_once(shown.as_str()) {
            out.push_str(before);
            out.push_str(real);
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// Labels of one source that fit into one excerpt. The first label of the first place is the primary one.
struct Shown<'d> {
    labels: Vec<&'d Label>,
    first: u32,
    last: u32,
}

/// Most lines of one excerpt with several labels.
const TOGETHER: u32 = 30;

/// The places of a finding, the primary one first, near ones together.
fn places<'d>(sources: &SourceMap, diagnostic: &'d Diagnostic) -> Vec<Shown<'d>> {
    let mut places: Vec<Shown<'d>> = Vec::new();
    for label in diagnostic.primary.iter().chain(&diagnostic.related) {
        let Some(source) = sources.get(label.span.source) else { continue };
        let (first, last) = lines(source, label.span);
        let near = places.iter_mut().find(|p| {
            let same = p.labels.iter().any(|l| l.span.source == label.span.source);
            same && p.last.max(last) - p.first.min(first) < TOGETHER
        });
        match near {
            Some(place) => {
                place.labels.push(label);
                (place.first, place.last) = (place.first.min(first), place.last.max(last));
            }
            None => places.push(Shown { labels: vec![label], first, last }),
        }
    }
    places
}

impl Shown<'_> {
    /// The excerpt, the place the renderer will print for it, and the place it is.
    fn snippet(
        &self,
        sources: &SourceMap,
        primary: bool,
    ) -> (Snippet<'static, Annotation<'static>>, String, String) {
        let spans: Vec<Span> = self.labels.iter().map(|l| l.span).collect();
        let source = spans.first().and_then(|s| sources.get(s.source));
        let Some(source) = source else {
            return (Snippet::source(""), String::new(), String::new());
        };
        let Excerpt { line, text, marks } = excerpt(source, &spans);
        // The place printed is that of the primary label, or else of the first one in the text.
        let first =
            marks.iter().enumerate().min_by_key(|(_, mark)| mark.start).map_or(0, |(i, _)| i);
        let named = if primary { 0 } else { first };
        let real = spans.get(named).map(|s| words::place(&place(sources, *s))).unwrap_or_default();
        let file = escape::terminal(source.name()).into_owned();
        let start = marks.get(named).map_or(0, |m| m.start);
        let before = text.get(..start).unwrap_or("");
        let row = line as usize + before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        let shown = format!("{file}:{row}:{column}");
        let mut snippet = Snippet::source(text).line_start(line as usize).path(file);
        for (i, (label, mark)) in self.labels.iter().zip(marks).enumerate() {
            let kind = match primary && i == 0 {
                true => AnnotationKind::Primary,
                false => AnnotationKind::Context,
            };
            let text = escape::terminal(&label.text).into_owned();
            let text = (!text.is_empty()).then_some(text);
            snippet = snippet.annotation(kind.span(mark).label(text));
        }
        (snippet, shown, real)
    }
}
