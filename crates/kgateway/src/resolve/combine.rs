// SPDX-License-Identifier: Apache-2.0
//! In: two values of one unit. Out: one, by the unit's own rule. Not here: which side is preferred.

use overrule_engine::{Combine, Fate, FieldKey, Merger, Place, Prefer, Traced};
use overrule_source::Documents;

use super::algebra::Kgateway;
use super::plans::combinator;
use super::values::{disabling, provider_as_written, provider_list, provider_map};
use crate::reasons;

/// The key of a list that holds one value per tier.
pub(crate) const LEVELS: &str = "levels";

impl Combine for Kgateway<'_> {
    fn combine(
        &self,
        number: u16,
        merger: &mut Merger<'_>,
        held: Traced,
        incoming: Traced,
    ) -> Option<Traced> {
        match number {
            combinator::KEEP_HELD => self.keep_held(merger, held, incoming),
            combinator::ACL => self.acl(merger, held, incoming),
            combinator::DIRECTION => self.direction(merger, held, incoming),
            combinator::PROVIDERS => Some(self.providers(merger, held, incoming)),
            combinator::TIER_PROVIDERS => Some(tier_providers(merger, held, incoming)),
            combinator::TIER_LEVELS => {
                let preferred_last = !self.profile().general_header_wins();
                Some(all_tiers(merger, held, incoming, preferred_last))
            }
            combinator::TIER_KEYED => Some(self.tier_keyed(merger, held, incoming)),
            _ => merger.atomic(held, incoming),
        }
    }
}

impl Kgateway<'_> {
    /// The controller's own reading of a deep value: what it cannot combine stays with the child.
    fn keep_held(&self, merger: &mut Merger<'_>, held: Traced, incoming: Traced) -> Option<Traced> {
        let (prefer, reason) = (merger.prefer, merger.reason);
        (merger.prefer, merger.reason) = (Prefer::Held, &reasons::DEEP_KEEPS_CHILD);
        let kept = merger.atomic(held, incoming);
        (merger.prefer, merger.reason) = (prefer, reason);
        kept
    }

    /// Access lists are joined, the preferred rules first, unless they say opposite things of what no rule decides: then
    /// the preferred list stands alone.
    fn acl(&self, merger: &mut Merger<'_>, held: Traced, incoming: Traced) -> Option<Traced> {
        let documents = merger.documents;
        let single: [&[&str]; 3] = [
            &["defaultAction"],
            &["denyResponse", "statusCode"],
            &["denyResponse", "blockedByHeaderName"],
        ];
        let contradicts = |path: &&[&str]| {
            let at = |value: &Traced| value.at(documents, path.iter().copied());
            let texts = (at(&held), at(&incoming));
            let (Some(ours), Some(theirs)) = texts else { return false };
            let null = ours.is_null(documents) || theirs.is_null(documents);
            !null && text(documents, &ours) != text(documents, &theirs)
        };
        if single.iter().any(contradicts) {
            return merger.atomic(held, incoming);
        }
        merger.by_plan(&self.plans.acl, held, incoming)
    }

    /// One direction of a transformation: lists are joined, the preferred last, so that they have the last word.
    fn direction(&self, merger: &mut Merger<'_>, held: Traced, incoming: Traced) -> Option<Traced> {
        if !self.profile().forgets_metadata() {
            return merger.by_plan(&self.plans.direction, held, incoming);
        }
        let (held, incoming) = match merger.prefer {
            Prefer::Held => {
                let kept = forget(merger, &held, &incoming);
                (kept, incoming)
            }
            Prefer::Incoming => {
                let kept = forget(merger, &incoming, &held);
                (held, kept)
            }
        };
        merger.by_plan(&self.plans.direction, held, incoming)
    }

    /// Providers of both sides, the preferred first; one that is there already is not added again.
    fn providers(&self, merger: &mut Merger<'_>, held: Traced, incoming: Traced) -> Traced {
        let documents = merger.documents;
        let (ours, theirs) = (disabling(documents, &held), disabling(documents, &incoming));
        if !self.profile().disable_is_sticky() {
            let (preferred, other) = match merger.prefer {
                Prefer::Held => (&held, &incoming),
                Prefer::Incoming => (&incoming, &held),
            };
            let switched =
                disabling(documents, preferred).is_some() || disabling(documents, other).is_some();
            if switched {
                merger.lose(other, preferred, Fate::Shadowed);
                return preferred.clone();
            }
            return provider_map(union(merger, preferred, other, false), None);
        }
        if theirs.is_some() {
            // The controller names the side that comes as the only origin, but goes on listing every provider, so that
            // a third policy with one of them counts as overridden.
            merger.lose(&held, &incoming, Fate::Shadowed);
            return provider_map(all_of(documents, &held, &incoming, theirs.as_ref()), theirs);
        }
        let list = union(merger, &held, &incoming, merger.prefer == Prefer::Incoming);
        provider_map(list, ours)
    }

    /// Units of several tiers whose providers are filters of their own: all count, unless they name the same one.
    fn tier_keyed(&self, merger: &mut Merger<'_>, held: Traced, incoming: Traced) -> Traced {
        let documents = merger.documents;
        let name = |value: &Traced| provider_as_written(documents, value, |s| self.namespace(s));
        let (preferred, other) = match merger.prefer {
            Prefer::Held => (held, incoming),
            Prefer::Incoming => (incoming, held),
        };
        if disabling(documents, &preferred).is_some() {
            merger.lose(&other, &preferred, Fate::Shadowed);
            return preferred;
        }
        let mut all = tiers(documents, &preferred);
        for value in tiers(documents, &other) {
            let theirs = name(&value);
            let same = all.iter().find(|known| theirs.is_none() || name(known) == theirs).cloned();
            match same {
                Some(winner) => merger.lose(&value, &winner, Fate::Shadowed),
                None => all.push(value),
            }
        }
        match all.len() {
            1 => all.pop().unwrap_or(preferred),
            _ => levels(all),
        }
    }
}

/// Every provider of both sides, as what `incoming` lists; those it did not have are put down to its `disable`.
fn all_of(
    documents: &Documents,
    held: &Traced,
    incoming: &Traced,
    disable: Option<&Traced>,
) -> Vec<Traced> {
    let own = provider_list(documents, incoming);
    let step = disable.and_then(|d| d.steps().first().copied());
    let others = provider_list(documents, held).into_iter();
    let others = others.filter(|(name, _)| !own.iter().any(|(known, _)| known == name));
    let others = others
        .filter_map(|(json, _)| Some(Traced::Implied { step: step?, json, from: Place::NONE }));
    let others: Vec<Traced> = others.collect();
    own.into_iter().map(|(_, value)| value).chain(others).collect()
}

/// What the preferred side of a direction has beside lists and body is lost if both sides have the direction.
fn forget(merger: &mut Merger<'_>, preferred: &Traced, other: &Traced) -> Traced {
    let documents = merger.documents;
    let reason = std::mem::replace(&mut merger.reason, &reasons::FORGOTTEN);
    let mut kept = Vec::new();
    for (key, value) in preferred.entries(documents) {
        if matches!(key.text(documents), "add" | "remove" | "set" | "body") {
            kept.push((key, value));
        } else {
            merger.below(&key, |merger| merger.lose(&value, other, Fate::Shadowed));
        }
    }
    merger.reason = reason;
    Traced::map(kept)
}

/// The providers of both sides; those of `incoming` that are new go first or last.
fn union(
    merger: &mut Merger<'_>,
    held: &Traced,
    incoming: &Traced,
    new_first: bool,
) -> Vec<Traced> {
    let documents = merger.documents;
    let ours = provider_list(documents, held);
    let mut new = Vec::new();
    for (name, value) in provider_list(documents, incoming) {
        match ours.iter().find(|(known, _)| *known == name) {
            Some((_, winner)) => merger.lose(&value, winner, Fate::Shadowed),
            None => new.push(value),
        }
    }
    let ours = ours.into_iter().map(|(_, value)| value);
    if new_first { new.into_iter().chain(ours).collect() } else { ours.chain(new).collect() }
}

/// Providers of two tiers: the preferred first; the same provider counts as the preferred tier has it; what switches off
/// counts on the preferred side only.
fn tier_providers(merger: &mut Merger<'_>, held: Traced, incoming: Traced) -> Traced {
    let documents = merger.documents;
    let (preferred, other) = match merger.prefer {
        Prefer::Held => (held, incoming),
        Prefer::Incoming => (incoming, held),
    };
    let switched = [&preferred, &other].iter().any(|v| disabling(documents, v).is_some());
    if switched {
        merger.lose(&other, &preferred, Fate::Shadowed);
        return preferred;
    }
    provider_map(union(merger, &preferred, &other, false), None)
}

/// A value that every tier adds to: in order of evaluation.
fn all_tiers(
    merger: &mut Merger<'_>,
    held: Traced,
    incoming: Traced,
    preferred_last: bool,
) -> Traced {
    let (held, incoming) = (tiers(merger.documents, &held), tiers(merger.documents, &incoming));
    let incoming_last = (merger.prefer == Prefer::Incoming) == preferred_last;
    let (mut all, rest) = if incoming_last { (held, incoming) } else { (incoming, held) };
    all.extend(rest);
    levels(all)
}

fn levels(all: Vec<Traced>) -> Traced {
    Traced::map([(FieldKey::Text(LEVELS.into()), Traced::List(all.into()))])
}

/// The values of the tiers so far. Only what was made here counts as a list of tiers, not a field of that name.
fn tiers(documents: &Documents, held: &Traced) -> Vec<Traced> {
    let made = match held {
        Traced::Map(entries) => match entries.first() {
            Some((key @ FieldKey::Text(_), list)) if key.text(documents) == LEVELS => {
                Some(list.items(documents))
            }
            _ => None,
        },
        _ => None,
    };
    made.map_or_else(|| vec![held.clone()], |items| items.into_vec())
}

fn text(documents: &Documents, value: &Traced) -> String {
    match value {
        Traced::Whole { node, .. } => documents.view(*node).scalar_text().unwrap_or("").to_owned(),
        _ => String::new(),
    }
}
