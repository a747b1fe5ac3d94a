// SPDX-License-Identifier: Apache-2.0
//! In: a document with spans. Out: a [`Case`], or diagnostics that name file, line, column and the nearest key.
//! Not here: whether the expectations hold.
//!
//! One format, two dialects in the wild: `fields` = `rules`, `note` = `notes`, `overridden` = `shadowed` with mappings,
//! `shadowed` with words = `masked`, a single policy = a list of one.

mod expect;
mod input;
mod reader;
mod status;

use overrule_model::At;
use overrule_source::{
    Diagnostic, DocId, Documents, Input, NodeKind, ReadOptions, SingleLetters, View,
};

use crate::case::{Case, CaseSetting, SpannedWord};
use crate::{codes, family};
use reader::Reader;

/// How test files are read: no Kubernetes ever reads them, and their authors mean text by a plain `y` or `n`.
pub(crate) fn options() -> ReadOptions {
    ReadOptions { single_letters: SingleLetters::Text, ..ReadOptions::default() }
}

/// Keys of a case.
const KEYS: &[&str] = &[
    "name",
    "source",
    "basis",
    "family",
    "profiles",
    "note",
    "notes",
    "settings",
    "input",
    "files",
    "kinds",
    "partial",
    "expect",
    "none",
    "absent",
    "status",
    "affected",
    "conflicted",
    "invalid",
    "diagnostics",
    "can",
    "adapted",
    "unasserted",
];
/// Keys that expect something.
const EXPECTATIONS: &[&str] = &[
    "expect",
    "none",
    "absent",
    "status",
    "affected",
    "conflicted",
    "invalid",
    "diagnostics",
    "can",
];

/// Brings the inputs a test names by a path relative to itself: one for a file, several for a folder.
pub type Load<'l> = dyn FnMut(&str) -> Result<Vec<Input>, String> + 'l;

/// Whether a document is meant as a policy test: anything but a manifest or an empty document.
pub fn is_case(root: View<'_>) -> bool {
    let manifest = root.get("apiVersion").is_some() && root.get("kind").is_some();
    let universal =
        root.get("type").is_some() && EXPECTATIONS.iter().all(|key| root.get(key).is_none());
    // kumactl prints lists of resources without a kind.
    let list = root.get("items").is_some_and(|items| items.kind() == NodeKind::List);
    root.kind() == NodeKind::Map && !root.is_empty() && !manifest && !universal && !list
}

/// Reads one test.
pub fn read(
    documents: &Documents,
    doc: DocId,
    load: &mut Load<'_>,
) -> Result<Case, Vec<Diagnostic>> {
    let mut reader = Reader::new(documents);
    let case = reader.case(documents.root(doc), doc, load);
    match case {
        Some(case) if reader.fields.diagnostics.is_empty() => Ok(case),
        _ => Err(reader.fields.diagnostics),
    }
}

impl Reader<'_> {
    fn case(&mut self, root: View<'_>, doc: DocId, load: &mut Load<'_>) -> Option<Case> {
        let at = At::ROOT;
        if root.kind() != NodeKind::Map {
            self.fields.wrong_type(&at, root, "a mapping");
            return None;
        }
        self.only(root, &at, KEYS);
        if EXPECTATIONS.iter().all(|key| root.get(key).is_none()) {
            let message = "this policy test expects nothing, so it would always pass".to_owned();
            self.fields.report(
                &codes::NOTHING_EXPECTED,
                &at,
                root,
                message,
                "add `expect:`, `none:` or `diagnostics:`",
            );
        }
        let (inputs, kind_sources) = self.inputs(root, load);
        let profiles = self.profiles(root);
        let family = self.family(root, &inputs, &profiles);
        Some(Case {
            name: self.text(root, &at, "name").unwrap_or_else(|| self.default_name(root, doc)),
            at: self.position(root),
            source: self.text(root, &at, "source").unwrap_or_default(),
            basis: self.text(root, &at, "basis").unwrap_or_default(),
            notes: self.either(root, &at, "notes", "note").unwrap_or_default(),
            family,
            profiles,
            settings: self.settings(root),
            inputs,
            kind_sources,
            partial: self.flag(root, &at, "partial").is_some_and(|(flag, _)| flag),
            expect: self.expectations(root),
            none: self.nothings(root),
            absent: self.absents(root),
            status: self.statuses(root),
            affected: self.affected(root),
            conflicted: self.conflicted(root),
            invalid: self.invalid(root),
            diagnostics: self.findings(root),
            can: self.decisions(root),
            complete_for: self.complete_for(root),
            unasserted: self.walks(root, "unasserted"),
        })
    }

    /// The name of the file, and the number of the document where there are several.
    fn default_name(&self, root: View<'_>, doc: DocId) -> String {
        let file = self.position(root).file;
        let base = file.rsplit(['/', '\\']).next().unwrap_or(&file);
        let stem = base.rsplit_once('.').map_or(base, |(stem, _)| stem);
        match self.documents.get(doc).map_or(0, |d| d.index) {
            0 => stem.to_owned(),
            n => format!("{stem}-{}", n + 1),
        }
    }

    fn profiles(&mut self, root: View<'_>) -> Vec<SpannedWord> {
        let Some(list) = self.fields.list(root, &At::ROOT, "profiles") else { return Vec::new() };
        let at = At::ROOT.key("profiles");
        let mut profiles = Vec::new();
        for (i, item) in list.items().enumerate() {
            // A profile may be called by a version: `2.13` is not meant as a number.
            match item.scalar_text() {
                Some(text) => {
                    profiles.push(SpannedWord { text: text.to_owned(), at: self.position(item) })
                }
                None => self.fields.wrong_type(&at.index(i), item, "a string"),
            }
        }
        profiles
    }

    fn settings(&mut self, root: View<'_>) -> Vec<CaseSetting> {
        let Some(map) = self.fields.map(root, &At::ROOT, "settings") else { return Vec::new() };
        let entries = map.entries().map(|(key, value)| CaseSetting {
            key: key.key_text().to_owned(),
            value: value.to_json(),
            at: self.position(key),
        });
        entries.collect()
    }

    fn family(&mut self, root: View<'_>, inputs: &[Input], profiles: &[SpannedWord]) -> String {
        if let Some((text, view)) = self.fields.string(root, &At::ROOT, "family") {
            if overrule::family(text).is_none() {
                let known: Vec<&str> = overrule::families().iter().map(|f| f.name()).collect();
                self.fields.bad_value(&At::ROOT.key("family"), view, text, &known);
            }
            return text.to_owned();
        }
        match family::detect(inputs, profiles) {
            Ok(name) => name.to_owned(),
            Err(several) => {
                let message = format!(
                    "the policies of this test belong to several families: {}",
                    several.join(", ")
                );
                let help = "split the test, or say which family it is about: `family: ...`";
                self.fields.report(&codes::MIXED_FAMILIES, &At::ROOT, root, message, help);
                several.first().map_or_else(String::new, |name| (*name).to_owned())
            }
        }
    }
}
