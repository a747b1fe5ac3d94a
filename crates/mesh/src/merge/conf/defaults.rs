// SPDX-License-Identifier: Apache-2.0
//! In: entries and specs as written. Out: the same as Kuma holds them: members that are null are not there, defaults of
//! the schema are, durations are canonical; and the conf of an entry. Not here: the schema itself (`schema`), merging.
//!
//! What nothing is done to stays a pointer into its document.

use overrule_engine::{FieldKey, Leaf, Place, StepId, Traced};
use overrule_source::{Documents, NodeKind, NodeRef, View};
use smallvec::SmallVec;

use super::duration::canonical;
use super::schema::{Row, SchemaAction, rows};
use crate::kinds::{Conf, ResourceKind};

/// Where an entry stands in its policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryPosition {
    /// An element of `to`.
    To,
    /// An element of `from`.
    From,
    /// An element of `rules`.
    Rules,
    /// The spec of a policy that has one conf only.
    Single,
}

/// The conf of an entry: what is merged. The entry of [`EntryPosition::Single`] is the spec.
pub fn conf_of(
    documents: &Documents,
    kind: &ResourceKind,
    step: StepId,
    entry: NodeRef,
    position: EntryPosition,
) -> Traced {
    let entry = entry_of(documents, kind, step, entry);
    let conf = match kind.policy.filter(|_| position == EntryPosition::To).map(|p| p.conf) {
        Some(Conf::Rules) => Some(http_route(documents, step, &entry)),
        Some(Conf::FirstRule) => Some(tcp_route(documents, step, &entry)),
        _ => entry.get(documents, "default"),
    };
    conf.unwrap_or_else(|| nothing(step))
}

/// An entry, or the spec of a kind without entries, as it is held after reading.
pub fn entry_of(
    documents: &Documents,
    kind: &ResourceKind,
    step: StepId,
    entry: NodeRef,
) -> Traced {
    read(documents, rows(kind), step, entry)
}

fn read(documents: &Documents, rows: &[Row], step: StepId, entry: NodeRef) -> Traced {
    let written = Traced::Whole { step, node: entry };
    let reader = Reader { documents, step };
    reader.value(&written, rows).unwrap_or(written)
}

/// A whole spec, with its entries, as it is held after reading; of a type outside the table too.
pub fn spec_of(
    documents: &Documents,
    kind: Option<&ResourceKind>,
    step: StepId,
    spec: NodeRef,
) -> Traced {
    let rows = kind.map_or(&[][..], rows);
    let value = read(documents, rows, step, spec);
    let reader = Reader { documents, step };
    let mut changed = false;
    let mut members = value.entries(documents);
    for (key, member) in &mut members {
        if !matches!(key.text(documents), "to" | "from" | "rules") {
            continue;
        }
        let mut items = member.items(documents);
        let mut new = false;
        for item in &mut items {
            if let Some(read) = reader.value(item, rows) {
                *item = read;
                new = true;
            }
        }
        if new {
            *member = Traced::List(items.into_iter().collect());
            changed = true;
        }
    }
    if changed { Traced::map(members) } else { value }
}

fn nothing(step: StepId) -> Traced {
    Traced::Implied { step, json: "{}".into(), from: Place::NONE }
}

/// Rules and hostnames of an entry; hostnames only if there are any.
fn http_route(documents: &Documents, step: StepId, entry: &Traced) -> Traced {
    let members = entry.entries(documents).into_iter();
    let kept: Vec<_> = members
        .filter(|(key, value)| match key.text(documents) {
            "rules" => true,
            "hostnames" => !value.items(documents).is_empty(),
            _ => false,
        })
        .collect();
    if kept.is_empty() { nothing(step) } else { Traced::map(kept) }
}

/// The first rule of an entry. Without one, everything goes to what the entry is about.
fn tcp_route(documents: &Documents, step: StepId, entry: &Traced) -> Traced {
    let rules = entry.get(documents, "rules").map(|r| r.items(documents)).unwrap_or_default();
    if let Some(first) = rules.into_iter().next() {
        return first;
    }
    let key = |text: &str| FieldKey::Text(text.into());
    let target = entry.get(documents, "targetRef").map(|t| t.entries(documents));
    let weight = Traced::Implied { step, json: "1".into(), from: Place::NONE };
    let target = target.unwrap_or_default().into_iter().chain([(key("weight"), weight)]);
    let backends = Traced::List([Traced::map(target)].into());
    let default = Traced::map([(key("backendRefs"), backends)]);
    Traced::map([(key("default"), default)])
}

struct Reader<'a> {
    documents: &'a Documents,
    step: StepId,
}

type Rows = SmallVec<[Row; 8]>;

impl Reader<'_> {
    /// The value as read, with the lines of the schema that concern it; none if it stays as it is.
    fn value(&self, value: &Traced, rows: &[Row]) -> Option<Traced> {
        if rows.contains(&("", SchemaAction::Free)) || rows.is_empty() && !self.has_nulls(value) {
            return None;
        }
        match value.leaf(self.documents) {
            Leaf::Map => self.map(value, rows),
            Leaf::List => self.list(value, rows),
            Leaf::Scalar(view) if rows.contains(&("", SchemaAction::Duration)) => {
                self.duration(view, value)
            }
            _ => None,
        }
    }

    /// Whether a value that is kept as written has a mapping with a null member. Values that were read have none.
    fn has_nulls(&self, value: &Traced) -> bool {
        matches!(value, Traced::Whole { node, .. } if has_null_member(self.documents.view(*node)))
    }

    fn map(&self, value: &Traced, rows: &[Row]) -> Option<Traced> {
        let written = value.entries(self.documents);
        let mut changed = false;
        let mut members: Vec<(FieldKey, Traced)> = Vec::with_capacity(written.len());
        for (key, member) in written {
            // Every member is optional, free-form ones too: null says that it is not there.
            if member.is_null(self.documents) {
                changed = true;
                continue;
            }
            let below: Rows = rows
                .iter()
                .filter_map(|(path, what)| Some((below(path, key.text(self.documents))?, *what)))
                .collect();
            let read = self.value(&member, &below);
            changed |= read.is_some();
            members.push((key, read.unwrap_or(member)));
        }
        for (path, what) in rows {
            let SchemaAction::Default(json) = what else { continue };
            let absent = !members.iter().any(|(key, _)| key.text(self.documents) == *path);
            if !path.contains(['.', '[']) && !path.is_empty() && absent {
                let implied =
                    Traced::Implied { step: self.step, json: (*json).into(), from: Place::NONE };
                members.push((FieldKey::Text((*path).into()), implied));
                changed = true;
            }
        }
        if !changed {
            return None;
        }
        Some(if members.is_empty() { nothing(self.step) } else { Traced::map(members) })
    }

    fn list(&self, value: &Traced, rows: &[Row]) -> Option<Traced> {
        let below: Rows = rows.iter().filter_map(|(p, what)| Some((element(p)?, *what))).collect();
        let mut items = value.items(self.documents);
        let mut changed = false;
        for item in &mut items {
            if let Some(read) = self.value(item, &below) {
                *item = read;
                changed = true;
            }
        }
        changed.then(|| Traced::List(items.into_iter().collect()))
    }

    fn duration(&self, view: View<'_>, value: &Traced) -> Option<Traced> {
        let written = view.as_str()?;
        let text = canonical(written).filter(|text| text != written)?;
        let json = serde_json::Value::from(text).to_string();
        Some(Traced::Implied { step: self.step, json: json.into(), from: value.node().into() })
    }
}

/// What is left of a path below a member.
fn below<'p>(path: &'p str, key: &str) -> Option<&'p str> {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (first, rest) = path.split_at_checked(end)?;
    let fits = !first.is_empty() && (first == key || first == "*");
    fits.then(|| rest.strip_prefix('.').unwrap_or(rest))
}

/// What is left of a path below an element of a list.
fn element(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("[]")?;
    Some(rest.strip_prefix('.').unwrap_or(rest))
}

fn has_null_member(view: View<'_>) -> bool {
    match view.kind() {
        NodeKind::Map => view.entries().any(|(_, value)| value.is_null() || has_null_member(value)),
        NodeKind::List => view.items().any(has_null_member),
        _ => false,
    }
}
