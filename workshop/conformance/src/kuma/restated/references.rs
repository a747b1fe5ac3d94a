// SPDX-License-Identifier: Apache-2.0
//! In: restated cases about one reference: what is wrong with it, and which resources it means. Out: what differs.

use overrule_mesh::kinds::{KindName, ResourceKind};
use overrule_mesh::targetref::validate::{TargetRefOptions, validate};
use overrule_mesh::targets::{Destination, resolve};
use serde_json::{Value, json};

use super::read::{Outcome, World, flag, list, members, need, target, texts, verify};

/// Runs a case; none if the area is not one of these.
pub(super) fn run(area: &str, case: &Value) -> Option<Outcome> {
    Some(match area {
        "targetref-validation/targetref" => violations(case),
        "resolve/targetref" => meant(case),
        _ => return None,
    })
}

const OPTIONS: [&str; 3] = ["supportedKinds", "isInboundPolicy", "gatewayListenerTagsAllowed"];

fn violations(case: &Value) -> Outcome {
    let written = members(case, "options")?;
    if let Some(unknown) = written.keys().find(|key| !OPTIONS.contains(&key.as_str())) {
        return Err(format!("the option `{unknown}` is not known"));
    }
    let options = need(case, "options")?;
    let is_set = |key| if written.contains_key(key) { flag(options, key) } else { Ok(false) };
    need(case, "targetRef")?;
    let kinds: Vec<ResourceKind> = texts(options, "supportedKinds")?
        .into_iter()
        .filter_map(|kind| KindName::of_reference(kind).known().copied())
        .collect();
    let found = validate(
        &target(case, "targetRef")?,
        &TargetRefOptions {
            supported_kinds: &kinds,
            is_inbound_policy: is_set("isInboundPolicy")?,
            gateway_listener_tags_allowed: is_set("gatewayListenerTagsAllowed")?,
            ..TargetRefOptions::default()
        },
    );
    let shown = found.iter().map(|v| json!({"field": v.field, "message": v.message}));
    verify(case, "violations", &shown.collect())
}

fn meant(case: &Value) -> Outcome {
    let policy = need(case, "policy")?;
    let world = World::read(&[std::slice::from_ref(policy), list(case, "resources")?])?;
    let policy = world.list(0).first().ok_or("the policy cannot be read")?;
    let destinations: Vec<Destination> =
        world.list(1).iter().filter_map(|r| Destination::read(&world.documents, r)).collect();
    need(case, "targetRef")?;
    let found = resolve(&target(case, "targetRef")?, &policy.meta, &destinations);
    verify(case, "expected", &found.iter().map(|m| Value::from(m.kri().to_string())).collect())
}
