// SPDX-License-Identifier: Apache-2.0
//! In: the read paths of a condition, and a policy. Out: the values there, and the variables made of them and nothing
//! else. Not here: the values' meaning.
//!
//! The variables behave as if the whole policy were in them. A path that is missing must fail in the same way and be
//! absent for `has()` in the same way, so its deepest existing parent is in the variables too, empty.

use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString,
};
use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;
use smallvec::SmallVec;

use crate::cost::Bound;
use crate::limits::{BYTES_PER_UNIT, DATA_BYTES, DATA_DEPTH, DATA_NODES};
use crate::names::MEMBERS;
use crate::reads::ReadMember;
use crate::value::{CelValue, Data, ValueShape};

/// What to ask a policy for.
#[derive(Debug, Clone)]
pub(crate) struct Projection {
    reads: Vec<Wanted>,
    /// The members of the policy with read paths below them.
    branches: Vec<Branch>,
    /// Whether the variable `self` is needed.
    with_self: bool,
}

/// One read path.
#[derive(Debug, Clone)]
struct Wanted {
    dotted: String,
    path: Vec<Box<str>>,
    /// The shortest read path that contains it.
    within: Option<usize>,
}

/// A node of the tree of read paths that do not contain each other.
#[derive(Debug, Clone)]
struct Branch {
    name: Box<str>,
    /// The read whose path ends here. Then nothing is below.
    read: Option<usize>,
    below: Vec<Branch>,
}

type Steps<'a> = SmallVec<[&'a str; 8]>;

pub(crate) fn plan(reads: &[ReadMember], with_self: bool) -> Projection {
    let shortest = |path: &[Box<str>]| {
        let above = reads.iter().enumerate().filter(|(_, r)| path.starts_with(&r.path));
        above.min_by_key(|(_, read)| read.path.len()).map(|(index, _)| index)
    };
    let mut wanted = Vec::new();
    let mut branches = Vec::new();
    for (index, read) in reads.iter().enumerate() {
        let within = shortest(&read.path).filter(|above| *above != index);
        if within.is_none() {
            grow(&mut branches, &read.path, index);
        }
        wanted.push(Wanted { dotted: read.dotted(), path: read.path.clone(), within });
    }
    Projection { reads: wanted, branches, with_self }
}

fn grow(branches: &mut Vec<Branch>, path: &[Box<str>], read: usize) {
    let Some((name, rest)) = path.split_first() else { return };
    let at = match branches.iter().position(|branch| branch.name == *name) {
        Some(at) => at,
        None => {
            branches.push(Branch { name: name.clone(), read: None, below: Vec::new() });
            branches.len() - 1
        }
    };
    if let Some(branch) = branches.get_mut(at) {
        if rest.is_empty() { branch.read = Some(read) } else { grow(&mut branch.below, rest, read) }
    }
}

/// The values of all reads, in their order.
pub(crate) struct Values {
    pub(crate) values: Vec<Option<CelValue>>,
    pub(crate) bounds: SmallVec<[Bound; 8]>,
    /// Whether a number among them is not whole.
    pub(crate) fractions: bool,
}

impl Projection {
    /// Asks for the value of every read. None if it is more than one evaluation may look at.
    pub(crate) fn ask(&self, data: &dyn Data) -> Option<Values> {
        let mut meter = Meter { nodes: 0, bytes: 0, fractions: false };
        let mut values: Vec<Option<CelValue>> = Vec::with_capacity(self.reads.len());
        let mut bounds: SmallVec<[Bound; 8]> = SmallVec::new();
        for wanted in &self.reads {
            let value = match wanted.within {
                None => fetch(data, &wanted.path),
                Some(_) => None,
            };
            bounds.push(meter.optional(value.as_ref())?);
            values.push(value);
        }
        for (index, wanted) in self.reads.iter().enumerate() {
            let Some(above) = wanted.within else { continue };
            let inner = self.inside(&values, above, &wanted.path);
            // Measured before it is copied.
            let bound = meter.optional(inner)?;
            let copy = inner.cloned();
            if let (Some(place), Some(size)) = (values.get_mut(index), bounds.get_mut(index)) {
                (*place, *size) = (copy, bound);
            }
        }
        Some(Values { values, bounds, fractions: meter.fractions })
    }

    fn inside<'v>(
        &self,
        values: &'v [Option<CelValue>],
        above: usize,
        path: &[Box<str>],
    ) -> Option<&'v CelValue> {
        let skip = self.reads.get(above)?.path.len();
        let start = values.get(above)?.as_ref()?;
        path.iter().skip(skip).try_fold(start, |value, name| value.member(name))
    }

    /// The variables of an evaluation.
    pub(crate) fn variables<'v>(
        &self,
        data: &dyn Data,
        values: &'v [Option<CelValue>],
    ) -> Variables<'v> {
        let mut found: Members<'v> = SmallVec::new();
        match self.reads.iter().position(|wanted| wanted.path.is_empty()) {
            Some(all) => {
                let whole = values.get(all).and_then(Option::as_ref);
                let member = |name| Some((name, to_cel(whole?.member(name)?)));
                found.extend(MEMBERS.iter().filter_map(|name| member(*name)));
            }
            None => {
                let mut steps = Steps::new();
                for branch in &self.branches {
                    let known = MEMBERS.iter().find(|name| ***name == *branch.name);
                    let value = branch.build(data, values, &mut steps);
                    found.extend(known.copied().zip(value));
                }
            }
        }
        let whole = self.with_self.then(|| {
            let members = found.iter().map(|(name, value)| (*name, value.clone()));
            map_of(members)
        });
        Variables { found, whole }
    }

    /// The dotted text of every read beside its value.
    pub(crate) fn label(&self, values: Vec<Option<CelValue>>) -> Vec<(String, Option<CelValue>)> {
        self.reads.iter().map(|wanted| wanted.dotted.clone()).zip(values).collect()
    }
}

fn fetch(data: &dyn Data, path: &[Box<str>]) -> Option<CelValue> {
    let steps: Steps<'_> = path.iter().map(|name| &**name).collect();
    if !steps.is_empty() {
        return data.value(&steps);
    }
    let member = |name: &&str| Some(((*name).to_owned(), data.value(&[name])?));
    Some(CelValue::Map(MEMBERS.iter().filter_map(member).collect()))
}

impl Branch {
    fn build<'v, 'b>(
        &'b self,
        data: &dyn Data,
        values: &'v [Option<CelValue>],
        steps: &mut Steps<'b>,
    ) -> Option<Box<dyn Val + 'v>> {
        if let Some(read) = self.read {
            return values.get(read)?.as_ref().map(to_cel);
        }
        steps.push(&self.name);
        let mut members: SmallVec<[(String, Box<dyn Val + 'v>); 4]> = SmallVec::new();
        for branch in &self.below {
            let value = branch.build(data, values, steps);
            members.extend(value.map(|value| (String::from(&*branch.name), value)));
        }
        let result = if members.is_empty() {
            data.shape(steps).map(empty)
        } else {
            Some(owned_map_of(members))
        };
        steps.pop();
        result
    }
}

/// The least value of a shape: members that are not in it are missing in the same way.
fn empty<'v>(shape: ValueShape) -> Box<dyn Val + 'v> {
    match shape {
        ValueShape::Null => Box::new(CelNull),
        ValueShape::Bool => Box::new(CelBool::from(false)),
        ValueShape::Int => Box::new(CelInt::from(0)),
        ValueShape::Float => Box::new(CelDouble::from(0.0)),
        ValueShape::Text => Box::new(CelString::from("")),
        ValueShape::List => Box::new(CelList::from(Vec::new())),
        ValueShape::Map => Box::new(CelMap::default()),
    }
}

fn to_cel<'v>(value: &'v CelValue) -> Box<dyn Val + 'v> {
    match value {
        CelValue::Null => Box::new(CelNull),
        CelValue::Bool(value) => Box::new(CelBool::from(*value)),
        CelValue::Int(value) => Box::new(CelInt::from(*value)),
        CelValue::Float(value) => Box::new(CelDouble::from(*value)),
        CelValue::Text(text) => Box::new(CelString::from(text.as_str())),
        CelValue::List(items) => {
            Box::new(CelList::from(items.iter().map(to_cel).collect::<Vec<_>>()))
        }
        CelValue::Map(members) => {
            map_of(members.iter().map(|(name, v)| (name.as_str(), to_cel(v))))
        }
    }
}

#[expect(
    clippy::disallowed_types,
    reason = "the interpreter's map; nothing here depends on its order"
)]
mod map {
    use super::{CelMap, CelMapKey, Val};
    use std::collections::HashMap;

    pub(super) fn map_of<'v>(
        members: impl Iterator<Item = (&'v str, Box<dyn Val + 'v>)>,
    ) -> Box<dyn Val + 'v> {
        let all: HashMap<_, _> = members.map(|(name, v)| (CelMapKey::from(name), v)).collect();
        Box::new(CelMap::from(all))
    }

    pub(super) fn owned_map_of<'v>(
        members: impl IntoIterator<Item = (String, Box<dyn Val + 'v>)>,
    ) -> Box<dyn Val + 'v> {
        let members = members.into_iter().map(|(name, v)| (CelMapKey::from(name), v));
        let all: HashMap<_, _> = members.collect();
        Box::new(CelMap::from(all))
    }
}
use map::{map_of, owned_map_of};

type Members<'v> = SmallVec<[(&'static str, Box<dyn Val + 'v>); 3]>;

/// The variables of one evaluation. Those that are missing are not declared.
pub(crate) struct Variables<'v> {
    found: Members<'v>,
    whole: Option<Box<dyn Val + 'v>>,
}

impl VariableResolver for Variables<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let found = match variable {
            "self" => self.whole.as_ref(),
            _ => self.found.iter().find(|(name, _)| *name == variable).map(|(_, value)| value),
        };
        found.map(|value| CowVal::Borrowed(value.as_ref()))
    }
}

/// Counts what one evaluation looks at.
struct Meter {
    nodes: u64,
    bytes: u64,
    fractions: bool,
}

impl Meter {
    fn optional(&mut self, value: Option<&CelValue>) -> Option<Bound> {
        value.map_or(Some(Bound::SMALL), |value| self.measure(value, DATA_DEPTH))
    }

    /// None as soon as it is too much.
    fn measure(&mut self, value: &CelValue, levels: usize) -> Option<Bound> {
        let levels = levels.checked_sub(1)?;
        let mut bound = Bound::SMALL;
        self.nodes += 1;
        match value {
            CelValue::Null | CelValue::Bool(_) | CelValue::Int(_) => {}
            CelValue::Float(_) => self.fractions = true,
            CelValue::Text(text) => bound.size += self.text(text),
            CelValue::List(items) => {
                bound = Bound::of_length(count(items.len()));
                for item in items {
                    bound = bound.with(self.measure(item, levels)?);
                }
            }
            CelValue::Map(members) => {
                bound = Bound::of_length(count(members.len()));
                for (name, member) in members {
                    let key = Bound { size: 1 + self.text(name), ..Bound::SMALL };
                    bound = bound.with(key).with(self.measure(member, levels)?);
                }
            }
        }
        (self.nodes <= DATA_NODES && self.bytes <= DATA_BYTES).then_some(bound)
    }

    fn text(&mut self, text: &str) -> u64 {
        let bytes = count(text.len());
        self.bytes += bytes;
        bytes / BYTES_PER_UNIT
    }
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
