// SPDX-License-Identifier: Apache-2.0
//! In: walks from a root to a leaf, prefix by prefix. Out: one id per walk. Not here: which walks are legal.
//!
//! Walks share their beginnings: a walk is the id of the walk it extends and one node more, so that delegation chains of
//! any depth need nothing special. Sections follow their object in the nodes and in the walks: an object and the sections
//! below it are one run. A run takes eight bytes, and every walk two bits.

use std::sync::OnceLock;

use crate::NodeId;

/// Index of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u32);

const ROOT: u32 = u32::MAX;

/// All paths of one resolution, in the order they were added: parents before children.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    blocks: Vec<Block>,
    runs: Vec<Run>,
    len: u32,
    /// The path that begins the last run.
    first: u32,
    /// Made when it is first asked for.
    by_node: OnceLock<ByNode>,
}

/// Paths by their last node, so that a question about one node costs the paths through it.
#[derive(Debug, Clone)]
struct ByNode {
    /// By node, each in order.
    paths: Vec<PathId>,
    /// Where those of each node end.
    ends: Vec<u32>,
    /// Whether those that extend a path follow it without others in between, as families walk.
    preorder: bool,
}

/// As many paths as a word has bits. The first of them always begins a run.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// Paths that begin a run.
    starts: u64,
    /// Runs before this block.
    before: u32,
}

/// A path, and those after it that extend it by the nodes after its own, one each.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// The path it extends, or [`ROOT`].
    parent: u32,
    node: NodeId,
}

impl Paths {
    /// Extends a path by a node; `None` starts a new one.
    pub fn add(&mut self, parent: Option<PathId>, node: NodeId) -> PathId {
        self.by_node.take();
        let id = self.len;
        let (bit, parent) = (id % 64, parent.map_or(ROOT, |p| p.0));
        if bit == 0 {
            let before = u32::try_from(self.runs.len()).unwrap_or(u32::MAX);
            self.blocks.push(Block { starts: 0, before });
        }
        let next = self.runs.last().map(|run| run.node.0 + (id - self.first));
        if bit == 0 || parent != self.first || next != Some(node.0) {
            if let Some(block) = self.blocks.last_mut() {
                block.starts |= 1 << bit;
            }
            self.runs.push(Run { parent, node });
            self.first = id;
        }
        self.len += 1;
        PathId(id)
    }

    /// The run a path is in, and how far it stands from the beginning of that.
    fn run(&self, path: PathId) -> Option<(Run, u32)> {
        if path.0 >= self.len {
            return None;
        }
        let block = self.blocks.get(path.0 as usize / 64)?;
        let bit = path.0 % 64;
        let starts = block.starts & (u64::MAX >> (63 - bit));
        let run = (block.before + starts.count_ones()).checked_sub(1)?;
        let start = 63_u32.checked_sub(starts.leading_zeros())?;
        Some((*self.runs.get(run as usize)?, bit - start))
    }

    /// The last node of a path.
    pub fn node(&self, path: PathId) -> Option<NodeId> {
        self.run(path).map(|(run, offset)| NodeId(run.node.0 + offset))
    }

    /// The path this one extends.
    pub fn parent(&self, path: PathId) -> Option<PathId> {
        match self.run(path)? {
            (run, 0) => (run.parent != ROOT).then_some(PathId(run.parent)),
            (_, offset) => Some(PathId(path.0 - offset)),
        }
    }

    /// The nodes of a path, root first.
    pub fn nodes(&self, path: PathId) -> Vec<NodeId> {
        let mut nodes = Vec::new();
        let mut next = Some(path);
        while let Some(at) = next {
            nodes.extend(self.node(at));
            next = self.parent(at);
        }
        nodes.reverse();
        nodes
    }

    /// Whether a path passes through a node.
    pub fn passes(&self, path: PathId, node: NodeId) -> bool {
        let mut next = Some(path);
        while let Some(at) = next {
            if self.node(at) == Some(node) {
                return true;
            }
            next = self.parent(at);
        }
        false
    }

    /// The paths whose last node is this one, in order.
    pub fn ending_at(&self, node: NodeId) -> &[PathId] {
        let ByNode { paths, ends, .. } = self.by_node();
        let end = |node: u32| ends.get(node as usize).map(|end| *end as usize);
        let start = node.0.checked_sub(1).map_or(Some(0), end);
        start.zip(end(node.0)).and_then(|(start, end)| paths.get(start..end)).unwrap_or(&[])
    }

    /// The path that extends a path, or no path, by a node; of several the last.
    pub fn child(&self, parent: Option<PathId>, node: NodeId) -> Option<PathId> {
        let all = self.ending_at(node);
        let later = parent.map_or(0, |parent| all.partition_point(|path| *path <= parent));
        let is_near = |path: &&PathId| {
            !self.by_node().preorder || parent.is_none_or(|parent| self.extends(**path, parent))
        };
        let near = all.iter().skip(later).take_while(is_near);
        near.filter(|path| self.parent(**path) == parent).last().copied()
    }

    /// The paths through all of these nodes, in order; all paths if there are none.
    pub fn through(&self, nodes: &[NodeId]) -> Vec<PathId> {
        let depth = |node: &&NodeId| {
            let first = self.ending_at(**node).first();
            first.map_or(usize::MAX, |path| self.nodes(*path).len())
        };
        // The further down, the fewer paths.
        let Some(lowest) = nodes.iter().max_by_key(depth) else { return self.ids().collect() };
        let (preorder, mut found) = (self.by_node().preorder, Vec::new());
        for path in self.ending_at(*lowest) {
            // In preorder, what is not behind the last one was found with it.
            if !preorder || found.last().is_none_or(|last| last < path) {
                found.extend(self.below(*path));
            }
        }
        if !preorder {
            found.sort_unstable();
            found.dedup();
        }
        found.retain(|path| nodes.iter().all(|n| n == lowest || self.passes(*path, *n)));
        found
    }

    /// A path and those that extend it, in order.
    fn below(&self, path: PathId) -> impl Iterator<Item = PathId> {
        let preorder = self.by_node().preorder;
        let rest = (path.0..self.len).map(PathId);
        let near = rest.take_while(move |p| !preorder || self.extends(*p, path));
        near.filter(move |p| preorder || self.extends(*p, path))
    }

    /// Whether a path is another one or extends it. Parents come before their children.
    fn extends(&self, path: PathId, other: PathId) -> bool {
        let mut at = path;
        while at > other {
            match self.parent(at) {
                Some(parent) => at = parent,
                None => return false,
            }
        }
        at == other
    }

    /// Makes the index that questions about one node need, so that the first who asks need not wait.
    pub fn prepare(&self) {
        self.by_node();
    }

    fn by_node(&self) -> &ByNode {
        self.by_node.get_or_init(|| {
            let nodes = || self.ids().filter_map(|path| Some((path, self.node(path)?)));
            let count = nodes().map(|(_, node)| node.0 as usize + 1).max().unwrap_or(0);
            let mut ends = vec![0_u32; count];
            for (_, node) in nodes() {
                if let Some(end) = ends.get_mut(node.0 as usize) {
                    *end += 1;
                }
            }
            let mut sum = 0;
            for end in &mut ends {
                // For now where those of the node begin; each path moves it on.
                sum += std::mem::replace(end, sum);
            }
            let mut paths = vec![PathId(0); self.len()];
            let mut preorder = true;
            // The last path with all it extends.
            let mut last: Vec<PathId> = Vec::new();
            for (path, node) in nodes() {
                if let Some(end) = ends.get_mut(node.0 as usize) {
                    if let Some(slot) = paths.get_mut(*end as usize) {
                        *slot = path;
                    }
                    *end += 1;
                }
                let parent = self.parent(path);
                while last.last().copied() != parent && last.pop().is_some() {}
                preorder &= last.last().copied() == parent;
                last.push(path);
            }
            ByNode { paths, ends, preorder }
        })
    }

    /// Every path, prefixes included.
    pub fn ids(&self) -> impl Iterator<Item = PathId> + use<> {
        (0..self.len).map(PathId)
    }

    /// Number of paths, prefixes included.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let index = self.by_node.get();
        let index =
            index.map_or(0, |i| (i.paths.capacity() + i.ends.capacity()) * size_of::<u32>());
        self.blocks.capacity() * size_of::<Block>()
            + self.runs.capacity() * size_of::<Run>()
            + index
    }

    /// Reserves room for so many paths in so many runs, so that a big fleet does not copy as it grows.
    pub fn reserve(&mut self, paths: usize, runs: usize) {
        self.blocks.reserve_exact(paths / 64 + 1);
        self.runs.reserve_exact(runs + paths / 64 + 1);
    }

    /// Gives back room that was held for more.
    pub(crate) fn shrink(&mut self) {
        self.blocks.shrink_to_fit();
        self.runs.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects with sections below them, and others in between, beyond the length of a block.
    #[test]
    fn every_path_has_its_node_and_its_parent() {
        let (mut paths, mut added) = (Paths::default(), Vec::new());
        let mut add = |parent: Option<PathId>, node| {
            added.push((parent, NodeId(node)));
            paths.add(parent, NodeId(node))
        };
        let root = add(None, 0);
        for object in 0..300 {
            let first = 10 + object * 100;
            let path = add(Some(root), first);
            for section in 0..object % 97 {
                add(Some(path), first + 1 + section);
            }
            add(None, 5);
            add(Some(path), first + 1);
        }
        assert_eq!(paths.len(), added.len());
        for (path, (parent, node)) in paths.ids().zip(added) {
            assert_eq!((paths.parent(path), paths.node(path)), (parent, Some(node)), "{path:?}");
        }
        assert_eq!(paths.node(PathId(u32::try_from(paths.len()).unwrap_or(0))), None);
    }

    /// What is looked up by node is what a look at every path finds, whatever the order of the paths.
    #[test]
    fn looking_up_by_node_is_looking_at_every_path() {
        for seed in 0..200_u32 {
            let (mut paths, mut state, mut last) = (Paths::default(), seed + 1, None);
            for _ in 0..seed % 97 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let some = u32::try_from(paths.len()).unwrap_or(0).checked_sub(1);
                let mut parent = last;
                for _ in 0..state >> 29 {
                    parent = parent.and_then(|p| paths.parent(p));
                }
                if seed % 3 == 0 && state >> 16 & 7 == 0 {
                    parent = some.map(|some| PathId(state >> 8 & some));
                }
                last = Some(paths.add(parent, NodeId(state >> 20 & 7)));
            }
            let all = |fits: &dyn Fn(PathId) -> bool| -> Vec<PathId> {
                paths.ids().filter(|p| fits(*p)).collect()
            };
            for a in (0..9).map(NodeId) {
                assert_eq!(paths.ending_at(a), all(&|p| paths.node(p) == Some(a)), "seed {seed}");
                assert_eq!(paths.through(&[a]), all(&|p| paths.passes(p, a)), "seed {seed}");
                for b in (0..8).map(NodeId) {
                    let both = all(&|p| paths.passes(p, a) && paths.passes(p, b));
                    assert_eq!(paths.through(&[a, b]), both, "seed {seed}");
                }
                for parent in paths.ids().map(Some).chain([None]) {
                    let same = |p| paths.parent(p) == parent && paths.node(p) == Some(a);
                    let child = all(&same).last().copied();
                    assert_eq!(paths.child(parent, a), child, "seed {seed} {parent:?}");
                }
            }
            assert_eq!(paths.through(&[]), all(&|_| true));
        }
    }
}
