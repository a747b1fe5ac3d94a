// SPDX-License-Identifier: Apache-2.0
//! In: the steps of a ladder. Out: what each policy wrote there, as data. Not here: what of it is in force.

use overrule_engine::Step;

use crate::v1::Value;
use crate::{Scene, v1, value};

/// Members that say where a policy acts.
const TARGETS: &[&str] = &["targetRef", "targetRefs", "targetSelector", "targetSelectors"];
/// Members of a whole spec that are blocks of their own.
const BLOCKS: &[&str] = &["defaults", "overrides"];

/// Whether a member of a block is content, and no reference or block of its own.
pub(crate) fn is_content(block: &str, key: &str) -> bool {
    !TARGETS.contains(&key) && (block != "bare" || !BLOCKS.contains(&key))
}

/// The block of a step as it is written, without references to targets.
pub(crate) fn written(scene: &Scene<'_>, step: &Step) -> Value {
    let mut value = value::of_node(scene.documents, step.value);
    if let Value::Map(members) = &mut value {
        members.retain(|(key, _)| is_content(step.block, key));
    }
    value
}

/// Takes out of whole specs what is told as a block of its own.
pub(crate) fn settle(list: &mut [v1::WrittenPolicy]) {
    for written in list {
        let blocks: Vec<v1::Block> = written.blocks.iter().map(|b| b.block.clone()).collect();
        for block in written.blocks.iter_mut().filter(|b| b.block == "bare") {
            if let Value::Map(members) = &mut block.spec {
                members.retain(|(key, _)| !blocks.iter().any(|b| b == key));
            }
        }
    }
}

/// Adds a step to what the policies of a ladder wrote: policies stand where their first step does.
pub(crate) fn add(
    list: &mut Vec<v1::WrittenPolicy>,
    scene: &Scene<'_>,
    rung: &v1::Rung,
    step: &Step,
) {
    let block = v1::WrittenBlock { block: step.block_name(), spec: written(scene, step) };
    match list.iter_mut().find(|w| w.policy == rung.policy && w.attached_to == rung.attached_to) {
        Some(known) => known.blocks.push(block),
        None => list.push(v1::WrittenPolicy {
            policy: rung.policy.clone(),
            attached_to: rung.attached_to.clone(),
            blocks: vec![block],
        }),
    }
}
