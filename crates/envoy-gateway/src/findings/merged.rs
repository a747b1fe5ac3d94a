// SPDX-License-Identifier: Apache-2.0
//! In: policies that are merged. Out: what the merge does other than people expect.

use std::collections::BTreeSet;

use overrule_engine::{PolicyId, Rung};
use overrule_source::{Diagnostic, Documents, NodeKind, NodeRef, View};

use crate::Profile;
use crate::codes;
use crate::policy::Policy;
use crate::resolve::Found;

/// Lists that people expect to be united, as the ends of their paths.
const LISTS: &[&str] = &[
    "authorization/rules",
    "dynamicModule",
    "extProc",
    "httpStatusCodes",
    "jwt/providers",
    "lua",
    "responseOverride",
    "triggers",
    "wasm",
];

pub(super) fn report(found: &Found<'_, '_>, out: &mut Vec<Diagnostic>) {
    let mut pairs: BTreeSet<(PolicyId, PolicyId)> = BTreeSet::new();
    for (kind, info) in found.kinds() {
        if !info.role.is_on_rows() {
            continue;
        }
        for ladder in found.ladders(kind).into_keys() {
            for rung in &found.resolution.ladders.get(ladder).rungs {
                let Rung::Group(unit) = rung else { continue };
                if let [child, parent] = found.resolution.ladders.steps(*unit).as_slice()
                    && let (Some(child), Some(parent)) =
                        (found.policy_of(*child), found.policy_of(*parent))
                {
                    pairs.insert((child, parent));
                }
            }
        }
    }
    for (child, parent) in pairs {
        let (Some(below), Some(above)) = (found.policy(child), found.policy(parent)) else {
            continue;
        };
        pair(found, (child, below), (parent, above), out);
    }
}

fn pair(
    found: &Found<'_, '_>,
    (_, below): (PolicyId, &Policy),
    (parent, above): (PolicyId, &Policy),
    out: &mut Vec<Diagnostic>,
) {
    let documents = found.plan.world().documents;
    let name = found.name(parent);
    let (mut lists, mut nulls) = (Vec::new(), Vec::new());
    let sides = (documents.view(below.spec), documents.view(above.spec));
    meet(sides.0, sides.1, &mut Vec::new(), &mut |path, ours, theirs| {
        let place = path.join("/");
        if ours.is_null() && !theirs.is_null() {
            nulls.push((path.join("."), ours.span()));
        } else if ours.kind() == NodeKind::List
            && !theirs.is_empty()
            && LISTS.iter().any(|list| place == *list || place.ends_with(&format!("/{list}")))
        {
            lists.push((path.join("."), ours.span()));
        }
    });
    for (path, at) in lists {
        let message = format!(
            "`{path}` replaces the list of `{name}`: the merge does not unite these lists, so the elements there are gone"
        );
        let d = Diagnostic::new(&codes::LIST_REPLACED, message)
            .at(at)
            .see(above.at, "the policy that loses its list");
        out.push(d.field(format!("spec.{path}")).help("repeat here the elements that are to stay"));
    }
    for (path, at) in nulls {
        let message = match found.plan.world().profile {
            Profile::Shipped => format!(
                "`{path}: null` does not remove the value of `{name}`, which stays in force"
            ),
            Profile::Design => format!(
                "`{path}: null` removes the value of `{name}`, as documented, but the controller leaves it in force"
            ),
        };
        let d = Diagnostic::new(&codes::NULL_KEEPS, message)
            .at(at)
            .see(above.at, "the policy with the value");
        out.push(d.field(format!("spec.{path}")).help(
            "write a value that switches it off, or leave `mergeType` out and repeat what is to stay",
        ));
    }
    if below.merge == Some(crate::policy::MergeType::Strategic)
        && let Some(at) = loses_limit(documents, below.spec, above.spec)
    {
        let message = format!(
            "the limit that `{name}` sets for all requests is lost: these rules have none, so other requests are not limited"
        );
        let d = Diagnostic::new(&codes::LIMIT_LOST, message)
            .at(at)
            .see(above.at, "the policy with the limit");
        out.push(
            d.field("spec.rateLimit.local.rules")
                .help("repeat here the rule without `clientSelectors`"),
        );
    }
}

/// Visits the values that both have, mapping by mapping.
fn meet<'v>(
    ours: View<'v>,
    theirs: View<'v>,
    path: &mut Vec<&'v str>,
    visit: &mut dyn FnMut(&[&'v str], View<'v>, View<'v>),
) {
    for (key, value) in ours.entries() {
        let Some(other) = theirs.get(key.key_text()) else { continue };
        path.push(key.key_text());
        match (value.kind(), other.kind()) {
            (NodeKind::Map, NodeKind::Map) => meet(value, other, path, visit),
            _ => visit(path, value, other),
        }
        path.pop();
    }
}

/// Where the rules of a child stand that have no limit for all requests while the parent's have one.
fn loses_limit(
    documents: &Documents,
    below: NodeRef,
    above: NodeRef,
) -> Option<overrule_source::Span> {
    let rules = |spec: NodeRef| {
        let limit = documents.view(spec).get("rateLimit")?;
        limit.get("local")?.get("rules")
    };
    let has_limit = |rules: View<'_>| {
        rules.items().any(|rule| rule.get("clientSelectors").is_none_or(View::is_empty))
    };
    let (ours, theirs) = (rules(below)?, rules(above)?);
    (!has_limit(ours) && has_limit(theirs)).then(|| ours.span())
}
