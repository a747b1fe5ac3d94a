// SPDX-License-Identifier: Apache-2.0
//! In: what Gateway API objects and policies refer to. Out: placeholders for what is not in the input, with the least that
//! the references need. Not here: connecting them (`connect`), what Kuma needs (its family).
//!
//! A Gateway gets the listeners that references name, and one without a name (`*`) where a route names none. What the
//! missing object alone would say is left open: class, hostnames, ports, protocols, `allowedRoutes`. A Namespace lets
//! routes in where a listener asks for its labels. A GatewayClass is served by whoever asks. Services are there for
//! policies to land on.
//!
//! Nothing is assumed of what is being deleted: it is known not to be there.

mod scan;

use std::collections::BTreeMap;

use hashbrown::HashMap;
use overrule_model::{
    Assumed, GroupKind, Labels, Object, ObjectId, ObjectKey, Placeholder, Snapshot, Sym,
};
use overrule_source::{Diagnostic, Documents, Span};

use crate::codes;
use scan::{RefField, Scan, Wanted};

/// The name of the listener that nothing names.
const ANY_LISTENER: &str = "*";

/// Sections that a message names.
const MOST: usize = 4;

/// What was assumed, and what is to be told about it.
#[derive(Debug, Default)]
pub struct Assumptions {
    /// The sections of each placeholder, by name.
    pub(crate) sections: HashMap<ObjectId, Vec<AssumedSection>>,
    /// One finding per missing object, where no other stage tells it.
    pub diagnostics: Vec<Diagnostic>,
}

/// A section that references name of an object nobody wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AssumedSection {
    pub(crate) name: Sym,
    /// 0 if no reference says it.
    pub(crate) port: u16,
    pub(crate) at: Span,
}

/// What references say of a missing object.
#[derive(Debug)]
struct Missing {
    /// The first reference.
    at: Span,
    field: RefField,
    references: usize,
    /// Whether another stage says that it is missing.
    told: bool,
    /// Port and place of each section.
    sections: BTreeMap<String, (u16, Span)>,
}

/// Adds placeholders for what is referred to and missing.
pub fn assume(documents: &Documents, snapshot: &mut Snapshot) -> Assumptions {
    let missing = Scan::new(documents, snapshot).all();
    let names = snapshot.names_mut();
    let missing: Vec<(ObjectKey, Missing)> =
        missing.into_iter().filter_map(|(id, m)| Some((id.new_key(names)?, m))).collect();
    let placeholder = |(key, missing): &(ObjectKey, Missing)| Placeholder {
        key: *key,
        at: missing.at,
        labels: Labels::default(),
        why: Assumed::Named,
    };
    let placeholders = missing.iter().map(placeholder).collect();
    overrule_model::assume(snapshot, placeholders);
    let mut found = Assumptions::default();
    for (key, missing) in missing {
        let Some(object) = snapshot.find(key).cloned() else { continue };
        found.diagnostics.extend(missing.told(snapshot, &object));
        let names = snapshot.names_mut();
        let sections = missing.sections.iter();
        let sections = sections.map(|(name, (port, at))| AssumedSection {
            name: names.intern(name),
            port: *port,
            at: *at,
        });
        found.sections.insert(object.id, sections.collect());
    }
    found
}

/// Whether a policy refers to something that is missing or assumed, so that it may change what is assumed.
pub fn rests_on_assumptions(documents: &Documents, snapshot: &Snapshot, policy: ObjectId) -> bool {
    let object = snapshot.get(policy);
    object.is_some_and(|object| Scan::new(documents, snapshot).leads_nowhere(object))
}

impl Missing {
    fn new(first: Wanted<'_>) -> Self {
        let Wanted { at, field, .. } = first;
        Self { at, field, references: 0, told: false, sections: BTreeMap::new() }
    }

    /// Notes what one more reference needs.
    fn note(&mut self, want: Wanted<'_>) {
        self.references += 1;
        self.told |= want.told;
        let Some((section, port, at)) = want.section else { return };
        let name = match (section, port) {
            ("", 0) => ANY_LISTENER.to_owned(),
            ("", port) => format!("{ANY_LISTENER}:{port}"),
            (name, _) => name.to_owned(),
        };
        let (known, _) = self.sections.entry(name).or_insert((port, at));
        *known = match (*known, port) {
            (before, 0) => before,
            (0, now) => now,
            (before, now) if before == now => now,
            // They contradict each other; who knows.
            _ => 0,
        };
    }

    /// What is to be told: nothing where others of the kind are there, because then whoever follows the reference does.
    fn told(&self, snapshot: &Snapshot, object: &Object) -> Option<Diagnostic> {
        let GroupKind { group, kind } = object.kind;
        let others = snapshot.was_read(object.kind);
        let is_namespace = group.is_empty() && snapshot.text(kind) == "Namespace";
        if self.told || (others && !is_namespace) {
            return None;
        }
        let (code, help) = match others {
            true => {
                (&codes::NAMESPACE_NOT_FOUND, "add it to the input; other Namespaces are there")
            }
            false => (
                &codes::ASSUMED,
                "add it to the input to see what it says; with --strict nothing is assumed",
            ),
        };
        let name = snapshot.display(object.id);
        let with = match is_namespace {
            true => ", with the labels that listeners ask for".to_owned(),
            false => self.sections_in_words(),
        };
        let message = format!("`{name}` is not in the input, so it is assumed{with}");
        let references = match self.references {
            1 => "named here".to_owned(),
            n => format!("named here, and {} more times", n - 1),
        };
        let d = Diagnostic::new(code, message).at_with(self.at, references);
        Some(d.field(self.field.in_words()).help(help))
    }

    fn sections_in_words(&self) -> String {
        let names: Vec<String> =
            self.sections.keys().take(MOST).map(|name| format!("`{name}`")).collect();
        let more = if self.sections.len() > MOST { ", ..." } else { "" };
        match names.as_slice() {
            [] => String::new(),
            [one] => format!(", with section {one}"),
            several => format!(", with sections {}{more}", several.join(", ")),
        }
    }
}
