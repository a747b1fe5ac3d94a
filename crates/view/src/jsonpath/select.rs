// SPDX-License-Identifier: Apache-2.0
//! In: a template and a value. Out: the text it makes of the value. Not here: reading templates.

use std::cmp::Ordering;

use super::{Comparison, Filter, JsonPath, JsonPathError, Key, Operand, Part, Path, Step};
use crate::v1::Value;
use crate::{escape, json_line};

/// Values that are looked at for one answer, at most.
const MOST: usize = 5_000_000;

type Selected<T> = Result<T, JsonPathError>;

impl JsonPath {
    /// What it takes from an answer in JSON.
    pub fn of_json(&self, json: &str) -> Selected<String> {
        let Ok(value) = serde_json::from_str(json) else { return Err(JsonPathError::NoJson) };
        self.of(&value)
    }

    /// What it takes from a value.
    pub fn of(&self, root: &Value) -> Selected<String> {
        let mut search = Search { root, left: MOST, out: String::new() };
        search.parts(&self.parts, root)?;
        Ok(search.out)
    }
}

struct Search<'v> {
    root: &'v Value,
    left: usize,
    out: String,
}

impl<'v> Search<'v> {
    fn parts(&mut self, parts: &[Part], item: &'v Value) -> Selected<()> {
        for part in parts {
            match part {
                Part::Text(text) => self.out.push_str(text),
                Part::Path(path) => {
                    let found: Vec<String> =
                        self.select(path, item)?.into_iter().map(shown).collect();
                    self.out.push_str(&found.join(" "));
                }
                // Templates nest only so deep.
                Part::Range(path, inner) => {
                    for item in self.select(path, item)? {
                        self.parts(inner, item)?;
                    }
                }
            }
            self.count(1)?;
        }
        Ok(())
    }

    fn count(&mut self, looked_at: usize) -> Selected<()> {
        self.left = self.left.checked_sub(looked_at).ok_or(JsonPathError::TooMuch)?;
        Ok(())
    }

    fn select(&mut self, path: &Path, item: &'v Value) -> Selected<Vec<&'v Value>> {
        let mut found = vec![if path.from_root { self.root } else { item }];
        for step in &path.steps {
            let mut next = Vec::new();
            for value in found {
                self.step(step, value, &mut next)?;
            }
            self.count(next.len())?;
            found = next;
        }
        Ok(found)
    }

    fn step(&mut self, step: &Step, value: &'v Value, found: &mut Vec<&'v Value>) -> Selected<()> {
        match step {
            Step::Keys(keys) => found.extend(keys.iter().filter_map(|key| at(value, key))),
            Step::Each => found.extend(children(value)),
            Step::Descend => {
                let mut open = vec![value];
                while let Some(value) = open.pop() {
                    self.count(1)?;
                    found.push(value);
                    open.extend(children(value).rev());
                }
            }
            Step::Slice(from, to, stride) => {
                if let Value::List(items) = value {
                    let place = |at: i64| place(at, items.len()).unwrap_or(0).min(items.len());
                    let (from, to) = (from.map_or(0, place), to.map_or(items.len(), place));
                    let count = to.saturating_sub(from);
                    found.extend(items.iter().skip(from).take(count).step_by(*stride));
                }
            }
            Step::Filter(filter) => {
                for child in children(value) {
                    self.count(1)?;
                    if self.holds(filter, child)? {
                        found.push(child);
                    }
                }
            }
        }
        Ok(())
    }

    fn holds(&mut self, filter: &Filter, item: &'v Value) -> Selected<bool> {
        let left = self.operand(&filter.left, item)?;
        let Some((comparison, right)) = &filter.right else { return Ok(left.is_some()) };
        let right = self.operand(right, item)?;
        Ok(left.zip(right).is_some_and(|(left, right)| compared(*comparison, &left, &right)))
    }

    /// The value of an operand: of a path, the first it leads to.
    fn operand(&mut self, operand: &Operand, item: &'v Value) -> Selected<Option<Value>> {
        match operand {
            Operand::Value(value) => Ok(Some(value.clone())),
            Operand::Path(path) => Ok(self.select(path, item)?.first().map(|v| (*v).clone())),
        }
    }
}

fn children(value: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    let (items, entries) = match value {
        Value::List(items) => (items.as_slice(), &[][..]),
        Value::Map(entries) => (&[][..], entries.as_slice()),
        _ => (&[][..], &[][..]),
    };
    items.iter().chain(entries.iter().map(|(_, value)| value))
}

fn at<'v>(value: &'v Value, key: &Key) -> Option<&'v Value> {
    match (value, key) {
        (Value::Map(entries), Key::Name(name)) => {
            entries.iter().find(|(key, _)| key == name).map(|(_, value)| value)
        }
        (Value::List(items), Key::Index(index)) => items.get(place(*index, items.len())?),
        _ => None,
    }
}

/// A place in a list; negative ones count from the end.
fn place(index: i64, length: usize) -> Option<usize> {
    match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    }
}

/// Values of different types are unequal, and neither is less.
fn compared(comparison: Comparison, left: &Value, right: &Value) -> bool {
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) => {
            left.as_f64().zip(right.as_f64()).and_then(|(left, right)| left.partial_cmp(&right))
        }
        (left, right) => (left == right).then_some(Ordering::Equal),
    };
    match comparison {
        Comparison::Equal => order == Some(Ordering::Equal),
        Comparison::Unequal => order != Some(Ordering::Equal),
        Comparison::Less => order == Some(Ordering::Less),
        Comparison::LessOrEqual => order.is_some_and(Ordering::is_le),
        Comparison::Greater => order == Some(Ordering::Greater),
        Comparison::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
    }
}

/// A text as it is, anything else as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => escape::terminal_multiline(text).into_owned(),
        value => json_line(value),
    }
}
