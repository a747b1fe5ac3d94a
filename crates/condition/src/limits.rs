// SPDX-License-Identifier: Apache-2.0
//! The bounds of conditions and of their data, each with its reason.
//! Not here: enforcing them (`tokens`, `tree`, `cost`, `project`).

/// Bytes of the text. A person cannot review more, and parsing and dropping any text this short is safe on a small stack.
pub(crate) const TEXT_BYTES: usize = 2048;

/// How deep brackets may nest. The parser recurses once per bracket.
pub(crate) const BRACKETS: usize = 48;

/// How many `?` there may be. The parser recurses once per `?`, outside of its own depth limit.
pub(crate) const TERNARIES: usize = 48;

/// Levels of the parsed tree, macros expanded. Everything after the parser recurses over it, with small frames.
pub(crate) const DEPTH: usize = 120;

/// Levels the interpreter recurses. Each takes 40 KB of stack in a debug build, and threads have 2 MiB.
pub(crate) const LEVELS: usize = 36;

/// Units of work of one evaluation (see `cost`). The dearest unit takes 0.3 microseconds in a debug build.
pub(crate) const WORK: u64 = 80_000;

/// Nodes of the data one evaluation may look at.
pub(crate) const DATA_NODES: u64 = 6_000;

/// Bytes of text in the data one evaluation may look at.
pub(crate) const DATA_BYTES: u64 = 1 << 20;

/// How deep the data may nest. The interpreter copies and drops data recursively; readers allow 128 levels.
pub(crate) const DATA_DEPTH: usize = 128;

/// Length and size assumed of data while loading, when there is none yet. A condition that is too much work over
/// lists of four is never useful.
pub(crate) const ASSUMED_LENGTH: u64 = 4;
/// See [`ASSUMED_LENGTH`].
pub(crate) const ASSUMED_SIZE: u64 = 64;

/// Bytes of text that count as one unit.
pub(crate) const BYTES_PER_UNIT: u64 = 64;

/// Bytes of a failure's text. Texts of the interpreter may quote whole values.
pub(crate) const FAILURE_BYTES: usize = 300;
