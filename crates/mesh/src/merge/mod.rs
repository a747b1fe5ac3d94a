// SPDX-License-Identifier: Apache-2.0
//! In: the policies that select something, in order. Out: which of their entries meet, and the conf they make. Not here:
//! who is selected (`select`), the order (`order`).
//!
//! ```text
//! subset   sets of tags, and rules over them
//! conf     confs as they are read, and how they merge
//! rules    which entries count for a destination, for clients, for what comes in
//! ```

pub mod conf;
pub mod rules;
pub mod subset;
