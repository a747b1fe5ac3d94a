// SPDX-License-Identifier: Apache-2.0
//! In: a graph and how much room each node needs. Out: a place for each node. Not here: drawing.
//!
//! Columns are levels. Within a column the order comes from a few passes that put each node next to what it is
//! connected with (barycentres), the place from least squares that keep that order.

use std::collections::BTreeMap;

use super::Graph;

/// The room a node needs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Size {
    pub(super) width: f64,
    /// The box itself, at whose middle edges end.
    pub(super) head: f64,
    /// Everything, from the top of the box.
    pub(super) height: f64,
}

/// Where a node is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) column: usize,
    pub(super) x: f64,
    pub(super) y: f64,
}

/// A column.
#[derive(Debug, Clone, Default)]
pub(super) struct Column {
    pub(super) title: String,
    pub(super) x: f64,
    pub(super) width: f64,
    /// Its nodes from top to bottom.
    nodes: Vec<usize>,
}

/// Places of all nodes; the topmost is at 0, the leftmost at 0.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    pub(super) places: Vec<Place>,
    pub(super) columns: Vec<Column>,
    pub(super) width: f64,
    pub(super) height: f64,
    gap: f64,
}

/// Between two nodes of a column: in a small picture, in one with many nodes; and how many are many.
const GAP: f64 = 20.0;
const SMALL_GAP: f64 = 10.0;
const MANY: usize = 120;
/// Between two columns.
const CHANNEL: f64 = 84.0;
/// Passes over all columns; more change nothing to speak of.
const ORDER_PASSES: usize = 8;
const PLACE_PASSES: usize = 12;

/// Lays a graph out.
pub(super) fn layout(graph: &Graph, sizes: &[Size]) -> Layout {
    let gap = if sizes.len() > MANY { SMALL_GAP } else { GAP };
    let places = vec![Place::default(); sizes.len()];
    let mut layout = Layout { places, gap, ..Layout::default() };
    layout.fill_columns(graph);
    for pass in 0..ORDER_PASSES {
        layout.order(graph, pass % 2 == 0);
    }
    layout.stack(sizes);
    for pass in 0..PLACE_PASSES {
        layout.settle(graph, sizes, pass % 2 == 0);
    }
    layout.frame(sizes);
    layout
}

impl Layout {
    /// Levels as columns; where a step stays on its level (delegation), the longest walk to a node instead.
    fn fill_columns(&mut self, graph: &Graph) {
        let depth = |n: usize| graph.data.nodes.get(n).map_or(0, |n| usize::from(n.depth));
        let falls = graph.data.edges.iter().all(|e| depth(e.from) < depth(e.to));
        let ranks: Vec<usize> = match falls {
            true => (0..graph.data.nodes.len()).map(depth).collect(),
            false => longest(graph),
        };
        let mut used = ranks.clone();
        used.sort_unstable();
        used.dedup();
        self.columns = vec![Column::default(); used.len()];
        for node in visits(graph) {
            let rank = ranks.get(node).copied().unwrap_or(0);
            let index = used.binary_search(&rank).unwrap_or(0);
            if let Some(column) = self.columns.get_mut(index) {
                column.nodes.push(node);
            }
            if let Some(place) = self.places.get_mut(node) {
                place.column = index;
            }
        }
        for column in &mut self.columns {
            // Where a chain of routes is drawn step by step, a column has nodes of several levels.
            let nodes = column.nodes.iter().filter_map(|node| graph.data.nodes.get(*node));
            let levels: BTreeMap<u8, &str> = nodes.map(|node| (node.depth, node.level)).collect();
            let mut levels: Vec<&str> = levels.into_values().collect();
            levels.dedup();
            column.title = levels.join(" / ");
        }
    }

    /// Sorts each column by the mean position of the neighbours on one side.
    fn order(&mut self, graph: &Graph, rightwards: bool) {
        let mut positions = vec![0.0; self.places.len()];
        for column in &self.columns {
            for (i, node) in column.nodes.iter().enumerate() {
                set(&mut positions, *node, fraction(i, column.nodes.len()));
            }
        }
        let count = self.columns.len();
        for i in 0..count {
            let index = if rightwards { i } else { count - 1 - i };
            let Some(column) = self.columns.get_mut(index) else { continue };
            let mut keyed: Vec<(f64, usize)> = column
                .nodes
                .iter()
                .map(|node| {
                    let near = if rightwards { graph.above(*node) } else { graph.below(*node) };
                    let own = positions.get(*node).copied().unwrap_or(0.0);
                    (mean(near, &positions).unwrap_or(own), *node)
                })
                .collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            column.nodes = keyed.iter().map(|(_, node)| *node).collect();
            let length = column.nodes.len();
            for (i, node) in column.nodes.iter().enumerate() {
                set(&mut positions, *node, fraction(i, length));
            }
        }
    }

    /// One below the other, as a beginning.
    fn stack(&mut self, sizes: &[Size]) {
        for column in &self.columns {
            let mut y = 0.0;
            for node in &column.nodes {
                if let Some(place) = self.places.get_mut(*node) {
                    place.y = y;
                }
                y += sizes.get(*node).map_or(0.0, |s| s.height) + self.gap;
            }
        }
    }

    /// Moves each column towards its neighbours as far as order and room allow.
    fn settle(&mut self, graph: &Graph, sizes: &[Size], rightwards: bool) {
        let count = self.columns.len();
        for i in 0..count {
            let index = if rightwards { i } else { count - 1 - i };
            let Some(column) = self.columns.get(index) else { continue };
            let middles: Vec<f64> =
                self.places.iter().zip(sizes).map(|(p, s)| p.y + s.head / 2.0).collect();
            let mut offset = 0.0;
            let mut wishes = Vec::with_capacity(column.nodes.len());
            let mut offsets = Vec::with_capacity(column.nodes.len());
            for node in &column.nodes {
                let size = sizes.get(*node).copied().unwrap_or_default();
                let left = mean(graph.above(*node), &middles);
                let right = mean(graph.below(*node), &middles);
                let own = middles.get(*node).copied().unwrap_or(0.0);
                // What stands above something stands in its middle, as in a tree; only the ends follow upwards.
                let wish = right.or(left).unwrap_or(own);
                wishes.push(wish - size.head / 2.0 - offset);
                offsets.push(offset);
                offset += size.height + self.gap;
            }
            let places = isotonic(&wishes).into_iter().zip(offsets);
            for (node, (y, offset)) in column.nodes.clone().into_iter().zip(places) {
                if let Some(place) = self.places.get_mut(node) {
                    place.y = y + offset;
                }
            }
        }
    }

    /// Moves everything to the corner and measures it.
    fn frame(&mut self, sizes: &[Size]) {
        let top = self.places.iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
        let top = if top.is_finite() { top } else { 0.0 };
        for (place, size) in self.places.iter_mut().zip(sizes) {
            place.y -= top;
            self.height = self.height.max(place.y + size.height);
        }
        let mut x = 0.0;
        for column in &mut self.columns {
            let widths = column.nodes.iter().filter_map(|n| sizes.get(*n)).map(|s| s.width);
            column.width = widths.fold(0.0, f64::max);
            column.x = x;
            for node in &column.nodes {
                if let Some(place) = self.places.get_mut(*node) {
                    place.x = x;
                }
            }
            x += column.width + CHANNEL;
        }
        self.width = (x - CHANNEL).max(0.0);
    }
}

fn set(list: &mut [f64], at: usize, value: f64) {
    if let Some(slot) = list.get_mut(at) {
        *slot = value;
    }
}

/// Position in a column, from 0 to 1, so that columns of different lengths compare.
fn fraction(index: usize, count: usize) -> f64 {
    (index as f64 + 0.5) / count.max(1) as f64
}

fn mean(nodes: &[usize], values: &[f64]) -> Option<f64> {
    let known: Vec<f64> = nodes.iter().filter_map(|n| values.get(*n)).copied().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// The rising sequence with the least squares to the wishes (pool adjacent violators).
fn isotonic(wishes: &[f64]) -> Vec<f64> {
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for wish in wishes {
        blocks.push((*wish, 1));
        while let [.., before, last] = blocks.as_slice() {
            if before.0 <= last.0 {
                break;
            }
            let count = before.1 + last.1;
            let sum = before.0 * before.1 as f64 + last.0 * last.1 as f64;
            blocks.pop();
            blocks.pop();
            blocks.push((sum / count as f64, count));
        }
    }
    blocks.into_iter().flat_map(|(value, count)| std::iter::repeat_n(value, count)).collect()
}

/// Nodes in the order of a walk from the roots, so that what belongs together starts together.
fn visits(graph: &Graph) -> Vec<usize> {
    let count = graph.data.nodes.len();
    let mut seen = vec![false; count];
    let mut order = Vec::with_capacity(count);
    let roots = (0..count).filter(|n| graph.above(*n).is_empty());
    // Nodes of a circle have no root; they come last.
    for start in roots.chain(0..count) {
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            match seen.get_mut(node) {
                Some(slot) if !*slot => *slot = true,
                _ => continue,
            }
            order.push(node);
            open.extend(graph.below(node).iter().rev());
        }
    }
    order
}

/// The longest walk to each node, in steps; nodes of a circle stay where they were reached first.
fn longest(graph: &Graph) -> Vec<usize> {
    let count = graph.data.nodes.len();
    let mut waiting: Vec<usize> = (0..count).map(|n| graph.above(n).len()).collect();
    let mut ranks = vec![0_usize; count];
    let mut ready: Vec<usize> = (0..count).filter(|n| graph.above(*n).is_empty()).collect();
    while let Some(node) = ready.pop() {
        let rank = ranks.get(node).copied().unwrap_or(0);
        for below in graph.below(node) {
            if let Some(slot) = ranks.get_mut(*below) {
                *slot = (*slot).max(rank + 1);
            }
            if let Some(left) = waiting.get_mut(*below) {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    ready.push(*below);
                }
            }
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::isotonic;

    #[test]
    fn isotonic_keeps_order_and_moves_little() {
        assert_eq!(isotonic(&[1.0, 3.0, 2.0, 4.0]), [1.0, 2.5, 2.5, 4.0]);
        assert_eq!(isotonic(&[3.0, 2.0, 1.0]), [2.0, 2.0, 2.0]);
        assert!(isotonic(&[]).is_empty());
    }
}
