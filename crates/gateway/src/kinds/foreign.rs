// SPDX-License-Identifier: Apache-2.0
//! In: kinds whose controllers follow rules of their own. Out: a refusal by name instead of a wrong answer.
//! Not here: families that exist; they say which kinds are theirs.

use overrule_family::OwnKind;
use overrule_model::{At, Snapshot};
use overrule_source::{Diagnostic, Documents, View};

use super::Kinds;
use crate::codes_policy as codes;

/// Kinds with controllers of their own, one line for each: API group, kind or `*` and how it ends, and who.
static TABLE: &str = include_str!("../../kinds/foreign.txt");

/// Kinds that other families resolve.
#[derive(Debug, Clone, Copy)]
pub struct Others<'a> {
    pub own_kinds: &'a [OwnKind],
}

impl Others<'_> {
    /// Whether one of them resolves a kind.
    pub fn resolve(self, group: &str, kind: &str) -> bool {
        self.own_kinds.iter().any(|own| own.group == group && own.kind == kind)
    }
}

/// Who resolves a kind by rules that GEP-713's defaults do not describe.
pub fn owner(group: &str, kind: &str) -> Option<&'static str> {
    let is_kind = |pattern: &str| match pattern.strip_prefix('*') {
        Some(ending) => kind.ends_with(ending),
        None => kind == pattern,
    };
    TABLE.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let (of, rest) = line.split_once(' ')?;
        let (pattern, owner) = rest.split_once(' ')?;
        (of == group && is_kind(pattern)).then_some(owner)
    })
}

/// Says once per kind which objects are not answered: foreign ones, and those that look like policies of a kind
/// nobody described.
pub fn report(
    documents: &Documents,
    snapshot: &Snapshot,
    others: Others<'_>,
    kinds: &Kinds,
    out: &mut Vec<Diagnostic>,
) {
    for (kind, objects) in snapshot.kinds() {
        let Some(first) = objects.first() else { continue };
        let (group_name, kind_name) = (snapshot.text(kind.group), snapshot.text(kind.kind));
        if kinds.find(snapshot.names(), kind).is_some() || others.resolve(group_name, kind_name) {
            continue;
        }
        let count = objects.len();
        if let Some(owner) = owner(group_name, kind_name) {
            let message = format!(
                "`{kind_name}` has merge rules of its own ({owner}) and is not resolved; {count} found"
            );
            let d = Diagnostic::new(&codes::FOREIGN_KIND, message).at(first.at);
            out.push(d.field("kind").help("answers leave it out; describe the kind with --kinds only if GEP-713's rules fit it"));
            continue;
        }
        let looks_like_policy =
            objects.iter().find_map(|o| target_field(documents.view(o.root)).map(|at| (o, at)));
        if let Some((_, field)) = looks_like_policy {
            let message = format!(
                "`{kind_name}` looks like a policy, but its kind is unknown, so it is left out; {count} found"
            );
            let d = Diagnostic::new(&codes::UNKNOWN_KIND, message).at(field.span());
            let path = At::ROOT;
            let path = path.key("spec");
            out.push(d.field(path.to_string()).help("add its CustomResourceDefinition to the input, or describe it with --kinds (overrule rule OV1313)"));
        }
    }
}

/// The field by which an object targets others, if it has one.
fn target_field(root: View<'_>) -> Option<View<'_>> {
    let spec = root.get("spec")?;
    ["targetRef", "targetRefs", "targetSelectors"].iter().find_map(|key| {
        let (name, value) = spec.get_entry(key)?;
        let first = value.items().next().unwrap_or(value);
        // HorizontalPodAutoscaler and its like say `scaleTargetRef`; a policy reference always names a kind.
        first.get("kind").map(|_| name)
    })
}
