// SPDX-License-Identifier: Apache-2.0
//! In: an effective policy, and the same family under other profiles. Out: where those say something else.
//! Not here: finding the same path there (`others.rs`), text (`compare_text.rs`).

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{KindId, LadderId, PathId};

use crate::effective::{self, Origins, Result};
use crate::field::{is_within, push_segment};
use crate::rules::rule_of;
use crate::v1::Value;
use crate::{Other, Scene, ScenePart, v1};

/// What other profiles say at a path, where they differ from `here`.
pub(crate) fn others(
    scene: &Scene<'_>,
    part: &ScenePart<'_>,
    kind: KindId,
    path: PathId,
    here: &Result,
) -> Vec<v1::OtherProfile> {
    let ladder = part.resolution.ladder(kind, path);
    let mut found = Vec::new();
    for one in scene.others_of(part) {
        let there = one.like(part, kind, path);
        // Most paths share their ladders, and most ladders say the same under every profile.
        let pair = there.map(|(_, _, other)| (ladder, other));
        if pair.is_some_and(|pair| one.is_known_same(pair)) {
            continue;
        }
        match (other(scene, one, there, here), pair) {
            (None, Some(pair)) => one.note_same(pair),
            (differs, _) => found.extend(differs),
        }
    }
    found
}

/// What one other profile says, if it differs.
pub(crate) fn other(
    scene: &Scene<'_>,
    other: &Other<'_>,
    there: Option<(KindId, PathId, LadderId)>,
    here: &Result,
) -> Option<v1::OtherProfile> {
    let part = &other.part;
    let Some((_, path, ladder)) = there else {
        return Some(v1::OtherProfile {
            profile: part.profile,
            shipped: part.shipped,
            path_exists: false,
            spec: None,
            differs: vec![String::new()],
            origins: Origins::new(),
        });
    };
    let mut found = effective::result(scene, part, part.resolution.effective(ladder));
    found.broken |= part.resolution.failures(path).next().is_some();
    let differs: BTreeSet<String> = differences(here, &found)
        .iter()
        .map(|pointer| rule_of(part.words.rule_patterns(), pointer))
        .collect();
    if differs.is_empty() {
        return None;
    }
    let Result { spec, mut origins, .. } = found;
    origins.retain(|pointer, _| covered(&differs, pointer));
    Some(v1::OtherProfile {
        profile: part.profile,
        shipped: part.shipped,
        path_exists: true,
        spec,
        differs: differs.into_iter().collect(),
        origins,
    })
}

/// Pointers at which value or origin differ.
pub(crate) fn differences(a: &Result, b: &Result) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if a.broken != b.broken {
        found.insert(String::new());
        return found;
    }
    values(a.spec.as_ref(), b.spec.as_ref(), &mut String::new(), &mut found);
    let policies = |o: &Origins, at: &str| -> BTreeSet<String> {
        o.get(at).into_iter().flatten().map(|o| o.policy.clone()).collect()
    };
    for pointer in a.origins.keys().chain(b.origins.keys()) {
        let moved = policies(&a.origins, pointer) != policies(&b.origins, pointer);
        if moved && !covered(&found, pointer) {
            found.insert(pointer.clone());
        }
    }
    found
}

/// Whether a pointer or one above it is in the set.
fn covered(found: &BTreeSet<String>, pointer: &str) -> bool {
    let mut at = pointer;
    loop {
        if found.contains(at) {
            return true;
        }
        match at.rsplit_once('/') {
            Some((above, _)) => at = above,
            None => return false,
        }
    }
}

/// Where two values differ; the order of members does not matter, and a missing value is a missing member.
fn values(a: Option<&Value>, b: Option<&Value>, at: &mut String, found: &mut BTreeSet<String>) {
    let length = at.len();
    match (a, b) {
        (None, None) => {}
        (None, Some(Value::Map(m))) | (Some(Value::Map(m)), None) if m.is_empty() => {}
        (Some(Value::Map(a)), Some(Value::Map(b))) => {
            let (a, b) = (members(a), members(b));
            let keys: BTreeSet<&str> = a.keys().chain(b.keys()).copied().collect();
            for key in keys {
                push_segment(at, key);
                values(a.get(key).copied(), b.get(key).copied(), at, found);
                at.truncate(length);
            }
        }
        (Some(Value::List(a)), Some(Value::List(b))) if a.len() == b.len() => {
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                push_segment(at, &i.to_string());
                values(Some(a), Some(b), at, found);
                at.truncate(length);
            }
        }
        (a, b) if a == b => {}
        _ => {
            found.insert(at.clone());
        }
    }
}

fn members(entries: &[(String, Value)]) -> BTreeMap<&str, &Value> {
    entries.iter().map(|(key, value)| (key.as_str(), value)).collect()
}

impl v1::OtherProfile {
    /// The origins below a pointer, each policy and place once.
    pub(crate) fn origins_at(&self, pointer: &str) -> Vec<&v1::Origin> {
        below(&self.origins, pointer)
    }
}

/// The origins below a pointer, each policy and block once: the first place of each.
pub(crate) fn below<'a>(origins: &'a Origins, pointer: &str) -> Vec<&'a v1::Origin> {
    let mut seen = BTreeSet::new();
    let within = origins.iter().filter(|(at, _)| is_within(at, pointer));
    let all = within.flat_map(|(_, list)| list);
    all.filter(|o| seen.insert((o.policy.as_str(), &*o.block))).collect()
}

/// What is in force at a path that only other profiles have. `there` must be of `found`; other profiles that have the
/// path too are told with it.
pub fn elsewhere(
    scene: &Scene<'_>,
    part: &ScenePart<'_>,
    found: &Other<'_>,
    kind: KindId,
    path: PathId,
) -> v1::EffectivePolicy {
    let mut policy = effective::with(scene, &found.part, kind, path, Result::default());
    let nothing = Result::default();
    let at = |o: &Other<'_>| match o.part.profile == found.part.profile {
        true => Some((kind, path, found.part.resolution.ladder(kind, path))),
        false => o.like(&found.part, kind, path),
    };
    policy.other_profiles =
        scene.others_of(part).filter_map(|o| other(scene, o, Some(at(o)?), &nothing)).collect();
    policy.profile = part.profile;
    policy.only_elsewhere = true;
    policy.policies.clear();
    policy.beside.clear();
    policy.error.clear();
    policy.shadowed.clear();
    policy.masked.clear();
    policy.removed.clear();
    policy.skipped.clear();
    policy
}

/// Kinds and paths with policies that some other profile has and `part` has not, each once, with whose they are: of the
/// paths that `among` chooses, in order.
pub fn only_elsewhere<'a>(
    scene: &Scene<'a>,
    part: &ScenePart<'a>,
    among: &dyn Fn(&ScenePart<'a>) -> Vec<PathId>,
) -> Vec<(&'a Other<'a>, KindId, PathId, LadderId)> {
    let here = Other::new(*part);
    let mut before: Vec<&Other<'_>> = Vec::new();
    let mut found = Vec::new();
    for other in scene.others_of(part) {
        let paths = among(&other.part);
        for (kind, _) in other.part.resolution.kinds() {
            for path in paths.iter().copied() {
                let ladder = other.part.resolution.ladder(kind, path);
                if ladder == LadderId::NONE {
                    continue;
                }
                let known = |o: &Other<'_>| o.like(&other.part, kind, path).is_some();
                if ladder != LadderId::EMPTY && !known(&here) && !before.iter().any(|o| known(o)) {
                    found.push((other, kind, path, ladder));
                }
            }
        }
        before.push(other);
    }
    found
}
