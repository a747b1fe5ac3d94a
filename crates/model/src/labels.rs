// SPDX-License-Identifier: Apache-2.0
//! In: label maps and selectors. Out: whether they fit. Not here: indexes over many objects.

use std::sync::Arc;

use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::{Names, Sym};

/// Labels of one object, in the order written: there are few, and a scan is the fastest lookup. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Labels(Arc<[(Sym, Sym)]>);

impl Labels {
    /// From pairs in any order; a repeated key keeps its last value.
    pub fn new(pairs: impl IntoIterator<Item = (Sym, Sym)>) -> Self {
        // Nearly all objects have a handful; a file may have any number, and then a scan for each would not do.
        const FEW: usize = 16;
        let pairs = pairs.into_iter();
        let mut list: Vec<(Sym, Sym)> = Vec::with_capacity(pairs.size_hint().0);
        let mut places: HashMap<Sym, usize> = HashMap::new();
        for (key, value) in pairs {
            if list.len() == FEW {
                places.extend(list.iter().enumerate().map(|(i, (key, _))| (*key, i)));
            }
            let place = match list.len() < FEW {
                true => list.iter().position(|(known, _)| *known == key),
                false => places.get(&key).copied(),
            };
            match place.and_then(|i| list.get_mut(i)) {
                Some(entry) => entry.1 = value,
                None => {
                    if list.len() >= FEW {
                        places.insert(key, list.len());
                    }
                    list.push((key, value));
                }
            }
        }
        // The empty list is not allocated.
        if list.is_empty() { Self::default() } else { Self(list.into()) }
    }

    /// The value of a key.
    pub fn get(&self, key: Sym) -> Option<Sym> {
        self.0.iter().find(|(k, _)| *k == key).map(|(_, v)| *v)
    }

    /// Every pair, in the order written.
    pub fn iter(&self) -> impl Iterator<Item = (Sym, Sym)> {
        self.0.iter().copied()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// One clause of a label selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectorClause {
    /// The label has this value.
    Equals(Sym, Sym),
    /// The label is absent or has another value.
    NotEquals(Sym, Sym),
    /// The label has one of these values.
    In(Sym, SmallVec<[Sym; 2]>),
    /// The label is absent or has none of these values.
    NotIn(Sym, SmallVec<[Sym; 2]>),
    /// The label is there.
    Exists(Sym),
    /// The label is not there.
    Absent(Sym),
}

impl SelectorClause {
    /// The label it asks about.
    pub fn key(&self) -> Sym {
        match self {
            Self::Equals(key, _)
            | Self::NotEquals(key, _)
            | Self::In(key, _)
            | Self::NotIn(key, _)
            | Self::Exists(key)
            | Self::Absent(key) => *key,
        }
    }

    /// Whether the labels meet this clause.
    pub fn matches(&self, labels: &Labels) -> bool {
        match self {
            Self::Equals(k, v) => labels.get(*k) == Some(*v),
            Self::NotEquals(k, v) => labels.get(*k) != Some(*v),
            Self::In(k, values) => labels.get(*k).is_some_and(|v| values.contains(&v)),
            Self::NotIn(k, values) => labels.get(*k).is_none_or(|v| !values.contains(&v)),
            Self::Exists(k) => labels.get(*k).is_some(),
            Self::Absent(k) => labels.get(*k).is_none(),
        }
    }
}

/// A label selector: all clauses must match; without clauses it selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    /// The clauses.
    pub requirements: Vec<SelectorClause>,
}

/// Why a selector text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectorError(pub String);

impl std::fmt::Display for SelectorError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SelectorError {}

impl Selector {
    /// Whether the labels meet every clause.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements.iter().all(|r| r.matches(labels))
    }

    /// Reads the text form of the command line: `a=b,c!=d,e in (f,g),h notin (i),j,!k`.
    pub fn parse(text: &str, names: &mut Names) -> Result<Self, SelectorError> {
        let mut requirements = Vec::new();
        for clause in split_clauses(text)? {
            requirements.push(clause_of(clause.trim(), names)?);
        }
        Ok(Self { requirements })
    }
}

/// Splits at commas that are not inside parentheses.
fn split_clauses(text: &str) -> Result<Vec<&str>, SelectorError> {
    let mut clauses = Vec::new();
    let (mut depth, mut start) = (0_i32, 0);
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                clauses.push(text.get(start..i).unwrap_or(""));
                start = i + 1;
            }
            _ => {}
        }
        if !(0..=1).contains(&depth) {
            return Err(SelectorError(format!("unbalanced parentheses in selector `{text}`")));
        }
    }
    if depth != 0 {
        return Err(SelectorError(format!("unbalanced parentheses in selector `{text}`")));
    }
    clauses.push(text.get(start..).unwrap_or(""));
    Ok(clauses)
}

fn clause_of(clause: &str, names: &mut Names) -> Result<SelectorClause, SelectorError> {
    let bad = || {
        SelectorError(format!(
            "cannot read `{clause}` in a label selector; write `key=value`, `key!=value`, `key in (a,b)`, `key` or `!key`"
        ))
    };
    let key_of = |k: &str, names: &mut Names| {
        let k = k.trim();
        let ok =
            !k.is_empty() && k.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
        if ok { Ok(names.intern(k)) } else { Err(bad()) }
    };
    let value_of = |v: &str, names: &mut Names| {
        let v = v.trim();
        let ok = v.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if ok { Ok(names.intern(v)) } else { Err(bad()) }
    };
    if let Some((key, value)) = clause.split_once("!=") {
        return Ok(SelectorClause::NotEquals(key_of(key, names)?, value_of(value, names)?));
    }
    if let Some((key, value)) = clause.split_once("==").or_else(|| clause.split_once('=')) {
        return Ok(SelectorClause::Equals(key_of(key, names)?, value_of(value, names)?));
    }
    if let Some(rest) = clause.strip_suffix(')') {
        let (head, values) = rest.split_once('(').ok_or_else(bad)?;
        let values = values.split(',').map(|v| value_of(v, names)).collect::<Result<_, _>>()?;
        let mut words = head.split_whitespace();
        let (key, word) = (words.next().ok_or_else(bad)?, words.next().ok_or_else(bad)?);
        let key = key_of(key, names)?;
        return match (word, words.next()) {
            ("in", None) => Ok(SelectorClause::In(key, values)),
            ("notin", None) => Ok(SelectorClause::NotIn(key, values)),
            _ => Err(bad()),
        };
    }
    match clause.strip_prefix('!') {
        Some(key) => Ok(SelectorClause::Absent(key_of(key, names)?)),
        None => Ok(SelectorClause::Exists(key_of(clause, names)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(selector: &str, labels: &[(&str, &str)]) -> bool {
        let mut names = Names::default();
        let selector = Selector::parse(selector, &mut names).unwrap();
        selector
            .matches(&Labels::new(labels.iter().map(|(k, v)| (names.intern(k), names.intern(v)))))
    }

    #[test]
    fn of_a_repeated_key_the_last_value_counts_however_many_there_are() {
        let mut names = Names::default();
        for count in [1, 15, 16, 17, 40] {
            let mut pair =
                |k: usize, v: &str| (names.intern(&format!("k{}", k % count)), names.intern(v));
            let mut pairs: Vec<_> = (0..count).map(|k| pair(k, "first")).collect();
            pairs.extend((0..count).map(|k| pair(k, "last")));
            let last = names.intern("last");
            let labels = Labels::new(pairs.clone());
            assert_eq!(labels.iter().count(), count);
            assert!(pairs.iter().all(|(key, _)| labels.get(*key) == Some(last)), "{count}");
        }
    }

    #[test]
    fn selectors_are_read_as_kubectl_reads_them() {
        let labels = [("app", "cart"), ("tier", "web")];
        for (selector, expected) in [
            ("app=cart", true),
            ("app==cart,tier=web", true),
            ("app!=cart", false),
            ("team!=a", true),
            ("app in (cart, shop),tier", true),
            ("app notin (cart)", false),
            ("!team", true),
            ("!app", false),
            ("team", false),
        ] {
            assert_eq!(matches(selector, &labels), expected, "{selector}");
        }
    }

    #[test]
    fn broken_selectors_are_refused() {
        for selector in [
            "",
            "a b",
            "app in (x",
            "app)x(",
            "=x",
            "app within (x)",
            ",,",
            "a==b==c",
            "a=b c",
            "a in (b c)",
        ] {
            assert!(Selector::parse(selector, &mut Names::default()).is_err(), "{selector:?}");
        }
    }
}
