// SPDX-License-Identifier: Apache-2.0
//! In: policies of a mesh. Out: those that are not in force: shadows, those that others displace, and those that need
//! mTLS in a mesh without it. Not here: those that select nobody (`reach`).

use std::collections::{BTreeMap, BTreeSet};

use overrule_source::{Diagnostic, View};

use super::{Here, some_of};
use crate::codes;
use crate::policy::Policy;

pub(super) fn report(here: &Here<'_>, out: &mut Vec<Diagnostic>) {
    shadows(here, out);
    displaced(here, out);
    out.extend(no_mtls(here));
}

fn shadows(here: &Here<'_>, out: &mut Vec<Diagnostic>) {
    let refused = &here.mesh.refused;
    let shadows = here.mesh.policies.iter().filter(|p| p.is_shadow());
    for policy in shadows.filter(|p| !refused.contains_key(&p.place)) {
        let message = "this policy is labelled `kuma.io/effect: shadow`: proxies do not get it, only shadow inspection shows it";
        let d = Diagnostic::new(&codes::SHADOW, message);
        out.push(here.at_policy(d, policy.place).help("remove the label to put it in force"));
    }
}

/// Policies with `from` where others with `rules` decide.
fn displaced(here: &Here<'_>, out: &mut Vec<Diagnostic>) {
    let mut by_policy: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (policy, ruling) in &here.found.displaced {
        by_policy.entry(*policy).or_default().insert(*ruling);
    }
    for (policy, ruling) in by_policy {
        let names: Vec<String> = ruling.iter().map(|r| here.name_of(*r)).collect();
        let message = format!(
            "`from` of this policy is ignored at inbounds where {} has `rules`",
            some_of(&names)
        );
        let d = Diagnostic::new(&codes::DISPLACED, message).field("spec.from");
        let d = match spec(here, policy).and_then(|s| s.get_entry("from")) {
            Some((key, _)) => d.at(key.span()),
            None => here.at_policy(d, policy),
        };
        out.push(d.help(
            "rewrite it with `rules`: proxies do not enforce there what it denies or allows",
        ));
    }
}

fn spec<'a>(here: &Here<'a>, policy: u32) -> Option<View<'a>> {
    let policy = here.policy(policy)?;
    here.world.documents.view(policy.root).get("spec")
}

fn no_mtls(here: &Here<'_>) -> Option<Diagnostic> {
    let object = here.mesh.object?;
    let mesh = here.world.document(object)?;
    let (spec, field) = match mesh.get("spec") {
        Some(spec) => (spec, "spec.mtls.enabledBackend"),
        None => (mesh, "mtls.enabledBackend"),
    };
    let backend = spec.get("mtls").and_then(|m| m.get("enabledBackend"));
    if backend.and_then(|b| b.scalar_text()).is_some_and(|b| !b.is_empty() && b != "null") {
        return None;
    }
    if here.world.with_identity.contains(&*here.mesh.name) {
        return None;
    }
    let needing: Vec<String> =
        here.live().filter(|p| needs_mtls(here, p)).map(|p| here.name_of(p.place)).collect();
    if needing.is_empty() {
        return None;
    }
    let verb = if needing.len() == 1 { "does" } else { "do" };
    let message = format!(
        "mesh `{}` does not enable mTLS, so {} {verb} not take effect: without mTLS clients have no identity",
        here.mesh.name,
        some_of(&needing)
    );
    let d = Diagnostic::new(&codes::NO_MTLS, message).field(field);
    Some(here.world.at_object(d, object).help(
        "enable a backend in `mtls` of the Mesh, or add a MeshIdentity; until then everybody may call everybody",
    ))
}

/// Who may call, how connections are secured, and rules for some clients.
fn needs_mtls(here: &Here<'_>, policy: &Policy) -> bool {
    let by_identity = |rule: View<'_>| {
        let matches = rule.get("matches").into_iter().flat_map(View::items);
        matches.into_iter().any(|m| m.get("spiffeID").is_some())
    };
    let documents = here.world.documents;
    policy.kind.policy.is_some_and(|p| p.needs_mtls)
        || policy.rules.iter().any(|rule| by_identity(documents.view(rule.node)))
}
