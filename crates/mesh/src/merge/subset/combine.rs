// SPDX-License-Identifier: Apache-2.0
//! In: tags. Out: one after the other, every way to choose for each key one of its values or none of them. Not here:
//! which of these ways mean anything.

use std::sync::Arc;

use super::algebra::{Subset, Tag};

/// One key with its values, and where its wheel of the counter stands.
#[derive(Debug, Clone)]
struct Wheel {
    key: Arc<str>,
    values: Vec<Arc<str>>,
    /// Below the number of values: the value that many places from the end is chosen. At it: none is.
    at: usize,
}

impl Wheel {
    /// Turns by one; whether it came round to the start.
    fn turn(&mut self) -> bool {
        self.at = if self.at >= self.values.len() { 0 } else { self.at.saturating_add(1) };
        self.at == 0
    }

    fn tags(&self, out: &mut Vec<Tag>) {
        match self.values.iter().rev().nth(self.at) {
            Some(value) => out.push(Tag::is(Arc::clone(&self.key), Arc::clone(value))),
            None => out.extend(
                self.values.iter().map(|v| Tag::is_not(Arc::clone(&self.key), Arc::clone(v))),
            ),
        }
    }
}

/// The combinations of a list of tags; see [`combinations`].
#[derive(Debug, Clone)]
pub struct Combinations {
    wheels: Vec<Wheel>,
    ended: bool,
}

/// Every combination of the tags: for each key one value demanded, or all its values excluded. Whether a given tag
/// is an exclusion does not matter.
///
/// Keys and values keep the order of their first appearance. It runs like a counter whose first key turns fastest,
/// from the last value of a key to its first and then to none; the state it starts from comes last. Without tags
/// there is one combination, the empty one.
pub fn combinations(tags: &[Tag]) -> Combinations {
    let mut wheels: Vec<Wheel> = Vec::new();
    for tag in tags {
        let (key, value) = (Arc::clone(&tag.key), Arc::clone(&tag.value));
        match wheels.iter_mut().find(|w| w.key == key) {
            Some(wheel) if wheel.values.contains(&value) => {}
            Some(wheel) => wheel.values.push(value),
            None => wheels.push(Wheel { key, values: vec![value], at: 0 }),
        }
    }
    Combinations { wheels, ended: false }
}

impl Iterator for Combinations {
    type Item = Subset;

    fn next(&mut self) -> Option<Subset> {
        if self.ended {
            return None;
        }
        self.ended = self.wheels.iter_mut().all(Wheel::turn);
        let mut tags = Vec::with_capacity(self.wheels.len());
        self.wheels.iter().for_each(|wheel| wheel.tags(&mut tags));
        Some(Subset::of_distinct(tags))
    }
}

impl std::iter::FusedIterator for Combinations {}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(tags: &[(&str, &str)]) -> Vec<String> {
        let tags: Vec<Tag> = tags.iter().map(|(k, v)| Tag::is(*k, *v)).collect();
        let tag = |t: &Tag| format!("{}{}{}", t.key, if t.not { "!" } else { "=" }, t.value);
        combinations(&tags)
            .map(|s| s.tags().iter().map(tag).collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn no_tags_have_one_combination() {
        assert_eq!(shown(&[]), [""]);
    }

    #[test]
    fn one_key_runs_from_its_last_value_and_ends_with_it() {
        assert_eq!(
            shown(&[("a", "1"), ("a", "2"), ("a", "3")]),
            ["a=2", "a=1", "a!1 a!2 a!3", "a=3"]
        );
    }

    #[test]
    fn the_first_key_turns_fastest() {
        assert_eq!(shown(&[("b", "1"), ("a", "1")]), ["b!1 a=1", "b=1 a!1", "b!1 a!1", "b=1 a=1"]);
    }

    #[test]
    fn values_apart_belong_together_and_count_once() {
        let apart = shown(&[("a", "1"), ("b", "1"), ("a", "2"), ("a", "1")]);
        assert_eq!(apart, shown(&[("a", "1"), ("a", "2"), ("b", "1")]));
        assert_eq!(apart.len(), 6);
    }

    #[test]
    fn polarity_of_the_tags_given_is_nothing() {
        let (yes, no) = ([Tag::is("a", "1")], [Tag::is_not("a", "1"), Tag::is("a", "1")]);
        assert!(combinations(&yes).eq(combinations(&no)));
    }
}
