// SPDX-License-Identifier: Apache-2.0
//! In: words that find nothing, and the words there are. Out: what was probably meant. Not here: what words stand for.

use std::cell::Cell;
use std::collections::BTreeMap;

use overrule_model::nearest;

/// How much may be spent on help: comparisons of words, and trials of policies on proxies.
pub(super) struct Budget {
    words: Cell<usize>,
    trials: Cell<usize>,
}

impl Default for Budget {
    fn default() -> Self {
        Self { words: Cell::new(100_000), trials: Cell::new(100_000) }
    }
}

impl Budget {
    /// The nearest of `count` words; none if the budget is used up.
    pub(super) fn nearest<'w>(
        &self,
        word: &str,
        count: usize,
        words: impl Iterator<Item = &'w str>,
    ) -> Option<&'w str> {
        let left = self.words.get().checked_sub(count)?;
        self.words.set(left);
        nearest(word, words, 1).first().copied()
    }

    /// Whether one more trial may be made.
    pub(super) fn try_one(&self) -> bool {
        let left = self.trials.get().checked_sub(1);
        self.trials.set(left.unwrap_or(0));
        left.is_some()
    }
}

/// Why a reference finds nothing: a sentence, the member of the reference it is about, a remedy.
pub(super) struct Why {
    pub(super) because: String,
    pub(super) member: &'static str,
    pub(super) help: Option<String>,
}

impl Why {
    pub(super) fn new(
        member: &'static str,
        because: impl Into<String>,
        help: Option<String>,
    ) -> Self {
        Self { because: because.into(), member, help }
    }
}

/// Who has which label or tag: key, value, places.
pub(super) type Pairs<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Vec<u32>>>;

/// Adds a pair that somebody has; each place once, in order.
pub(super) fn add<'a>(pairs: &mut Pairs<'a>, key: &'a str, value: &'a str, place: u32) {
    let places = pairs.entry(key).or_default().entry(value).or_default();
    if places.last() != Some(&place) {
        places.push(place);
    }
}

/// Why nobody has all of some pairs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Miss {
    /// Nobody has the key; the nearest one.
    Key(String, Option<String>),
    /// Nobody has it with this value; the nearest one.
    Value(String, String, Option<String>),
    /// Each is there, but not all at one place, or for another reason not selected.
    Together,
}

/// Says why. A value of `*` is any.
pub(super) fn miss<'w>(
    wanted: impl Iterator<Item = (&'w str, &'w str)>,
    pairs: &Pairs<'_>,
    budget: &Budget,
) -> Miss {
    for (key, value) in wanted {
        let Some(values) = pairs.get(key) else {
            let near = budget.nearest(key, pairs.len(), pairs.keys().copied());
            return Miss::Key(key.to_owned(), near.map(str::to_owned));
        };
        if value != "*" && !values.contains_key(value) {
            let near = budget.nearest(value, values.len(), values.keys().copied());
            return Miss::Value(key.to_owned(), value.to_owned(), near.map(str::to_owned));
        }
    }
    Miss::Together
}

/// The places that have the rarest of some pairs; none if that does not help.
pub(super) fn rarest<'p, 'w>(
    wanted: impl Iterator<Item = (&'w str, &'w str)>,
    pairs: &'p Pairs<'_>,
) -> Option<&'p [u32]> {
    let of = |(key, value): (&str, &str)| {
        let places = pairs.get(key).and_then(|values| values.get(value));
        (value != "*" && !value.is_empty()).then(|| places.map_or(&[][..], Vec::as_slice))
    };
    wanted.filter_map(of).min_by_key(|places| places.len())
}

/// Sentence and remedy for a miss. `who` is what could have had it: `proxy`; `what` what it lacks: `label`.
pub(super) fn words(miss: &Miss, who: &str, what: &str) -> (String, Option<String>) {
    match miss {
        Miss::Key(key, near) => (
            format!("no {who} has the {what} `{key}`"),
            near.as_ref().map(|near| format!("did you mean the {what} `{near}`?")),
        ),
        Miss::Value(key, value, near) => (
            format!("no {who} has the {what} `{key}: {value}`"),
            near.as_ref().map(|near| format!("did you mean `{key}: {near}`?")),
        ),
        Miss::Together => (format!("no single {who} has all of these {what}s"), None),
    }
}
