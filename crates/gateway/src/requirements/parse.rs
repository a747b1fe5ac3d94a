// SPDX-License-Identifier: Apache-2.0
//! In: `PolicyRequirement` documents. Out: requirements. Not here: whether they are met.
//!
//! A document that cannot be read wholly is refused wholly: a scope that is silently narrower would hide what is
//! missing.

use overrule_model::{At, Fields, Object, Selector, Snapshot};
use overrule_source::{Diagnostic, Documents, NodeKind, View};

use super::{GROUP, KIND, Requirement};
use crate::codes_policy as codes;
use crate::policy::selector;

/// Reads every requirement.
pub fn parse(
    documents: &Documents,
    snapshot: &mut Snapshot,
) -> (Vec<Requirement>, Vec<Diagnostic>) {
    let objects: Vec<Object> = snapshot.of_kind(GROUP, KIND).iter().cloned().collect();
    let mut found = Vec::new();
    let mut diagnostics = Vec::new();
    for object in objects {
        let mut fields = Fields::default();
        let requirement = read(&mut fields, snapshot, &object, documents.view(object.root));
        if fields.diagnostics.is_empty() {
            found.extend(requirement);
        }
        diagnostics.extend(fields.diagnostics.into_iter().map(refused));
    }
    (found, diagnostics)
}

/// What is wrong with a field is wrong with the requirement.
fn refused(diagnostic: Diagnostic) -> Diagnostic {
    Diagnostic {
        code: &codes::BAD_REQUIREMENT,
        message: format!("the requirement is not checked: {}", diagnostic.message).into(),
        ..diagnostic
    }
}

fn read(
    fields: &mut Fields,
    snapshot: &mut Snapshot,
    object: &Object,
    root: View<'_>,
) -> Option<Requirement> {
    let at = At::ROOT;
    let Some(spec) = fields.map(root, &at, "spec") else {
        if fields.diagnostics.is_empty() {
            fields.missing(&at.key("spec"), root);
        }
        return None;
    };
    let at = at.key("spec");
    fields.only(spec, &at, &["policy", "scope", "rules"]);
    let Some(policy) = fields.map(spec, &at, "policy") else {
        if fields.diagnostics.is_empty() {
            fields.missing(&at.key("policy"), spec);
        }
        return None;
    };
    let policy_at = at.key("policy");
    fields.only(policy, &policy_at, &["group", "kind"]);
    let (kind, kind_view) = fields.required(policy, &policy_at, "kind")?;
    let group = fields.string(policy, &policy_at, "group").map(|(text, _)| text.into());
    let (mut namespaces, mut labels) = (None, None);
    if let Some(scope) = fields.map(spec, &at, "scope") {
        let at = at.key("scope");
        fields.only(scope, &at, &["namespaces", "selector"]);
        let named = texts(fields, scope, &at, "namespaces");
        namespaces =
            named.map(|list| list.iter().map(|n| snapshot.names_mut().intern(n)).collect());
        labels = labelled(fields, snapshot, scope, &at);
    }
    let rules = texts(fields, spec, &at, "rules").unwrap_or_default();
    let rules_at = at.key("rules");
    for (i, (rule, item)) in
        rules.iter().zip(spec.get("rules").into_iter().flat_map(View::items)).enumerate()
    {
        let name = rule.strip_suffix(".*").unwrap_or(rule);
        if name.is_empty() || name.contains('*') {
            let message = format!("`{rule}` names no rule");
            let help = "write the path of a rule, or of a group with `.*` at its end: `rules.authentication.*`";
            let code = &overrule_model::codes::BAD_VALUE;
            fields.report(code, &rules_at.index(i), item, message, help);
        }
    }
    Some(Requirement {
        object: object.id,
        name: snapshot.text(object.name).into(),
        kind: kind.into(),
        group,
        kind_at: kind_view.span(),
        namespaces,
        selector: labels,
        rules,
        at: object.at,
    })
}

fn labelled(
    fields: &mut Fields,
    snapshot: &mut Snapshot,
    scope: View<'_>,
    at: &At<'_>,
) -> Option<Selector> {
    let map = fields.map(scope, at, "selector")?;
    let at = at.key("selector");
    fields.only(map, &at, &["matchLabels", "matchExpressions"]);
    Some(selector(fields, snapshot, map, &at))
}

fn texts(fields: &mut Fields, of: View<'_>, at: &At<'_>, key: &str) -> Option<Vec<Box<str>>> {
    let list = fields.list(of, at, key)?;
    let at = at.key(key);
    let mut found = Vec::new();
    for (i, item) in list.items().enumerate() {
        match (item.kind(), item.as_str()) {
            (NodeKind::String, Some(text)) => {
                found.push(text.strip_prefix("spec.").unwrap_or(text).into())
            }
            _ => fields.wrong_type(&at.index(i), item, "a string"),
        }
    }
    Some(found)
}
