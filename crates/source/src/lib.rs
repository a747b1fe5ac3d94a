// SPDX-License-Identifier: Apache-2.0
//! In: bytes with a name. Out: documents in which every node knows its line and column, and diagnostics.
//! Not here: Kubernetes, policies, files (the caller brings bytes; see the `overrule` crate for folders).
//!
//! Reading never fails: a [`Diagnostic`] reports what cannot be read, and everything else is kept.
//!
//! ```
//! use overrule_source::{read, Input, ReadOptions};
//! let read = read(vec![Input::new("a.yaml", "kind: Gateway\nport: 80\n")], &ReadOptions::default());
//! let root = read.documents.root(read.documents.ids().next().unwrap());
//! let port = root.get("port").unwrap();
//! assert_eq!(port.as_i64(), Some(80));
//! assert_eq!(read.documents.sources.position(port.span()).to_string(), "a.yaml:2:7");
//! ```

mod builder;
mod chunk;
pub mod codes;
mod concern;
mod cow_vec;
mod cut;
mod diagnostic;
mod document;
mod explain;
mod findings;
mod json;
mod limits;
mod locate;
mod look;
mod passed;
mod piece;
mod quick;
mod reader;
mod redact;
mod scalar;
mod shape;
mod sorted_chunks;
mod source_map;
mod split;
mod to_json;
mod tree;
mod yaml;

pub use concern::{ConcernedKinds, Concerns};
pub use cow_vec::{CowVec, Items, ItemsRun};
pub use diagnostic::{Basis, Code, CodeInfo, Diagnostic, Label, MessageText, Severity};
pub use document::{DocId, Document, Documents, NodeRef};
pub use limits::Limits;
pub use locate::locate;
pub use passed::{Passed, Why};
pub use piece::Piece;
pub use reader::{
    DuplicateKeys, Input, ParseCount, Read, ReadOptions, SingleLetters, read, read_one, read_piece,
    read_with,
};
pub use redact::Redaction;
pub use sorted_chunks::SortedChunks;
pub use source_map::{Position, Source, SourceId, SourceMap, Span};
pub use tree::{NodeKind, Tree, TreeNodeId, View};
