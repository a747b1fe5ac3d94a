// SPDX-License-Identifier: Apache-2.0
//! In: CustomResourceDefinitions with GEP-713's discovery label. Out: kinds resolved by the default of their class,
//! marked as assumed. Not here: kinds somebody described; those hold already.

use overrule_model::Snapshot;
use overrule_source::{Diagnostic, Documents, View};

use super::Kinds;
use super::descriptor::{Descriptor, PolicyClass};
use super::foreign::{self, Others};
use crate::codes_policy as codes;

/// The discovery label.
pub const LABEL: &str = "gateway.networking.k8s.io/policy";

/// Adds a kind for every labelled definition that has no descriptor and no rules of its own.
pub fn from_crds(
    documents: &Documents,
    snapshot: &Snapshot,
    others: Others<'_>,
    kinds: &mut Kinds,
    out: &mut Vec<Diagnostic>,
) {
    for crd in snapshot.of_kind("apiextensions.k8s.io", "CustomResourceDefinition") {
        let label = snapshot.names().lookup(LABEL).and_then(|label| crd.labels.get(label));
        let Some(label) = label.map(|v| snapshot.text(v)) else { continue };
        let class = match label.to_ascii_lowercase().as_str() {
            "direct" => PolicyClass::Direct,
            // `true` is an older spelling that says nothing about the class; inheriting is the wider reading.
            "inherited" | "true" => PolicyClass::Inherited,
            _ => {
                let d = Diagnostic::new(
                    &codes::BAD_POLICY_LABEL,
                    format!("label `{LABEL}` is `{label}`; this kind is not treated as a policy"),
                );
                out.push(d.at(crd.at).field("metadata.labels").help("use `Direct` or `Inherited`"));
                continue;
            }
        };
        let root = documents.view(crd.root);
        let Some((group, kind)) = group_kind(root) else { continue };
        if others.resolve(group, kind)
            || foreign::owner(group, kind).is_some()
            || kinds.named(group, kind).is_some()
        {
            continue;
        }
        let d = Diagnostic::new(
            &codes::ASSUMED_KIND,
            format!(
                "`{kind}` is resolved by GEP-713's default for its class ({label}); its controller may differ"
            ),
        );
        out.push(d.at(crd.at).help("describe the kind to be sure: overrule rule OV1314"));
        kinds.add(Some(Descriptor::assumed(group, kind, class)));
    }
}

fn group_kind(root: View<'_>) -> Option<(&str, &str)> {
    let spec = root.get("spec")?;
    Some((spec.get("group")?.as_str()?, spec.get("names")?.get("kind")?.as_str()?))
}
