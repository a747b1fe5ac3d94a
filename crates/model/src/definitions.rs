// SPDX-License-Identifier: Apache-2.0
//! In: objects in order, equal ones by path and line. Out: one definition of each, its other definitions, and what is to
//! be told of them. Not here: what objects say; two definitions are the same if their contents are.
//!
//! A repository keeps variants of one object in several folders, and nothing is wrong with that: one is used, and all are
//! judged. In one file, one of two definitions is a mistake.

use std::collections::{BTreeMap, BTreeSet};

use overrule_source::{Diagnostic, Documents, NodeKind, SourceMap, View};

use crate::snapshot::by_identity;
use crate::{GroupKind, Names, Object, codes};

/// Objects with one definition each.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// The definitions that are used.
    pub(crate) kept: Vec<Object>,
    /// The others that say something else.
    pub(crate) variants: Vec<Object>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Settles which definition of each object is used: the first.
pub(crate) fn settle(
    documents: &Documents,
    names: &Names,
    objects: Vec<Object>,
    takes_part: &dyn Fn(GroupKind) -> bool,
) -> Settled {
    let mut settled = Settled { kept: Vec::with_capacity(objects.len()), ..Settled::default() };
    let mut groups = Groups::default();
    let mut objects = objects.into_iter().peekable();
    while let Some(first) = objects.next() {
        let same =
            |o: &Object| o.kind == first.kind && o.scope == first.scope && o.name == first.name;
        if objects.peek().is_some_and(same) {
            let others: Vec<Object> = std::iter::from_fn(|| objects.next_if(same)).collect();
            if takes_part(first.kind) {
                settled.judge(documents, names, &first, others, &mut groups);
            }
        }
        settled.kept.push(first);
    }
    settled.diagnostics.extend(groups.findings());
    settled
}

impl Settled {
    fn judge(
        &mut self,
        documents: &Documents,
        names: &Names,
        first: &Object,
        others: Vec<Object>,
        groups: &mut Groups,
    ) {
        let mut known = BTreeSet::from([content(documents.view(first.root))]);
        let mut files = BTreeSet::from([first.at.source]);
        let called = format!("{} `{}`", names.text(first.kind.kind), names.text(first.name));
        let mut variants = Vec::new();
        for other in others {
            if !known.insert(content(documents.view(other.root))) {
                continue;
            }
            if !files.insert(other.at.source) {
                let message =
                    format!("{called} is defined twice; the first one by file and line is used");
                let d = Diagnostic::new(&codes::DUPLICATE_RESOURCE, message)
                    .at_with(other.at, "this one is ignored")
                    .see(first.at, "this one is used")
                    .field("metadata.name")
                    .help("remove one of them, or give it another name or namespace");
                self.diagnostics.push(d);
            }
            variants.push(other);
        }
        groups.add(documents, &called, first, &variants);
        self.variants.append(&mut variants);
    }
}

/// Objects that are defined differently, by the folder whose definition is used.
#[derive(Default)]
struct Groups {
    /// Those with another definition in another folder.
    elsewhere: BTreeMap<String, Group>,
    /// Those that have them in other files of the folder.
    here: BTreeMap<String, Group>,
}

struct Group {
    called: Vec<String>,
    /// The other folders, or all files.
    places: BTreeSet<String>,
    first: Object,
    seen: Object,
}

impl Groups {
    fn add(&mut self, documents: &Documents, called: &str, first: &Object, variants: &[Object]) {
        let name = |object: &Object| source_name(&documents.sources, object).to_owned();
        let own = folder(&name(first)).to_owned();
        for other in variants.iter().filter(|other| other.at.source != first.at.source) {
            let name = name(other);
            let place = folder(&name);
            let (groups, place) = match place == own {
                true => (&mut self.here, name.clone()),
                false => (&mut self.elsewhere, place.to_owned()),
            };
            let group = groups.entry(own.clone()).or_insert_with(|| Group {
                called: Vec::new(),
                places: BTreeSet::new(),
                first: first.clone(),
                seen: other.clone(),
            });
            if group.called.last().is_none_or(|last| last != called) {
                group.called.push(called.to_owned());
            }
            group.places.insert(place);
        }
    }

    fn findings(self) -> impl Iterator<Item = Diagnostic> {
        let elsewhere = self.elsewhere.into_iter().map(|(folder, group)| {
            let Group { called, places, first, seen } = group;
            let choose = places.first().cloned().unwrap_or_default();
            let message = format!(
                "{} defined differently in {}; {} used",
                some(&called, true),
                some(&quoted(places), false),
                match called.len() {
                    1 => format!("the one in `{folder}` is"),
                    _ => format!("those in `{folder}` are"),
                },
            );
            Diagnostic::new(&codes::VARIANTS, message)
                .at_with(first.at, "this one is used")
                .see(seen.at, "this is another one")
                .help(format!("nothing, if they are variants: each is checked, and -f {choose} answers for that one"))
        });
        let here = self.here.into_iter().map(|(folder, group)| {
            let Group { called, places, first, seen } = group;
            let choose = places.first().cloned().unwrap_or_default();
            let message = format!(
                "{} defined differently in files of `{folder}`; the first by name is used",
                some(&called, true),
            );
            Diagnostic::new(&codes::ALTERNATIVES, message)
                .at_with(first.at, "this one is used")
                .see(seen.at, "this one is not")
                .help(format!("remove one of two if they are applied together; if they are alternatives, -f {choose} answers for that one"))
        });
        elsewhere.chain(here).collect::<Vec<_>>().into_iter()
    }
}

fn quoted(places: BTreeSet<String>) -> Vec<String> {
    places.into_iter().map(|place| format!("`{place}`")).collect()
}

/// The first few of some things, how many more there are, and if they are to do something: `is` or `are`.
fn some(all: &[String], verb: bool) -> String {
    const FEW: usize = 3;
    let shown = all.get(..FEW.min(all.len())).unwrap_or_default().join(", ");
    let verb = match (verb, all.len()) {
        (false, _) => "",
        (true, 1) => " is",
        (true, _) => " are",
    };
    match all.len().saturating_sub(FEW) {
        0 => format!("{shown}{verb}"),
        more => format!("{shown} and {more} more{verb}"),
    }
}

/// Puts objects in order: by group, kind, namespace and name, and definitions of one object by path and line.
pub(crate) fn sort(names: &Names, sources: &SourceMap, objects: &mut [Object]) {
    objects.sort_by(|a, b| {
        by_identity(names, a, b)
            .then_with(|| source_name(sources, a).cmp(source_name(sources, b)))
            .then_with(|| a.at.cmp(&b.at))
    });
}

/// What the text of an object is called.
pub(crate) fn source_name<'s>(sources: &'s SourceMap, object: &Object) -> &'s str {
    sources.get(object.at.source).map_or("", |s| s.name())
}

/// The folder of a file.
pub(crate) fn folder(name: &str) -> &str {
    name.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

/// What an object says, the same for all orders of keys.
fn content(view: View<'_>) -> String {
    let mut text = String::new();
    write(view, &mut text);
    text
}

fn write(view: View<'_>, out: &mut String) {
    match view.kind() {
        NodeKind::Map => {
            let mut entries: Vec<(&str, View<'_>)> =
                view.entries().map(|(key, value)| (key.key_text(), value)).collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (key, value) in entries {
                out.push_str(&format!("{key:?}:"));
                write(value, out);
                out.push(',');
            }
            out.push('}');
        }
        NodeKind::List => {
            out.push('[');
            for item in view.items() {
                write(item, out);
                out.push(',');
            }
            out.push(']');
        }
        _ => out.push_str(&view.to_json().to_string()),
    }
}
