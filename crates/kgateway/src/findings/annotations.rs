// SPDX-License-Identifier: Apache-2.0
//! In: annotations of routes, Gateways and ListenerSets. Out: those that say nothing, or say it in vain. The controller
//! only writes a log line.

use overrule_gateway::topology::{RouteKind, RuleIx};
use overrule_model::{ObjectId, nearest};
use overrule_source::{Diagnostic, View};

use crate::policy::{PRIORITY, RETIRED_PRIORITY, annotations};
use crate::resolve::Found;
use crate::{InheritedPriority, codes};

pub(super) fn report(found: &Found<'_>, out: &mut Vec<Diagnostic>) {
    let topology = found.world.topology;
    for route in topology.routes.iter().filter(|r| r.kind == RouteKind::Http) {
        let mut rules = route.rules.clone().map(RuleIx);
        let hands_over = rules.any(|r| !topology.delegations_of(r).is_empty());
        object(found, route.object, (!hands_over).then_some(Vain::Leaf), out);
    }
    let above = found.world.profile.reads_annotation_above_routes();
    let in_vain = (!above).then_some(Vain::Above);
    for gateway in &topology.gateways {
        object(found, gateway.object, in_vain, out);
    }
    for set in &topology.sets {
        object(found, set.object, in_vain, out);
    }
}

/// Why an annotation does nothing where it stands.
#[derive(Clone, Copy)]
enum Vain {
    /// Nothing is below the route.
    Leaf,
    /// The controller reads it on routes only.
    Above,
}

fn object(found: &Found<'_>, object: ObjectId, vain: Option<Vain>, out: &mut Vec<Diagnostic>) {
    let world = found.world;
    let Some(all) = annotations(world.documents, world.snapshot, object) else { return };
    let read = |key| all.get(key).filter(|v| !v.is_null());
    if let Some(value) = read(RETIRED_PRIORITY) {
        let message =
            format!("`{RETIRED_PRIORITY}` is an old name of the annotation and is ignored");
        out.push(at(&codes::RETIRED_PRIORITY, message, value, RETIRED_PRIORITY).help(format!(
            "write `{PRIORITY}` with one of: {}",
            InheritedPriority::NAMES.join(", ")
        )));
    }
    let Some(value) = read(PRIORITY) else { return };
    let text = value.scalar_text().unwrap_or("");
    if value.as_str().and_then(InheritedPriority::from_name).is_none() {
        let message = format!(
            "`{text}` is not a policy priority, so the default applies: {}",
            InheritedPriority::default().name()
        );
        let near = nearest(text.trim(), InheritedPriority::NAMES.iter().copied(), 1);
        let help = match near.first() {
            Some(near) => format!("write exactly `{near}`"),
            None => format!("write one of: {}", InheritedPriority::NAMES.join(", ")),
        };
        out.push(at(&codes::BAD_PRIORITY, message, value, PRIORITY).help(help));
        return;
    }
    let (message, help) = match vain {
        None => return,
        Some(Vain::Leaf) => (
            "this route does not delegate, so no route inherits its policies and the annotation has no effect",
            "remove it, or set it on a route that delegates",
        ),
        Some(Vain::Above) => (
            "the controller reads this annotation on routes that delegate only; here it has no effect",
            "put settings that must apply into policies of a route that delegates, or of the routes themselves",
        ),
    };
    out.push(at(&codes::INERT_PRIORITY, message.to_owned(), value, PRIORITY).help(help));
}

fn at(code: overrule_source::Code, message: String, value: View<'_>, key: &str) -> Diagnostic {
    Diagnostic::new(code, message).at(value.span()).field(format!("metadata.annotations.{key}"))
}
