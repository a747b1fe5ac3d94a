// SPDX-License-Identifier: Apache-2.0
//! In: a plan, and the sizes of the data. Out: a bound on the work of one evaluation, or that it is over the limit.
//! Not here: evaluating.
//!
//! Work is counted in units: one for each step of the interpreter, each scope a name is looked up in, and each node
//! that is copied, compared or searched (64 bytes of text count as one more). The bound is computed the way the
//! expression runs, with an upper bound of each value's size instead of the value; a macro multiplies what is inside by
//! the longest its list can be. It is never below the real work, so what is within the limit may run.

use smallvec::SmallVec;

use crate::limits::{ASSUMED_LENGTH, ASSUMED_SIZE, WORK};
use crate::parse::Places;
use crate::plan::{Origin, Plan, Program, Yields};
use crate::refusal::ConditionRefusal;

/// How large a value can be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    /// Units of everything in it, itself included.
    pub(crate) size: u64,
    /// Elements or members it has itself.
    pub(crate) length: u64,
    /// Units of the largest element or member.
    pub(crate) largest: u64,
    /// Elements or members of the longest list or map below it.
    pub(crate) inner: u64,
}

impl Bound {
    pub(crate) const SMALL: Self = Self { size: 1, length: 0, largest: 0, inner: 0 };

    /// A list or map of this length, still without its parts.
    pub(crate) fn of_length(length: u64) -> Self {
        Self { length, ..Self::SMALL }
    }

    /// With this part inside of it, too.
    pub(crate) fn with(self, part: Self) -> Self {
        Self {
            size: self.size.saturating_add(part.size),
            length: self.length,
            largest: self.largest.max(part.size),
            inner: self.inner.max(part.inner).max(part.length),
        }
    }

    /// Anything inside of it.
    fn part(self) -> Self {
        Self { size: self.largest, length: self.inner, ..self }
    }

    fn larger(self, other: Self) -> Self {
        Self {
            size: self.size.max(other.size),
            length: self.length.max(other.length),
            largest: self.largest.max(other.largest),
            inner: self.inner.max(other.inner),
        }
    }

    fn joined(self, other: Self) -> Self {
        Self {
            size: self.size.saturating_add(other.size),
            length: self.length.saturating_add(other.length),
            largest: self.largest.max(other.largest),
            inner: self.inner.max(other.inner),
        }
    }
}

/// Work of a macro for each element, besides its parts: it binds two variables.
const PER_ELEMENT: u64 = 6;

/// Units of the longest text made from a value that is not text: a float without exponent.
const PRINTED: u64 = 6;

/// Refuses a plan that is too much work whatever the data.
pub(crate) fn at_load(
    plan: &Program,
    reads: usize,
    places: &Places<'_>,
) -> Result<(), ConditionRefusal> {
    let assumed = Bound {
        size: ASSUMED_SIZE,
        length: ASSUMED_LENGTH,
        largest: ASSUMED_SIZE,
        inner: ASSUMED_LENGTH,
    };
    let sizes: SmallVec<[Bound; 8]> = smallvec::smallvec![assumed; reads];
    match over(plan, &sizes, false) {
        None => Ok(()),
        Some(id) => Err(ConditionRefusal::new(
            places.token(id),
            "the condition is too expensive",
            "nest fewer macros, use shorter lists, and do not build lists inside macros",
        )),
    }
}

/// The node at which a plan passes the limit over data of these sizes, if it does.
pub(crate) fn over(plan: &Program, reads: &[Bound], fractions: bool) -> Option<u64> {
    let tally = Tally::of(plan, reads, fractions);
    (tally.spent > WORK).then_some(tally.over.unwrap_or(NOWHERE))
}

/// No node has this id: the whole expression is meant.
const NOWHERE: u64 = 0;

struct Tally<'a> {
    reads: &'a [Bound],
    /// Whether there can be a number that is not whole.
    fractions: bool,
    locals: SmallVec<[Bound; 8]>,
    /// How often the current part runs.
    times: u64,
    spent: u64,
    over: Option<u64>,
}

impl<'a> Tally<'a> {
    fn of(plan: &Program, reads: &'a [Bound], fractions: bool) -> Self {
        let fractions = fractions || plan.fractions;
        let locals = SmallVec::new();
        let mut tally = Self { reads, fractions, locals, times: 1, spent: 0, over: None };
        tally.weigh(&plan.root);
        tally
    }

    fn spend(&mut self, units: u64, id: Option<u64>) {
        self.spent = self.spent.saturating_add(units.saturating_mul(self.times));
        if self.spent > WORK && self.over.is_none() {
            self.over = id;
        }
    }

    fn weigh(&mut self, plan: &Plan) -> Bound {
        match plan {
            Plan::Literal(size) => {
                self.spend(1, None);
                Bound { size: *size, ..Bound::SMALL }
            }
            Plan::Name { from, lookups } => {
                self.spend(*lookups, None);
                self.named(*from)
            }
            Plan::Part { of, by, fixed } => {
                let of = self.weigh(of);
                let by = self.weigh(by);
                // An error holds a copy of the key; one about a list and a fraction also of the list.
                let copied = match (*fixed, self.fractions) {
                    (true, _) => 0,
                    (false, false) => by.size,
                    (false, true) => of.size.saturating_add(by.size),
                };
                self.spend(copied.saturating_add(1), None);
                of.part()
            }
            Plan::Join { id, parts } => {
                let both = self.all(parts, Bound::joined);
                self.spend(both.size.saturating_add(1), Some(*id));
                both
            }
            Plan::Look { id, parts } => {
                let both = self.all(parts, Bound::joined);
                self.spend(both.size.saturating_add(1), Some(*id));
                Bound::SMALL
            }
            Plan::Glance(parts) => {
                self.all(parts, Bound::larger);
                self.spend(1, None);
                Bound::SMALL
            }
            Plan::Choose(parts) => {
                self.spend(1, None);
                self.all(parts, Bound::larger)
            }
            Plan::Gather { id, parts, length } => {
                let mut all = Bound::of_length(*length);
                for part in parts {
                    all = all.with(self.weigh(part));
                }
                self.spend(all.size, Some(*id));
                all
            }
            Plan::Text(of) => {
                let of = self.weigh(of);
                self.spend(of.size.saturating_add(PRINTED), None);
                Bound { size: of.size.saturating_add(PRINTED), ..Bound::SMALL }
            }
            Plan::Loop { id, over, body, yields } => self.repeat(*id, over, body, yields),
        }
    }

    fn named(&self, from: Origin) -> Bound {
        match from {
            Origin::Small => Bound::SMALL,
            Origin::Read(index) => self.reads.get(index).copied().unwrap_or(Bound::SMALL),
            Origin::Local(depth) => self.locals.get(depth).copied().unwrap_or(Bound::SMALL),
        }
    }

    fn all(&mut self, parts: &[Plan], add: fn(Bound, Bound) -> Bound) -> Bound {
        let mut sum: Option<Bound> = None;
        for part in parts {
            let next = self.weigh(part);
            sum = Some(sum.map_or(next, |sum| add(sum, next)));
        }
        sum.unwrap_or(Bound { size: 0, ..Bound::SMALL })
    }

    fn repeat(&mut self, id: u64, over: &Plan, body: &[Plan], yields: &Yields) -> Bound {
        let over = self.weigh(over);
        // Each element is copied for the variable, and the keys of a map for their order: all of it, once each.
        self.spend(over.size.saturating_mul(2), Some(id));
        let outside = self.times;
        self.times = outside.saturating_mul(over.length);
        self.locals.push(over.part());
        self.spend(PER_ELEMENT, Some(id));
        self.all(body, Bound::larger);
        let result = match yields {
            Yields::Answer => Bound::SMALL,
            Yields::Some => {
                // Twice: into the list of one, and from there into the result.
                self.times = outside;
                self.spend(over.size.saturating_mul(2), Some(id));
                over
            }
            Yields::Each(item) => {
                let item = self.weigh(item);
                self.spend(item.size.saturating_mul(2).saturating_add(2), Some(id));
                let size = over.length.saturating_mul(item.size).saturating_add(1);
                Bound { size, ..Bound::of_length(over.length).with(item) }
            }
        };
        // What runs zero times still costs its names once: the interpreter looks at the first test.
        self.times = outside;
        self.locals.pop();
        self.spend(1, Some(id));
        result
    }
}

#[cfg(test)]
#[allow(clippy::print_stderr, clippy::disallowed_methods, reason = "it measures")]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::{CelCondition, CelValue, Data};

    struct Fixed(CelValue);

    impl Data for Fixed {
        fn value(&self, path: &[&str]) -> Option<CelValue> {
            path.iter().skip(1).try_fold(&self.0, |at, name| at.member(name)).cloned()
        }
    }

    fn units(condition: &CelCondition, data: &Fixed) -> u64 {
        let seen = condition.projection.ask(data).unwrap();
        Tally::of(&condition.plan, &seen.bounds, seen.fractions).spent
    }

    /// What a unit costs, for each kind of work: `cargo test -p overrule-condition --lib -- --ignored --nocapture`.
    #[test]
    #[ignore = "prints times for choosing the limit"]
    fn time_of_a_unit() {
        let numbers = |n: i64| CelValue::List((0..n).map(CelValue::Int).collect());
        let texts =
            |n: usize, bytes: usize| CelValue::List(vec![CelValue::Text("x".repeat(bytes)); n]);
        let rates = CelValue::List(
            (0..300)
                .map(|i| {
                    let member = |name: &str, n| (name.to_owned(), CelValue::Int(n));
                    CelValue::Map(vec![member("limit", i), member("window", 60)])
                })
                .collect(),
        );
        let map = CelValue::Map((0..500).map(|i| (format!("key{i}"), CelValue::Int(i))).collect());
        let spec = CelValue::Map(vec![
            ("n".to_owned(), numbers(100)),
            ("m".to_owned(), numbers(1000)),
            ("t".to_owned(), texts(200, 1000)),
            ("rates".to_owned(), rates),
            ("map".to_owned(), map),
        ]);
        let data = Fixed(spec);
        for text in [
            "spec.m.exists(x, x < 0)",
            "spec.m.map(x, x + 1) == []",
            "spec.m.map(x, [x, x, x]) == []",
            "spec.m.map(x, {'a': x}) == []",
            "spec.m.filter(x, x > 5) == spec.m",
            "spec.m.exists(x, string(x) == '')",
            "spec.m.exists(x, string(double(x) / 3.0) == '')",
            "spec.m.exists(x, x / 0 == 1)",
            "spec.m.exists(x, 'a' + x == '')",
            "spec.m.exists(x, has(spec.a) && x.b > 1)",
            "spec.n.exists(x, spec.n.exists(y, x + y < 0))",
            "spec.n.all(x, x in spec.n)",
            "spec.n.exists(x, spec.map == [x])",
            "spec.n.exists(x, spec.map != spec.map)",
            "spec.n.exists(x, spec.map + spec.map == x)",
            "spec.n.exists(x, spec.map < spec.map)",
            "spec.n.exists(x, {'a': spec.n} == x)",
            "spec.t.exists(x, x.contains('y'))",
            "spec.t.exists(x, x + x == '')",
            "spec.rates.exists(r, r.limit < 0)",
            "spec.rates.exists_one(r, r.limit == 7)",
            "spec.map.exists(k, k == 'a')",
            "spec.map.map(k, spec.map[k]) == []",
            "spec == self.spec && [spec, spec] == []",
            "[1].all(a, [1].all(b, [1].all(c, [1].all(d, spec.m.all(e, a.a.a.a.a.a.a.a.a == 1)))))",
        ] {
            let condition = CelCondition::parse(text).unwrap_or_else(|r| panic!("{text}: {r}"));
            let units = units(&condition, &data);
            let start = Instant::now();
            let verdict = condition.evaluate(&data).verdict;
            let took = start.elapsed();
            let each = took.as_nanos() / u128::from(units.max(1));
            eprintln!("{each:>6} ns/unit {units:>8} units {took:>10.1?}  {text}  {verdict:?}");
        }
    }
}
