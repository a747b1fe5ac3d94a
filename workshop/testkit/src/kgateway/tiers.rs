// SPDX-License-Identifier: Apache-2.0
//! In: what the routes of a path come to. Out: the same with what listeners, sets and gateways add, in the form of the
//! cases. Not here: how policies of one level merge (`fold`).
//!
//! kgateway leaves tiers to Envoy: the most specific one that has a unit owns it, with exceptions for units that are
//! filters of their own for each provider, for header modifiers, which run on every tier, and for timeouts. In the
//! design a Gateway or ListenerSet can turn that round for what is below it. A Gateway then speaks with one voice: its
//! listener is laid over all of it first, and what these two come to meets the routes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::fold::{self, Merged};
use super::policy::{self, PROVIDER_KEYED, Policy};
use super::unit::{self, Held, How};
use super::{OracleSettings, PRIORITY, Path, Profile, annotation, find};

/// A unit while tiers are laid over each other.
#[derive(Debug, Clone)]
struct Stack {
    /// Preferred first; header modifiers in the order they run. One entry, unless the unit is one of the exceptions.
    parts: Vec<Held>,
    /// Whether a tier switched all less specific providers off.
    closed: bool,
}

impl Stack {
    fn of(held: Held) -> Self {
        Self { closed: held.disable, parts: vec![held] }
    }
}

/// Unit -> what tiers come to.
type Stacks = BTreeMap<String, Stack>;

/// Unit -> value and sources of a path, and whether a policy on the gateway's side has an error.
pub(super) fn lay(
    objects: &[Value],
    settings: &OracleSettings,
    profile: Profile,
    path: &Path,
    chain: BTreeMap<String, Held>,
) -> (BTreeMap<String, (Value, BTreeSet<String>)>, bool) {
    let mut stacks = stacks(chain);
    let mut error = false;
    let gateway = find(objects, "Gateway", &path.gateway);
    let set = path.set.as_ref().map(|set| find(objects, "ListenerSet", set));
    let place = Place { gateway, set, listener: &path.listener, secure: path.secure };
    for (tiers, how) in sides(objects, settings, profile, &place) {
        let mut side = Stacks::new();
        for tier in tiers {
            error |= tier.error;
            over(&mut side, self::stacks(tier.units), How::AUGMENT, profile);
        }
        over(&mut stacks, side, how, profile);
    }
    let answers = stacks.into_iter().map(|(unit, stack)| {
        let answer = written(&unit, &stack.parts);
        (unit, answer)
    });
    (answers.collect(), error)
}

fn stacks(units: BTreeMap<String, Held>) -> Stacks {
    units.into_iter().map(|(unit, held)| (unit, Stack::of(held))).collect()
}

/// Lays what is less specific over what is there, unit by unit.
fn over(there: &mut Stacks, new: Stacks, how: How, profile: Profile) {
    for (unit, stack) in new {
        match there.get_mut(&unit) {
            Some(there) => add(&unit, there, stack, how, profile),
            None => {
                there.insert(unit, stack);
            }
        }
    }
}

/// A listener, and whose it is.
pub(super) struct Place<'w> {
    pub gateway: &'w Value,
    pub set: Option<&'w Value>,
    pub listener: &'w str,
    pub secure: bool,
}

/// What is above routes, most specific first, and how each side meets what is below it. Most sides are one tier; a
/// Gateway of the design is two if the listener is its own.
pub(super) fn sides(
    objects: &[Value],
    settings: &OracleSettings,
    profile: Profile,
    place: &Place,
) -> Vec<(Vec<Merged>, How)> {
    let on = |target, section| policy::on(objects, settings, profile, target, section);
    let merged = |policies: Vec<Policy>| fold::level(&policies, settings, profile);
    let listener = match place.set {
        Some(set) => [on(set, Some(place.listener)), on(set, None)].concat(),
        None => on(place.gateway, Some(place.listener)),
    };
    let whole = on(place.gateway, None);
    if profile == Profile::Design {
        let how = |object| How::of(annotation(object, PRIORITY));
        let (listener, whole, gateway) = (merged(listener), merged(whole), how(place.gateway));
        return match place.set {
            Some(set) => vec![(vec![listener], how(set)), (vec![whole], gateway)],
            None => vec![(vec![listener, whole], gateway)],
        };
    }
    match place.secure {
        true => vec![(vec![merged([listener, whole].concat())], How::AUGMENT)],
        false => {
            vec![(vec![merged(listener)], How::AUGMENT), (vec![merged(whole)], How::AUGMENT)]
        }
    }
}

/// Lays a tier, or what several come to, over what is more specific.
fn add(unit: &str, stack: &mut Stack, mut tier: Stack, how: How, profile: Profile) {
    match unit {
        _ if PROVIDER_KEYED.contains(&unit) && how.prefer_new => put_first(stack, tier),
        _ if PROVIDER_KEYED.contains(&unit) => put_last(stack, &tier),
        // They run from the most specific to the least; the design has the preferred one run last.
        "headerModifiers" if profile == Profile::Design && !how.prefer_new => {
            stack.parts.splice(0..0, tier.parts);
        }
        "headerModifiers" => stack.parts.extend(tier.parts),
        "timeouts" if how.prefer_new => {
            stack.parts.splice(0..0, tier.parts);
        }
        "timeouts" => stack.parts.extend(tier.parts),
        _ => {
            let (there, new) = (stack.parts.remove(0), tier.parts.remove(0));
            let combines = ["transformation", "acl"].contains(&unit);
            let how = How { deep: how.deep && combines, ..how };
            stack.parts.push(unit::fold(unit, there, new, how, profile));
        }
    }
}

/// Providers of a less specific tier join, until a tier says that there shall be no more.
fn put_last(stack: &mut Stack, tier: &Stack) {
    if stack.closed {
        return;
    }
    stack.closed = tier.closed;
    join(&mut stack.parts, &tier.parts);
}

/// A tier that prefers itself: its providers first, then the others, and only its own word on switching off counts.
fn put_first(stack: &mut Stack, tier: Stack) {
    let below = std::mem::replace(&mut stack.parts, tier.parts);
    stack.closed = tier.closed;
    if !stack.parts.iter().any(|part| part.disable) {
        join(&mut stack.parts, &below);
    }
}

/// Adds providers that are not there yet.
fn join(parts: &mut Vec<Held>, more: &[Held]) {
    for part in more.iter().filter(|part| !part.disable) {
        let known: Vec<_> = parts.iter().flat_map(|part| part.providers.clone()).collect();
        let new = unit::without(part, &known);
        if !new.providers.is_empty() {
            parts.push(new);
        }
    }
}

/// Value and sources as the cases write them.
fn written(unit: &str, parts: &[Held]) -> (Value, BTreeSet<String>) {
    let sources = parts.iter().flat_map(|part| part.sources.clone()).collect();
    match (unit, parts) {
        ("extAuth" | "extProc", _) => {
            let providers = parts.iter().flat_map(|part| part.providers.clone()).collect();
            let disable = parts.iter().any(|part| part.disable);
            let all = Held { value: Value::Null, sources: BTreeSet::new(), providers, disable };
            (unit::providers(&all), sources)
        }
        ("timeouts", [_, _, ..]) => timeouts(parts),
        (_, [one]) => (one.value.clone(), sources),
        _ => {
            let values: Vec<&Value> = parts.iter().map(|part| &part.value).collect();
            (json!({"levels": values}), sources)
        }
    }
}

/// Each timeout is of the first that has it.
fn timeouts(parts: &[Held]) -> (Value, BTreeSet<String>) {
    let (mut value, mut sources) = (Map::new(), BTreeSet::new());
    for part in parts {
        for (name, timeout) in part.value.as_object().into_iter().flatten() {
            if !value.contains_key(name) {
                value.insert(name.clone(), timeout.clone());
                sources.extend(part.sources.clone());
            }
        }
    }
    if value.is_empty() {
        sources = parts[0].sources.clone();
    }
    (Value::Object(value), sources)
}
