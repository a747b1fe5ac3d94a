// SPDX-License-Identifier: Apache-2.0
//! The bounds that keep hostile input from costing more than its size.
//! Not here: enforcing them (the reader and the tree builder do, each at the place where the cost would arise).

/// Bounds on what is read. Hitting one is a finding (`OV1004`), never a crash; the other documents stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one source. Values of 4 GiB and more count as just under it, because spans are 32 bits wide.
    pub source_bytes: usize,
    /// How deeply maps and lists may nest, aliases expanded. Readers of the tree may recurse this deep.
    pub depth: usize,
    /// Nodes a document may grow by through aliases and merge keys.
    pub alias_nodes: usize,
    /// Bytes of one scalar.
    pub scalar_bytes: usize,
    /// Nodes of one document, before and after expansion.
    pub nodes: usize,
    /// Documents of all that is read at once, empty ones included. Beyond that, nothing of it is read.
    pub documents: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            source_bytes: 1 << 30,
            depth: 128,
            alias_nodes: 100_000,
            scalar_bytes: 16 << 20,
            nodes: 8_000_000,
            documents: usize::MAX,
        }
    }
}

impl Limits {
    /// The same limits, none above what the tree can represent.
    #[must_use]
    pub(crate) fn clamped(self) -> Self {
        Self {
            source_bytes: self.source_bytes.min(u32::MAX as usize - 1),
            // Above this the event parser's own bound would speak first.
            depth: self.depth.min(1000),
            alias_nodes: self.alias_nodes,
            scalar_bytes: self.scalar_bytes.min(crate::tree::MAX_LENGTH),
            nodes: self.nodes.min(crate::tree::MAX_LENGTH),
            documents: self.documents,
        }
    }
}
