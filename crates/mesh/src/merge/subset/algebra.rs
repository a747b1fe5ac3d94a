// SPDX-License-Identifier: Apache-2.0
//! In: tags. Out: sets described by tags, and the three questions asked of them. Not here: lists of sets.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;

use overrule_access::ClientTags;
use overrule_access::client_set::TagCondition;

/// One condition on the value of one key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag {
    /// The key.
    pub key: Arc<str>,
    /// The value it must have, or must not have.
    pub value: Arc<str>,
    /// Whether the value is excluded. An element without the key satisfies an exclusion.
    pub not: bool,
}

impl Tag {
    /// The key has the value.
    pub fn is(key: impl Into<Arc<str>>, value: impl Into<Arc<str>>) -> Self {
        Self { key: key.into(), value: value.into(), not: false }
    }

    /// The key is absent or has another value.
    pub fn is_not(key: impl Into<Arc<str>>, value: impl Into<Arc<str>>) -> Self {
        Self { key: key.into(), value: value.into(), not: true }
    }

    /// Whether everything that satisfies `other`, a tag of the same key, satisfies this one.
    fn follows_from(&self, other: &Tag) -> bool {
        match (self.not, other.not) {
            (false, true) => false,
            (true, false) => self.value != other.value,
            _ => self.value == other.value,
        }
    }

    fn accepts(&self, found: Option<&str>) -> bool {
        (found == Some(&*self.value)) != self.not
    }
}

/// A set of elements: those that satisfy every tag. No tags: everything.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Subset(Vec<Tag>);

impl std::fmt::Display for Subset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, tag) in self.0.iter().enumerate() {
            let (comma, sign) = (if i > 0 { ", " } else { "" }, if tag.not { "!=" } else { "=" });
            write!(f, "{comma}{}{sign}{}", tag.key, tag.value)?;
        }
        Ok(())
    }
}

impl Subset {
    /// The set of these tags, in this order; a tag that was there already is left out.
    pub fn new(tags: impl IntoIterator<Item = Tag>) -> Self {
        let mut kept: Vec<Tag> = Vec::new();
        for tag in tags {
            if !kept.contains(&tag) {
                kept.push(tag);
            }
        }
        Self(kept)
    }

    /// The set of these tags, known to differ from each other.
    pub(super) fn of_distinct(tags: Vec<Tag>) -> Self {
        Self(tags)
    }

    /// The same set, however its tags were ordered.
    pub fn canonical(mut self) -> Self {
        self.0.sort();
        self
    }

    /// The tags, in the order given.
    pub fn tags(&self) -> &[Tag] {
        &self.0
    }

    /// The tags as conditions on a client.
    pub fn conditions(&self) -> impl Iterator<Item = TagCondition<'_>> + Clone {
        self.0.iter().map(|Tag { key, value, not }| TagCondition { key, value, not: *not })
    }

    /// Whether a client is in the set, as a proxy sees it: by each identity of its certificate.
    pub fn contains_client(&self, client: &ClientTags) -> bool {
        self.conditions().all(|condition| condition.holds(client))
    }

    fn demands(&self) -> impl Iterator<Item = &Tag> {
        self.0.iter().filter(|tag| !tag.not)
    }

    /// How many tags demand a value.
    pub fn positives(&self) -> usize {
        self.demands().count()
    }

    /// Whether `other` lies within this set, tag by tag: each tag needs tags of its key in `other`, and must follow
    /// from every one of them.
    pub fn contains_subset(&self, other: &Subset) -> bool {
        self.0.iter().all(|tag| {
            let mut same_key = other.0.iter().filter(|t| t.key == tag.key).peekable();
            same_key.peek().is_some() && same_key.all(|t| tag.follows_from(t))
        })
    }

    /// Whether one element could be in both. Only demanded values can stand in the way; exclusions are not looked at.
    pub fn intersects(&self, other: &Subset) -> bool {
        self.demands().all(|a| other.demands().all(|b| a.key != b.key || a.value == b.value))
    }

    /// Whether the element is in the set. The element without any key is in the set of everything only, even where
    /// all tags are exclusions.
    pub fn contains_element<K, V>(&self, element: &BTreeMap<K, V>) -> bool
    where
        K: Borrow<str> + Ord,
        V: AsRef<str>,
    {
        if element.is_empty() {
            return self.0.is_empty();
        }
        self.0.iter().all(|tag| tag.accepts(element.get(&*tag.key).map(AsRef::as_ref)))
    }
}

impl FromIterator<Tag> for Subset {
    fn from_iter<I: IntoIterator<Item = Tag>>(tags: I) -> Self {
        Self::new(tags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> Subset {
        text.split_whitespace()
            .map(|word| match word.split_once("!=") {
                Some((key, value)) => Tag::is_not(key, value),
                None => word.split_once('=').map(|(key, value)| Tag::is(key, value)).unwrap(),
            })
            .collect()
    }

    #[test]
    fn a_set_within_another() {
        let yes = [
            ("", ""),
            ("", "a=1"),
            ("a=1", "a=1 b=2"),
            ("a!=1", "a=2"),
            ("a!=1", "a!=1"),
            ("a!=1 b=2", "a=3 b=2"),
        ];
        let no = [
            ("a=1", ""),
            ("a!=1", ""),
            ("a=1", "b=1"),
            ("a=1", "a!=2"),
            ("a!=1", "a=1"),
            ("a!=1", "a!=1 a!=2"),
            ("a=1", "a=1 a=2"),
        ];
        for (outer, inner) in yes {
            assert!(set(outer).contains_subset(&set(inner)), "{outer:?} holds {inner:?}");
        }
        for (outer, inner) in no {
            assert!(!set(outer).contains_subset(&set(inner)), "{outer:?} does not hold {inner:?}");
        }
    }

    #[test]
    fn sets_that_meet() {
        let yes = [("", ""), ("a=1", ""), ("a=1", "b=2"), ("a=1", "a!=1"), ("a!=1", "a!=2")];
        let no = [("a=1", "a=2"), ("a=1 b=1", "b=1 a=2"), ("a=1 a=2", "a=1 a=2")];
        for (a, b) in yes {
            assert!(set(a).intersects(&set(b)) && set(b).intersects(&set(a)), "{a:?} meets {b:?}");
        }
        for (a, b) in no {
            assert!(!set(a).intersects(&set(b)) && !set(b).intersects(&set(a)), "{a:?}, {b:?}");
        }
    }

    #[test]
    fn elements() {
        let here = BTreeMap::from([("a", "1"), ("b", "2")]);
        let nothing: BTreeMap<&str, &str> = BTreeMap::new();
        for yes in ["", "a=1", "a=1 b=2", "a!=2", "c!=1", "a=1 c!=1"] {
            assert!(set(yes).contains_element(&here), "{yes}");
        }
        for no in ["a=2", "a!=1", "c=1", "a=1 c=1"] {
            assert!(!set(no).contains_element(&here), "{no}");
        }
        assert!(set("").contains_element(&nothing));
        assert!(!set("a!=1").contains_element(&nothing), "not even in a set of exclusions");
    }

    #[test]
    fn a_repeated_tag_counts_once() {
        assert_eq!(set("a=1 b=1 a=1"), set("a=1 b=1"));
        assert_eq!(set("a=1 a!=1").tags().len(), 2);
        assert_eq!(set("a=1 b!=1").positives(), 1);
    }
}
