// SPDX-License-Identifier: Apache-2.0
//! In: two neighbours on a ladder. Out: the key that puts one below the other, and a sentence with the values compared.
//! Not here: comparing. `Rank::against` is the only comparator.

use overrule_engine::{KeyValues, KindResult, Level, Rank, Step, StepId};
use overrule_model::Created;

use crate::{Scene, ScenePart};

/// Why a step after its neighbour.
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
            true => format!("after {above}: it is attached further up"),
            false => format!("after {above} by level: {before} is more specific than {after}"),
        };
        Self { key: Some("level"), because }
    }
}

/// A step with its position on the ladder.
pub(crate) type Placed = (usize, StepId);

/// Why `below` after `above`.
pub(crate) fn decided(
    scene: &Scene<'_>,
    part: &ScenePart<'_>,
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
        return Some(Decided { key: None, because: format!("another block of the policy at {n}") });
    }
    let level = |step: &Step| part.topology.level_name(Level(step.level));
    let value = |rank: &Rank| index.and_then(|i| rank.key(i)).unwrap_or(0);
    let values = (value(ranks.0), value(ranks.1));
    let by = key.map_or("", |key| key.name);
    let because = match key.map(|key| key.values) {
        Some(KeyValues::Levels) => {
            format!(
                "after {n} by level: {} is less specific than {}",
                level(steps.0),
                level(steps.1)
            )
        }
        Some(KeyValues::Sections) => format!(
            "after {n} by section: a policy on a {} comes before one on the whole {}",
            level(steps.0),
            level(steps.1)
        ),
        Some(KeyValues::Ages) => {
            let (a, b) = (created(scene, part, steps.0), created(scene, part, steps.1));
            format!("after {n} by creation time: {n} {}, this one {}", age(a), age(b))
        }
        Some(KeyValues::Names) => {
            let names = (part.step_name(scene, above.1), part.step_name(scene, below.1));
            let same = same_age(created(scene, part, steps.0));
            format!("after {n} by name: {} comes before {}{same}", names.0, names.1)
        }
        Some(KeyValues::NamesLastWins) => format!(
            "after {n} by {by}: {} comes before {}, and the first name wins",
            part.step_name(scene, below.1),
            part.step_name(scene, above.1)
        ),
        Some(KeyValues::Blocks) => format!(
            "after {n} by block: {} of a policy come after its {}",
            steps.0.block, steps.1.block
        ),
        Some(KeyValues::Strategies) => format!(
            "after {n} by {by}: {} comes before {}",
            part.words.strategy_name(steps.0.mode),
            part.words.strategy_name(steps.1.mode)
        ),
        Some(KeyValues::Weights) => {
            format!("after {n} by {by}: {n} has {}, this one {}", -values.0, -values.1)
        }
        Some(KeyValues::Written(later)) => format!("after {n} by {by}: {later}"),
        Some(KeyValues::Targets(words)) => {
            let word = |value: i64| {
                let place = usize::try_from(value).ok();
                place.and_then(|place| words.get(place)).copied().unwrap_or("?")
            };
            format!(
                "after {n} by {by}: a policy on {} comes before one on {}",
                word(values.0),
                word(values.1)
            )
        }
        Some(KeyValues::Words(words)) => {
            let word = |value: i64| words.get(usize::try_from(value).ok()?);
            match (word(values.0), word(values.1)) {
                (Some(a), Some(b)) => {
                    format!("after {n} by {by}: {n} has {a}, this one {b}")
                }
                _ => format!("after {n} by {by}"),
            }
        }
        Some(KeyValues::Unspoken) => format!("after {n} by {by}"),
        None => {
            format!("after {n}: nothing decides between them, so they keep the order of the input")
        }
    };
    let key = key.map(|key| key.name);
    Some(Decided { key, because })
}

fn created(scene: &Scene<'_>, part: &ScenePart<'_>, step: &Step) -> Created {
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
