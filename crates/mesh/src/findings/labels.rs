// SPDX-License-Identifier: Apache-2.0
//! In: labels as people wrote them, and as a control plane would. Out: where they say different things, and values that
//! mean nothing. Not here: computing labels (`crate::labels`).

use std::collections::BTreeMap;

use overrule_model::ObjectId;
use overrule_source::{Diagnostic, Span, View};

use super::{World, count};
use crate::codes;
use crate::labels::{EFFECT, ORIGIN, POLICY_ROLE};
use crate::resource::Meta;

/// The first place of a mistake, its field, and how often it is made.
struct Made {
    at: Span,
    field: String,
    number: usize,
    because: String,
    help: &'static str,
}

/// Each mistake once for each kind and value: labels are often written by a template.
pub(super) fn report(world: &World<'_>, out: &mut Vec<Diagnostic>) {
    let mut all: BTreeMap<(&str, String, &str), Made> = BTreeMap::new();
    for (object, meta) in &world.resources.metas {
        let Some((labels, path)) = written(world, *object) else { continue };
        let Some(kind) = meta.kind.known() else { continue };
        let keys = if kind.is_policy() { &[ORIGIN, POLICY_ROLE, EFFECT][..] } else { &[ORIGIN] };
        for key in keys {
            let Some(value) = labels.get(key) else { continue };
            let text = value.scalar_text().unwrap_or_default();
            let Some((because, help)) = wrong(key, text, meta) else { continue };
            let made = all.entry((key, text.to_owned(), kind.name)).or_insert_with(|| Made {
                at: value.span(),
                field: format!("{path}.{key}"),
                number: 0,
                because,
                help,
            });
            made.number += 1;
        }
    }
    for ((key, text, kind), made) in all {
        let others = match made.number {
            1 => String::new(),
            number => format!(", here and {}", count(number - 1, "more time", "more times")),
        };
        let message = format!("label `{key}: {text}` of a {kind} {}{others}", made.because);
        let d = Diagnostic::new(&codes::LABEL, message).at(made.at).field(made.field);
        out.push(d.help(made.help));
    }
}

/// The labels of a document, in either form, and where they are.
fn written<'a>(world: &World<'a>, object: ObjectId) -> Option<(View<'a>, &'static str)> {
    let root = world.document(object)?;
    if root.get("type").is_some() {
        return root.get("labels").map(|labels| (labels, "labels"));
    }
    root.get("metadata")?.get("labels").map(|labels| (labels, "metadata.labels"))
}

fn wrong(key: &str, text: &str, meta: &Meta) -> Option<(String, &'static str)> {
    match key {
        ORIGIN if !["global", "zone", ""].contains(&text) => Some((
            "is neither `global` nor `zone`, so it ranks below both".to_owned(),
            "remove it: the control plane sets it",
        )),
        POLICY_ROLE => {
            let computed = meta.labels.get(POLICY_ROLE).map_or("", String::as_str);
            let known = ["system", "producer", "consumer", "workload-owner", ""];
            let help = "remove it: the control plane sets it from the namespace and the entries";
            match computed {
                _ if computed != text => {
                    Some((format!("is replaced: by its entries the policy is `{computed}`"), help))
                }
                _ if !known.contains(&text) => Some(("is not a role".to_owned(), help)),
                _ => None,
            }
        }
        EFFECT if text != "shadow" => Some((
            "is ignored, so the policy applies; only `shadow` has an effect".to_owned(),
            "write `shadow` to only test the policy, or remove the label",
        )),
        _ => None,
    }
}
