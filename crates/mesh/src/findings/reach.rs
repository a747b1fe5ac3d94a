// SPDX-License-Identifier: Apache-2.0
//! In: how many proxies each policy selects. Out: targets that lead nowhere, policies that select nobody, and sections
//! that nobody has. Not here: why a policy selects nobody (`explain`).

use std::collections::{BTreeMap, BTreeSet};

use overrule_source::Diagnostic;

use super::proxies::{Proxies, without_section};
use super::{Here, explain};
use crate::codes;
use crate::dataplane::Dataplane;
use crate::policy::Policy;
use crate::quote::quoted;

/// How many proxies are asked for their sections.
const ASKED: usize = 100;

pub(super) fn report(here: &Here<'_>, out: &mut Vec<Diagnostic>) {
    if here.mesh.dataplanes.is_empty() {
        out.extend(no_dataplanes(here));
        return;
    }
    let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    if !here.found.unresolved.is_empty() {
        for policy in here.live() {
            names.entry(policy.kind.name).or_default().push(policy.meta.display_name());
        }
    }
    for (place, why) in &here.found.unresolved {
        if let Some(policy) = here.policy(*place) {
            let names = names.get(policy.target.kind.as_str()).map_or(&[][..], Vec::as_slice);
            out.push(unresolved(here, policy, why, names));
        }
    }
    let proxies = Proxies::new(here);
    for policy in here.live() {
        let selected = here.found.selected.get(policy.place as usize).copied();
        if selected == Some(0) && !here.found.unresolved.contains_key(&policy.place) {
            let section = section(here, &proxies, policy);
            out.push(section.unwrap_or_else(|| explain::nobody(here, &proxies, policy)));
        }
    }
}

fn no_dataplanes(here: &Here<'_>) -> Option<Diagnostic> {
    let first = here.live().next()?;
    let message = format!(
        "cannot tell which proxies the policies of mesh `{}` select: no Dataplanes in the input",
        here.mesh.name
    );
    let d = Diagnostic::new(&codes::NO_DATAPLANES, message);
    let d = match here.mesh.object {
        Some(mesh) => here.world.at_object(d, mesh),
        None => here.at_policy(d, first.place),
    };
    Some(d.help(format!(
        "add those of the control plane: kumactl get dataplanes --mesh {} -o yaml",
        here.mesh.name
    )))
}

/// A target that cannot be resolved, in the control plane's words. `names` are of the policies of the kind it names.
fn unresolved(here: &Here<'_>, policy: &Policy, why: &str, names: &[&str]) -> Diagnostic {
    let message = format!(
        "unable to resolve TargetRef on policy: mesh:{} name:{} error:{}",
        here.mesh.name,
        policy.meta.name,
        quoted(why)
    );
    let target = &policy.target;
    let near = here.world.budget.nearest(target.name(), names.len(), names.iter().copied());
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "add the {} `{}` to the input, or correct the name; until then the policy has no effect",
            target.kind,
            target.name()
        ),
    };
    let d = Diagnostic::new(&codes::UNRESOLVED, message).field("spec.targetRef.name").help(help);
    match here.span_of_target(policy, "name") {
        Some(span) => d.at(span),
        None => d,
    }
}

/// A section that no proxy has, of those the policy would select without it.
fn section(here: &Here<'_>, proxies: &Proxies<'_>, policy: &Policy) -> Option<Diagnostic> {
    let wanted = policy.target.section_name();
    if wanted.is_empty() {
        return None;
    }
    let selected = proxies.first(&without_section(policy), ASKED);
    let first = selected.first()?;
    let who = match selected.len() {
        1 => format!("`{}`", first.meta.display_name()),
        _ => format!("`{}` and others like it", first.meta.display_name()),
    };
    let message =
        format!("no inbound of {who} is called `{wanted}`, so this policy selects nothing");
    let d = Diagnostic::new(&codes::NO_INBOUND, message).field("spec.targetRef.sectionName");
    let d = d.help(section_help(here, wanted, &selected));
    Some(match here.span_of_target(policy, "sectionName") {
        Some(span) => d.at(span),
        None => d,
    })
}

fn section_help(here: &Here<'_>, wanted: &str, selected: &[&Dataplane]) -> String {
    let inbounds = || selected.iter().flat_map(|proxy| &proxy.inbounds);
    let by_number = inbounds().find(|i| i.listener.port.to_string() == wanted);
    if let Some(inbound) = by_number {
        return format!(
            "the inbound with port {wanted} is called `{}`; use the name",
            inbound.section
        );
    }
    let sections: BTreeSet<&str> = inbounds().map(|i| &*i.section).collect();
    let all: Vec<&str> = sections.iter().copied().take(8).collect();
    match here.world.budget.nearest(wanted, sections.len(), sections.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? known: {}", all.join(", ")),
        None if all.is_empty() => "these proxies have no inbounds; remove `sectionName`".to_owned(),
        None => format!("known: {}", all.join(", ")),
    }
}
