// SPDX-License-Identifier: Apache-2.0
//! In: what every target needs. Out: one thread, and checks of spans. Not here: targets.
#![allow(dead_code)]

use overrule::source::{Diagnostic, Documents, NodeKind, Span, View};

/// libFuzzer runs one input at a time; threads would only make failures hard to repeat.
pub fn one_thread() {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("a pool of one");
}

/// A span lies in its text, at the borders of characters, and has a position.
pub fn check_span(documents: &Documents, span: Span) {
    let source = documents.sources.get(span.source).expect("a source that was read");
    let (start, end) = (span.start as usize, span.end as usize);
    assert!(start <= end, "{span:?} ends before it starts");
    assert!(
        source.text().get(start..end).is_some(),
        "{span:?} is outside its text or splits a character"
    );
    let position = documents.sources.position(span);
    assert!(position.line >= 1 && position.column >= 1);
}

pub fn check_diagnostics(documents: &Documents, diagnostics: &[Diagnostic]) {
    for d in diagnostics {
        for label in d.primary.iter().chain(&d.related) {
            check_span(documents, label.span);
        }
        assert!(!d.message.is_empty() && !d.message.ends_with('.'), "{d:?}");
    }
}

/// Every node can be read in every way without surprise.
pub fn check_documents(documents: &Documents) {
    for id in documents.ids() {
        check_view(documents, documents.root(id), 0);
    }
}

fn check_view(documents: &Documents, view: View<'_>, depth: usize) {
    assert!(depth <= 200, "deeper than the limit");
    check_span(documents, view.span());
    let (mut entries, mut items) = (0, 0);
    for (key, value) in view.entries() {
        entries += 1;
        check_span(documents, key.span());
        let _ = key.key_text();
        check_view(documents, value, depth + 1);
    }
    for item in view.items() {
        items += 1;
        check_view(documents, item, depth + 1);
    }
    match view.kind() {
        NodeKind::Map => assert_eq!(view.len(), entries),
        NodeKind::List => assert_eq!(view.len(), items),
        NodeKind::Int => {
            assert!(view.as_i64().is_some() || view.as_u64().is_some(), "{:?}", view.scalar_text())
        }
        NodeKind::Float => assert!(view.as_f64().is_some(), "{:?}", view.scalar_text()),
        NodeKind::Bool => assert!(view.as_bool().is_some()),
        NodeKind::String => assert!(view.as_str().is_some()),
        NodeKind::Null => assert!(view.is_null()),
    }
}
