// SPDX-License-Identifier: Apache-2.0
//! In: which entries are compatible with which. Out: all maximal groups of mutually compatible entries, in the order
//! rules are made from them. Not here: what compatible means.
//!
//! Entries with the same company (a list often names one set many times, and everything is compatible with all) are
//! one node of the search, so that its depth and cost depend on entries that differ.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::bits::Bits;
use super::work::Work;

/// The maximal groups, each ascending, ordered by [`by_text`] descending. `near` has for each entry the entries
/// compatible with it, itself included. Nothing when there are more than `limit`, or when the work runs out: the last
/// group found can be the first in order.
pub(super) fn groups(near: &[Bits], limit: usize, work: &mut Work) -> Vec<Vec<usize>> {
    let classes = classes(near);
    let reduced: Vec<Bits> = classes.iter().map(|class| company(class, &classes, near)).collect();
    let mut found = Vec::new();
    search(&reduced, work, |nodes, work| {
        let members = nodes.iter().filter_map(|node| classes.get(*node)).flatten();
        let mut group: Vec<usize> = members.copied().collect();
        group.sort_unstable();
        work.cut |= found.len() >= limit;
        if work.spend(group.len()) {
            found.push(group);
        }
    });
    if work.cut {
        return Vec::new();
    }
    found.sort_by(|a, b| by_text(b, a));
    found
}

/// Entries with equal company, themselves included, stand in the same groups.
fn classes(near: &[Bits]) -> Vec<Vec<usize>> {
    let mut by_company: BTreeMap<&Bits, Vec<usize>> = BTreeMap::new();
    for (entry, company) in near.iter().enumerate() {
        by_company.entry(company).or_default().push(entry);
    }
    let mut classes: Vec<Vec<usize>> = by_company.into_values().collect();
    classes.sort_unstable();
    classes
}

/// The classes compatible with one, as seen by its first entry.
fn company(class: &[usize], classes: &[Vec<usize>], near: &[Bits]) -> Bits {
    let mut company = Bits::none(classes.len());
    let Some(near) = class.first().and_then(|entry| near.get(*entry)) else { return company };
    for (at, other) in classes.iter().enumerate() {
        if other.first().is_some_and(|entry| near.has(*entry)) {
            company.insert(at);
        }
    }
    company
}

/// One level of the search below the nodes chosen so far.
struct Level {
    /// Nodes that could still join.
    open: Bits,
    /// Nodes that could join, all groups of which are found already.
    done: Bits,
    /// Those of `open` to try here.
    tries: Bits,
}

impl Level {
    /// A group with the pivot is found through the pivot or through a node the pivot is not compatible with: only
    /// these are tried. The pivot leaving fewest is the best.
    fn new(open: Bits, done: Bits, near: &[Bits]) -> Self {
        let mut best: Option<(usize, usize)> = None;
        for node in open.or(&done).iter() {
            let spared = near.get(node).map_or(0, |company| company.shared(&open));
            if best.is_none_or(|(most, _)| spared > most) {
                best = Some((spared, node));
            }
        }
        let mut tries = open.clone();
        if let Some((pivot, company)) = best.and_then(|(_, p)| near.get(p).map(|n| (p, n))) {
            tries = open.without(company);
            if open.has(pivot) {
                tries.insert(pivot);
            }
        }
        Self { open, done, tries }
    }

    fn cost(&self) -> usize {
        self.open.or(&self.done).count().saturating_add(3).saturating_mul(self.open.words())
    }

    /// The next node to try, with what is open and done once it is chosen.
    fn step(&mut self, near: &[Bits]) -> Option<(usize, Bits, Bits)> {
        let node = self.tries.iter().next()?;
        let company = near.get(node)?;
        self.tries.remove(node);
        self.open.remove(node);
        let below = (node, self.open.and(company), self.done.and(company));
        self.done.insert(node);
        Some(below)
    }
}

/// Bron and Kerbosch's search with pivots, on a stack of its own: groups can be larger than the thread's stack is
/// deep.
fn search(near: &[Bits], work: &mut Work, mut found: impl FnMut(&[usize], &mut Work)) {
    if near.is_empty() {
        return;
    }
    let mut chosen: Vec<usize> = Vec::new();
    let mut levels = vec![Level::new(Bits::all(near.len()), Bits::none(near.len()), near)];
    while let Some(level) = levels.last_mut() {
        let Some((node, open, done)) = level.step(near) else {
            levels.pop();
            chosen.pop();
            continue;
        };
        chosen.push(node);
        if open.is_empty() {
            if done.is_empty() {
                found(&chosen, work);
            }
            chosen.pop();
            if !work.spend(open.words().saturating_mul(3)) {
                return;
            }
            continue;
        }
        let next = Level::new(open, done, near);
        if !work.spend(next.cost()) {
            return;
        }
        levels.push(next);
    }
}

/// How two groups compare when each is written as its numbers with `:` between. The first number that differs
/// decides, so nothing is written.
pub(super) fn by_text(a: &[usize], b: &[usize]) -> Ordering {
    let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (Some(x), Some(y)) = (a.get(same), b.get(same)) else { return a.len().cmp(&b.len()) };
    let more = |group: &[usize]| group.len() > same.saturating_add(1);
    match digits(*x).cmp(&digits(*y)) {
        Ordering::Equal => x.cmp(y),
        Ordering::Less => shorter(*x, more(a), *y),
        Ordering::Greater => shorter(*y, more(b), *x).reverse(),
    }
}

/// How a number compares with one of more digits. `:` stands above the digits, the end below them.
fn shorter(short: usize, more: bool, long: usize) -> Ordering {
    let extra = digits(long).saturating_sub(digits(short));
    let after = if more { Ordering::Greater } else { Ordering::Less };
    let head = 10usize.checked_pow(extra).and_then(|power| long.checked_div(power));
    head.map_or(after, |head| short.cmp(&head).then(after))
}

fn digits(number: usize) -> u32 {
    number.checked_ilog10().unwrap_or(0).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(n: usize, apart: &[(usize, usize)]) -> Vec<Bits> {
        let mut near = vec![Bits::all(n); n];
        for (a, b) in apart {
            near[*a].remove(*b);
            near[*b].remove(*a);
        }
        near
    }

    fn all(near: &[Bits]) -> Vec<Vec<usize>> {
        groups(near, 1000, &mut Work::of(1000))
    }

    /// Every set of nodes, tried.
    fn by_trying(near: &[Bits]) -> Vec<Vec<usize>> {
        let n = near.len();
        let good = |mask: usize| {
            (0..n).all(|a| (0..n).all(|b| mask >> a & mask >> b & 1 == 0 || near[a].has(b)))
        };
        let maximal = |mask: &usize| {
            good(*mask) && (0..n).all(|v| mask >> v & 1 == 1 || !good(mask | 1 << v))
        };
        let nodes = |mask: usize| (0..n).filter(move |v| mask >> v & 1 == 1).collect::<Vec<_>>();
        let mut found: Vec<_> = (1..1usize << n).filter(maximal).map(nodes).collect();
        found.sort_by_key(|g| {
            std::cmp::Reverse(g.iter().map(usize::to_string).collect::<Vec<_>>().join(":"))
        });
        found
    }

    #[test]
    fn nothing_has_no_group() {
        assert!(all(&[]).is_empty());
    }

    #[test]
    fn the_order_is_that_of_the_text() {
        let mut apart = Vec::new();
        for a in 1..12 {
            for b in 1..a {
                apart.push((b, a));
            }
        }
        let groups = all(&graph(12, &apart));
        let seconds: Vec<usize> = groups.iter().map(|g| g[1]).collect();
        assert_eq!(seconds, [9, 8, 7, 6, 5, 4, 3, 2, 11, 10, 1]);
        let text = |g: &[usize]| g.iter().map(usize::to_string).collect::<Vec<_>>().join(":");
        let lists: [&[usize]; 10] = [
            &[1],
            &[1, 2],
            &[1, 20],
            &[12],
            &[12, 3],
            &[2],
            &[0, 1, 2],
            &[10, 11],
            &[100],
            &[9, 10],
        ];
        for a in lists {
            for b in lists {
                assert_eq!(by_text(a, b), text(a).cmp(&text(b)), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn every_small_graph() {
        let pairs: Vec<(usize, usize)> =
            (0..5).flat_map(|a| (a + 1..5).map(move |b| (a, b))).collect();
        for mask in 0..1usize << pairs.len() {
            let apart: Vec<_> =
                (0..pairs.len()).filter(|p| mask >> p & 1 == 1).map(|p| pairs[p]).collect();
            let near = graph(5, &apart);
            assert_eq!(all(&near), by_trying(&near), "{apart:?}");
        }
    }

    #[test]
    fn graphs_of_eleven_nodes() {
        let mut seed = 7u64;
        for _ in 0..200 {
            let mut apart = Vec::new();
            for a in 0..11 {
                for b in 0..a {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    if seed >> 33 & 3 == 0 {
                        apart.push((b, a));
                    }
                }
            }
            let near = graph(11, &apart);
            assert_eq!(all(&near), by_trying(&near), "{apart:?}");
        }
    }

    #[test]
    fn too_many_groups_stop() {
        let apart: Vec<_> = (0..40).map(|i| (2 * i, 2 * i + 1)).collect();
        let mut work = Work::of(1000);
        assert!(groups(&graph(80, &apart), usize::MAX, &mut work).is_empty() && work.cut);
        let mut work = Work::of(1000);
        assert_eq!(groups(&graph(3, &[(0, 1)]), 2, &mut work).len(), 2);
        assert!(groups(&graph(3, &[(0, 1)]), 1, &mut work).is_empty() && work.cut);
    }
}
