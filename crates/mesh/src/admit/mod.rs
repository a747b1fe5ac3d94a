// SPDX-License-Identifier: Apache-2.0
//! In: a resource. Out: what a control plane says of it: refused and why, or the warnings. Not here: what it does once it
//! is there (`findings`).

pub mod admission;
pub(crate) mod shapes;
pub mod validate;
