// SPDX-License-Identifier: Apache-2.0
//! In: walks from a root to a leaf, prefix by prefix. Out: one id per walk. Not here: which walks are legal.
//!
//! Walks share their beginnings: a walk is the id of the walk it extends and one node more, so that delegation chains of
//! any depth need nothing special. Sections follow their object in the nodes and in the walks: an object and the sections
//! below it are one run. A run takes eight bytes, and every walk two bits.

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
        self.blocks.capacity() * size_of::<Block>() + self.runs.capacity() * size_of::<Run>()
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
}
