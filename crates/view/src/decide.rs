// SPDX-License-Identifier: Apache-2.0
//! In: two neighbours on a ladder. Out: the key that puts one below the other, and a sentence with the values compared.
//! Not here: comparing. `Rank::against` is the only comparator.

use overrule_engine::{KindResult, Level, Step, StepId};
use overrule_model::Created;

use crate::{Part, Scene};

/// Why a step stands below its neighbour.
pub(crate) struct Decided {
    /// Name of the deciding key; absent if all keys are equal.
    pub(crate) key: Option<&'static str>,
    /// The sentence.
    pub(crate) because: String,
}

impl Decided {
    /// A step of another group: what counts is where the group stands.
    pub(crate) fn by_group(above: usize, before: &str, after: &str) -> Self {
        let because = match before == after {
            true => format!("stands below {above}: it comes after it on the way up"),
            false => format!(
                "stands below {above} by level: {before} is nearer to the rule than {after}"
            ),
        };
        Self { key: Some("level"), because }
    }
}

/// A step with its position on the ladder.
pub(crate) type Placed = (usize, StepId);

/// Why `below` stands below `above`.
pub(crate) fn decided(
    scene: &Scene<'_>,
    part: &Part<'_>,
    kind: Option<&KindResult>,
    above: Placed,
    below: Placed,
) -> Option<Decided> {
    let resolution = part.resolution;
    let ranks = (resolution.rank(above.1)?, resolution.rank(below.1)?);
    let steps = (resolution.ladders.get_step(above.1)?, resolution.ladders.get_step(below.1)?);
    let index = ranks.0.against(ranks.1).key;
    let key = index.and_then(|i| kind?.keys.get(i).copied());
    let n = above.0;
    if steps.0.policy == steps.1.policy && key.is_none() {
        return Some(Decided { key, because: format!("is another block of the policy at {n}") });
    }
    let level = |step: &Step| part.topology.level_name(Level(step.level));
    let because = match key {
        Some("level") => {
            format!("stands below {n} by level: {} is above {}", level(steps.0), level(steps.1))
        }
        Some("section") => format!(
            "stands below {n} by section: a policy on a {} goes before one on the whole {}",
            level(steps.0),
            level(steps.1)
        ),
        Some("created") => {
            let (a, b) = (created(scene, part, steps.0), created(scene, part, steps.1));
            format!("stands below {n} by creation time: {n} {}, this one {}", age(a), age(b))
        }
        Some("name") => {
            let names = (part.step_name(scene, above.1), part.step_name(scene, below.1));
            let same = same_age(created(scene, part, steps.0));
            format!("stands below {n} by name: {} comes before {}{same}", names.0, names.1)
        }
        Some("block") => format!(
            "stands below {n} by block: {} of a policy come after its {}",
            steps.0.block, steps.1.block
        ),
        Some("attachment") => format!(
            "stands below {n} by attachment: {} goes before {}",
            (part.strategy_name)(steps.0.mode),
            (part.strategy_name)(steps.1.mode)
        ),
        Some("filter") => {
            format!("stands below {n} by filter: the filter of the rule that names {n} comes first")
        }
        Some("weight") => {
            let weight =
                |rank: &overrule_engine::Rank| rank.key(index.unwrap_or(0)).map_or(0, |w| -w);
            format!(
                "stands below {n} by weight: {n} has {}, this one {}",
                weight(ranks.0),
                weight(ranks.1)
            )
        }
        Some(key @ "display name") => format!(
            "stands below {n} by {key}: {} comes before {}, and the first name wins",
            part.step_name(scene, below.1),
            part.step_name(scene, above.1)
        ),
        Some(key @ "place of entry") => {
            format!("stands below {n} by {key}: it is written after it")
        }
        Some(key) => {
            let value = |rank: &overrule_engine::Rank| {
                index.and_then(|i| rank.key(i)).and_then(|v| (part.key_value)(key, v))
            };
            match (value(ranks.0), value(ranks.1)) {
                (Some(a), Some(b)) => {
                    format!("stands below {n} by {key}: {n} has {a}, this one {b}")
                }
                _ => format!("stands below {n} by {key}"),
            }
        }
        None => format!("stands below {n}: their ranks are equal, so they keep the order written"),
    };
    Some(Decided { key, because })
}

fn created(scene: &Scene<'_>, part: &Part<'_>, step: &Step) -> Created {
    let policy = part.resolution.policy(step.policy);
    policy.and_then(|p| scene.snapshot.get(p.object)).map_or(Created::Absent, |o| o.created)
}

fn age(created: Created) -> String {
    match created {
        Created::At(_) => format!("was created {created}"),
        Created::Absent => "has no creation time and counts as newest".to_owned(),
        Created::Assumed(n) => format!("is object {} in file order, as assumed", n + 1),
    }
}

/// What made the name decide.
fn same_age(created: Created) -> String {
    match created {
        Created::At(_) => format!("; both were created {created}"),
        Created::Absent => "; both have no creation time".to_owned(),
        Created::Assumed(_) => String::new(),
    }
}
