// SPDX-License-Identifier: Apache-2.0
//! What the graph keeps of rules and parentRefs, of which a fleet has the most. Not here: what they
//! are to everybody else; `lookup` puts that together from the row, its neighbours and the route.
//!
//! Where a row says only the start of a range, it ends where that of the next row starts.

use overrule_model::Sym;
use overrule_source::TreeNodeId;

use super::graph::RouteIx;
use super::status::{ParentStatus, ParentTarget};

/// A rule. Its node and position follow from its route: rules follow it in the nodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RuleRow {
    pub(crate) route: RouteIx,
    /// In the document of the route.
    pub(crate) tree: TreeNodeId,
    /// First of its backendRefs.
    pub(crate) uses: u32,
    /// First of its delegations.
    pub(crate) delegations: u32,
    pub(crate) named: bool,
    pub(crate) hidden: bool,
}

/// A parentRef.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParentRow {
    /// Place of what it names: thousands of routes name the same.
    pub(crate) named: u32,
    /// Where it is written, in the source of the route.
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) index: u16,
    pub(crate) status: ParentStatus,
}

/// What parentRefs name, and what that resolves to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedParent {
    pub(crate) target: Option<ParentTarget>,
    pub(crate) group: Sym,
    pub(crate) kind: Sym,
    pub(crate) namespace: Sym,
    pub(crate) name: Sym,
    pub(crate) section: Sym,
    pub(crate) port: Option<u16>,
}

/// The part of a list from a start to that of the next row, or to the end.
pub(crate) fn between<T>(list: &[T], start: u32, next: Option<u32>) -> &[T] {
    let end = next.map_or(list.len(), |next| next as usize);
    list.get(start as usize..end).unwrap_or(&[])
}
