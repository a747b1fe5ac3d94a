// SPDX-License-Identifier: Apache-2.0
//! In: `expect`, `none`, `absent`. Out: what must be in force where. Not here: conditions and findings (`status.rs`).

use overrule_model::At;
use overrule_source::{NodeKind, View};

use super::reader::Reader;
use crate::case::{
    Expectation, ExpectedContent, ExpectedLoss, ExpectedSkip, ExpectedSource, Given, Nothing,
    SpannedWord, Walk,
};
use crate::field::Field;

const ENTRY: &[&str] = &[
    "path",
    "kind",
    "partial",
    "fields",
    "rules",
    "spec",
    "sources",
    "shadowed",
    "overridden",
    "masked",
    "removed",
    "skipped",
    "accumulated",
    "error",
    "hostnames",
    "match",
    "features",
    "policies",
    "routing",
];
const LOST: &[&str] = &["policy", "rule", "pointer", "block", "by"];

/// Reasons of a `none` entry.
const NO_PATH: &str = "invalid-path";

impl Reader<'_> {
    pub(super) fn expectations(&mut self, root: View<'_>) -> Option<Given<Expectation>> {
        let list = self.fields.list(root, &At::ROOT, "expect")?;
        let items = self.mappings(list, &At::ROOT.key("expect"), ENTRY, |reader, item, at| {
            reader.entry(item, at)
        });
        Some(self.given(list, items))
    }

    fn entry(&mut self, item: View<'_>, at: &At<'_>) -> Option<Expectation> {
        let path = self.path(item, at);
        let kind = self.kind(item, at);
        let partial = self.flag(item, at, "partial").is_some_and(|(flag, _)| flag);
        let content = self.content(item, at);
        let sources = self.sources(item, at);
        let (shadowed, mut masked) = self.shadowed(item, at);
        if let Some(given) = self.fields_given(item, at, "masked") {
            masked = Some(given);
        }
        let removed = self.losses(item, at, "removed");
        let skipped = self.skipped(item, at);
        let accumulated = self.fields.list(item, at, "accumulated");
        let accumulated =
            accumulated.map(|list| self.given(list, list.items().map(View::to_json).collect()));
        let error = self.flag(item, at, "error");
        let hostnames = self.fields.list(item, at, "hostnames");
        let hostnames = hostnames.map(|list| {
            let items = self.texts(list, &at.key("hostnames"));
            self.given(list, items)
        });
        let matching = self.fields.map(item, at, "match");
        let matching = matching.map(|map| (map.to_json(), self.position(map)));
        let features = self.words(item, at, "features");
        let policies = self.words(item, at, "policies");
        let routing = self.fields.string(item, at, "routing");
        let routing = routing
            .map(|(text, view)| SpannedWord { text: text.to_owned(), at: self.position(view) });
        Some(Expectation {
            at: self.position(item),
            path: path?,
            kind: kind?,
            partial,
            content,
            sources,
            shadowed,
            masked,
            removed,
            skipped,
            accumulated,
            error,
            hostnames,
            matching,
            features,
            policies,
            routing,
        })
    }

    /// A list of words.
    fn words(&mut self, item: View<'_>, at: &At<'_>, key: &str) -> Option<Given<String>> {
        let list = self.fields.list(item, at, key)?;
        let items = self.texts(list, &at.key(key));
        Some(self.given(list, items))
    }

    fn path(&mut self, item: View<'_>, at: &At<'_>) -> Option<Walk> {
        let Some(list) = self.fields.list(item, at, "path") else {
            if self.fields.member(item, "path").is_none() {
                self.fields.missing(&at.key("path"), item);
            }
            return None;
        };
        Some(self.walk(list, &at.key("path")))
    }

    fn walk(&mut self, list: View<'_>, at: &At<'_>) -> Walk {
        Walk { steps: self.texts(list, at), at: self.position(list) }
    }

    fn kind(&mut self, item: View<'_>, at: &At<'_>) -> Option<SpannedWord> {
        let (text, view) = self.fields.required(item, at, "kind")?;
        Some(SpannedWord { text: text.to_owned(), at: self.position(view) })
    }

    /// `fields`, its other name `rules`, or the whole `spec`.
    fn content(&mut self, item: View<'_>, at: &At<'_>) -> Option<ExpectedContent> {
        let given: Vec<&str> =
            ["fields", "rules", "spec"].into_iter().filter(|key| item.get(key).is_some()).collect();
        if let [first, second, ..] = given.as_slice()
            && let Some((key, _)) = item.get_entry(second)
        {
            let message = format!("`{at}` has both `{first}` and `{second}`, which mean the same");
            self.fields.report(
                &overrule_model::codes::BAD_VALUE,
                at,
                key,
                message,
                "keep one of them",
            );
        }
        match *given.first()? {
            "spec" => item
                .get("spec")
                .map(|spec| ExpectedContent::Spec(spec.to_json(), self.position(spec))),
            key => {
                let map = self.fields.map(item, at, key)?;
                let fields = map.entries().map(|(key, value)| (self.field(key), value.to_json()));
                Some(ExpectedContent::Fields(fields.collect()))
            }
        }
    }

    /// A field written as a key.
    fn field(&self, key: View<'_>) -> Field {
        Field { text: key.key_text().to_owned(), at: self.position(key) }
    }

    fn sources(&mut self, item: View<'_>, at: &At<'_>) -> Option<Vec<ExpectedSource>> {
        let map = self.fields.map(item, at, "sources")?;
        let at = at.key("sources");
        let mut sources = Vec::new();
        for (key, value) in map.entries() {
            let policies = self.text_or_list(value, &at.key(key.key_text()));
            sources.push(ExpectedSource { field: self.field(key), policies });
        }
        Some(sources)
    }

    /// `overridden`, or `shadowed`: a list of mappings is what lost, a list of words is what a built-in masks.
    fn shadowed(
        &mut self,
        item: View<'_>,
        at: &At<'_>,
    ) -> (Option<Given<ExpectedLoss>>, Option<Given<Field>>) {
        if item.get("overridden").is_some() {
            return (self.losses(item, at, "overridden"), None);
        }
        let words =
            item.get("shadowed").is_some_and(|list| list.items().any(|i| i.as_str().is_some()));
        match words {
            true => (None, self.fields_given(item, at, "shadowed")),
            false => (self.losses(item, at, "shadowed"), None),
        }
    }

    fn fields_given(&mut self, item: View<'_>, at: &At<'_>, key: &str) -> Option<Given<Field>> {
        let list = self.fields.list(item, at, key)?;
        self.texts(list, &at.key(key));
        let fields = list.items().filter_map(|item| {
            let text = item.as_str()?.to_owned();
            Some(Field { text, at: self.position(item) })
        });
        Some(self.given(list, fields.collect()))
    }

    fn losses(&mut self, item: View<'_>, at: &At<'_>, key: &str) -> Option<Given<ExpectedLoss>> {
        let list = self.fields.list(item, at, key)?;
        let items = self.mappings(list, &at.key(key), LOST, |reader, item, at| {
            let field =
                ["rule", "pointer"].into_iter().find_map(|key| reader.fields.string(item, at, key));
            Some(ExpectedLoss {
                at: reader.position(item),
                policy: reader.required(item, at, "policy")?,
                field: field
                    .map(|(text, view)| Field { text: text.to_owned(), at: reader.position(view) }),
                block: reader.text(item, at, "block"),
                by: reader.names(item, at, "by"),
            })
        });
        Some(self.given(list, items))
    }

    fn skipped(&mut self, item: View<'_>, at: &At<'_>) -> Option<Given<ExpectedSkip>> {
        let list = self.fields.list(item, at, "skipped")?;
        let known = &["policy", "block", "reason"];
        let items = self.mappings(list, &at.key("skipped"), known, |reader, item, at| {
            Some(ExpectedSkip {
                at: reader.position(item),
                policy: reader.required(item, at, "policy")?,
                block: reader.text(item, at, "block"),
                reason: reader.text(item, at, "reason"),
            })
        });
        Some(self.given(list, items))
    }

    pub(super) fn nothings(&mut self, root: View<'_>) -> Vec<Nothing> {
        let Some(list) = self.fields.list(root, &At::ROOT, "none") else { return Vec::new() };
        let known = &["path", "kind", "reason"];
        self.mappings(list, &At::ROOT.key("none"), known, |reader, item, at| {
            let (path, kind) = (reader.path(item, at), reader.kind(item, at));
            let reason = reader.fields.string(item, at, "reason");
            if let Some((text, view)) = reason
                && text != NO_PATH
            {
                reader.fields.bad_value(&at.key("reason"), view, text, &[NO_PATH]);
            }
            Some(Nothing {
                at: reader.position(item),
                path: path?,
                kind: kind?,
                no_path: reason.is_some(),
            })
        })
    }

    pub(super) fn absents(&mut self, root: View<'_>) -> Vec<Walk> {
        self.walks(root, "absent")
    }

    /// A list of paths.
    pub(super) fn walks(&mut self, root: View<'_>, key: &str) -> Vec<Walk> {
        let Some(list) = self.fields.list(root, &At::ROOT, key) else { return Vec::new() };
        let at = At::ROOT.key(key);
        let mut walks = Vec::new();
        for (i, item) in list.items().enumerate() {
            match item.kind() {
                NodeKind::List => walks.push(self.walk(item, &at.index(i))),
                _ => self.fields.wrong_type(&at.index(i), item, "a list"),
            }
        }
        walks
    }
}
