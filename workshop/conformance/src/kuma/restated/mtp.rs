// SPDX-License-Identifier: Apache-2.0
//! In: restated cases about permissions: what is wrong with one, and who may reach what. Out: what differs. Not here:
//! decisions (`mtp_decide`), filters (`mtp_filters`).

use std::collections::BTreeMap;

use overrule_mesh::permission::violations;
use overrule_mesh::policy::Policy;
use overrule_mesh::reachable::{OTHER_MESH, Reachable, SERVICE};
use serde_json::{Value, json};

use super::read::{Outcome, World, flag, kri, list, members, need, pairs, text, verify};
use overrule_cases::value::short;

/// Runs a case; none if the area is not one of these.
pub(super) fn run(area: &str, case: &Value) -> Option<Outcome> {
    Some(match area {
        "mtp/validator" => validator(case),
        "mtp/reachable_services" => services(case),
        "mtp/reachable_backends" => backends(case),
        _ => return None,
    })
}

fn validator(case: &Value) -> Outcome {
    let found = violations(need(case, "spec")?);
    let shown = found.iter().map(|v| json!({"field": v.field, "message": v.message}));
    verify(case, "violations", &shown.collect())
}

fn policies(world: &World) -> Vec<Policy> {
    world.list(0).iter().filter_map(|r| Policy::read(&world.documents, r)).collect()
}

/// Asks every question of a case. `answer` knows the destination by what stands under `to`.
fn queries(
    case: &Value,
    answer: impl Fn(&Value, &BTreeMap<String, String>) -> Result<bool, String>,
) -> Outcome {
    let queries = list(case, "queries")?;
    if queries.is_empty() {
        return Err("the case asks nothing".to_owned());
    }
    for query in queries {
        need(query, "from")?;
        let found = answer(query, &pairs(query, "from")?)?;
        if found != flag(query, "canReach")? {
            return Err(format!("{}: it is {found}", short(query)));
        }
    }
    Ok(())
}

fn services(case: &Value) -> Outcome {
    let world = World::read(&[list(case, "policies")?])?;
    let policies = policies(&world);
    let services = need(case, "services")?;
    let mut known = BTreeMap::new();
    for name in members(case, "services")?.keys() {
        let tags = pairs(services, name)?;
        known.insert(name.as_str(), Reachable::service(&world.documents, &policies, name, &tags));
    }
    queries(case, |query, client| {
        let to = need(query, "to")?;
        if to.get(OTHER_MESH).is_some() {
            return Ok(true);
        }
        Ok(known.get(text(to, SERVICE)?).is_some_and(|service| service.by(client)))
    })
}

fn backends(case: &Value) -> Outcome {
    let world = World::read(&[list(case, "policies")?, list(case, "meshServices")?])?;
    let policies = policies(&world);
    let mut known = BTreeMap::new();
    for service in world.list(1) {
        let reachable = Reachable::backend(&world.documents, &policies, service);
        known.insert(service.meta.kri(), reachable);
    }
    queries(case, |query, client| {
        let to = kri(text(query, "to")?)?.without_section();
        Ok(known.get(&to).is_some_and(|service| service.by(client)))
    })
}
