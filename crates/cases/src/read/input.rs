// SPDX-License-Identifier: Apache-2.0
//! In: `input`, `files`, `kinds`. Out: inputs for an analysis whose lines are the lines of the test.
//! Not here: opening files (the caller's loader).
//!
//! Manifests written in a test are handed on as the text of the test with everything else blanked and the key renamed to
//! `items`, so that every finding about them points into the test. Where that does not give the same values (an
//! anchor outside, a test written as JSON) they are handed on as JSON, without their lines.

use overrule_model::At;
use overrule_source::{Input, NodeKind, Severity, Span, View, read_one};
use serde_json::{Value, json};

use super::Load;
use super::reader::Reader;
use crate::codes;

impl Reader<'_> {
    /// All inputs of a test, and the names of those that hold descriptors only.
    pub(super) fn inputs(
        &mut self,
        root: View<'_>,
        load: &mut Load<'_>,
    ) -> (Vec<Input>, Vec<String>) {
        if root.get("input").is_none() && root.get("files").is_none() {
            self.fields.missing(&At::ROOT.key("input"), root);
        }
        let (mut inputs, mut kind_sources) = (Vec::new(), Vec::new());
        if let Some(list) = self.fields.list(root, &At::ROOT, "input") {
            self.check_manifests(list, &At::ROOT.key("input"), false);
            inputs.extend(self.inline(root, "input", list));
        }
        if let Some(list) = self.fields.list(root, &At::ROOT, "files") {
            let at = At::ROOT.key("files");
            self.texts(list, &at);
            for (i, item) in list.items().enumerate() {
                inputs.extend(self.file(item, &at.index(i), load));
            }
        }
        if let Some(list) = self.fields.list(root, &At::ROOT, "kinds") {
            let at = At::ROOT.key("kinds");
            self.check_manifests(list, &at, true);
            for (i, item) in list.items().enumerate() {
                if item.as_str().is_some_and(is_kind) {
                    continue;
                }
                let loaded = self.file(item, &at.index(i), load);
                kind_sources.extend(loaded.iter().map(|input| input.name.to_string()));
                inputs.extend(loaded);
            }
            if list.items().any(|item| item.kind() == NodeKind::Map) {
                inputs.extend(self.inline(root, "kinds", list));
            }
        }
        (inputs, kind_sources)
    }

    /// The kinds for which a test is complete: those that `kinds` only names, instead of describing them.
    pub(super) fn complete_for(&self, root: View<'_>) -> Vec<String> {
        let list = root.get("kinds").into_iter().flat_map(View::items);
        let named = list.filter_map(View::as_str).filter(|text| is_kind(text));
        named.map(str::to_owned).collect()
    }

    fn check_manifests(&mut self, list: View<'_>, at: &At<'_>, paths: bool) {
        for (i, item) in list.items().enumerate() {
            let fits = item.kind() == NodeKind::Map || (paths && item.as_str().is_some());
            if !fits {
                let wanted = if paths { "a mapping or the path of a file" } else { "a mapping" };
                self.fields.wrong_type(&at.index(i), item, wanted);
            }
        }
    }

    /// The node a path leads to; none if the element is not a path.
    fn file(&mut self, item: View<'_>, at: &At<'_>, load: &mut Load<'_>) -> Vec<Input> {
        let Some(path) = item.as_str() else { return Vec::new() };
        let loaded = match path.starts_with(['/', '\\']) || path.get(1..2) == Some(":") {
            true => Err("the path is absolute; paths are relative to the test".to_owned()),
            false => load(path),
        };
        loaded.unwrap_or_else(|problem| {
            let message = format!("`{path}` cannot be read: {problem}");
            self.fields.report(
                &codes::UNREADABLE_FILE,
                at,
                item,
                message,
                "paths are relative to the file of the test",
            );
            Vec::new()
        })
    }

    /// The manifests under a key of the test itself.
    fn inline(&self, root: View<'_>, key: &str, list: View<'_>) -> Option<Input> {
        let (key, _) = root.get_entry(key)?;
        let source = self.documents.sources.get(list.span().source)?;
        let skipped: Vec<Span> =
            list.items().filter(|i| i.kind() != NodeKind::Map).map(View::span).collect();
        let manifests: Vec<Value> =
            list.items().filter(|i| i.kind() == NodeKind::Map).map(View::to_json).collect();
        let text = excerpt(source.text(), key.span(), list.span(), &skipped);
        let text = match holds(&text, &manifests) {
            true => text,
            false => json!({ "items": manifests }).to_string(),
        };
        Some(Input::new(source.name(), text))
    }
}

/// Whether a text is the name of a policy kind that a family has.
fn is_kind(text: &str) -> bool {
    overrule::families().iter().any(|family| family.kinds().iter().any(|own| own.kind == text))
}

/// Whether a text is read as a list of exactly these manifests.
fn holds(text: &str, manifests: &[Value]) -> bool {
    let read = read_one("", text, &crate::read::options());
    let clean = read.diagnostics.iter().all(|d| d.severity() != Severity::Error);
    let items = match read.documents.ids().next() {
        Some(doc) if read.documents.len() == 1 => read.documents.root(doc).get("items"),
        _ => None,
    };
    let same = items.is_some_and(|items| {
        let found = items.items().filter(|i| !i.is_null()).map(View::to_json);
        found.eq(manifests.iter().cloned())
    });
    clean && same
}

/// The text with everything but a value blanked and its key called `items`; line breaks and columns stay.
fn excerpt(text: &str, key: Span, list: Span, skipped: &[Span]) -> String {
    let inside = |span: &Span, at: u32| (span.start..span.end).contains(&at);
    let is_skipped = |at: u32| {
        let next = skipped.partition_point(|span| span.end <= at);
        skipped.get(next).is_some_and(|span| inside(span, at))
    };
    let mut kept = String::with_capacity(text.len());
    let mut line = String::new();
    let mut colon = false;
    let mut name = "items".chars();
    for (at, c) in text.char_indices() {
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        if at >= list.end {
            break;
        }
        if matches!(c, '\n' | '\r') {
            kept.push_str(line.trim_end_matches(' '));
            kept.push(c);
            line.clear();
            continue;
        }
        let c = if inside(&key, at) {
            name.next().unwrap_or(' ')
        } else if at >= key.end && at < list.start && c == ':' && !colon {
            colon = true;
            c
        } else if inside(&list, at) && !is_skipped(at) {
            c
        } else {
            ' '
        };
        line.push(c);
    }
    kept.push_str(&line);
    kept.push('\n');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt_of(text: &str, key: &str) -> String {
        let read = read_one("t.yaml", text, &crate::read::options());
        let root = read.documents.root(read.documents.ids().next().unwrap());
        let (key, list) = root.get_entry(key).unwrap();
        let skipped: Vec<Span> =
            list.items().filter(|i| i.kind() != NodeKind::Map).map(View::span).collect();
        excerpt(
            read.documents.sources.get(list.span().source).unwrap().text(),
            key.span(),
            list.span(),
            &skipped,
        )
    }

    #[test]
    fn keeps_lines_and_columns() {
        let text = "name: x # é\ninput: # these\n- a: 1\n- b: |\n    two\n\nexpect: []\n";
        assert_eq!(excerpt_of(text, "input").trim_end(), "\nitems:\n- a: 1\n- b: |\n    two");
        let text = "name: x\n\"input\":\n  - {a: 1}\nnote: y\n";
        assert_eq!(excerpt_of(text, "input"), "\nitems  :\n  - {a: 1}\n");
        let text = "expect: []\ninput: [{a: 1}]\n";
        assert_eq!(excerpt_of(text, "input"), "\nitems: [{a: 1}]\n");
    }

    #[test]
    fn leaves_paths_out() {
        let text = "kinds:\n- a.yaml\n- kind: K\n";
        assert_eq!(excerpt_of(text, "kinds"), "items:\n-\n- kind: K\n");
        assert!(holds(&excerpt_of(text, "kinds"), &[json!({"kind": "K"})]));
    }

    #[test]
    fn notices_what_it_cannot_keep() {
        let text = "notes: &n x\ninput:\n- a: *n\n";
        assert!(!holds(&excerpt_of(text, "input"), &[json!({"a": "x"})]));
    }
}
