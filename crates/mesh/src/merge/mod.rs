// SPDX-License-Identifier: Apache-2.0
//! In: the policies that select something, in order. Out: which of their entries meet, and the conf they make. Not here:
//! who is selected (`select`), the order (`order`).
//!
//! ```text
//! entries   which entries count for a destination, for clients, for inbound traffic
//!   ▼
//! steps     each entry as a step of ladders, once
//!   ▼
//! conf      confs as they are read, ladders of those that meet, and what these come to
//!   ▼
//! rules     the same as the Inspect API shows it: by tags (`subset`) and by resource (`chain`)
//! ```

pub mod chain;
pub mod conf;
pub mod entries;
pub mod rules;
pub(crate) mod steps;
pub mod subset;
