// SPDX-License-Identifier: Apache-2.0
//! In: restated cases about finding a conf by identifier. Out: what differs.

use std::collections::BTreeMap;

use overrule_mesh::chain::{chain, first_hit, lookup};
use overrule_mesh::kri::Kri;
use serde_json::Value;

use super::read::{Outcome, kri, members, need, text, texts, verify};

/// Runs a case; none if the area is not one of these.
pub(super) fn run(area: &str, case: &Value) -> Option<Outcome> {
    Some(match area {
        "resolve/compute" => compute(case),
        "resolve/context" => context(case),
        _ => return None,
    })
}

fn rules(case: &Value) -> Result<BTreeMap<Kri, &Value>, String> {
    members(case, "rules")?.iter().map(|(key, conf)| Ok((kri(key)?, conf))).collect()
}

fn found(case: &Value, conf: Option<&&Value>) -> Outcome {
    verify(case, "expected", conf.copied().unwrap_or(&Value::Null))
}

/// The identities of a destination. A Mesh that stands for another counts only if it exists.
fn compute(case: &Value) -> Outcome {
    let meshes = texts(case, "meshes")?;
    need(case, "lookup")?;
    let wanted = kri(text(case, "lookup")?)?;
    let mut chain = lookup(&wanted);
    chain.retain(|k| {
        *k == wanted || k.kind != overrule_mesh::kinds::MESH || meshes.contains(&k.name.as_str())
    });
    let rules = rules(case)?;
    found(case, first_hit(&chain, |kri| rules.get(kri)))
}

fn context(case: &Value) -> Outcome {
    need(case, "mesh")?;
    let added: Result<Vec<Kri>, String> = texts(case, "withIds")?.into_iter().map(kri).collect();
    let rules = rules(case)?;
    let chain = chain(text(case, "mesh")?, &added?);
    found(case, first_hit(&chain, |kri| rules.get(kri)))
}
